import { DAY_MS, MINUTE_MS } from '../durations.ts'
import { percentileOf } from '../billing/usage-counts.ts'
import type { UpstreamErrorKind } from './blame.ts'

/**
 * The public account of how models and providers answer: only what holds for everyone. Anything that one publisher asks for,
 * or sends too little of, says nothing about a model; and no figure is shown that a handful of calls decides.
 */

/** Failures because of the request, or of how its answer was read, are neither a failure nor a success of a model. */
export const CALLERS_OWN: readonly UpstreamErrorKind[] = ['rejected', 'model_failed', 'event_too_big', 'reader_stalled']

export const SLOT_MS = 10 * MINUTE_MS
/** Below it, nothing is said in percent. migrations/0047_availability.sql has this and the next number in an index. */
export const CALLS_MIN = 20
export const DEGRADED_FROM = 0.1
export const DOWN_FROM = 0.5
/** For a whole day: an hour without answers is 4% of it. */
const DAY_DEGRADED_FROM = 0.03
const DAY_DOWN_FROM = 0.25
/** The roll-up is behind by seconds. What is older than this says nothing of now. */
export const CURRENT_MS = 5 * MINUTE_MS
/** Slots of one incident may have one between them with too few calls to tell. */
const GAP_MS = 2 * SLOT_MS

/** `few`: too few calls to tell. `unknown`: nobody has counted lately. */
export type Availability = 'up' | 'degraded' | 'down' | 'few' | 'unknown'

export interface Measured {
  calls: number
  failures: number
  /** A bit for each publisher, of 64. */
  callers: bigint
  failedFor: bigint
}

export interface Rates {
  /** From 0 to 1; null: not to be told. */
  failureRate: number | null
  firstTokenMs: { p50: number; p95: number } | null
}

export function ratesOf(measured: Measured, firstTokens: readonly number[]): Rates {
  const timed = firstTokens.reduce((sum, count) => sum + count, 0)
  const [p50, p95] = [percentileOf(firstTokens, 0.5), percentileOf(firstTokens, 0.95)]
  const isTold = timed >= CALLS_MIN && p50 !== null && p95 !== null
  return { failureRate: failureRateOf(measured), firstTokenMs: isTold ? { p50, p95 } : null }
}

/**
 * Null where it is not to be told: too few calls, or failures of one publisher while others called as well. Those may come
 * from what it asks for; and whoever wants to see a model called down in public would need no more than bad requests.
 */
export function failureRateOf({ calls, failures, callers, failedFor }: Measured): number | null {
  if (calls < CALLS_MIN) return null
  const isOnesOwn = bitsOf(failedFor) === 1 && bitsOf(callers) > 1
  return isOnesOwn ? null : failures / calls
}

/** Returns how a model does now: by the newest calls or, where those are too few, by the last hour. */
export function availabilityNow(newest: Measured, hour: Measured): Availability {
  const measured = newest.calls >= CALLS_MIN ? newest : hour
  return availabilityOf(measured, DEGRADED_FROM, DOWN_FROM)
}

export function availabilityOfDay(day: Measured): Availability {
  return availabilityOf(day, DAY_DEGRADED_FROM, DAY_DOWN_FROM)
}

function availabilityOf(measured: Measured, degradedFrom: number, downFrom: number): Availability {
  if (measured.calls < CALLS_MIN) return 'few'
  // A failure that only one of several callers saw is not everyone's.
  const rate = failureRateOf(measured) ?? 0
  if (rate >= downFrom) return 'down'
  return rate >= degradedFrom ? 'degraded' : 'up'
}

export interface Subject {
  kind: 'model' | 'provider'
  name: string
}

export interface Slot extends Subject, Measured {
  startsAt: Date
}

export interface Incident extends Subject {
  from: Date
  /** Null: it goes on. */
  to: Date | null
  availability: 'degraded' | 'down'
  failureRate: number
}

/** Neighbouring slots in trouble are one incident, as bad as its worst slot. Newest first. */
export function incidentsIn(slots: readonly Slot[], now: Date): Incident[] {
  const bySubject = Map.groupBy(slots, ({ kind, name }) => `${kind} ${name}`)
  return [...bySubject.values()]
    .flatMap((own) => incidentsOfOne(own, now))
    .toSorted((a, b) => b.from.getTime() - a.from.getTime() || (a.name < b.name ? -1 : 1))
}

function incidentsOfOne(slots: readonly Slot[], now: Date): Incident[] {
  const runs: { first: Slot; last: Slot; calls: number; failures: number; worst: number }[] = []
  for (const slot of slots.toSorted((a, b) => a.startsAt.getTime() - b.startsAt.getTime())) {
    const rate = failureRateOf(slot)
    if (rate === null || rate < DEGRADED_FROM) continue
    const run = runs.at(-1)
    const { calls, failures } = slot
    if (run && slot.startsAt.getTime() - run.last.startsAt.getTime() <= GAP_MS) {
      Object.assign(run, { last: slot, calls: run.calls + calls, failures: run.failures + failures })
      run.worst = Math.max(run.worst, rate)
    } else runs.push({ first: slot, last: slot, calls, failures, worst: rate })
  }
  return runs.map(({ first, last, calls, failures, worst }) => {
    const to = last.startsAt.getTime() + SLOT_MS
    return {
      kind: first.kind,
      name: first.name,
      from: first.startsAt,
      to: to + SLOT_MS > now.getTime() ? null : new Date(to),
      availability: worst >= DOWN_FROM ? 'down' : 'degraded',
      failureRate: failures / calls,
    }
  })
}

/** The worst of what is known; `unknown` when nothing is measured, `up` when nobody has trouble. */
export function overallOf(each: readonly Availability[], isCurrent: boolean): Availability {
  if (!isCurrent) return 'unknown'
  if (each.includes('down')) return 'down'
  if (each.includes('degraded')) return 'degraded'
  return each.includes('up') ? 'up' : 'few'
}

/** The beginnings of the slots that the figures are read from. */
export function spansAt(now: Date): { newest: Date; hour: Date; day: Date } {
  const current = Math.floor(now.getTime() / SLOT_MS) * SLOT_MS
  const before = (ms: number) => new Date(current - ms)
  return { newest: before(SLOT_MS), hour: before(6 * SLOT_MS), day: before(DAY_MS) }
}

function bitsOf(mask: bigint): number {
  return BigInt.asUintN(64, mask).toString(2).replaceAll('0', '').length
}
