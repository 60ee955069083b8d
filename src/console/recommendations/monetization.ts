import type { FastifyInstance } from 'fastify'
import {
  changeMonetization,
  changeMonetizationMode,
  setAdvertiserBlocked,
} from '../../actions/recommendations/monetization.ts'
import { changeAdLibrary } from '../../actions/recommendations/ad-library.ts'
import { wrongFields } from '../../actions/refusals.ts'
import { isUuid } from '../../platform/uuid.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { obstacleToOn, standingOf } from '../../rules/recommendations/monetization.ts'
import {
  isRecommendationOutcome,
  outcomeWordsOf,
  type OutcomeWords,
} from '../../rules/recommendations/outcome-labels.ts'
import { REPORT_REASONS, REPORTS_TO_STOP, reportReasonOf } from '../../rules/recommendations/report-reasons.ts'
import { completionIdOf } from '../../rules/billing/receipts.ts'
import { endpointOf, type CallEndpointName } from '../../rules/endpoints.ts'
import { findEndpoints } from '../../store/calls/calls.ts'
import { LABELS } from '../../rules/recommendations/block.ts'
import type { Db } from '../../store/database.ts'
import { isLibraryPublic } from '../../store/recommendations/ad-library.ts'
import { isSandbox } from '../../store/projects/sandboxes.ts'
import {
  findMatchersNow,
  findMonetization,
  listAdvertisers,
  searchAdvertisers,
} from '../../store/recommendations/monetization.ts'
import { listReportedOffers, type ReportedOffer } from '../../store/recommendations/reader-reports.ts'
import {
  listRecommendations,
  listTopCategories,
  sumOutcomes,
  type RecommendationRow,
} from '../../store/recommendations/reports.ts'
import { previewOf } from './preview.ts'
import { namesIn } from '../recommendation-views.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

const RANGE_HOURS = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }
const FOUND_MAX = 20
const CATEGORIES_MAX = 100
const REPORTED_MAX = 50

export function monetizationRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/monetization', ({ db, project }) => describe(world, db, project.id))
  route(app, world, 'PUT /api/projects/:project/monetization/mode', async ({ db, actor, project, body }) => {
    await changeMonetizationMode(db, actor, { project, mode: body.mode, safetyProof: world.safetyProof })
    return { mode: body.mode }
  })
  route(app, world, 'PATCH /api/projects/:project/monetization', async ({ db, actor, project, body }) => {
    return { mode: await changeMonetization(db, actor, { project, settings: body }) }
  })
  route(app, world, 'PUT /api/projects/:project/monetization/blocked-advertisers', async (call) => {
    const { db, actor, project, body } = call
    await setAdvertiserBlocked(db, actor, { project, advertiserId: body.advertiser, isBlocked: body.isBlocked })
    return { done: true }
  })

  route(app, world, 'PUT /api/projects/:project/monetization/library', async ({ db, actor, project, body }) => {
    await changeAdLibrary(db, actor, { project, isPublic: body.isPublic })
    return { done: true }
  })

  route(app, world, 'GET /api/projects/:project/monetization/preview', (call) => previewOf(world, call))

  route(app, world, 'GET /api/projects/:project/monetization/outcomes', ({ db, project, query }) =>
    outcomesOf(db, project.id, RANGE_HOURS[query.range]),
  )

  route(app, world, 'GET /api/projects/:project/monetization/reports', async ({ db, project }) => ({
    reportsToStop: REPORTS_TO_STOP,
    items: (await listReportedOffers(db, project.id, REPORTED_MAX)).map(reportedOf),
  }))

  route(app, world, 'GET /api/projects/:project/recommendations', async ({ db, project, query }) => {
    if (query.after !== undefined && !isUuid(query.after))
      throw wrongFields([{ path: 'after', message: 'Use the value of next of an earlier page.' }])
    const { blockedAdvertisers } = await findMonetization(db, project.id)
    const rows = await listRecommendations(db, project.id, { before: query.after, most: query.limit + 1 })
    const shown = rows.slice(0, query.limit)
    const blocked = new Set(blockedAdvertisers)
    const next = rows.length > query.limit ? (shown.at(-1)?.id ?? null) : null
    const endpoints = await findEndpoints(
      db,
      project.id,
      shown.map(({ callId }) => callId),
    )
    return { items: shown.map((row) => recommendationOf(row, blocked, endpoints)), next }
  })

  route(app, world, 'GET /api/projects/:project/monetization/catalogue', async ({ db, query }) => ({
    advertisers: await searchAdvertisers(db, query.name, FOUND_MAX),
  }))
  // A tenant may see only the part of the catalogue that its readers were shown; its categories are no secret.
  route(app, world, 'GET /api/projects/:project/monetization/categories', async () => ({
    items: await listTopCategories(world.db, CATEGORIES_MAX),
  }))
}

function reportedOf(row: ReportedOffer) {
  const { headline, advertiser } = namesIn(row)
  const reason = reportReasonOf(row.reason)
  return {
    offer: row.offerId,
    headline,
    advertiser,
    reports: row.reports,
    at: row.lastAt,
    isStopped: row.isStopped,
    reason: reason === null ? null : REPORT_REASONS[reason],
  }
}

async function describe(world: World, db: Db, projectId: string) {
  const settings = await findMonetization(db, projectId)
  return {
    ...settings,
    blockedCategories: [...settings.blockedCategories],
    blockedDomains: [...settings.blockedDomains],
    excludedTopics: [...settings.excludedTopics],
    blockedAdvertisers: await listAdvertisers(db, settings.blockedAdvertisers),
    labels: [...LABELS],
    matcher: standingOf(await findMatchersNow(db)),
    obstacle: obstacleToOn({ ...settings, isSandbox: await isSandbox(db, projectId) }, world.safetyProof()) ?? null,
    library: {
      isPublic: await isLibraryPublic(db, projectId),
      address: `${world.installation.consoleUrl}/ads/${projectId}`,
    },
  }
}

const NEWER: OutcomeWords = {
  kind: 'nothing',
  title: 'Another reason',
  explanation: 'Counted by a newer version than the one that shows this page.',
  advice: null,
}

async function outcomesOf(db: Db, projectId: string, hours: number) {
  const from = new Date((Math.floor(Date.now() / HOUR_MS) + 1 - hours) * HOUR_MS)
  const sums = await sumOutcomes(db, projectId, from)
  const outcomes = sums.map(({ outcome: text, calls }) => {
    const outcome = isRecommendationOutcome(text) ? text : null
    const { kind, title, explanation, advice } = outcome === null ? NEWER : outcomeWordsOf(outcome)
    return { outcome, kind, title, explanation, advice, calls: Number(calls) }
  })
  const sumOf = (counted: typeof outcomes) => counted.reduce((sum, { calls }) => sum + calls, 0)
  const recommended = sumOf(outcomes.filter(({ kind }) => kind === 'recommended'))
  return { from, calls: sumOf(outcomes), recommended, outcomes }
}

function recommendationOf(
  row: RecommendationRow,
  blocked: ReadonlySet<string>,
  endpoints: ReadonlyMap<string, CallEndpointName>,
) {
  const { id, callId, advertiserId, turn, relevance, priceNanos, label, state, createdAt } = row
  const names = namesIn(row)
  return {
    id,
    at: createdAt,
    advertiser: { id: advertiserId, name: names.advertiser, isBlocked: blocked.has(advertiserId) },
    headline: names.headline,
    label,
    turn,
    relevance,
    priceNanos,
    state,
    call: completionIdOf(callId, endpointOf(endpoints.get(callId))),
  }
}
