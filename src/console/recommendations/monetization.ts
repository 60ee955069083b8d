import type { FastifyInstance } from 'fastify'
import { ParleyError } from '../../rules/errors.ts'
import type { MonetizationSettings } from '../../rules/recommendations/matching.ts'
import { BLOCKED_ADVERTISERS_MAX, obstacleToOn, standingOf } from '../../rules/recommendations/monetization.ts'
import { formatCredits } from '../../rules/money.ts'
import { isOutcome, outcomeWordsOf, type OutcomeWords } from '../../rules/recommendations/outcome-labels.ts'
import { completionIdOf } from '../../rules/billing/receipts.ts'
import { LABELS } from '../../rules/recommendations/block.ts'
import type { Db } from '../../store/database.ts'
import {
  findMatchersNow,
  findMonetization,
  listAdvertisers,
  lockMonetization,
  searchAdvertisers,
  updateMonetization,
} from '../../store/recommendations/monetization.ts'
import {
  listRecommendations,
  listTopCategories,
  sumOutcomes,
  type RecommendationRow,
} from '../../store/recommendations/reports.ts'
import { audited } from '../audited.ts'
import type { Call } from '../console-request.ts'
import { previewOf } from './preview.ts'
import { notThere, route, wrongFields } from '../route.ts'
import type { World } from '../world.ts'

const HOUR_MS = 3_600_000
const RANGE_HOURS = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }
const FOUND_MAX = 20
const CATEGORIES_MAX = 100
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export function monetizationRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/monetization', ({ db, project }) => describe(world, db, project.id))
  route(app, world, 'PUT /api/projects/:project/monetization/mode', (call) => changeMode(world, call))
  route(app, world, 'PATCH /api/projects/:project/monetization', changeSettings)
  route(app, world, 'PUT /api/projects/:project/monetization/blocked-advertisers', blockAdvertiser)

  route(app, world, 'GET /api/projects/:project/monetization/preview', (call) => previewOf(world, call))

  route(app, world, 'GET /api/projects/:project/monetization/outcomes', ({ db, project, query }) =>
    outcomesOf(db, project.id, RANGE_HOURS[query.range]),
  )

  route(app, world, 'GET /api/projects/:project/recommendations', async ({ db, project, query }) => {
    if (query.after !== undefined && !UUID.test(query.after))
      throw wrongFields([{ path: 'after', message: 'Use the value of next of an earlier page.' }])
    const { blockedAdvertisers } = await findMonetization(db, project.id)
    const rows = await listRecommendations(db, project.id, { before: query.after, most: query.limit + 1 })
    const shown = rows.slice(0, query.limit)
    const blocked = new Set(blockedAdvertisers)
    const next = rows.length > query.limit ? (shown.at(-1)?.id ?? null) : null
    return { items: shown.map((row) => recommendationOf(row, blocked)), next }
  })

  route(app, world, 'GET /api/projects/:project/monetization/catalogue', async ({ db, query }) => ({
    advertisers: await searchAdvertisers(db, query.name, FOUND_MAX),
  }))
  // Of the catalogue a tenant may see only what its readers were shown; its categories are no secret.
  route(app, world, 'GET /api/projects/:project/monetization/categories', async () => ({
    items: await listTopCategories(world.db, CATEGORIES_MAX),
  }))
}

async function blockAdvertiser(call: Call<'PUT /api/projects/:project/monetization/blocked-advertisers'>) {
  const { db, project, body } = call
  const [advertiser] = await listAdvertisers(db, [body.advertiser])
  if (!advertiser) throw notThere('advertiser')
  const { blockedAdvertisers: before } = await lockMonetization(db, project.id)
  const others = before.filter((id) => id !== advertiser.id)
  const blockedAdvertisers = body.isBlocked ? [...others, advertiser.id] : others
  if (blockedAdvertisers.length === before.length) return { done: true as const }
  if (blockedAdvertisers.length > BLOCKED_ADVERTISERS_MAX)
    throw new ParleyError('conflict', {
      message: `At most ${BLOCKED_ADVERTISERS_MAX} advertisers can be blocked. Unblock one first, or block a category.`,
    })
  await updateMonetization(db, project.id, { blockedAdvertisers })
  const action = body.isBlocked ? 'monetization.advertiser_blocked' : 'monetization.advertiser_unblocked'
  await audited(call, action, { subject: advertiser.name })
  return { done: true as const }
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
    obstacle: obstacleToOn(settings, world.safetyProof()) ?? null,
  }
}

/** Off and test are always possible: only what readers would see has conditions. */
async function changeMode(world: World, call: Call<'PUT /api/projects/:project/monetization/mode'>) {
  const { db, project, body } = call
  const settings = await lockMonetization(db, project.id)
  if (settings.mode === body.mode) return { mode: body.mode }
  const obstacle = body.mode === 'on' ? obstacleToOn(settings, world.safetyProof()) : undefined
  if (obstacle !== undefined) throw new ParleyError('conflict', { message: obstacle })
  await updateMonetization(db, project.id, { mode: body.mode })
  const details = { before: settings.mode, after: body.mode }
  await audited(call, 'monetization.mode_changed', { subject: project.name, details })
  return { mode: body.mode }
}

/** Nobody switches it on for children by changing one word afterwards: another audience switches it off. */
async function changeSettings(call: Call<'PATCH /api/projects/:project/monetization'>) {
  const { db, project } = call
  const before = await lockMonetization(db, project.id)
  const isEnded = before.mode === 'on' && (call.body.audience ?? 'general') !== 'general'
  const wanted: Partial<MonetizationSettings> = { ...call.body, ...(isEnded && { mode: 'off' }) }
  const changes = changesOf(before, wanted)
  if (Object.keys(changes).length === 0) return { mode: before.mode }
  await updateMonetization(db, project.id, changes)
  const details = Object.fromEntries(
    Object.entries(changes).map(([name, after]) => [name, difference(before[name as keyof typeof before], after)]),
  )
  await audited(call, 'monetization.changed', { subject: project.name, details })
  return { mode: changes.mode ?? before.mode }
}

function changesOf(before: MonetizationSettings, wanted: Partial<MonetizationSettings>): Partial<MonetizationSettings> {
  const isOther = ([name, value]: [string, unknown]) =>
    value !== undefined && plain(value) !== plain(before[name as keyof MonetizationSettings])
  return Object.fromEntries(Object.entries(wanted).filter(isOther))
}

const AUDITED_MAX = 20

/** For the log: of a list only what came and went. */
function difference(before: unknown, after: unknown): unknown {
  if (!Array.isArray(before) || !Array.isArray(after)) return `${plain(before)} → ${plain(after)}`
  const added = after.filter((each) => !before.includes(each))
  const removed = before.filter((each) => !after.includes(each))
  return { added: added.slice(0, AUDITED_MAX), removed: removed.slice(0, AUDITED_MAX) }
}

function plain(value: unknown): string {
  if (typeof value === 'bigint') return formatCredits(value)
  return Array.isArray(value) ? JSON.stringify(value) : String(value)
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
    const outcome = isOutcome(text) ? text : null
    const { kind, title, explanation, advice } = outcome === null ? NEWER : outcomeWordsOf(outcome)
    return { outcome, kind, title, explanation, advice, calls: Number(calls) }
  })
  const sumOf = (counted: typeof outcomes) => counted.reduce((sum, { calls }) => sum + calls, 0)
  const recommended = sumOf(outcomes.filter(({ kind }) => kind === 'recommended'))
  return { from, calls: sumOf(outcomes), recommended, outcomes }
}

function recommendationOf(row: RecommendationRow, blocked: ReadonlySet<string>) {
  const { id, callId, advertiserId, turn, relevance, priceNanos, label, state, createdAt } = row
  return {
    id,
    at: createdAt,
    advertiser: { id: advertiserId, name: row.advertiser ?? 'Removed', isBlocked: blocked.has(advertiserId) },
    headline: row.headline ?? 'Removed',
    label,
    turn,
    relevance,
    priceNanos,
    state,
    call: completionIdOf(callId),
  }
}
