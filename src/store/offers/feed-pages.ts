import { sql } from 'kysely'
import type { FeedInterval } from '../../rules/offers/feed-schedule.ts'
import { MAKES_FEED_OUTDATED } from './offers.ts'
import type { Db } from '../database.ts'

/** An advertiser's feeds, and what became of the last file of each. */
export interface FeedOfAdvertiser {
  id: string
  name: string
  campaignId: string
  campaign: string
  sourceUrl: string | null
  interval: FeedInterval | null
  currency: string | null
  isPaused: boolean
  /** Null: not as it is now. */
  nextFetchAt: Date | null
  lastFetchAt: Date | null
  lastFetch: 'published' | 'unchanged' | 'refused' | 'failed' | null
  lastError: string | null
  /** In a row. */
  failures: number
  freshUntil: Date | null
  isOutdated: boolean
  offers: number
  /** When its last file was published. */
  publishedAt: Date | null
}

export async function listFeedsOf(tx: Db, advertiserId: string, feedId?: string): Promise<FeedOfAdvertiser[]> {
  const { rows } = await sql<FeedOfAdvertiser>`
    select f.id, f.name, f.campaign_id as "campaignId", c.name as campaign, f.source_url as "sourceUrl",
      f.fetch_every as interval, f.currency, f.is_paused as "isPaused",
      case when not f.is_paused and a.domain_verified_at is not null and a.status <> 'suspended' then f.next_fetch_at end
        as "nextFetchAt",
      f.last_fetch_at as "lastFetchAt", f.last_fetch as "lastFetch", f.last_error as "lastError", f.failures,
      f.expires_at as "freshUntil", ${MAKES_FEED_OUTDATED} as "isOutdated",
      (select count(*)::int from offers o where o.feed_id = f.id and o.removed_at is null) as offers,
      (select r.finished_at from feed_runs r where r.feed_id = f.id and r.state = 'published'
        order by r.started_at desc limit 1) as "publishedAt"
    from feeds f join campaigns c on c.id = f.campaign_id join advertisers a on a.id = f.advertiser_id
    where f.advertiser_id = ${advertiserId} and f.removed_at is null
      and (${feedId ?? null}::uuid is null or f.id = ${feedId ?? null}::uuid)
    order by f.name, f.id limit 1000`.execute(tx)
  return rows
}

export async function countFeeds(tx: Db, advertiserId: string): Promise<number> {
  const { n } = await tx
    .selectFrom('feeds')
    .select(({ fn }) => fn.countAll<bigint>().as('n'))
    .where('advertiser_id', '=', advertiserId)
    .where('removed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(n)
}
