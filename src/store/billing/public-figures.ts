import { sql } from 'kysely'
import { LATENCY_COUNTS } from '../../rules/billing/usage-counts.ts'
import type { Db } from '../database.ts'
import { sumArrays } from './usage.ts'

/** The figures about all calls together that are public. The worker adds them up; the console sees nothing but the result. */
export interface PublicFigures {
  calls: number | null
  firstTokenMs: number | null
}

/** Completed calls of each publisher that had any. */
export async function countCallsByPublisher(db: Db, withinMs: number): Promise<number[]> {
  // By project, because that is how the rows are found.
  const { rows } = await sql<{ calls: string }>`
    select sum(u.calls) as calls from projects p cross join lateral (
      select sum(outcomes[1]) as calls from usage_days d where d.project_id = p.id and d.starts_at >= now() - ${withinMs} * interval '1 ms') u
    where u.calls > 0 group by p.publisher_id`.execute(db)
  return rows.map(({ calls }) => Number(calls))
}

/** A histogram of all models together. */
export async function sumFirstTokens(db: Db, withinMs: number): Promise<number[]> {
  const { rows } = await sql<{ counts: number[] }>`
    select ${sumArrays('first_tokens', LATENCY_COUNTS)} as counts from availability_slots
    where kind = 'model' and starts_at >= now() - ${withinMs} * interval '1 ms'`.execute(db)
  return rows[0]?.counts ?? []
}

export async function writePublicFigures(db: Db, { calls, firstTokenMs }: PublicFigures): Promise<void> {
  await sql`insert into public_figures (calls, first_token_ms, added_up_at) values (${calls}, ${firstTokenMs}, now())
    on conflict (only_row) do update set calls = excluded.calls, first_token_ms = excluded.first_token_ms,
      added_up_at = excluded.added_up_at`.execute(db)
}

/** Undefined: nobody has added them up lately. */
export async function findPublicFigures(db: Db, noOlderThanMs: number): Promise<PublicFigures | undefined> {
  const { rows } = await sql<{ calls: bigint | null; first_token_ms: number | null }>`
    select calls, first_token_ms from public_figures
    where added_up_at > now() - ${noOlderThanMs} * interval '1 ms'`.execute(db)
  const [row] = rows
  return row && { calls: row.calls === null ? null : Number(row.calls), firstTokenMs: row.first_token_ms }
}
