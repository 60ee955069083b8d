import { sql } from 'kysely'
import type { FeedInterval } from '../../rules/offers/feed-schedule.ts'
import type { Db } from '../database.ts'

/** Where a feed is fetched from, how often, and what that came to. */
export interface FeedSource {
  sourceUrl: string
  interval: FeedInterval
  currency: string | null
}

/**
 * At once for the first time, also of one that was paused. What a server said of another address says nothing of this one. Returns
 * whether there is such a feed.
 */
export async function setFeedSource(
  db: Db,
  feedId: string,
  source: FeedSource & { campaignId: string },
): Promise<boolean> {
  const result = await db
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
      is_paused: false,
      is_removal_confirmed: false,
    })
    .where('id', '=', feedId)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Its offers stay as they are, until they are too old. */
export async function stopFetching(db: Db, feedId: string): Promise<void> {
  await db
    .updateTable('feeds')
    .set({ ...NO_SOURCE, last_error: null, failures: 0 })
    .where('id', '=', feedId)
    .execute()
}

const NO_SOURCE = { source_url: null, fetch_every: null, next_fetch_at: null, is_paused: false }

/** Returns whether it has an address at all, and is not paused. What it had sent is asked for whole, or there would be nothing to publish. */
export async function fetchSoon(db: Db, feedId: string, isRemovalConfirmed: boolean): Promise<boolean> {
  const result = await db
    .updateTable('feeds')
    .set({
      next_fetch_at: sql`now()`,
      ...(isRemovalConfirmed && { is_removal_confirmed: true, etag: null, last_modified: null }),
    })
    .where('id', '=', feedId)
    .where('source_url', 'is not', null)
    .where('is_paused', '=', false)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Returns whether there was anything to change. One that goes on is fetched at once. */
export async function setFeedPaused(db: Db, feedId: string, isPaused: boolean): Promise<boolean> {
  const result = await db
    .updateTable('feeds')
    .set({ is_paused: isPaused, ...(!isPaused && { next_fetch_at: sql<Date>`now()` }) })
    .where('id', '=', feedId)
    .where('source_url', 'is not', null)
    .where('is_paused', '=', !isPaused)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** None of its offers is recommended from now on. Returns whether it was there. */
export async function setFeedRemoved(db: Db, feedId: string): Promise<boolean> {
  const result = await db
    .updateTable('feeds')
    .set({ ...NO_SOURCE, removed_at: sql`now()`, is_removal_confirmed: false })
    .where('id', '=', feedId)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Feeds that were removed, and whose offers may still be there. */
export async function listRemovedFeeds(db: Db, most: number): Promise<string[]> {
  const query = db.selectFrom('feeds').select('id').where('removed_at', 'is not', null)
  const rows = await query.where('expires_at', 'is not', null).limit(most).execute()
  return rows.map(({ id }) => id)
}

/** Takes away offers of a feed that was removed. Returns how many. */
export async function withdrawOffers(db: Db, feedId: string, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update offers set removed_at = now() where id in (
      select o.id from offers o join feeds f on f.id = o.feed_id
      where f.id = ${feedId} and f.removed_at is not null and o.removed_at is null limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** None of its offers is left. */
export async function noteWithdrawn(db: Db, feedId: string): Promise<void> {
  await sql`update feeds f set expires_at = null where id = ${feedId} and removed_at is not null
    and not exists (select from offers o where o.feed_id = f.id and o.removed_at is null)`.execute(db)
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
      'f.is_paused',
    ])
    .select(['f.next_fetch_at', 'f.last_fetch_at', 'f.last_fetch', 'f.last_error', 'f.failures', 'f.expires_at'])
    .where('f.removed_at', 'is', null)
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
  /** The headers that the server sent with the file that was published last. */
  etag: string | null
  lastModified: string | null
  failures: number
  isRemovalConfirmed: boolean
}

export interface Claiming {
  most: number
  leaseMs: number
  /** Advertisers whose feeds wait: one of theirs is being fetched, and their servers may be slow on purpose. */
  busy: readonly string[]
}

/** Claims due feeds for the lease, one of each advertiser. If a worker dies, another takes its feeds when the lease ends. */
export async function claimDueFeeds(db: Db, { most, leaseMs, busy }: Claiming): Promise<DueFeed[]> {
  const { rows } = await sql<DueFeed>`
    update feeds f set next_fetch_at = now() + ${leaseMs} * interval '1 ms'
    from advertisers a
    where a.id = f.advertiser_id and f.id in (
      select d.id from feeds d join advertisers s on s.id = d.advertiser_id
      where d.next_fetch_at <= now() and not d.is_paused and d.removed_at is null
        and s.status <> 'suspended' and s.domain_verified_at is not null
        and d.advertiser_id <> all (${busy}::uuid[])
        and not exists (select from feeds e where e.advertiser_id = d.advertiser_id and not e.is_paused
          and (e.next_fetch_at, e.id) < (d.next_fetch_at, d.id))
      order by d.next_fetch_at limit ${most} for update of d skip locked)
    returning f.id, f.name, f.advertiser_id as "advertiserId", f.campaign_id as "campaignId", a.name as advertiser, a.domain,
      f.source_url as "sourceUrl", f.fetch_every as interval, f.currency, f.etag, f.last_modified as "lastModified", f.failures,
      f.is_removal_confirmed as "isRemovalConfirmed"`.execute(db)
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
      // It was meant for a run that there was.
      ...(end.state !== 'failed' && { is_removal_confirmed: false }),
      // Its server says that it is still so.
      ...(end.state === 'unchanged' && { expires_at: sql`now() + ${freshForDays} * interval '1 day'` }),
    })
    .where('id', '=', id)
    .where('source_url', '=', sourceUrl)
    .execute()
}
