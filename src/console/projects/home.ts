import type { FastifyInstance } from 'fastify'
import { dismissOnboarding } from '../../actions/projects/projects.ts'
import { DAY_MS, HOUR_MS } from '../../rules/durations.ts'
import { groupFailures, wordsOf } from '../../rules/calls/call-labels.ts'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { ParleyError } from '../../rules/errors.ts'
import { completionIdOf } from '../../rules/billing/receipts.ts'
import { endpointOf } from '../../rules/endpoints.ts'
import { FAILURES } from '../../rules/billing/usage-counts.ts'
import { momentsOf, spanBefore, type Span } from '../../rules/billing/usage-spans.ts'
import { listCalls, type Budget, type CallFilters, type CallRow } from '../../store/calls/calls.ts'
import type { Db } from '../../store/database.ts'
import { findFirstSteps, type FirstSteps } from '../../store/projects/first-steps.ts'
import { hasOwnProject } from '../../store/projects/sandboxes.ts'
import {
  findUsageProgress,
  listGroupNames,
  sumUsage,
  sumUsageBothWays,
  sumUsageBriefly,
  type UsageBothWays,
} from '../../store/billing/usage.ts'
import { findWallet } from '../../store/billing/wallets.ts'
import { route } from '../route.ts'
import { detailsOf, sumsOf } from '../billing/usage-replies.ts'
import type { World } from '../world.ts'

const MODELS_MAX = 5
/** So many of the newest failures are told, and so many kinds of them. */
const FAILURES_MAX = 100
const FAILURE_GROUPS_MAX = 5
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
      ...(await firstCallOf(db, project.id)),
      isDismissed: steps.dismissedAt !== null,
      isSandbox: steps.isSandbox,
      hasOwnProject: await isLive(world, publisher.id, steps),
    }
  })

  route(app, world, 'POST /api/projects/:project/onboarding/dismiss', async ({ db, actor, publisher, project }) => {
    const steps = await findFirstSteps(db, project.id)
    const { domainVerifiedAt, hasKeyPair, hasCredit, dismissedAt, isSandbox } = steps
    const isPaidFor = isSandbox || hasCredit
    const isUsable = publisher.activatedAt !== null && domainVerifiedAt !== null && hasKeyPair && isPaidFor
    const isDone = isUsable && (await isLive(world, publisher.id, steps))
    if (!isDone || !(await firstCallOf(db, project.id)).isAnswered)
      throw new ParleyError('conflict', { message: 'The first steps can be dismissed once all of them are done.' })
    if (dismissedAt === null) await dismissOnboarding(db, actor, { project })
    return { done: true }
  })

  route(app, world, 'GET /api/projects/:project/home', ({ db, project }) => homeOf(db, project.id, Date.now()))
}

/** A transaction of one project sees no other, so the console's own looks for it. */
async function isLive({ db }: World, publisherId: string, { isSandbox }: FirstSteps): Promise<boolean> {
  return !isSandbox || hasOwnProject(db, publisherId)
}

async function homeOf(db: Db, projectId: string, nowMs: number) {
  const wallet = await findWallet(db, projectId)
  const projectIds = [projectId]
  const week = daysUpTo(nowMs, 7)
  const month = daysUpTo(nowMs, 30)
  const thisWeek = detailsOf(await sumUsage(db, { projectIds, ...week }))
  const weekBefore = detailsOf(await sumUsage(db, { projectIds, ...spanBefore(week) }))
  const spent = {
    today: await spentIn(db, projectIds, todayOf(nowMs), todayOf(nowMs - DAY_MS)),
    week: { nanos: thisWeek.chargedNanos, previousNanos: weekBefore.chargedNanos },
    month: await spentIn(db, projectIds, month, spanBefore(month)),
  }
  const span = { projectIds, ...month }
  const { groups: models, times } = await sumUsageBothWays(db, span, 'model')
  return {
    balanceNanos: wallet?.balance_nanos ?? 0n,
    heldNanos: wallet?.held_nanos ?? 0n,
    spent,
    week: {
      calls: thisWeek.calls,
      previousCalls: weekBefore.calls,
      failed: thisWeek.failed,
      previousFailed: weekBefore.failed,
      firstTokenMs: thisWeek.firstTokenMs,
      previousFirstTokenMs: weekBefore.firstTokenMs,
    },
    days: daysOf(span, times),
    models: models
      .slice(0, MODELS_MAX)
      .map(({ group, calls, charged }) => ({ model: group, calls: Number(calls), chargedNanos: charged })),
    upTo: await findUsageProgress(db),
    // Last: it tells the planner to go by indexes for the rest of the transaction.
    failures: await failuresOf(db, projectId),
    failuresMax: FAILURES_MAX,
  }
}

const FAILED = CALL_OUTCOMES.filter((outcome) => FAILURES.has(outcome))
const ANSWERED = CALL_OUTCOMES.filter((outcome) => !FAILURES.has(outcome))

async function failuresOf(db: Db, projectId: string) {
  const search = { projectId, filters: { outcomes: FAILED }, most: FAILURES_MAX, budget: BUDGET }
  const { rows } = await listCalls(db, search)
  const failed = rows.map((row) => {
    const words = wordsOf(row.outcome, row.error_code)
    return { row, title: words.title, words, errorCode: row.error_code, beganAt: row.began_at, model: row.model_id }
  })
  return groupFailures(failed)
    .slice(0, FAILURE_GROUPS_MAX)
    .map(({ calls, firstAt, lastAt, models, newest: { row, words } }) => ({
      id: completionIdOf(row.id, endpointOf(row.endpoint)),
      requestId: row.request_id,
      outcome: row.outcome,
      errorCode: row.error_code,
      status: row.status,
      title: words.title,
      explanation: words.explanation,
      calls,
      firstAt,
      lastAt,
      models,
    }))
}

async function spentIn(db: Db, projectIds: string[], span: Span, before: Span) {
  const now = await sumUsageBriefly(db, { projectIds, ...span })
  const previous = await sumUsageBriefly(db, { projectIds, ...before })
  return { nanos: now.charged, previousNanos: previous.charged }
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

function daysOf(span: Span, rows: UsageBothWays['times']) {
  const found = new Map(rows.map((row) => [row.at.getTime(), sumsOf(row)]))
  return momentsOf(span).map((at) => {
    const { calls, failed, chargedNanos } = found.get(at.getTime()) ?? NO_DAY
    return { at, calls, failed, chargedNanos }
  })
}

/** The newest call that was answered; of a project that has none yet, the newest. */
async function firstCallOf(db: Db, projectId: string) {
  const newest = await newestCall(db, projectId, {})
  const isFailure = newest !== undefined && FAILURES.has(newest.outcome)
  const answered = isFailure ? await newestCall(db, projectId, { outcomes: ANSWERED }) : newest
  const row = answered ?? newest
  const names = row ? await listGroupNames(db, 'key', [projectId]) : new Map<string, string>()
  return { call: row ? callOf(row, names) : null, isAnswered: answered !== undefined }
}

async function newestCall(db: Db, projectId: string, filters: CallFilters): Promise<CallRow | undefined> {
  const { rows } = await listCalls(db, { projectId, filters, most: 1, budget: BUDGET })
  return rows[0]
}

function callOf(row: CallRow, names: Map<string, string>) {
  return {
    id: completionIdOf(row.id, endpointOf(row.endpoint)),
    requestId: row.request_id,
    beganAt: row.began_at,
    model: row.model_id,
    keyName: names.get(row.key_pair_id) ?? null,
    outcome: row.outcome,
    title: wordsOf(row.outcome, row.error_code).title,
    status: row.status,
    errorCode: row.error_code,
    inputTokens: row.input_tokens + row.cached_input_tokens + row.cache_write_tokens,
    outputTokens: row.output_tokens + row.reasoning_tokens,
    chargedNanos: row.charged_nanos,
    firstTokenMs: row.first_token_ms,
    durationMs: row.duration_ms,
  }
}
