import { sql } from 'kysely'
import type { FeedInterval } from '../../rules/offers/feed-schedule.ts'
import type { Db } from '../database.ts'

/** Where a feed is fetched from, how often, and what that came to. */
export interface FeedSource {
  sourceUrl: string
  interval: FeedInterval
  currency: string | null
}

/** At once for the first time. What a server said of another address says nothing of this one. */
export async function setFeedSource(
  db: Db,
  feedId: string,
  source: FeedSource & { campaignId: string },
): Promise<void> {
  await db
    .updateTable('feeds')
    .set({
      campaign_id: source.campaignId,
      source_url: source.sourceUrl,
      fetch_every: source.interval,
      currency: source.currency,
      next_fetch_at: sql`now()`,
      last_error: null,
      failures: 0,
      etag: null,
      last_modified: null,
    })
    .where('id', '=', feedId)
    .execute()
}

/** Its offers stay as they are, until they are too old. */
export async function stopFetching(db: Db, feedId: string): Promise<void> {
  await db
    .updateTable('feeds')
    .set({ source_url: null, fetch_every: null, next_fetch_at: null, last_error: null, failures: 0 })
    .where('id', '=', feedId)
    .execute()
}

/** Returns whether it has an address at all. */
export async function fetchSoon(db: Db, feedId: string): Promise<boolean> {
  const result = await db
    .updateTable('feeds')
    .set({ next_fetch_at: sql`now()` })
    .where('id', '=', feedId)
    .where('source_url', 'is not', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function listFeeds(db: Db, advertiserId?: string) {
  return db
    .selectFrom('feeds as f')
    .innerJoin('advertisers as a', 'a.id', 'f.advertiser_id')
    .innerJoin('campaigns as c', 'c.id', 'f.campaign_id')
    .select([
      'f.id',
      'f.campaign_id',
      'a.name as advertiser',
      'c.name as campaign',
      'f.name',
      'f.source_url',
      'f.fetch_every',
      'f.currency',
    ])
    .select(['f.next_fetch_at', 'f.last_fetch_at', 'f.last_fetch', 'f.last_error', 'f.failures', 'f.expires_at'])
    .$if(advertiserId !== undefined, (query) => query.where('f.advertiser_id', '=', advertiserId ?? ''))
    .orderBy('a.name')
    .orderBy('f.name')
    .limit(1_000)
    .execute()
}

export interface DueFeed extends FeedSource {
  id: string
  name: string
  advertiserId: string
  campaignId: string
  advertiser: string
  /** The advertiser's. */
  domain: string
  /** What the server said of the file that was published last. */
  etag: string | null
  lastModified: string | null
  failures: number
}

/** Who claims one has it for the lease: of a worker that died, another one takes it then. */
export async function claimDueFeeds(db: Db, most: number, leaseMs: number): Promise<DueFeed[]> {
  const { rows } = await sql<DueFeed>`
    update feeds f set next_fetch_at = now() + ${leaseMs} * interval '1 ms'
    from advertisers a
    where a.id = f.advertiser_id and f.id in (
      select d.id from feeds d join advertisers s on s.id = d.advertiser_id
      where d.next_fetch_at <= now() and s.status <> 'suspended'
      order by d.next_fetch_at limit ${most} for update of d skip locked)
    returning f.id, f.name, f.advertiser_id as "advertiserId", f.campaign_id as "campaignId", a.name as advertiser, a.domain,
      f.source_url as "sourceUrl", f.fetch_every as interval, f.currency, f.etag, f.last_modified as "lastModified", f.failures`.execute(
    db,
  )
  return rows
}

export interface FetchEnd {
  state: 'published' | 'unchanged' | 'refused' | 'failed'
  /** In words. */
  error: string | null
  waitMs: number
  failures: number
  etag: string | null
  lastModified: string | null
}

/** Unless it has another address by now, whose first fetch is due. */
export async function noteFetch(
  db: Db,
  { id, sourceUrl }: Pick<DueFeed, 'id' | 'sourceUrl'>,
  end: FetchEnd,
  freshForDays: number,
): Promise<void> {
  await db
    .updateTable('feeds')
    .set({
      last_fetch_at: sql`now()`,
      next_fetch_at: sql`now() + ${end.waitMs} * interval '1 ms'`,
      last_fetch: end.state,
      last_error: end.error?.slice(0, 1_000) ?? null,
      failures: end.failures,
      etag: end.etag,
      last_modified: end.lastModified,
      // Its server says that it is still so.
      ...(end.state === 'unchanged' && { expires_at: sql`now() + ${freshForDays} * interval '1 day'` }),
    })
    .where('id', '=', id)
    .where('source_url', '=', sourceUrl)
    .execute()
}
