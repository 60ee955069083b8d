import type { FastifyInstance } from 'fastify'
import { notThere, wrongFields } from '../../actions/refusals.ts'
import { isUuid } from '../../platform/uuid.ts'
import { completionIdOf } from '../../rules/billing/receipts.ts'
import { momentsOf, spanOf, type AskedSpan, type Span } from '../../rules/billing/usage-spans.ts'
import { ledgerReferenceOf, releaseTimeOf } from '../../rules/clicks/earnings.ts'
import { CLICK_VERDICTS, VERDICT_LABELS, type ClickVerdict } from '../../rules/clicks/verdict.ts'
import { endpointOf, type CallEndpointName } from '../../rules/endpoints.ts'
import { blocksOf, isCategoryBlocked } from '../../rules/recommendations/eligibility.ts'
import type { MonetizationSettings } from '../../rules/recommendations/matching.ts'
import { isRecommendationOutcome, outcomeWordsOf } from '../../rules/recommendations/outcome-labels.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { sumUsageBriefly } from '../../store/billing/usage.ts'
import { findEndpoints } from '../../store/calls/calls.ts'
import type { Db } from '../../store/database.ts'
import { findClick, listClicks, type ClickRow } from '../../store/recommendations/click-pages.ts'
import {
  findDueEarnings,
  findEarnings,
  listEarningCategories,
  listTopAdvertisers,
  sumClicksByVerdict,
  sumEarnedByDay,
  type ClicksOfVerdict,
  type Days,
  type Earned,
} from '../../store/recommendations/earnings.ts'
import { findMonetization } from '../../store/recommendations/monetization.ts'
import { sumOutcomes } from '../../store/recommendations/reports.ts'
import { namesIn } from '../recommendation-views.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

const TOP = 8

export function earningRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/earnings', ({ db, project, query }) =>
    earningsOf(db, project.id, daysOf(query)),
  )

  route(app, world, 'GET /api/projects/:project/clicks', async ({ db, project, query }) => {
    if (query.after !== undefined && !isUuid(query.after))
      throw wrongFields([{ path: 'after', message: 'Use the value of next of an earlier page.' }])
    const { verdict, state, advertiser: advertiserId, from, to } = query
    const filters = { verdict, state, advertiserId, from: momentOf(from), to: momentOf(to) }
    const rows = await listClicks(db, project.id, { filters, before: query.after, most: query.limit + 1 })
    const shown = rows.slice(0, query.limit)
    const endpoints = await findEndpoints(db, project.id, callsOf(shown))
    const next = rows.length > query.limit ? (shown.at(-1)?.id ?? null) : null
    return { items: shown.map((row) => clickOf(row, endpoints)), next }
  })

  route(app, world, 'GET /api/projects/:project/clicks/:click', async ({ db, project, params }) => {
    const row = await findClick(db, project.id, params.click)
    if (!row) throw notThere('click')
    const { id, share, recommendationId: recommendation, shownAt } = row
    const endpoints = await findEndpoints(db, project.id, callsOf([row]))
    const reference = ledgerReferenceOf({ id, shareNanos: share })
    return { ...clickOf(row, endpoints), recommendation, shownAt, reference }
  })
}

function daysOf(asked: AskedSpan): Span {
  const span = spanOf({ ...asked, every: 'day' }, new Date())
  if (typeof span === 'string') throw wrongFields([{ path: 'from', message: span }])
  return span
}

function momentOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text)
}

async function earningsOf(db: Db, projectId: string, span: Span) {
  const days: Days = { projectId, from: span.from, to: span.to }
  const { shareBps, pending, released, takenBack } = await findEarnings(db, projectId)
  const usage = await sumUsageBriefly(db, { projectIds: [projectId], ...span })
  const byVerdict = await sumClicksByVerdict(db, days)
  const byDay = await sumEarnedByDay(db, days)
  const all = totalOf(byDay)
  return {
    from: span.from,
    to: span.to,
    shareBps,
    pendingNanos: pending,
    releasedNanos: released,
    takenBackNanos: takenBack,
    eligible: await countEligible(db, days),
    shown: Number(all.shown),
    clicks: Number(byVerdict.reduce((sum, { clicks }) => sum + clicks, 0n)),
    paidClicks: Number(all.clicks),
    earnedNanos: all.earned,
    costNanos: usage.charged,
    verdicts: byVerdict.flatMap(verdictOf),
    points: pointsOf(span, byDay),
    ...(await topsOf(db, days)),
    // Last: the planner is told to go by indexes from there on.
    nextRelease: await nextReleaseOf(db, projectId),
  }
}

async function nextReleaseOf(db: Db, projectId: string) {
  const due = await findDueEarnings(db, projectId)
  return due === undefined ? null : { at: releaseTimeOf(due.firstClickAt), nanos: due.nanos }
}

/** Null where the span begins before what is kept. */
async function countEligible(db: Db, { projectId, from, to }: Days): Promise<number | null> {
  if (from.getTime() < Date.now() - KEPT_MS.recommendationOutcomes) return null
  const outcomes = await sumOutcomes(db, projectId, from, to)
  const eligible = outcomes.filter(({ outcome }) => {
    const kind = isRecommendationOutcome(outcome) ? outcomeWordsOf(outcome).kind : undefined
    return kind === 'recommended' || kind === 'nothing'
  })
  return Number(eligible.reduce((sum, { calls }) => sum + calls, 0n))
}

async function topsOf(db: Db, days: Days) {
  const settings = await findMonetization(db, days.projectId)
  const advertisers = await listTopAdvertisers(db, days, TOP)
  const categories = await listEarningCategories(db, days, TOP)
  return {
    advertisers: advertisers.map(({ id, name, ...sums }) => {
      const isBlocked = settings.blockedAdvertisers.includes(id)
      return Object.assign({ id, name: name ?? 'Removed', isBlocked }, earnedOf(sums))
    }),
    categories: categories.map(({ category, ...sums }) => {
      return Object.assign({ category, isBlocked: isBlockedIn(settings, category) }, earnedOf(sums))
    }),
  }
}

function isBlockedIn(settings: MonetizationSettings, category: string): boolean {
  return isCategoryBlocked(category, blocksOf({ ...settings, seenOffers: [] }))
}

function earnedOf({ shown, clicks, earned }: Earned) {
  return { shown: Number(shown), clicks: Number(clicks), earnedNanos: earned }
}

function totalOf(parts: readonly Earned[]): Earned {
  const sum = { shown: 0n, clicks: 0n, earned: 0n }
  for (const { shown, clicks, earned } of parts) {
    sum.shown += shown
    sum.clicks += clicks
    sum.earned += earned
  }
  return sum
}

/** Charts have no holes where nothing was shown. */
function pointsOf(span: Span, byDay: readonly (Earned & { at: Date })[]) {
  const found = new Map(byDay.map((day) => [day.at.getTime(), day]))
  return momentsOf(span).map((at) => Object.assign({ at }, earnedOf(found.get(at.getTime()) ?? totalOf([]))))
}

function verdictOf({ verdict, clicks, share, takenBack, takenBackNanos }: ClicksOfVerdict) {
  if (!isVerdict(verdict)) return []
  return [
    {
      verdict,
      ...VERDICT_LABELS[verdict],
      clicks: Number(clicks),
      earnedNanos: share,
      takenBack: Number(takenBack),
      takenBackNanos,
    },
  ]
}

/** A stored verdict may have been written by a newer version, whose words are not known here. */
function isVerdict(text: string): text is ClickVerdict {
  return (CLICK_VERDICTS as readonly string[]).includes(text)
}

function callsOf(rows: readonly ClickRow[]): string[] {
  return rows.map(({ callId }) => callId).filter((id) => id !== null)
}

function clickOf(row: ClickRow, endpoints: ReadonlyMap<string, CallEndpointName>) {
  const { id, at, verdict, state, price, share, advertiserId, callId } = row
  const names = namesIn(row)
  return {
    id,
    at,
    verdict,
    ...VERDICT_LABELS[verdict],
    advertiser: { id: advertiserId, name: names.advertiser },
    headline: names.headline,
    priceNanos: price,
    shareNanos: share,
    state,
    releasesAt: state === 'pending' || state === 'released' ? releaseTimeOf(at) : null,
    call: callId === null ? null : completionIdOf(callId, endpointOf(endpoints.get(callId))),
  }
}
