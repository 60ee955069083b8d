import type { Tx } from '../../store/database.ts'
import { fetchSoon, setFeedSource, stopFetching, type FeedSource } from '../../store/offers/feed-schedule.ts'
import { ensureFeed, type RunCounts } from '../../store/offers/feeds.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'
import { conflict } from '../refusals.ts'

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
  const id = await ensureFeed(tx, { advertiserId: advertiser.id, campaignId: campaign.id, name })
  await setFeedSource(tx, id, { ...source, campaignId: campaign.id })
  await auditInstallation(tx, actor, 'feed.added', { subject: name, details: { id, ...detailsOf(feed) } })
  return id
}

export async function changeFeed(tx: Tx, actor: Actor, { id, ...feed }: FeedByAddress & { id: string }): Promise<void> {
  await setFeedSource(tx, id, { ...feed.source, campaignId: feed.campaign.id })
  await auditInstallation(tx, actor, 'feed.changed', { subject: feed.name, details: { id, ...detailsOf(feed) } })
}

/** Of the address its name: the rest may hold a secret of the shop. */
function detailsOf({ advertiser, campaign, source }: FeedByAddress): Record<string, unknown> {
  const { sourceUrl, interval, currency } = source
  const host = new URL(sourceUrl).host
  return { advertiser: advertiser.name, campaign: campaign.name, host, every: interval, currency }
}

interface FeedAtHand {
  id: string
  name: string
  advertiser: { name: string }
}

export async function stopFeed(tx: Tx, actor: Actor, { id, name, advertiser }: FeedAtHand): Promise<void> {
  await stopFetching(tx, id)
  await auditInstallation(tx, actor, 'feed.stopped', { subject: name, details: { id, advertiser: advertiser.name } })
}

/** Has it fetched by the next worker that looks, whenever its turn would be. */
export async function runFeed(tx: Tx, actor: Actor, { id, name, advertiser }: FeedAtHand): Promise<void> {
  if (!(await fetchSoon(tx, id)))
    throw conflict('This feed has no address to fetch it from. Send its file with: parley offers import')
  await auditInstallation(tx, actor, 'feed.asked_for', { subject: name, details: { id, advertiser: advertiser.name } })
}
