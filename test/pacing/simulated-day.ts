import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/rules/durations.ts'
import {
  adjustPace,
  hindranceOf,
  isInMoment,
  plannedShare,
  type Funds,
  type Pace,
  type Pacing,
} from '../../src/rules/recommendations/pacing.ts'
import { createRandom } from '../support/random.ts'

/** One day of a campaign, with traffic that is busy in the evening and quiet at night, and clicks that come when they come. */
export interface SimulatedDay {
  /** In nanos, of each hour. */
  spentByHour: bigint[]
  spent: bigint
  serves: number
  clicks: number
  /** Clicks that nobody paid for. */
  unpaid: number
}

export interface DayOptions {
  pacing: Pacing
  budgetNanos: bigint
  bidNanos?: bigint
  priceNanos?: bigint
  /** Answers in a second for which it is the best offer, on the average of the day. */
  perSecond: number
  clickRate?: number
  seed?: number
}

/** As often as matchers read campaigns. */
const REFRESH_MS = 2 * SECOND_MS
const STEP_MS = 250

/** How busy it is: 0.25 of the average at five in the morning, 1.75 of it at five in the afternoon. */
export function trafficAt(atMs: number): number {
  return 1 - 0.75 * Math.cos(((atMs - 5 * HOUR_MS) / DAY_MS) * 2 * Math.PI)
}

export function simulateDay(options: DayOptions): SimulatedDay {
  const { pacing, budgetNanos, bidNanos = 300_000_000n, priceNanos = 250_000_000n, clickRate = 0.04 } = options
  const random = createRandom(options.seed ?? 1)
  const day = { spentByHour: Array<bigint>(24).fill(0n), spent: 0n, serves: 0, clicks: 0, unpaid: 0 }
  // By the step that they come in.
  const coming = new Map<number, number>()
  const fundsNow = (): Funds => ({
    pacing,
    bidNanos,
    balanceNanos: 10n * budgetNanos,
    dailyBudgetNanos: budgetNanos,
    totalBudgetNanos: null,
    spentNanos: day.spent,
    spentTodayNanos: day.spent,
    dayMs: 0,
  })
  let known = fundsNow()
  let pace: Pace | undefined
  for (let atMs = 0; atMs < DAY_MS; atMs += STEP_MS) {
    if (atMs % REFRESH_MS === 0) {
      known = fundsNow()
      pace = adjustPace(pace, known, atMs)
    }
    const isShown = pace && hindranceOf(known, atMs) === undefined && isInMoment('campaign', known, pace, atMs)
    const expected = (options.perSecond * trafficAt(atMs) * STEP_MS) / SECOND_MS
    const answers = Math.floor(expected) + (random.next() < expected % 1 ? 1 : 0)
    for (let n = 0; isShown && n < answers; n++) {
      day.serves += 1
      if (random.next() >= clickRate) continue
      const delayMs = Math.min(10 * MINUTE_MS, -Math.log(1 - random.next()) * 40 * SECOND_MS)
      const step = Math.floor((atMs + delayMs) / STEP_MS)
      coming.set(step, (coming.get(step) ?? 0) + 1)
    }
    for (let n = coming.get(atMs / STEP_MS) ?? 0; n > 0; n--) {
      day.clicks += 1
      // As the transaction of a click decides it.
      if (day.spent + priceNanos > budgetNanos) {
        day.unpaid += 1
        continue
      }
      day.spent += priceNanos
      const hour = Math.floor(atMs / HOUR_MS)
      day.spentByHour[hour] = (day.spentByHour[hour] ?? 0n) + priceNanos
    }
  }
  return day
}

/** Returns the spending planned for an hour, in nanos. */
export function plannedForHour(pacing: Pacing, budgetNanos: bigint, hour: number): number {
  return Number(budgetNanos) * (plannedShare(pacing, (hour + 1) / 24) - plannedShare(pacing, hour / 24))
}
