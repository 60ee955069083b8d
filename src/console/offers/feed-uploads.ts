import type { FastifyInstance } from 'fastify'
import { discardFeedFile, publishFeedFile, sendFeedFile } from '../../actions/offers/feed-uploads.ts'
import { notThere } from '../../actions/refusals.ts'
import { FEED_FORMAT_WORDS, type FeedFormat } from '../../recommend/feeds/feed-format.ts'
import { ParleyError } from '../../rules/errors.ts'
import { UPLOAD_BYTES_MAX } from '../../rules/offers/advertiser-limits.ts'
import { findUpload } from '../../store/offers/feed-uploads.ts'
import type { RunCounts } from '../../store/offers/feeds.ts'
import type { PublishResult } from '../../store/offers/feed-staging.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { route } from '../route.ts'
import { throttle } from '../throttle.ts'
import type { World } from '../world.ts'
import { expectCampaign } from './feeds.ts'

const FILES_PER_MINUTE = 6

export function feedUploadRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'POST /api/advertisers/:advertiser/campaigns/:campaign/feed-uploads', (call) => take(world, call))

  route(app, world, 'GET /api/advertisers/:advertiser/feed-uploads/:upload', async ({ db, advertiser, params }) => {
    const found = await findUpload(db, advertiser.id, params.upload)
    if (!found) throw notThere('upload')
    const { id, feed, campaign, file_name: fileName, created_at: createdAt, state, problem, report } = found
    const about = { id, feed, campaign, fileName, createdAt, problem, state: state as 'checked' }
    return { ...about, report: report === null ? null : viewOf(report as Report) }
  })

  route(app, world, 'POST /api/advertisers/:advertiser/feed-uploads/:upload/publish', async (call) => {
    const { db, actor, advertiser, params, body } = call
    await publishFeedFile(db, actor, { id: params.upload, advertiser, isRemovalConfirmed: body.confirmRemoval })
    return { done: true }
  })

  route(app, world, 'DELETE /api/advertisers/:advertiser/feed-uploads/:upload', async (call) => {
    const { db, actor, advertiser, params } = call
    await discardFeedFile(db, actor, { id: params.upload, advertiser })
    return { done: true }
  })
}

async function take(
  world: World,
  call: ConsoleRequest<'POST /api/advertisers/:advertiser/campaigns/:campaign/feed-uploads'>,
) {
  const { actor, advertiser, params, query, file: sent, inTenant } = call
  await inTenant((tx) => expectCampaign(tx, advertiser.id, params.campaign))
  await throttle(world.db, [{ subject: `feed-uploads/${advertiser.id}`, most: FILES_PER_MINUTE }])
  const file = await wholeOf(sent)
  const { feed, file: fileName, currency = null } = query
  return inTenant(async (tx) => {
    const campaign = await expectCampaign(tx, advertiser.id, params.campaign)
    return { id: await sendFeedFile(tx, actor, { advertiser, campaign, feed, currency, fileName, file }) }
  })
}

async function wholeOf(sent: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const piece of sent) {
      bytes += piece.length
      if (bytes > UPLOAD_BYTES_MAX) throw new ParleyError('body_too_large', { message: TOO_LARGE })
      pieces.push(piece)
    }
  } catch (error) {
    throw error instanceof ParleyError ? error : new ParleyError('invalid_request', { message: CUT_OFF })
  }
  if (bytes === 0) throw new ParleyError('invalid_request', { message: 'The file is empty.' })
  return Buffer.concat(pieces)
}

const TOO_LARGE = `The file has more than ${UPLOAD_BYTES_MAX / 1024 / 1024} MB, packed. Have it fetched from an address instead.`
const CUT_OFF = 'The file did not arrive whole. Send it again.'

/** As the worker has written it: import-uploads.ts. */
interface Report extends Pick<PublishResult, 'live' | 'pending' | 'rejections' | 'changes'> {
  format: FeedFormat
  counts: RunCounts
  refusal: string | null
}

function viewOf({ counts, format, ...report }: Report) {
  return { ...report, ...counts, format: FEED_FORMAT_WORDS[format] }
}
