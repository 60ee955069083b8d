import type { Tx } from '../../store/database.ts'
import type { RunCounts } from '../../store/offers/feeds.ts'
import type { Actor } from '../actor.ts'
import { auditInstallation } from '../audit.ts'

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
