import type { FastifyInstance } from 'fastify'
import { addFeed, changeFeed, removeFeed, runFeed, setPaused } from '../../actions/offers/feeds.ts'
import { notThere, wrongField } from '../../actions/refusals.ts'
import { isUuid } from '../../platform/uuid.ts'
import { FEED_FORMAT_WORDS, type FeedFormat } from '../../recommend/feeds/feed-format.ts'
import { feedUrlOf, type FeedInterval } from '../../rules/offers/feed-schedule.ts'
import type { Db } from '../../store/database.ts'
import { findAdvertiser } from '../../store/offers/advertisers.ts'
import { findCampaign } from '../../store/offers/campaigns.ts'
import { listFeedsOf, type FeedOfAdvertiser } from '../../store/offers/feed-pages.ts'
import { listFeedRuns, type Rejection } from '../../store/offers/feeds.ts'
import { route } from '../route.ts'
import { throttle } from '../throttle.ts'
import type { World } from '../world.ts'
import { checkFeedAddress } from './feed-address.ts'

/** Each has a worker, or us, ask a stranger's server. */
const ASKED_PER_MINUTE = 10

export function feedRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/advertisers/:advertiser/feeds', async ({ db, advertiser }) => {
    return { items: (await listFeedsOf(db, advertiser.id)).map(viewOf) }
  })

  route(app, world, 'POST /api/advertisers/:advertiser/campaigns/:campaign/feeds', async (call) => {
    const { db, actor, advertiser, params, body } = call
    const campaign = await expectCampaign(db, advertiser.id, params.campaign)
    return { id: await addFeed(db, actor, { advertiser, campaign, name: body.name, source: sourceOf(body) }) }
  })

  route(app, world, 'GET /api/advertisers/:advertiser/feeds/:feed', async ({ db, advertiser, params }) =>
    viewOf(await expectFeed(db, advertiser.id, params.feed)),
  )

  route(app, world, 'PUT /api/advertisers/:advertiser/feeds/:feed', async (call) => {
    const { db, actor, advertiser, params, body } = call
    const { id, name, campaignId } = await expectFeed(db, advertiser.id, params.feed)
    const campaign = await expectCampaign(db, advertiser.id, body.campaign ?? campaignId)
    await throttle(world.db, [asked(advertiser.id)])
    await changeFeed(db, actor, { id, name, advertiser, campaign, source: sourceOf(body) })
    return { done: true }
  })

  route(app, world, 'PUT /api/advertisers/:advertiser/feeds/:feed/paused', async (call) => {
    const { db, actor, advertiser, params, body } = call
    const { id, name } = await expectFeed(db, advertiser.id, params.feed)
    await setPaused(db, actor, { id, name, advertiser, isPaused: body.isPaused })
    return { done: true }
  })

  route(app, world, 'POST /api/advertisers/:advertiser/feeds/:feed/fetch', async (call) => {
    const { db, actor, advertiser, params, body } = call
    const { id, name } = await expectFeed(db, advertiser.id, params.feed)
    await throttle(world.db, [asked(advertiser.id)])
    await runFeed(db, actor, { id, name, advertiser, isRemovalConfirmed: body.confirmRemoval })
    return { done: true }
  })

  route(app, world, 'DELETE /api/advertisers/:advertiser/feeds/:feed', async ({ db, actor, advertiser, params }) => {
    const { id, name } = await expectFeed(db, advertiser.id, params.feed)
    await removeFeed(db, actor, { id, name, advertiser })
    return { done: true }
  })

  route(app, world, 'GET /api/advertisers/:advertiser/feeds/:feed/runs', async ({ db, advertiser, params, query }) => {
    if (query.after !== undefined && !isUuid(query.after))
      throw wrongField('after', 'Use the value of next of an earlier page.')
    const { id: feedId } = await expectFeed(db, advertiser.id, params.feed)
    const found = await listFeedRuns(db, { feedId, before: query.after, limit: query.limit + 1 })
    const shown = found.slice(0, query.limit)
    return { items: shown.map(runOf), next: found.length > query.limit ? (shown.at(-1)?.id ?? null) : null }
  })

  route(app, world, 'POST /api/advertisers/:advertiser/feed-address-checks', async (call) => {
    const { advertiser, body, inTenant } = call
    await throttle(world.db, [asked(advertiser.id)])
    const found = await inTenant((tx) => findAdvertiser(tx, { id: advertiser.id }))
    // Nobody has us ask whatever server they like who has shown none of their own.
    if (!found?.domain_verified_at) return { problem: VERIFY_FIRST, format: null }
    return checkFeedAddress(world.fetchFeed, urlOf(body.url))
  })
}

const VERIFY_FIRST = 'Verify your domain first, under Settings: nothing is fetched before. Files can be uploaded.'

function asked(advertiserId: string) {
  return { subject: `feeds-asked/${advertiserId}`, most: ASKED_PER_MINUTE }
}

/** The contract has looked at it. */
function urlOf(text: string): string {
  const found = feedUrlOf(text)
  if ('problem' in found) throw wrongField('url', found.problem)
  return found.url
}

function sourceOf({ url, every, currency }: { url: string; every: FeedInterval; currency: string | null }) {
  return { sourceUrl: urlOf(url), interval: every, currency }
}

export async function expectCampaign(db: Db, advertiserId: string, id: string) {
  const campaign = await findCampaign(db, { id })
  if (campaign?.advertiser_id !== advertiserId) throw notThere('campaign')
  return campaign
}

async function expectFeed(db: Db, advertiserId: string, id: string): Promise<FeedOfAdvertiser> {
  const [feed] = await listFeedsOf(db, advertiserId, id)
  if (!feed) throw notThere('feed')
  return feed
}

function viewOf(feed: FeedOfAdvertiser) {
  const { sourceUrl: url, interval: every, isPaused, nextFetchAt, lastFetchAt, lastFetch, lastError, failures } = feed
  const fetched = { isPaused, nextFetchAt, lastFetchAt, lastFetch, failures }
  return { ...feed, source: url === null || every === null ? null : { url, every, ...fetched, problem: lastError } }
}

type Run = Awaited<ReturnType<typeof listFeedRuns>>[number]

function runOf(run: Run) {
  const { id, format, state, reason, started_at: startedAt, finished_at: finishedAt, rejections } = run
  return {
    id,
    format: FEED_FORMAT_WORDS[format as FeedFormat] ?? format,
    state: state as 'running',
    reason,
    startedAt,
    finishedAt,
    rows: Number(run.rows_read),
    added: Number(run.added),
    changed: Number(run.changed),
    unchanged: Number(run.unchanged),
    rejected: Number(run.rejected),
    removed: Number(run.removed),
    missing: Number(run.missing),
    rejections: rejections as Rejection[],
  }
}
