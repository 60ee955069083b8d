import type { FastifyInstance } from 'fastify'
import { dismissOnboarding } from '../../actions/projects/projects.ts'
import { DAY_MS, HOUR_MS } from '../../rules/durations.ts'
import { wordsOf } from '../../rules/calls/call-labels.ts'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { ParleyError } from '../../rules/errors.ts'
import { completionIdOf } from '../../rules/billing/receipts.ts'
import { endpointOf } from '../../rules/endpoints.ts'
import { FAILURES } from '../../rules/billing/usage-counts.ts'
import { momentsOf, spanBefore, type Span } from '../../rules/billing/usage-spans.ts'
import { listCalls, type Budget, type CallRow } from '../../store/calls/calls.ts'
import type { Db } from '../../store/database.ts'
import { findFirstSteps } from '../../store/projects/first-steps.ts'
import {
  findUsageProgress,
  listGroupNames,
  sumUsage,
  sumUsageByGroup,
  sumUsageByTime,
} from '../../store/billing/usage.ts'
import { findWallet } from '../../store/billing/wallets.ts'
import { route } from '../route.ts'
import { detailsOf, sumsOf } from '../billing/usage-replies.ts'
import type { World } from '../world.ts'

const MODELS_MAX = 5
const FAILURES_MAX = 5
/** The first page shows what failed lately; who looks for more has the calls log. */
const BUDGET: Budget = { rowsPerStatement: 2_000, ms: 40 }

export function homeRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/onboarding', async ({ db, publisher, project }) => {
    const steps = await findFirstSteps(db, project.id)
    return {
      isActivated: publisher.activatedAt !== null,
      isDomainVerified: steps.domainVerifiedAt !== null,
      hasKeyPair: steps.hasKeyPair,
      hasCredit: steps.hasCredit,
      call: await newestCall(db, project.id),
      isDismissed: steps.dismissedAt !== null,
    }
  })

  route(app, world, 'POST /api/projects/:project/onboarding/dismiss', async ({ db, actor, publisher, project }) => {
    const { domainVerifiedAt, hasKeyPair, hasCredit, dismissedAt } = await findFirstSteps(db, project.id)
    const isDone = publisher.activatedAt !== null && domainVerifiedAt !== null && hasKeyPair && hasCredit
    if (!isDone || (await newestCall(db, project.id)) === null)
      throw new ParleyError('conflict', { message: 'The first steps can be put away when all of them are done.' })
    if (dismissedAt === null) await dismissOnboarding(db, actor, { project })
    return { done: true }
  })

  route(app, world, 'GET /api/projects/:project/home', ({ db, project }) => homeOf(db, project.id, Date.now()))
}

async function homeOf(db: Db, projectId: string, nowMs: number) {
  const wallet = await findWallet(db, projectId)
  const today = await comparedIn(db, projectId, todayOf(nowMs), todayOf(nowMs - DAY_MS))
  const week = await comparedIn(db, projectId, daysUpTo(nowMs, 7))
  const month = await comparedIn(db, projectId, daysUpTo(nowMs, 30))
  const span = { projectIds: [projectId], ...daysUpTo(nowMs, 30) }
  const models = await sumUsageByGroup(db, span, 'model')
  const names = await listGroupNames(db, 'key', [projectId])
  const outcomes = CALL_OUTCOMES.filter((outcome) => FAILURES.has(outcome))
  return {
    balanceNanos: wallet?.balance_nanos ?? 0n,
    heldNanos: wallet?.held_nanos ?? 0n,
    spent: { today: spentOf(today), week: spentOf(week), month: spentOf(month) },
    week: {
      calls: week.now.calls,
      previousCalls: week.before.calls,
      failed: week.now.failed,
      previousFailed: week.before.failed,
      firstTokenMs: week.now.firstTokenMs,
      previousFirstTokenMs: week.before.firstTokenMs,
    },
    days: daysOf(span, await sumUsageByTime(db, span)),
    models: models
      .slice(0, MODELS_MAX)
      .map(({ group, calls, charged }) => ({ model: group, calls: Number(calls), chargedNanos: charged })),
    upTo: await findUsageProgress(db),
    // Last: it tells the planner to go by indexes for the rest of the transaction.
    failures: (await listCalls(db, { projectId, filters: { outcomes }, most: FAILURES_MAX, budget: BUDGET })).rows.map(
      (row) => callOf(row, names),
    ),
  }
}

type Details = ReturnType<typeof detailsOf>

async function comparedIn(db: Db, projectId: string, span: Span, before: Span = spanBefore(span)) {
  const projectIds = [projectId]
  return {
    now: detailsOf(await sumUsage(db, { projectIds, ...span })),
    before: detailsOf(await sumUsage(db, { projectIds, ...before })),
  }
}

function spentOf({ now, before }: { now: Details; before: Details }) {
  return { nanos: now.chargedNanos, previousNanos: before.chargedNanos }
}

/** From midnight in UTC to the end of this hour. */
function todayOf(nowMs: number): Span {
  const to = new Date(Math.floor(nowMs / HOUR_MS) * HOUR_MS + HOUR_MS)
  return { from: new Date(Math.floor(nowMs / DAY_MS) * DAY_MS), to, every: 'hour' }
}

function daysUpTo(nowMs: number, days: number): Span {
  const endMs = Math.floor(nowMs / DAY_MS) * DAY_MS + DAY_MS
  return { from: new Date(endMs - days * DAY_MS), to: new Date(endMs), every: 'day' }
}

const NO_DAY = { calls: 0, failed: 0, chargedNanos: 0n }

function daysOf(span: Span, rows: Awaited<ReturnType<typeof sumUsageByTime>>) {
  const found = new Map(rows.map((row) => [row.at.getTime(), sumsOf(row)]))
  return momentsOf(span).map((at) => {
    const { calls, failed, chargedNanos } = found.get(at.getTime()) ?? NO_DAY
    return { at, calls, failed, chargedNanos }
  })
}

async function newestCall(db: Db, projectId: string) {
  const names = await listGroupNames(db, 'key', [projectId])
  const { rows } = await listCalls(db, { projectId, filters: {}, most: 1 })
  const [row] = rows
  return row ? callOf(row, names) : null
}

function callOf(row: CallRow, names: Map<string, string>) {
  return {
    id: completionIdOf(row.id, endpointOf(row.endpoint)),
    requestId: row.request_id,
    beganAt: row.began_at,
    model: row.model_id,
    keyName: names.get(row.key_pair_id) ?? null,
    outcome: row.outcome,
    title: wordsOf(row.outcome).title,
    status: row.status,
    errorCode: row.error_code,
    inputTokens: row.input_tokens + row.cached_input_tokens + row.cache_write_tokens,
    outputTokens: row.output_tokens + row.reasoning_tokens,
    chargedNanos: row.charged_nanos,
    firstTokenMs: row.first_token_ms,
    durationMs: row.duration_ms,
  }
}
