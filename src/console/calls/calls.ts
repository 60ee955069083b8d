import type { FastifyInstance } from 'fastify'
import { Readable } from 'node:stream'
import { notThere, wrongFields } from '../../actions/refusals.ts'
import { isUuid } from '../../platform/uuid.ts'
import { DAY_MS, MINUTE_MS } from '../../rules/durations.ts'
import { phasesOf, wordsOf } from '../../rules/calls/call-labels.ts'
import { suggestionFor } from '../../rules/calls/ignored-fields.ts'
import { jsonOfMetadata } from '../../rules/calls/metadata.ts'
import { CALL_OUTCOMES, type CallOutcome } from '../../rules/billing/charging.ts'
import { breakdownOf } from '../../rules/billing/costs.ts'
import { csvOf } from '../../rules/csv.ts'
import { CALL_ENDPOINTS, endpointOf } from '../../rules/endpoints.ts'
import { ERRORS } from '../../rules/errors.ts'
import { formatAmount, parseCredits } from '../../rules/money.ts'
import type { RecommendationOutcome } from '../../rules/recommendations/matching.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { callIdOf, completionIdOf, recompute, savedOn, type Receipt } from '../../rules/billing/receipts.ts'
import { TOKEN_COLUMNS } from '../../rules/billing/token-columns.ts'
import { perClass } from '../../rules/billing/usage.ts'
import { FAILURES, STATUSES } from '../../rules/billing/usage-counts.ts'
import { findCallsById, findPriceDate, listCalls, type CallFilters, type CallRow } from '../../store/calls/calls.ts'
import { listIgnoredFields } from '../../store/calls/ignored-fields.ts'
import { findMetadata } from '../../store/calls/metadata.ts'
import type { Db } from '../../store/database.ts'
import { findReceipt } from '../../store/billing/receipts.ts'
import { listGroupNames, listUsedModels } from '../../store/billing/usage.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { carriedOf, findCarried } from '../recommendation-views.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

const CSV_ROWS_MAX = 100_000
const CSV_ROWS_PER_READ = 1_000
/** A filter that matches rarely is given up after this. */
const CSV_MS = MINUTE_MS
const IGNORED_FIELDS_SHOWN = 100
const FILTERS_SINCE_MS = 400 * DAY_MS

export function callRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/calls', async ({ db, project, query }) => {
    const names = await listGroupNames(db, 'key', [project.id])
    if (query.id) {
      const rows = await findCallsById(db, project.id, { callId: callIdOf(query.id), requestId: query.id })
      return { items: rows.map((row) => callOf(row, names)), next: null, searchedTo: null }
    }
    if (query.after !== undefined && !isUuid(query.after))
      throw wrongFields([{ path: 'after', message: 'This is not where a list goes on.' }])
    const search = { projectId: project.id, filters: filtersOf(query), before: query.after, most: query.limit }
    const { rows, next, searchedTo } = await listCalls(db, search)
    return { items: rows.map((row) => callOf(row, names)), next: next ?? null, searchedTo: searchedTo ?? null }
  })

  route(app, world, 'GET /api/projects/:project/calls/:call', async ({ db, project, params }) => {
    const callId = callIdOf(params.call)
    const receipt = callId === undefined ? undefined : await findReceipt(db, callId)
    if (!receipt || receipt.projectId !== project.id) throw notThere('call')
    const metadata = await findMetadata(db, project.id, [receipt.callId])
    const detail = await detailOf(db, receipt, await listGroupNames(db, 'key', [project.id]))
    const carried = await findCarried(db, project.id, [receipt.callId])
    return {
      ...detail,
      metadata: metadata.get(receipt.callId) ?? [],
      recommendation: carriedOf(carried.get(receipt.callId)),
    }
  })

  route(app, world, 'GET /api/projects/:project/calls.csv', (call) => Readable.from(csvRows(call)))

  route(app, world, 'GET /api/projects/:project/ignored-fields', async ({ db, project }) => {
    const fields = await listIgnoredFields(db, project.id, {
      keptMs: KEPT_MS.ignoredFields,
      most: IGNORED_FIELDS_SHOWN,
    })
    return {
      items: fields.map(({ name, times, lastAt }) => {
        return { name, times, lastAt, suggestion: suggestionFor(name) ?? null }
      }),
    }
  })

  route(app, world, 'GET /api/projects/:project/call-filters', async ({ db, project }) => {
    const names = await listGroupNames(db, 'key', [project.id])
    const keys = [...names].map(([id, name]) => ({ id, name }))
    return { models: await listUsedModels(db, project.id, new Date(Date.now() - FILTERS_SINCE_MS)), keys }
  })
}

interface FilterQuery {
  outcome?: CallOutcome | 'failed' | undefined
  model?: string | undefined
  key?: string | undefined
  conversation?: string | undefined
  metadata_key?: string | undefined
  metadata_value?: string | undefined
  min_cost?: string | undefined
  price?: string | undefined
  cached?: 'true' | 'false' | undefined
  streamed?: 'true' | 'false' | undefined
  status?: string | undefined
  error_code?: string | undefined
  recommendation?: RecommendationOutcome | undefined
  from?: string | undefined
  to?: string | undefined
}

function filtersOf(query: FilterQuery): CallFilters {
  const { outcome, model, key, conversation, min_cost, price, cached, streamed, status, from, to } = query
  const { metadata_key: metadataKey, metadata_value: value } = query
  return {
    outcomes: outcome === 'failed' ? CALL_OUTCOMES.filter((each) => FAILURES.has(each)) : outcome && [outcome],
    modelId: model,
    keyPairId: key,
    conversationId: conversation,
    metadata: metadataKey === undefined || value === undefined ? undefined : { key: metadataKey, value },
    minCharged: min_cost === undefined ? undefined : parseCredits(min_cost),
    priceVersion: price === undefined ? undefined : BigInt(price),
    cached: cached === undefined ? undefined : cached === 'true',
    streamed: streamed === undefined ? undefined : streamed === 'true',
    status: status === undefined ? undefined : status === 'other' ? { not: STATUSES } : Number(status),
    errorCode: query.error_code,
    recommendationOutcome: query.recommendation,
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
  }
}

function callOf(row: CallRow, names: Map<string, string>) {
  return {
    id: completionIdOf(row.id, endpointOf(row.endpoint)),
    endpoint: CALL_ENDPOINTS[endpointOf(row.endpoint)].path,
    requestId: row.request_id,
    beganAt: row.began_at,
    model: row.model_id,
    keyPairId: row.key_pair_id,
    keyName: names.get(row.key_pair_id) ?? null,
    conversationId: row.conversation_id,
    streamed: row.streamed,
    status: row.status,
    outcome: row.outcome,
    title: wordsOf(row.outcome, row.error_code).title,
    finishReason: row.finish_reason,
    errorCode: row.error_code,
    firstTokenMs: row.first_token_ms,
    durationMs: row.duration_ms,
    tries: row.tries,
    tokens: TOKEN_COLUMNS.valuesIn(row),
    chargedNanos: row.charged_nanos,
  }
}

/** Tries are shown only with their duration and kind of failure: who was asked is the operator's business. */
async function detailOf(db: Db, receipt: Receipt, names: Map<string, string>) {
  const { usage, price, outcome, errorCode } = receipt
  const { version: _version, ...prices } = price
  const tokens = perClass((name) => BigInt(usage[name]))
  const { classes, rounding } = breakdownOf([{ charged: receipt.charged, worth: receipt.worth, tokens, price: prices }])
  return {
    ...headOf(receipt, names),
    ...wordsOf(outcome, errorCode),
    errorMessage: errorCode !== null && errorCode in ERRORS ? ERRORS[errorCode as keyof typeof ERRORS].message : null,
    heldAt: receipt.heldAt,
    settledAt: receipt.settledAt,
    usageSource: receipt.usageSource,
    heldNanos: receipt.held,
    worthNanos: receipt.worth,
    priceVersion: price.version,
    priceEffectiveFrom: await findPriceDate(db, price.version),
    lines: perClass((name) => ({ tokens: usage[name], price: price[name], nanos: classes[name].nanos })),
    roundingNanos: rounding,
    savedNanos: savedOn(receipt),
    isRecomputed: recompute(receipt).matches,
    phases: phasesOf({ ...receipt, tries: receipt.attempts }),
    corrections: receipt.corrections.map(({ kind, amount, createdAt }) => ({ kind, amountNanos: amount, createdAt })),
  }
}

function headOf(receipt: Receipt, names: Map<string, string>) {
  return {
    id: completionIdOf(receipt.callId, receipt.endpoint),
    endpoint: CALL_ENDPOINTS[receipt.endpoint].path,
    requestId: receipt.requestId,
    beganAt: new Date(Number.parseInt(receipt.callId.replaceAll('-', '').slice(0, 12), 16)),
    model: receipt.modelId,
    keyPairId: receipt.keyPairId,
    keyName: names.get(receipt.keyPairId) ?? null,
    conversationId: receipt.conversationId,
    streamed: receipt.streamed,
    status: receipt.status,
    outcome: receipt.outcome,
    finishReason: receipt.finishReason,
    errorCode: receipt.errorCode,
    firstTokenMs: receipt.firstTokenMs,
    durationMs: receipt.durationMs,
    tries: receipt.attempts.length,
    tokens: receipt.usage,
    chargedNanos: receipt.charged,
  }
}

const CSV_HEADER = ['began at (UTC)', 'completion id', 'request id', 'model', 'key', 'conversation id', 'streamed']
  .concat(['status', 'outcome', 'finish reason', 'error code', 'first token (ms)', 'duration (ms)', 'tries'])
  .concat(['input tokens', 'cached input tokens', 'cache write tokens', 'output tokens', 'reasoning tokens'])
  .concat(['charged (USD)', 'endpoint', 'metadata'])

/** Many short transactions: a slow download holds none open. */
async function* csvRows({
  inTenant,
  project,
  query,
}: ConsoleRequest<'GET /api/projects/:project/calls.csv'>): AsyncGenerator<string> {
  const filters = filtersOf(query)
  const names = await inTenant((db) => listGroupNames(db, 'key', [project.id]))
  const deadlineMs = performance.now() + CSV_MS
  yield csvOf(CSV_HEADER, [])
  let before: string | undefined
  for (let sent = 0; sent < CSV_ROWS_MAX;) {
    const search = { projectId: project.id, filters, before, most: Math.min(CSV_ROWS_PER_READ, CSV_ROWS_MAX - sent) }
    const { rows, next, searchedTo, metadata } = await inTenant(async (db) => {
      const found = await listCalls(db, search)
      const ids = found.rows.map(({ id }) => id)
      return { ...found, metadata: await findMetadata(db, project.id, ids) }
    })
    const [first, ...others] = rows.map((row) => [...cellsOf(row, names), jsonOfMetadata(metadata.get(row.id) ?? [])])
    if (first) yield csvOf(first, others)
    sent += rows.length
    before = next
    if (next === undefined) return
    if (searchedTo !== undefined && performance.now() > deadlineMs) {
      yield csvOf([`Searched back to ${searchedTo.toISOString()}. For older calls, choose an earlier time range.`], [])
      return
    }
  }
}

function cellsOf(row: CallRow, names: Map<string, string>): string[] {
  return [
    row.began_at.toISOString(),
    completionIdOf(row.id, endpointOf(row.endpoint)),
    row.request_id,
    row.model_id,
    names.get(row.key_pair_id) ?? row.key_pair_id,
    row.conversation_id ?? '',
    String(row.streamed),
    String(row.status),
    row.outcome,
    row.finish_reason ?? '',
    row.error_code ?? '',
    String(row.first_token_ms ?? ''),
    String(row.duration_ms),
    String(row.tries),
    ...TOKEN_COLUMNS.names.map((name) => String(row[name])),
    formatAmount(row.charged_nanos),
    CALL_ENDPOINTS[endpointOf(row.endpoint)].path,
  ]
}
