import { uuidv7 } from '../../platform/uuid.ts'
import { nameProblemOf } from '../../rules/accounts/names.ts'
import { UPLOADS_PUBLISHING_MAX } from '../../rules/offers/advertiser-limits.ts'
import type { Tx } from '../../store/database.ts'
import { lockAdvertiser } from '../../store/offers/advertisers.ts'
import {
  confirmUpload,
  countPublishingUploads,
  deleteUnconfirmedUploads,
  deleteUpload,
  insertUpload,
  lockUpload,
} from '../../store/offers/feed-uploads.ts'
import { findFeed } from '../../store/offers/feeds.ts'
import type { Actor } from '../actor.ts'
import { auditAdvertiser } from '../audit.ts'
import { conflict, notThere, wrongField } from '../refusals.ts'
import { expectBelowFeedLimit } from './feeds.ts'

interface SentFile {
  advertiser: { id: string; name: string }
  campaign: { id: string; name: string }
  feed: string
  currency: string | null
  fileName: string
  file: Buffer
}

/** A worker looks at it, and publishes nothing of it. It takes the place of one that nobody has confirmed. Returns its id. */
export async function sendFeedFile(tx: Tx, actor: Actor, sent: SentFile): Promise<string> {
  const { advertiser, campaign, feed, currency, fileName, file } = sent
  await lockAdvertiser(tx, advertiser.id)
  const former = await findFeed(tx, advertiser.id, feed)
  const isNew = former === undefined || former.removed_at !== null
  if (isNew) await expectFeedToBe(tx, advertiser.id, feed)
  if ((await countPublishingUploads(tx, advertiser.id)) >= UPLOADS_PUBLISHING_MAX)
    throw conflict('Other files are still being published. Wait until they are, then send this one again.')
  await deleteUnconfirmedUploads(tx, advertiser.id)
  const id = uuidv7()
  await insertUpload(tx, { id, advertiserId: advertiser.id, campaignId: campaign.id, feed, currency, fileName, file })
  const details = { id, advertiser: advertiser.name, campaign: campaign.name, bytes: file.length }
  await auditAdvertiser(tx, actor, advertiser.id, 'feed.file_sent', { subject: feed, details })
  return id
}

/** Operators name theirs as they like. */
async function expectFeedToBe(tx: Tx, advertiserId: string, name: string): Promise<void> {
  const problem = nameProblemOf(name)
  if (problem !== undefined) throw wrongField('name', problem)
  await expectBelowFeedLimit(tx, advertiserId)
}

interface UploadAtHand {
  id: string
  advertiser: { id: string; name: string }
}

/** A worker publishes it, as it was checked. */
export async function publishFeedFile(
  tx: Tx,
  actor: Actor,
  { id, advertiser, isRemovalConfirmed }: UploadAtHand & { isRemovalConfirmed: boolean },
): Promise<void> {
  const upload = await expectUpload(tx, { id, advertiser })
  if (upload.state !== 'checked') throw conflict('This file is not waiting to be published.')
  await confirmUpload(tx, id, isRemovalConfirmed)
  const details = { id, advertiser: advertiser.name, ...(isRemovalConfirmed && { isRemovalConfirmed }) }
  await auditAdvertiser(tx, actor, advertiser.id, 'feed.file_confirmed', { subject: upload.feed, details })
}

export async function discardFeedFile(tx: Tx, actor: Actor, { id, advertiser }: UploadAtHand): Promise<void> {
  const upload = await expectUpload(tx, { id, advertiser })
  if (upload.state === 'to_publish') throw conflict('This file is being published.')
  await deleteUpload(tx, id)
  const details = { id, advertiser: advertiser.name }
  await auditAdvertiser(tx, actor, advertiser.id, 'feed.file_discarded', { subject: upload.feed, details })
}

async function expectUpload(tx: Tx, { id, advertiser }: UploadAtHand) {
  const upload = await lockUpload(tx, advertiser.id, id)
  if (!upload) throw notThere('upload')
  return upload
}
