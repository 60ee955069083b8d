import { DAY_MS, MINUTE_MS } from '../durations.ts'
import type { Nanos } from '../money.ts'

/**
 * How a campaign spreads its daily budget over the day (UTC): in equal parts, as soon as it can, or mostly in the first half.
 * Without a daily budget there is nothing to spread.
 */
export const PACINGS = ['even', 'asap', 'front_loaded'] as const
export type Pacing = (typeof PACINGS)[number]

/** The money that a campaign could spend, and has spent. */
export interface Funds {
  pacing: Pacing
  /** The most that a click costs. */
  bidNanos: Nanos
  /** Its advertiser's. */
  balanceNanos: Nanos
  dailyBudgetNanos: Nanos | null
  totalBudgetNanos: Nanos | null
  spentNanos: Nanos
  /** On the day that began at `dayMs`. */
  spentTodayNanos: Nanos
  dayMs: number
}

/** Why a campaign is not recommended now, though it is active. */
export type Hindrance = 'credit' | 'total_budget' | 'daily_budget' | 'pacing'

/**
 * A click that nobody can pay for would be the advertiser's for nothing, so whoever could not pay takes no part. The budgets
 * themselves are kept by the transaction of a click; this only spares readers what nobody pays for.
 */
export function hindranceOf(funds: Funds, nowMs: number): Hindrance | undefined {
  const { bidNanos, balanceNanos, totalBudgetNanos, dailyBudgetNanos, spentNanos } = funds
  if (balanceNanos < bidNanos) return 'credit'
  if (totalBudgetNanos !== null && spentNanos + bidNanos > totalBudgetNanos) return 'total_budget'
  if (dailyBudgetNanos === null) return undefined
  const spent = spentOn(funds, nowMs)
  if (spent + bidNanos > dailyBudgetNanos) return 'daily_budget'
  return spent > plannedNanos(funds.pacing, dailyBudgetNanos, nowMs) ? 'pacing' : undefined
}

/** Returns the share of the daily budget that is meant to be spent by this part of the day. */
export function plannedShare(pacing: Pacing, partOfDay: number): number {
  if (pacing === 'asap') return 1
  return pacing === 'even' ? partOfDay : 1 - (1 - partOfDay) ** 2
}

/**
 * In which share of all moments a campaign takes part. Clicks come a while after what they are clicks on: a campaign that was
 * recommended until its plan is met would have spent far more by the time that all of them have come.
 */
export interface Pace {
  share: number
  /** When the share was chosen, and what had been spent on the day by then. */
  sinceMs: number
  spentNanos: Nanos
}

/** Much longer than most clicks take to come. */
const ADJUST_EVERY_MS = 5 * MINUTE_MS
const FIRST_SHARE = 0.05
const LEAST_SHARE = 0.001
const GROWTH_MAX = 2
const MOMENT_MS = 250

/** Every few minutes, as much more or less as the plan for the next ones asks for. */
export function adjustPace(pace: Pace | undefined, funds: Funds, nowMs: number): Pace {
  const spentNanos = spentOn(funds, nowMs)
  if (pace === undefined) return { share: FIRST_SHARE, sinceMs: nowMs, spentNanos }
  // Spending on another day says nothing about this one.
  if (spentNanos < pace.spentNanos) return { ...pace, sinceMs: nowMs, spentNanos }
  const elapsedMs = nowMs - pace.sinceMs
  if (elapsedMs < ADJUST_EVERY_MS || funds.dailyBudgetNanos === null) return pace
  const planned = plannedNanos(funds.pacing, funds.dailyBudgetNanos, nowMs + ADJUST_EVERY_MS)
  const wantedPerMs = Math.max(0, Number(planned - spentNanos)) / ADJUST_EVERY_MS
  const hadPerMs = Number(spentNanos - pace.spentNanos) / elapsedMs
  const factor = hadPerMs === 0 ? (wantedPerMs > 0 ? GROWTH_MAX : 1) : wantedPerMs / hadPerMs
  const share = pace.share * Math.min(GROWTH_MAX, Math.max(1 / GROWTH_MAX, factor))
  return { share: Math.min(1, Math.max(LEAST_SHARE, share)), sinceMs: nowMs, spentNanos }
}

/** The same for everybody who asks within one moment. */
export function isInMoment(campaignId: string, funds: Funds, pace: Pace, nowMs: number): boolean {
  return unitOf(`${campaignId} ${Math.floor(nowMs / MOMENT_MS)}`) < shareOfMoments(funds, pace)
}

/** All of them where there is nothing to spread. */
export function shareOfMoments({ pacing, dailyBudgetNanos }: Funds, { share }: Pace): number {
  return pacing === 'asap' || dailyBudgetNanos === null ? 1 : share
}

function spentOn({ dayMs, spentTodayNanos }: Funds, nowMs: number): Nanos {
  return nowMs < dayMs + DAY_MS ? spentTodayNanos : 0n
}

function plannedNanos(pacing: Pacing, budget: Nanos, nowMs: number): Nanos {
  const share = plannedShare(pacing, (nowMs % DAY_MS) / DAY_MS)
  return (budget * BigInt(Math.round(share * 1_000_000))) / 1_000_000n
}

/** FNV-1a, with the last bits stirred: from 0 up to and without 1, evenly. */
function unitOf(text: string): number {
  let hash = 0x811c9dc5
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
