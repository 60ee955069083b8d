import { DAY_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import type { Nanos } from '../../src/rules/money.ts'
import { startOf, type CountRow, type LimitRow, type Tables } from './memory-tables.ts'

/** In-memory versions of functions/limits_*.sql, for key pairs and end users, by day and in total. */

/** The project, key pair and end user of a call. */
export interface Who {
  projectId: string
  keyPairId: string
  endUserId?: string | undefined
}

/** limits_verdict */
export interface Verdict {
  granted: Nanos
  refusal: string | undefined
  /** Undefined: nobody counts it. */
  counts: number[] | undefined
}

/** limits_set, before the first call. */
export function setLimit(tables: Tables, limit: LimitRow): void {
  tables.limits.push(limit)
  if (limit.scope === 'key_pair') addCount(tables, limit.scope, limit.subject, limit.projectId)
}

function addCount(tables: Tables, scope: CountRow['scope'], subject: string, projectId: string): CountRow {
  const times = { minuteStartedMs: 0, dayStartedMs: 0 }
  const none = { held: 0n, openHolds: 0, minuteRequests: 0, minuteTokens: 0, dayNanos: 0n, totalNanos: 0n }
  const row = { id: tables.counts.length + 1, scope, subject, projectId, ...times, ...none }
  tables.counts.push(row)
  return row
}

/** limits_states_of: an end user is counted from the first call for which there is a limit. */
function countsOf(tables: Tables, { projectId, keyPairId, endUserId }: Who): CountRow[] {
  if (!tables.limits.some((limit) => limit.projectId === projectId)) return []
  const find = (scope: string, subject: string) =>
    tables.counts.find((row) => row.scope === scope && row.subject === subject)
  const ofPair = find('key_pair', keyPairId)
  let ofUser = endUserId === undefined ? undefined : find('end_user', endUserId)
  if (endUserId !== undefined && !ofUser && limitsOf(tables, 'end_user', endUserId, projectId).length > 0)
    ofUser = addCount(tables, 'end_user', endUserId, projectId)
  return [ofPair, ofUser].filter((row) => row !== undefined)
}

/** One end user's own come before those of every end user. */
function limitsOf(tables: Tables, scope: CountRow['scope'], subject: string, projectId: string): LimitRow[] {
  const own = tables.limits.filter((limit) => limit.scope === scope && limit.subject === subject)
  const everyones = tables.limits.filter((limit) => limit.scope === 'end_users' && limit.subject === projectId)
  return scope === 'end_user' ? [...own, ...everyones] : own
}

/** limit_states */
export function stateOf(tables: Tables, row: CountRow, nowMs: number) {
  const limits = limitsOf(tables, row.scope, row.subject, row.projectId)
  const first = <K extends keyof LimitRow>(name: K) =>
    limits.map((limit) => limit[name]).find((value) => value !== null) ?? null
  const [day, total] = [first('dayNanos'), first('totalNanos')]
  const { requests, tokens } = usedThisMinute(row, nowMs)
  const daySpent = row.dayStartedMs >= startOf(nowMs, DAY_MS) ? row.dayNanos : 0n
  const lefts = [day === null ? [] : day - daySpent, total === null ? [] : total - row.totalNanos].flat()
  const left = lefts.length === 0 ? undefined : smallest(lefts) - row.held
  return {
    row,
    left,
    requests,
    tokens,
    requestsMax: first('requestsPerMinute'),
    tokensMax: first('tokensPerMinute'),
    callsMax: first('concurrentCalls'),
  }
}

/** limits_check, of whoever it is. */
export function checkLimits(tables: Tables, who: Who, want: Nanos, min: Nanos, nowMs: number): Verdict {
  const states = countsOf(tables, who).map((row) => stateOf(tables, row, nowMs))
  let refusal: string | undefined
  let tightest: { left: Nanos; held: Nanos } | undefined
  for (const { row, left, requests, tokens, requestsMax, tokensMax, callsMax } of states) {
    if (left !== undefined && (!tightest || left < tightest.left)) tightest = { left, held: row.held }
    if ((requestsMax !== null && requests >= requestsMax) || (tokensMax !== null && tokens >= tokensMax))
      refusal ??= 'rate_limited'
    else if (callsMax !== null && row.openHolds >= callsMax) refusal ??= 'concurrency_limited'
  }
  const granted = tightest ? smallest([want, tightest.left]) : want
  const least = min > 1n ? min : 1n
  if (tightest && granted < least) refusal ??= tightest.left + tightest.held >= least ? 'budget_held' : 'budget_used_up'
  return { granted, refusal, counts: states.length === 0 ? undefined : states.map(({ row }) => row.id) }
}

/** limits_left; undefined: there is no budget. */
export function leftIn(tables: Tables, counts: readonly number[], nowMs: number): Nanos | undefined {
  const lefts = rowsOf(tables, counts).flatMap((row) => stateOf(tables, row, nowMs).left ?? [])
  return lefts.length === 0 ? undefined : smallest(lefts)
}

/** limits_hold */
export function holdIn(tables: Tables, counts: readonly number[], granted: Nanos, calls: number, nowMs: number): void {
  for (const row of rowsOf(tables, counts)) {
    startMinute(row, nowMs)
    row.held += granted
    row.openHolds += calls
    row.minuteRequests += calls
  }
}

export interface SpentCall {
  charged: Nanos
  held: Nanos
  tokens: number
  calls: number
}

/** limits_spend */
export function spendIn(tables: Tables, counts: readonly number[], spent: SpentCall, nowMs: number): void {
  for (const row of rowsOf(tables, counts)) {
    startMinute(row, nowMs)
    row.minuteTokens += spent.tokens
    giveBackIn(tables, [row.id], spent.held, spent.calls)
    const today = startOf(nowMs, DAY_MS)
    if (row.dayStartedMs < today) Object.assign(row, { dayStartedMs: today, dayNanos: 0n })
    row.dayNanos += spent.charged
    row.totalNanos += spent.charged
  }
}

/** The in-memory ledger_give_back: the call is over, and was counted then. */
export function giveBackIn(tables: Tables, counts: readonly number[], held: Nanos, calls: number): void {
  for (const row of rowsOf(tables, counts)) {
    row.held -= held
    row.openHolds -= calls
  }
}

function rowsOf({ counts: rows }: Tables, counts: readonly number[]): CountRow[] {
  return rows.filter(({ id }) => counts.includes(id))
}

/** The current minute of a wallet, or of one row of counts. */
interface Minute {
  minuteStartedMs: number
  minuteRequests: number
  minuteTokens: number
}

export function usedThisMinute(row: Minute, nowMs: number): { requests: number; tokens: number } {
  const isThis = row.minuteStartedMs >= startOf(nowMs, MINUTE_MS)
  return { requests: isThis ? row.minuteRequests : 0, tokens: isThis ? row.minuteTokens : 0 }
}

export function startMinute(row: Minute, nowMs: number): void {
  const { requests, tokens } = usedThisMinute(row, nowMs)
  row.minuteStartedMs = Math.max(row.minuteStartedMs, startOf(nowMs, MINUTE_MS))
  row.minuteRequests = requests
  row.minuteTokens = tokens
}

function smallest(amounts: readonly Nanos[]): Nanos {
  return amounts.reduce((least, amount) => (amount < least ? amount : least))
}
