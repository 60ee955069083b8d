import { sql } from 'kysely'
import { uuidv7 } from '../../platform/uuid.ts'
import type { Db } from '../database.ts'

export interface Feed {
  id: string
  advertiserId: string
  campaignId: string
  name: string
}

export async function findFeed(db: Db, advertiserId: string, name: string) {
  return db
    .selectFrom('feeds')
    .select(['id', 'campaign_id', 'expires_at', 'removed_at'])
    .where('advertiser_id', '=', advertiserId)
    .where('name', '=', name)
    .executeTakeFirst()
}

/** The feed of that name, made if there is none, or no more. Its campaign changes only when a run is published. */
export async function ensureFeed(db: Db, feed: Omit<Feed, 'id'>): Promise<string> {
  await db
    .insertInto('feeds')
    .values({ id: uuidv7(), advertiser_id: feed.advertiserId, campaign_id: feed.campaignId, name: feed.name })
    .onConflict((conflict) => conflict.columns(['advertiser_id', 'name']).doNothing())
    .execute()
  const found = await findFeed(db, feed.advertiserId, feed.name)
  if (!found) throw new Error('a feed that was made is gone')
  if (found.removed_at !== null)
    await db.updateTable('feeds').set({ removed_at: null }).where('id', '=', found.id).execute()
  return found.id
}

export interface RunsAsked {
  feedId?: string
  /** Only those that began before this one. */
  before?: string | undefined
  limit: number
}

/** The latest first. */
export async function listFeedRuns(db: Db, options: RunsAsked) {
  return db
    .selectFrom('feed_runs as r')
    .innerJoin('feeds as f', 'f.id', 'r.feed_id')
    .innerJoin('advertisers as a', 'a.id', 'f.advertiser_id')
    .selectAll('r')
    .select(['f.name as feed', 'a.name as advertiser'])
    .$if(options.feedId !== undefined, (query) => query.where('r.feed_id', '=', options.feedId ?? ''))
    .$if(options.before !== undefined, (query) => query.where('r.id', '<', options.before ?? ''))
    .orderBy('r.id', 'desc')
    .limit(options.limit)
    .execute()
}

/**
 * Also ends the runs that were never ended: whoever asks holds the feed's lock, so nobody is working on them.
 */
export async function startFeedRun(db: Db, run: { id: string; feedId: string; format: string }): Promise<void> {
  await db
    .updateTable('feed_runs')
    .set({ state: 'failed', reason: 'It ended before it was complete.', finished_at: sql`now()` })
    .where('feed_id', '=', run.feedId)
    .where('state', '=', 'running')
    .execute()
  await db.insertInto('feed_runs').values({ id: run.id, feed_id: run.feedId, format: run.format }).execute()
}

export interface Rejection {
  row: number
  item: string | null
  reason: string
}

export interface RunCounts {
  rows: number
  added: number
  changed: number
  unchanged: number
  rejected: number
  removed: number
  missing: number
}

export interface RunEnd {
  id: string
  state: 'published' | 'refused' | 'failed'
  reason: string | null
  counts: RunCounts
  rejections: readonly Rejection[]
}

export async function endFeedRun(db: Db, { id, state, reason, counts, rejections }: RunEnd): Promise<void> {
  const { rows, added, changed, unchanged, rejected, removed, missing } = counts
  await db
    .updateTable('feed_runs')
    .set({
      state,
      reason: reason === null ? null : reason.slice(0, 1_000),
      rows_read: BigInt(rows),
      added: BigInt(added),
      changed: BigInt(changed),
      unchanged: BigInt(unchanged),
      rejected: BigInt(rejected),
      removed: BigInt(removed),
      missing: BigInt(missing),
      rejections: JSON.stringify(rejections),
      finished_at: sql`now()`,
    })
    .where('id', '=', id)
    .execute()
}

/** One import of a feed at a time. Held by the connection, so that a killed import lets the next one begin. */
export async function tryLockFeed(connection: Db, feedId: string): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_lock(hashtextextended('feed ' || ${feedId}, 0)) as locked`.execute(connection)
  return rows[0]?.locked === true
}

export async function unlockFeed(connection: Db, feedId: string): Promise<void> {
  await sql`select pg_advisory_unlock(hashtextextended('feed ' || ${feedId}, 0))`.execute(connection)
}

/** Forgets old runs, but never the newest of a feed: what was done last can always be seen. Returns how many. */
export async function expireFeedRuns(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from feed_runs where id in (
      select r.id from feed_runs r
      where r.id < first_id_of(now() - ${keptMs} * interval '1 ms')
        and exists (select from feed_runs l where l.feed_id = r.feed_id and l.started_at > r.started_at)
      order by r.id limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
