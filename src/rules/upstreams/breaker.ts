import { MINUTE_MS } from '../durations.ts'

/**
 * When to stop asking a deployment that fails, and how to notice that it works again. Closed: everybody may ask. Open:
 * nobody may, for a while. Half open: one asks, and the others wait for what becomes of it.
 */
export interface Breaker {
  /** Changes whenever it opens or closes: what comes of a call from before says nothing about now. */
  epoch: number
  /** Attempts that failed before their first chunk, since one had a first chunk. */
  failedInARow: number
  /** Answers that broke midway, since one was complete. */
  brokenInARow: number
  /** The latest attempts, oldest first. */
  seconds: readonly Second[]
  /** Undefined: closed. */
  open: { untilMs: number; times: number; isProbed: boolean } | undefined
}

interface Second {
  second: number
  attempts: number
  failures: number
}

/** Leave to make one attempt, and what is needed to judge its end. */
export interface Pass {
  epoch: number
  isProbe: boolean
}

export const CLOSED: Breaker = { epoch: 0, failedInARow: 0, brokenInARow: 0, seconds: [], open: undefined }

const IN_A_ROW_MAX = 5
const WINDOW_SECONDS = 10
const WINDOW_ATTEMPTS_MIN = 20
const OPEN_MS = 15_000
const OPEN_MS_MAX = 5 * MINUTE_MS
/** While a probe is under way nobody knows when the next is due. */
const PROBED_WAIT_MS = 1_000

export function stateOf({ open }: Breaker, nowMs: number): 'closed' | 'half_open' | 'open' {
  if (!open) return 'closed'
  return open.isProbed || nowMs >= open.untilMs ? 'half_open' : 'open'
}

/**
 * Undefined: not now. An only deployment is probed at any time, by one call after another: a pause would turn a provider that
 * fails now and then into one that is gone, and spare nobody but the callers who need not queue for a failure anyway.
 */
export function passThrough(breaker: Breaker, nowMs: number, isOnly: boolean): [Breaker, Pass] | undefined {
  const { epoch, open } = breaker
  if (!open) return [breaker, { epoch, isProbe: false }]
  if (open.isProbed || (nowMs < open.untilMs && !isOnly)) return undefined
  return [
    { ...breaker, open: { ...open, isProbed: true } },
    { epoch, isProbe: true },
  ]
}

/** Until it is worth while to ask again. */
export function waitOf({ open }: Breaker, nowMs: number): number {
  if (!open) return 0
  return open.isProbed ? PROBED_WAIT_MS : Math.max(0, open.untilMs - nowMs)
}

/** The first chunk is there. A probe lets the next one in: a long answer must not keep others from a mended deployment. */
export function afterBeginning(breaker: Breaker, pass: Pass, nowMs: number): Breaker {
  if (pass.epoch !== breaker.epoch) return breaker
  if (breaker.open) return withoutProbe(breaker)
  return { ...breaker, failedInARow: 0, seconds: countAttempts(breaker.seconds, nowMs, 1, 0) }
}

/** The answer is complete. */
export function afterCompletion(breaker: Breaker, pass: Pass): Breaker {
  if (pass.epoch !== breaker.epoch) return breaker
  if (breaker.open) return { ...CLOSED, epoch: breaker.epoch + 1 }
  return breaker.brokenInARow === 0 ? breaker : { ...breaker, brokenInARow: 0 }
}

/**
 * Failures before and after the first chunk are counted apart. Failures come at once and complete answers late, so a
 * burst of long answers in which a few calls fail would look like a row of failures if only complete answers ended it.
 */
export function afterFailure(breaker: Breaker, pass: Pass, hasBegun: boolean, nowMs: number): Breaker {
  if (pass.epoch !== breaker.epoch) return breaker
  const { open } = breaker
  if (open) {
    // An only deployment that was probed before its time: it stays open for as long as it was to be.
    if (nowMs < open.untilMs) return hasBegun ? breaker : withoutProbe(breaker)
    return openBreaker(breaker, open.times + 1, nowMs)
  }
  const next = {
    ...breaker,
    failedInARow: breaker.failedInARow + (hasBegun ? 0 : 1),
    brokenInARow: breaker.brokenInARow + (hasBegun ? 1 : 0),
    // An answer that broke was counted as an attempt when it began.
    seconds: countAttempts(breaker.seconds, nowMs, hasBegun ? 0 : 1, 1),
  }
  return isTooMuch(next) ? openBreaker(next, 1, nowMs) : next
}

/** The caller left, or what came back says nothing about the deployment's health. */
export function afterLeaving(breaker: Breaker, pass: Pass, hasBegun: boolean): Breaker {
  return pass.epoch === breaker.epoch && pass.isProbe && !hasBegun ? withoutProbe(breaker) : breaker
}

/** Open, whatever was counted: two of the breakers below it are. */
export function afterOthersOpened(breaker: Breaker, nowMs: number): Breaker {
  return breaker.open ? breaker : openBreaker(breaker, 1, nowMs)
}

function isTooMuch({ failedInARow, brokenInARow, seconds }: Breaker): boolean {
  if (failedInARow >= IN_A_ROW_MAX || brokenInARow >= IN_A_ROW_MAX) return true
  const attempts = seconds.reduce((sum, second) => sum + second.attempts, 0)
  const failures = seconds.reduce((sum, second) => sum + second.failures, 0)
  return attempts >= WINDOW_ATTEMPTS_MIN && failures * 2 > attempts
}

function openBreaker({ epoch }: Breaker, times: number, nowMs: number): Breaker {
  const untilMs = nowMs + Math.min(OPEN_MS * times, OPEN_MS_MAX)
  return { ...CLOSED, epoch: epoch + 1, open: { untilMs, times, isProbed: false } }
}

function withoutProbe(breaker: Breaker): Breaker {
  return breaker.open ? { ...breaker, open: { ...breaker.open, isProbed: false } } : breaker
}

function countAttempts(
  seconds: readonly Second[],
  nowMs: number,
  attempts: number,
  failures: number,
): readonly Second[] {
  const second = Math.floor(nowMs / 1_000)
  const recent = seconds.filter((one) => one.second > second - WINDOW_SECONDS && one.second < second)
  const current = seconds.find((one) => one.second === second) ?? { second, attempts: 0, failures: 0 }
  return [...recent, { second, attempts: current.attempts + attempts, failures: current.failures + failures }]
}
