import type { CallOutcome } from '../billing/charging.ts'
import { FAILURES } from '../billing/usage-counts.ts'
import { isErrorCode, type ErrorCode } from '../errors.ts'

/** The outcome of a call, in words that its publisher can act on. Nothing here says which provider was asked. */

export interface Words {
  title: string
  explanation: string
  /** The publisher's next step; null when nothing is wrong. */
  advice: string | null
}

const NOT_CHARGED = 'You were not charged.'

const WORDS: Record<CallOutcome, Words> = {
  completed: { title: 'Completed', explanation: 'The answer was delivered in full.', advice: null },
  hung_up: {
    title: 'Caller hung up',
    explanation:
      'The connection was closed, or no longer read, before the answer ended. You were charged for the prompt and for what had been written by then.',
    advice:
      'If no one cancelled, look for a timeout in your client or in a proxy between it and this service, and stream long answers.',
  },
  hold_used_up: {
    title: 'Credit ran out midway',
    explanation: 'The answer ended when the credit set aside for it ran out, and that credit was charged.',
    advice: 'Top up the wallet, or ask for shorter answers with max_completion_tokens.',
  },
  upstream_failed: {
    title: 'The model failed',
    explanation: `No provider of this model could answer, or the answer broke midway. ${NOT_CHARGED}`,
    advice: 'Retry with exponential backoff. If it keeps happening, try another model.',
  },
  truncated: {
    title: 'The answer was cut off',
    explanation: `The model's answer ended without its end marker, so it is not complete. ${NOT_CHARGED}`,
    advice: 'Retry. Do not trust a short answer that looks complete.',
  },
  timed_out: {
    title: 'The model took too long',
    explanation: `The model began too late, or fell silent. ${NOT_CHARGED}`,
    advice: 'Retry, with a shorter prompt or a faster model if it keeps happening.',
  },
  gateway_failed: {
    title: 'Something failed on our side',
    explanation: `The call could not be finished because of a fault in this service. ${NOT_CHARGED}`,
    advice: 'Retry. If it keeps happening, quote the request id to support.',
  },
  gateway_died: {
    title: 'Interrupted on our side',
    explanation: `The server that ran this call stopped. ${NOT_CHARGED}`,
    advice: 'Retry.',
  },
}

/** Failures that say more than their outcome does. */
const FAILURE_WORDS: Partial<Record<ErrorCode, Words>> = {
  provider_rate_limited: {
    title: 'The provider is limiting requests',
    explanation: `The provider of this model took no more requests at that moment. ${NOT_CHARGED}`,
    advice: 'Wait for the time in Retry-After before you retry, or use another model.',
  },
}

export function wordsOf(outcome: CallOutcome, errorCode: string | null = null): Words {
  const own =
    errorCode !== null && isErrorCode(errorCode) && FAILURES.has(outcome) ? FAILURE_WORDS[errorCode] : undefined
  return own ?? WORDS[outcome]
}

export interface FailedCall {
  /** Null where nobody was there to name one. */
  errorCode: string | null
  title: string
  beganAt: Date
  model: string
}

export interface FailureGroup<C extends FailedCall> {
  calls: number
  firstAt: Date
  lastAt: Date
  /** Each once, the one that failed last first. */
  models: string[]
  newest: C
}

/** Calls that failed alike, told once: the same code and the same sentence. They come newest first, and so do the groups. */
export function groupFailures<C extends FailedCall>(failed: readonly C[]): FailureGroup<C>[] {
  const groups = new Map<string, FailureGroup<C>>()
  for (const call of failed) {
    const key = JSON.stringify([call.errorCode, call.title])
    const group = groups.get(key)
    if (!group) {
      const { beganAt, model } = call
      groups.set(key, { calls: 1, firstAt: beganAt, lastAt: beganAt, models: [model], newest: call })
      continue
    }
    group.calls += 1
    group.firstAt = call.beganAt
    if (!group.models.includes(call.model)) group.models.push(call.model)
  }
  return [...groups.values()]
}

const TRIES: Record<string, string> = {
  rate_limited: 'was at its limit',
  server_error: 'answered with an error',
  first_token_timeout: 'did not begin in time',
  idle_timeout: 'fell silent',
  total_timeout: 'took too long',
  connect_timeout: 'could not be reached in time',
  refused: 'could not be reached',
  dns: 'could not be reached',
  tls: 'could not be reached',
  reset: 'broke the connection',
  rejected: 'did not take the request',
  truncated: 'ended without its end marker',
}

/** Why a try failed. What concerns only the operator, such as a refused key, is not told apart. */
export function tryWordsOf(failed: string): string {
  return TRIES[failed] ?? 'could not answer'
}

export interface Phase {
  kind: 'prepared' | 'failed' | 'waited' | 'answered'
  fromMs: number
  toMs: number
  /** Counts the tries, from 1. */
  attempt: number | null
  why: string | null
}

export interface Timings {
  firstTokenMs: number | null
  durationMs: number
  tries: readonly { ms: number; failed?: string | undefined }[]
}

/**
 * The call from its first byte to its last, without gaps: preparing (keys, checks, the hold), each try up to its first
 * chunk or its failure, and the answer. Only the lengths of tries are known, so they are laid end to end before the answer.
 */
export function phasesOf({ firstTokenMs, durationMs, tries }: Timings): Phase[] {
  const last = tries.at(-1)
  const hasBegun = firstTokenMs !== null
  const triedUntil = Math.min(firstTokenMs ?? durationMs, durationMs)
  // A try that broke midway lasted into the answer; before its first chunk it had what is left of the time.
  const waits = tries.map(({ ms }, n) => (hasBegun && n === tries.length - 1 && last?.failed ? 0 : ms))
  let at = Math.max(triedUntil - waits.reduce((sum, ms) => sum + ms, 0), 0)
  const phases: Phase[] = [{ kind: 'prepared', fromMs: 0, toMs: at, attempt: null, why: null }]
  for (const [n, { failed }] of tries.entries()) {
    const isLast = n === tries.length - 1
    const toMs = isLast ? triedUntil : Math.min(at + (waits[n] ?? 0), triedUntil)
    const isAnswering = isLast && hasBegun
    const why = failed !== undefined && !isAnswering ? tryWordsOf(failed) : null
    phases.push({ kind: why === null ? 'waited' : 'failed', fromMs: at, toMs, attempt: n + 1, why })
    at = toMs
  }
  if (hasBegun) {
    const why = last?.failed === undefined ? null : tryWordsOf(last.failed)
    phases.push({ kind: 'answered', fromMs: triedUntil, toMs: durationMs, attempt: null, why })
  }
  return phases
}
