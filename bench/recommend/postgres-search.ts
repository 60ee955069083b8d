/** The baseline that everybody has already: PostgreSQL's full-text search, as its manual shows it. */
import { Client } from 'pg'
import type { CatalogueOffer } from './sets.ts'

export interface PostgresSearch {
  /** Any of the words, best first. */
  any(query: string, limit: number): Promise<string[]>
  /** All of the words, as web searches understand them. */
  all(query: string, limit: number): Promise<string[]>
  close(): Promise<void>
}

/** With the manual's weights: title, then brand, then the rest; on both public sets that is its best setting. */
export async function openPostgresSearch(url: string, offers: readonly CatalogueOffer[]): Promise<PostgresSearch> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('create temporary table searched (id text primary key, words tsvector not null)')
  await client.query(
    `insert into searched select id, setweight(to_tsvector('english', title), 'A') ||
       setweight(to_tsvector('english', brand), 'B') || setweight(to_tsvector('english', body), 'D')
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as offer (id, title, brand, body)`,
    [
      offers.map(({ id }) => id),
      offers.map(({ title }) => title),
      offers.map(({ brand, advertiser }) => `${brand ?? ''} ${advertiser}`),
      offers.map(({ category, description }) => `${category} ${description}`),
    ],
  )
  await client.query('create index on searched using gin (words)')
  await client.query('analyze searched')

  const search = async (query: string, text: string, limit: number) => {
    const { rows } = await client.query<{ id: string }>(
      `with asked as (select ${query} as query)
       select id from searched, asked where words @@ query order by ts_rank(words, query) desc, id limit $2`,
      [text, limit],
    )
    return rows.map(({ id }) => id)
  }
  return {
    any: (query, limit) => search(`replace(plainto_tsquery('english', $1)::text, ' & ', ' | ')::tsquery`, query, limit),
    all: (query, limit) => search(`websearch_to_tsquery('english', $1)`, query, limit),
    close: () => client.end(),
  }
}
