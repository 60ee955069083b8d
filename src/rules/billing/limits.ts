import type { ErrorCode } from '../errors.ts'

/** Limits and budgets of a publisher, a project, a key pair, every end user of a project, or one of them. */

export const LIMIT_SCOPES = ['publisher', 'project', 'key_pair', 'end_users', 'end_user', 'session'] as const
export type LimitScope = (typeof LIMIT_SCOPES)[number]

export const RATE_NAMES = ['requests', 'tokens', 'calls'] as const
export type RateName = (typeof RATE_NAMES)[number]

/** Days, weeks (from Monday) and months of UTC. */
export const BUDGET_PERIODS = ['day', 'week', 'month', 'total'] as const
export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

/** As a caller meets it, who has one key pair and one end user. */
const OWNERS: Record<string, string> = {
  publisher: 'the account',
  project: 'the project',
  key_pair: 'this key pair',
  end_user: 'this end user',
  session: 'this session',
}
const RATES: Record<string, string> = {
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  calls: 'concurrent calls',
}
const BUDGETS: Record<string, string> = { day: 'daily', week: 'weekly', month: 'monthly', total: 'total' }

/** When a budget resets. Undefined: never. */
export function renewalOf(period: BudgetPeriod, now: Date): Date | undefined {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  if (period === 'day') return new Date(Date.UTC(year, month, day + 1))
  if (period === 'week') return new Date(Date.UTC(year, month, day + 7 - ((now.getUTCDay() + 6) % 7)))
  return period === 'month' ? new Date(Date.UTC(year, month + 1, 1)) : undefined
}

/** `limitedBy` is the ledger's word for a limit: `key_pair:month`. Undefined: it names none that is known here. */
export function sentenceOfLimit(code: ErrorCode, limitedBy: string, now: Date): string | undefined {
  const [scope = '', name = ''] = limitedBy.split(':')
  const owner = OWNERS[scope]
  const rate = RATES[name]
  const budget = BUDGETS[name]
  if (!owner) return undefined
  if (code === 'rate_limited' && rate)
    return `${capitalized(owner)} has reached its limit of ${rate}. Retry after the stated time.`
  if (code === 'concurrency_limited' && rate)
    return `${capitalized(owner)} has reached its limit of ${rate}. Retry shortly.`
  if (code !== 'budget_held' && code !== 'budget_used_up') return undefined
  if (scope === 'session') return sentenceOfSession(code, name)
  if (!budget) return undefined
  if (code === 'budget_held')
    return `The rest of the ${budget} budget of ${owner} is held by calls in flight. Retry when they have ended, or raise the budget.`
  const renewal = renewalOf(name as BudgetPeriod, now)
  const reset = renewal ? ` It resets on ${dateOf(renewal)} at 00:00 UTC.` : ''
  return `The ${budget} budget of ${owner} is used up.${reset} Raise it under Limits in the console to continue${renewal ? ' before then' : ''}.`
}

/** Nobody raises what a session has: its maker makes another one. */
function sentenceOfSession(code: ErrorCode, name: string): string {
  if (name === 'calls') return 'This session has made all of its calls. Have your server create another one.'
  return code === 'budget_held'
    ? "The rest of this session's money is held by its calls in flight. Retry when they have ended."
    : "This session's money is used up. Have your server create another one."
}

/** The counts of this minute and of this moment, alongside the limits for them. Null: there is none. */
export interface RateState {
  requests_per_minute: number | null
  tokens_per_minute: bigint | null
  concurrent_calls: number | null
  minute_requests: number | null
  minute_tokens: bigint | null
  open_holds: number | null
}

/** The limit of each budget period, and what was spent in it. */
export interface BudgetState {
  held_nanos: bigint | null
  day_nanos: bigint | null
  day_spent: bigint | null
  week_nanos: bigint | null
  week_spent: bigint | null
  month_nanos: bigint | null
  month_spent: bigint | null
  total_nanos: bigint | null
  total_spent: bigint | null
}

/** The counts of a caller that has made no calls since limits were set for it. */
export const NOTHING_COUNTED = {
  minute_requests: 0,
  minute_tokens: 0n,
  open_holds: 0,
  held_nanos: 0n,
  day_spent: 0n,
  week_spent: 0n,
  month_spent: 0n,
  total_spent: 0n,
}

/** Each rate that is limited: its limit, what is used of it and what is left. */
export function ratesIn(state: RateState): (Rate & { name: RateName; used: number })[] {
  const rates = [
    { name: 'requests', limit: state.requests_per_minute, used: state.minute_requests },
    { name: 'tokens', limit: state.tokens_per_minute, used: state.minute_tokens },
    { name: 'calls', limit: state.concurrent_calls, used: state.open_holds },
  ] as const
  return rates.flatMap(({ name, limit, used: counted }) => {
    const used = Number(counted ?? 0)
    return limit === null ? [] : [{ name, limit: Number(limit), used, left: Math.max(Number(limit) - used, 0) }]
  })
}

/** Each budget: what it is, was spent of it, and is left when what is held is taken off. */
export function budgetsIn(state: BudgetState) {
  return BUDGET_PERIODS.flatMap((period) => {
    const limit = state[`${period}_nanos`]
    if (limit === null) return []
    const spent = state[`${period}_spent`] ?? 0n
    const held = state.held_nanos ?? 0n
    const left = limit - spent - held
    return [{ period, limit, spent, held, left: left > 0n ? left : 0n }]
  })
}

/** The tightest limit that holds for a call, and what is left of it. */
export interface Rate {
  limit: number
  left: number
}
export interface Rates {
  requests?: Rate | undefined
  tokens?: Rate | undefined
}

/** The ledger's array: requests per minute and what is left of them, tokens per minute and what is left of them. */
export function ratesOf(answered: readonly (string | number | bigint | null)[] | null | undefined): Rates | undefined {
  if (!answered) return undefined
  const rateAt = (n: number): Rate | undefined => {
    const [limit, left] = [answered[n], answered[n + 1]]
    return limit == null || left == null ? undefined : { limit: Number(limit), left: Number(left) }
  }
  return { requests: rateAt(0), tokens: rateAt(2) }
}

/** As OpenAI names them. The minute is the clock's, so all reset at the same time. */
export function rateHeadersOf(rates: Rates | undefined, now: Date): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, rate] of Object.entries(rates ?? {}) as [string, Rate | undefined][]) {
    if (!rate) continue
    headers[`x-ratelimit-limit-${name}`] = String(rate.limit)
    headers[`x-ratelimit-remaining-${name}`] = String(rate.left)
    headers[`x-ratelimit-reset-${name}`] = `${secondsToNextMinute(now)}s`
  }
  return headers
}

export function nextMinuteOf(now: Date): Date {
  return new Date((Math.floor(now.getTime() / 60_000) + 1) * 60_000)
}

export function secondsToNextMinute(now: Date): number {
  return 60 - now.getUTCSeconds()
}

const MONTHS = 'January February March April May June July August September October November December'.split(' ')

function dateOf(date: Date): string {
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
