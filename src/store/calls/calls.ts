import { sql, type RawBuilder } from 'kysely'
import type { CallOutcome } from '../../rules/billing/charging.ts'
import type { MetadataPair } from '../../rules/calls/metadata.ts'
import type { RecommendationOutcome } from '../../rules/recommendations/matching.ts'
import { FIRST_UUID, isUuidv7, LAST_UUID, timeOfUuid } from '../../platform/uuid.ts'
import { TOKEN_COLUMNS } from '../../rules/billing/token-columns.ts'
import { DAY_MS } from '../../rules/durations.ts'
import { endpointOf, type CallEndpointName } from '../../rules/endpoints.ts'
import type { Db } from '../database.ts'
import { goByIndexes } from '../planner.ts'
import { conditionsOfValue } from './metadata.ts'

/**
 * The calls log of one project, newest first. Calls and charges are partitioned by day, and a busy project has millions:
 * so a page is looked for in windows of time that grow, and a filter that matches rarely stops at a budget and says how
 * far it came.
 */
export interface CallRow extends Record<(typeof TOKEN_COLUMNS)['names'][number], number> {
  id: string
  began_at: Date
  request_id: string
  conversation_id: string | null
  key_pair_id: string
  model_id: string
  /** Null: see `endpointOf`. */
  endpoint: string | null
  streamed: boolean
  status: number
  outcome: CallOutcome
  finish_reason: string | null
  error_code: string | null
  first_token_ms: number | null
  duration_ms: number
  tries: number
  charged_nanos: bigint
}

export interface CallFilters {
  outcomes?: readonly CallOutcome[] | undefined
  modelId?: string | undefined
  keyPairId?: string | undefined
  conversationId?: string | undefined
  /** A pair of the call's metadata, both parts exactly so. */
  metadata?: MetadataPair | undefined
  minCharged?: bigint | undefined
  /** Charged at this version of its model's price. */
  priceVersion?: bigint | undefined
  /** Read from a provider's cache, or written to it. */
  cached?: boolean | undefined
  streamed?: boolean | undefined
  /** This status; or, as a list, any but these. */
  status?: number | { not: readonly number[] } | undefined
  errorCode?: string | undefined
  /** Why its reply had a recommendation, or none. */
  recommendationOutcome?: RecommendationOutcome | undefined
  from?: Date | undefined
  to?: Date | undefined
}

export interface CallSearch {
  projectId: string
  filters: CallFilters
  /** Only calls before this one. */
  before?: string | undefined
  most: number
  budget?: Budget
}

/** The cost at which a search stops and says how far it came. */
export interface Budget {
  rowsPerStatement: number
  ms: number
}

export interface FoundCalls {
  rows: CallRow[]
  /** Where to go on; undefined when everything was searched. */
  next: string | undefined
  /** Set when the budget ended the search: everything after this moment was searched. */
  searchedTo: Date | undefined
}

const BUDGET: Budget = { rowsPerStatement: 10_000, ms: 120 }
/** Most pages are within a day; a quiet project's are found with two more statements. */
const WINDOWS_MS = [DAY_MS, 8 * DAY_MS, 64 * DAY_MS]

export async function listCalls(tx: Db, search: CallSearch): Promise<FoundCalls> {
  const { rowsPerStatement, ms } = search.budget ?? BUDGET
  const deadlineMs = performance.now() + ms
  const isFiltered = isAnyGiven(search.filters)
  await goByIndexes(tx)
  const rows: CallRow[] = []
  for (const window of windowsOf(search)) {
    let { upper } = window
    for (;;) {
      rows.push(
        ...(await findInWindow(tx, search, { ...window, upper }, search.most + 1 - rows.length, rowsPerStatement)),
      )
      if (rows.length > search.most)
        return { rows: rows.slice(0, search.most), next: rows[search.most - 1]?.id, searchedTo: undefined }
      // Without a filter, or with an index for it, a short page means that the window holds no more.
      const last = isFiltered ? await findLastRead(tx, search, { ...window, upper }, rowsPerStatement) : undefined
      if (last === undefined) break
      if (performance.now() > deadlineMs) return { rows, next: last, searchedTo: timeOfUuid(last) }
      upper = last
    }
  }
  return { rows, next: undefined, searchedTo: undefined }
}

interface Window {
  lower: string
  /** Not part of it. */
  upper: string
}

function* windowsOf({ filters, before }: CallSearch): Generator<Window> {
  const lowest = filters.from === undefined ? FIRST_UUID : firstIdAt(filters.from)
  const end = filters.to === undefined ? LAST_UUID : firstIdAt(filters.to)
  let upper = before !== undefined && before < end ? before : end
  const newest = Math.min(timeOfUuid(upper).getTime(), Date.now() + DAY_MS)
  for (const backMs of WINDOWS_MS) {
    const lower = firstIdAt(new Date(newest - backMs))
    if (lower <= lowest) break
    yield { lower, upper }
    upper = lower
  }
  if (lowest < upper) yield { lower: lowest, upper }
}

const CALL_COLUMNS = sql`c.id, time_of_id(c.id) as began_at, c.request_id, c.conversation_id, c.key_pair_id, c.model_id,
  c.endpoint, c.streamed, c.status, c.outcome, c.finish_reason, c.error_code, c.first_token_ms, c.duration_ms,
  json_array_length(c.attempts) as tries, ${sql.join(TOKEN_COLUMNS.names.map((name) => sql.ref(`m.${name}`)))}, m.charged_nanos`

/**
 * Reads the table that knows most of the filters, at most so many rows, and looks up the other's row only of what is left.
 * `offset 0` and the laterals keep the planner from turning that around.
 */
async function findInWindow(
  tx: Db,
  search: CallSearch,
  window: Window,
  most: number,
  rowsMax: number,
): Promise<CallRow[]> {
  const { projectId, filters } = search
  const driver = driverOf(filters)
  const read = sql`(${readRows(search, window)} limit ${rowsMax} offset 0) ${sql.ref(driver)}`
  const looked = (other: 'c' | 'm') => sql`cross join lateral (
    select * from ${sql.table(TABLES[other])} t where t.id = ${sql.ref(`${driver}.id`)}
      and t.project_id = ${projectId} and ${inWindow(window, 'id')} limit 1) ${sql.ref(other)}`
  const others = (['c', 'm'] as const).filter((other) => other !== driver)
  const { rows } = await sql<CallRow>`
    select ${CALL_COLUMNS} from ${read} ${sql.join(others.map(looked), sql` `)}
    where ${sql.join([sql`true`, ...conditionsOf(filters)], sql` and `)}
    order by ${sql.ref(`${driver}.id`)} desc limit ${most}`.execute(tx)
  return rows
}

const TABLES = { c: 'calls', m: 'charges', p: 'call_metadata' } as const

/** A pair of metadata is found by an index of its own; all but what a call came to stands in its row. */
function driverOf(filters: CallFilters): keyof typeof TABLES {
  if (filters.metadata !== undefined) return 'p'
  return isByCharge(filters) ? 'm' : 'c'
}

function isByCharge({ minCharged, priceVersion, cached }: CallFilters): boolean {
  return minCharged !== undefined || priceVersion !== undefined || cached !== undefined
}

function readRows({ projectId, filters }: CallSearch, window: Window): RawBuilder<unknown> {
  const { metadata, conversationId } = filters
  const driver = driverOf(filters)
  if (metadata !== undefined) {
    const reads = conditionsOfValue(metadata.value).map((hasValue) => {
      return sql`(select t.call_id as id from call_metadata t where t.project_id = ${projectId} and t.key = ${metadata.key}
        and ${hasValue} and ${inWindow(window, 'call_id')} order by t.call_id desc)`
    })
    return sql`select id from (${sql.join(reads, sql` union all `)}) r order by id desc`
  }
  const conversation =
    conversationId !== undefined && driver === 'c' ? sql`and t.conversation_id = ${conversationId}` : sql``
  return sql`select * from ${sql.table(TABLES[driver])} t where t.project_id = ${projectId} and ${inWindow(window, 'id')}
    ${conversation} order by t.id desc`
}

function inWindow({ lower, upper }: Window, column: 'id' | 'call_id'): RawBuilder<unknown> {
  const id = sql.ref(`t.${column}`)
  return sql`${id} >= ${lower}::uuid and ${id} < ${upper}::uuid`
}

/** The id of the last row that a statement with so many rows read; undefined when there were fewer. */
async function findLastRead(tx: Db, search: CallSearch, window: Window, rowsMax: number): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select r.id from (${readRows(search, window)} limit 1 offset ${rowsMax - 1}) r`.execute(tx)
  return rows[0]?.id
}

function conditionsOf(filters: CallFilters): RawBuilder<unknown>[] {
  const row = isByCharge(filters) ? 'm' : 'c'
  const conditions: RawBuilder<unknown>[] = []
  if (filters.outcomes !== undefined)
    conditions.push(sql`${sql.ref(`${row}.outcome`)} = any (${filters.outcomes}::text[])`)
  if (filters.modelId !== undefined) conditions.push(sql`${sql.ref(`${row}.model_id`)} = ${filters.modelId}`)
  if (filters.keyPairId !== undefined) conditions.push(sql`${sql.ref(`${row}.key_pair_id`)} = ${filters.keyPairId}`)
  if (filters.minCharged !== undefined) conditions.push(sql`m.charged_nanos >= ${filters.minCharged}`)
  if (filters.priceVersion !== undefined) conditions.push(sql`m.price_version_id = ${filters.priceVersion}`)
  if (filters.cached !== undefined)
    conditions.push(sql`(m.cached_input_tokens > 0 or m.cache_write_tokens > 0) = ${filters.cached}`)
  if (filters.conversationId !== undefined) conditions.push(sql`c.conversation_id = ${filters.conversationId}`)
  if (filters.errorCode !== undefined) conditions.push(sql`c.error_code = ${filters.errorCode}`)
  if (filters.streamed !== undefined) conditions.push(sql`c.streamed = ${filters.streamed}`)
  if (filters.status !== undefined) conditions.push(hasStatus(filters.status))
  if (filters.recommendationOutcome !== undefined)
    conditions.push(sql`c.recommendation_outcome = ${filters.recommendationOutcome}`)
  return conditions
}

function hasStatus(status: number | { not: readonly number[] }): RawBuilder<unknown> {
  return typeof status === 'number' ? sql`c.status = ${status}` : sql`c.status <> all (${status.not}::int2[])`
}

function isAnyGiven({ from: _from, to: _to, ...filters }: CallFilters): boolean {
  return Object.values(filters).some((value) => value !== undefined)
}

/** The call with this id, and those of the request with this id. */
export async function findCallsById(
  tx: Db,
  projectId: string,
  { callId, requestId }: { callId?: string | undefined; requestId: string },
): Promise<CallRow[]> {
  await goByIndexes(tx)
  // A request's id is made in the same second as its call's, so its time says where to look.
  const madeAt = isUuidv7(requestId) ? timeOfUuid(requestId) : undefined
  const near = (column: RawBuilder<unknown>) =>
    madeAt === undefined
      ? sql`true`
      : sql`${column} >= ${firstIdAt(new Date(madeAt.getTime() - DAY_MS))}::uuid
          and ${column} < ${firstIdAt(new Date(madeAt.getTime() + DAY_MS))}::uuid`
  const { rows } = await sql<CallRow>`
    select ${CALL_COLUMNS} from (
      select * from calls k where k.request_id = ${requestId} and k.project_id = ${projectId} and ${near(sql`k.id`)}
      union all
      select * from calls k where k.id = ${callId ?? null}::uuid and k.project_id = ${projectId}
      limit 20
    ) c join charges m on m.id = c.id and m.project_id = ${projectId}`.execute(tx)
  return rows
}

/** Where each of these calls was made: their ids begin with it. */
export async function findEndpoints(
  tx: Db,
  projectId: string,
  callIds: readonly string[],
): Promise<Map<string, CallEndpointName>> {
  if (callIds.length === 0) return new Map()
  await goByIndexes(tx)
  const { rows } = await sql<{ id: string; endpoint: string | null }>`
    select c.id, c.endpoint from calls c where c.project_id = ${projectId} and c.id = any (${callIds}::uuid[])`.execute(
    tx,
  )
  return new Map(rows.map(({ id, endpoint }) => [id, endpointOf(endpoint)]))
}

export async function findPriceDate(tx: Db, version: bigint): Promise<Date | null> {
  const row = await tx
    .selectFrom('price_versions')
    .select('effective_from')
    .where('id', '=', version)
    .executeTakeFirst()
  return row?.effective_from ?? null
}

/** The smallest id of a moment, as functions/first_id_of.sql. */
function firstIdAt(moment: Date): string {
  const hex = Math.max(moment.getTime(), 0).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`
}
