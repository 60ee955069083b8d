import { FEEDS_MAX } from '../../rules/offers/advertiser-limits.ts'
import type { Tx } from '../../store/database.ts'
import { lockAdvertiser } from '../../store/offers/advertisers.ts'
import { countFeeds } from '../../store/offers/feed-pages.ts'
import {
  fetchSoon,
  setFeedPaused,
  setFeedRemoved,
  setFeedSource,
  stopFetching,
  type FeedSource,
} from '../../store/offers/feed-schedule.ts'
import { ensureFeed, findFeed, type RunCounts } from '../../store/offers/feeds.ts'
import type { Actor } from '../actor.ts'
import { auditAdvertiser, auditInstallation } from '../audit.ts'
import { conflict, notThere, wrongField } from '../refusals.ts'

interface PublishedFeed {
  advertiser: { name: string }
  feed: string
  counts: RunCounts
}

/** To be called in the transaction that publishes the feed. */
export async function recordPublishedFeed(
  tx: Tx,
  actor: Actor,
  { advertiser, feed, counts }: PublishedFeed,
): Promise<void> {
  const details = { advertiser: advertiser.name, ...counts }
  await auditInstallation(tx, actor, 'offers.imported', { subject: feed, details })
}

interface FeedByAddress {
  advertiser: { id: string; name: string }
  campaign: { id: string; name: string }
  name: string
  source: FeedSource
}

/** One that files were sent for by hand is fetched from now on. Returns its id. */
export async function addFeed(tx: Tx, actor: Actor, feed: FeedByAddress): Promise<string> {
  const { advertiser, campaign, name, source } = feed
  await expectRoomFor(tx, actor, advertiser.id, name)
  const id = await ensureFeed(tx, { advertiserId: advertiser.id, campaignId: campaign.id, name })
  await setFeedSource(tx, id, { ...source, campaignId: campaign.id })
  await auditAdvertiser(tx, actor, advertiser.id, 'feed.added', { subject: name, details: { id, ...detailsOf(feed) } })
  return id
}

/** An operator may add as many as there is need for, and give an address to one that is there. */
async function expectRoomFor(tx: Tx, actor: Actor, advertiserId: string, name: string): Promise<void> {
  if (actor.kind !== 'person') return
  await lockAdvertiser(tx, advertiserId)
  const former = await findFeed(tx, advertiserId, name)
  if (former && former.removed_at === null)
    throw wrongField('name', 'There is already a feed with this name. To have it fetched from an address, edit it.')
  await expectBelowFeedLimit(tx, advertiserId)
}

/** The advertiser is locked until the feed is there: two at once would each see the room that there was before. */
export async function expectBelowFeedLimit(tx: Tx, advertiserId: string): Promise<void> {
  if ((await countFeeds(tx, advertiserId)) >= FEEDS_MAX)
    throw conflict(`An advertiser has ${FEEDS_MAX} feeds at most. Remove one, or put its products into another.`)
}

export async function changeFeed(tx: Tx, actor: Actor, { id, ...feed }: FeedByAddress & { id: string }): Promise<void> {
  const isThere = await setFeedSource(tx, id, { ...feed.source, campaignId: feed.campaign.id })
  if (!isThere) throw notThere('feed')
  const change = { subject: feed.name, details: { id, ...detailsOf(feed) } }
  await auditAdvertiser(tx, actor, feed.advertiser.id, 'feed.changed', change)
}

/** The address is logged as its host: the rest may hold a secret of the shop. */
function detailsOf({ advertiser, campaign, source }: FeedByAddress): Record<string, unknown> {
  const { sourceUrl, interval, currency } = source
  const host = new URL(sourceUrl).host
  return { advertiser: advertiser.name, campaign: campaign.name, host, every: interval, currency }
}

interface FeedAtHand {
  id: string
  name: string
  advertiser: { id: string; name: string }
}

export async function stopFeed(tx: Tx, actor: Actor, feed: FeedAtHand): Promise<void> {
  await stopFetching(tx, feed.id)
  await auditFeed(tx, actor, 'feed.stopped', feed)
}

/** Paused, it is not fetched, and its offers stay until they are too old. */
export async function setPaused(
  tx: Tx,
  actor: Actor,
  { isPaused, ...feed }: FeedAtHand & { isPaused: boolean },
): Promise<void> {
  if (!(await setFeedPaused(tx, feed.id, isPaused)))
    throw conflict(
      isPaused ? 'This feed is not fetched from an address, or is paused already.' : 'This feed is not paused.',
    )
  await auditFeed(tx, actor, isPaused ? 'feed.paused' : 'feed.resumed', feed)
}

/** Has it fetched by the next worker that looks, whenever its turn would be. */
export async function runFeed(
  tx: Tx,
  actor: Actor,
  { isRemovalConfirmed = false, ...feed }: FeedAtHand & { isRemovalConfirmed?: boolean },
): Promise<void> {
  if (!(await fetchSoon(tx, feed.id, isRemovalConfirmed)))
    throw conflict('This feed is paused, or has no address to fetch it from. Send its file instead.')
  await auditFeed(tx, actor, 'feed.asked_for', feed, { ...(isRemovalConfirmed && { isRemovalConfirmed }) })
}

/** None of its offers is recommended from now on; a worker takes them away. */
export async function removeFeed(tx: Tx, actor: Actor, feed: FeedAtHand): Promise<void> {
  if (!(await setFeedRemoved(tx, feed.id))) throw notThere('feed')
  await auditFeed(tx, actor, 'feed.removed', feed)
}

async function auditFeed(
  tx: Tx,
  actor: Actor,
  action: string,
  { id, name, advertiser }: FeedAtHand,
  more: Record<string, unknown> = {},
): Promise<void> {
  const change = { subject: name, details: { id, advertiser: advertiser.name, ...more } }
  await auditAdvertiser(tx, actor, advertiser.id, action, change)
}
