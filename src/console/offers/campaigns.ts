import type { FastifyInstance } from 'fastify'
import { changeCampaign, createCampaign } from '../../actions/offers/campaigns.ts'
import { notThere } from '../../actions/refusals.ts'
import { cleanCopy } from '../../rules/offers/copy.ts'
import { explainCampaign, shownLimit, standingOf } from '../../rules/offers/campaign-standing.ts'
import type { Pacing } from '../../rules/recommendations/pacing.ts'
import type { Db } from '../../store/database.ts'
import { readLimits, type Limited } from '../../store/offers/campaign-limits.ts'
import { findCampaign, listCampaigns, type CampaignSettings } from '../../store/offers/campaigns.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { route } from '../route.ts'
import { throttle } from '../throttle.ts'
import type { World } from '../world.ts'

export function campaignRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/advertisers/:advertiser/campaigns', async ({ db, advertiser }) => {
    return { items: await viewsOf(db, await listCampaigns(db, advertiser.id)) }
  })

  route(app, world, 'POST /api/advertisers/:advertiser/campaigns', (call) => create(call))

  route(app, world, 'GET /api/advertisers/:advertiser/campaigns/:campaign', async ({ db, advertiser, params }) => {
    await expectCampaign(db, advertiser.id, params.campaign)
    return viewOf(db, advertiser.id, params.campaign)
  })

  route(app, world, 'PATCH /api/advertisers/:advertiser/campaigns/:campaign', async (call) => {
    const { db, actor, advertiser, params, body } = call
    const campaign = await expectCampaign(db, advertiser.id, params.campaign)
    const settings = settingsOf(body)
    if (Object.keys(settings).length > 0) await changeCampaign(db, actor, { campaign, settings })
    return viewOf(db, advertiser.id, campaign.id)
  })

  route(app, world, 'POST /api/advertisers/:advertiser/hint-preview', (call) => previewHints(world, call))

  route(app, world, 'PUT /api/advertisers/:advertiser/campaigns/:campaign/status', async (call) => {
    const { db, actor, advertiser, params, body } = call
    const campaign = await expectCampaign(db, advertiser.id, params.campaign)
    await changeCampaign(db, actor, { campaign, settings: { status: body.status } })
    return { done: true }
  })
}

async function create({ db, actor, advertiser, body }: ConsoleRequest<'POST /api/advertisers/:advertiser/campaigns'>) {
  const { name, bidNanos } = body
  const { id: advertiserId } = advertiser
  const campaign = { name, ...settingsOf(body), bid_nanos: bidNanos }
  return viewOf(db, advertiserId, await createCampaign(db, actor, { advertiser, campaign }))
}

/** One asks again whenever they pause; the matcher has better things to do than this. */
const PREVIEWS_PER_MINUTE = 40
const PREVIEW_MS = 3_000

async function previewHints(world: World, call: ConsoleRequest<'POST /api/advertisers/:advertiser/hint-preview'>) {
  const { advertiser, body } = call
  await throttle(world.db, [{ subject: `hint-previews/${advertiser.id}`, most: PREVIEWS_PER_MINUTE }])
  const signal = AbortSignal.timeout(PREVIEW_MS)
  const preview = await world.matcher.previewHints({ ...body, deadlineMs: PREVIEW_MS }, signal)
  return { samples: preview?.samples ?? null, nearEnough: preview?.nearEnough ?? null }
}

async function expectCampaign(db: Db, advertiserId: string, id: string) {
  const campaign = await findCampaign(db, { id })
  if (campaign?.advertiser_id !== advertiserId) throw notThere('campaign')
  return campaign
}

interface SentSettings {
  bidNanos?: bigint | undefined
  dailyBudgetNanos?: bigint | null | undefined
  totalBudgetNanos?: bigint | null | undefined
  pacing?: Pacing | undefined
  startsAt?: string | null | undefined
  endsAt?: string | null | undefined
  hints?: string[] | undefined
  negativeHints?: string[] | undefined
}

function settingsOf(sent: SentSettings): CampaignSettings {
  const { bidNanos, dailyBudgetNanos, totalBudgetNanos, pacing, startsAt, endsAt, hints, negativeHints } = sent
  return {
    ...(bidNanos !== undefined && { bid_nanos: bidNanos }),
    ...(dailyBudgetNanos !== undefined && { daily_budget_nanos: dailyBudgetNanos }),
    ...(totalBudgetNanos !== undefined && { total_budget_nanos: totalBudgetNanos }),
    ...(pacing !== undefined && { pacing }),
    ...(startsAt !== undefined && { starts_at: timeOf(startsAt) }),
    ...(endsAt !== undefined && { ends_at: timeOf(endsAt) }),
    ...(hints !== undefined && { context_hints: hints.map(cleanCopy) }),
    ...(negativeHints !== undefined && { negative_hints: negativeHints.map(cleanCopy) }),
  }
}

function timeOf(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}

type Listed = Awaited<ReturnType<typeof listCampaigns>>[number]

async function viewOf(db: Db, advertiserId: string, id: string) {
  const [view] = await viewsOf(db, await listCampaigns(db, advertiserId, id))
  if (!view) throw notThere('campaign')
  return view
}

async function viewsOf(db: Db, campaigns: readonly Listed[]) {
  const ids = campaigns.map(({ id }) => id)
  const nowMs = Date.now()
  const limits = await readLimits(db, ids, nowMs)
  return campaigns.map((campaign) => describe(campaign, limits.get(campaign.id), nowMs))
}

function describe(campaign: Listed, { funds, limit }: Partial<Limited> = {}, nowMs: number) {
  const { id, name, starts_at: startsAt, ends_at: endsAt } = campaign
  const standing = standingOf({ status: campaign.status, startsAt, endsAt }, limit, nowMs)
  return {
    id,
    name,
    status: campaign.status as 'active' | 'paused',
    createdAt: campaign.created_at,
    bidNanos: campaign.bid_nanos,
    dailyBudgetNanos: campaign.daily_budget_nanos,
    totalBudgetNanos: campaign.total_budget_nanos,
    pacing: campaign.pacing as Pacing,
    startsAt,
    endsAt,
    hints: campaign.context_hints,
    negativeHints: campaign.negative_hints,
    offers: Number(campaign.offers ?? 0n),
    spentNanos: funds?.spentNanos ?? 0n,
    spentTodayNanos: funds?.spentTodayNanos ?? 0n,
    limitedBy: shownLimit(standing, limit) ?? null,
    standing,
    explanation: explainCampaign(standing, limit),
  }
}
