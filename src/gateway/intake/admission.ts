import type { FullShare } from '../../rules/calls/shares.ts'
import { ParleyError } from '../../rules/errors.ts'
import { UNPAID_BODY_BYTES_MAX, UPLOAD_WAIT_MS } from '../../rules/limits.ts'
import type { Memory } from './memory.ts'
import type { Holder, Shares } from './shares.ts'

/** One request's share of the process: a place, and memory for its body. */
export interface Admission {
  /** A longer body is refused. */
  readonly bodyBytesMax: number | undefined
  /** Memory for so much more of the body; a promise where it must be waited for, which rejects when there is none in time. */
  reserve(bytes: number): Promise<void> | undefined
  release(): void
}

interface AdmissionOptions {
  caller: Holder
  bodyBytesMax: number | undefined
  places: Shares
  memory: Memory
  refuse(reason: string, error: ParleyError): ParleyError
}

export function createAdmission({ caller, bodyBytesMax, places, memory, refuse }: AdmissionOptions): Admission {
  let reserved = 0
  let isReleased = false
  const keep = (bytes: number) => {
    // A caller that has left by now gives back at once the memory that it was still given.
    if (isReleased) memory.give(caller, bytes)
    else reserved += bytes
  }
  async function waitFor(bytes: number): Promise<void> {
    const full = await memory.wait(caller, bytes, UPLOAD_WAIT_MS)
    if (full) throw refuse(`${full}_bytes`, noMemory(full))
    keep(bytes)
  }
  return {
    bodyBytesMax,
    reserve(bytes) {
      const full = memory.take(caller, bytes)
      if (full === undefined) {
        keep(bytes)
        return undefined
      }
      return waitFor(bytes)
    },
    release() {
      if (isReleased) return
      isReleased = true
      places.give(caller, 1)
      if (reserved > 0) memory.give(caller, reserved)
    },
  }
}

/** The refusal of a body that is too long for an empty wallet. */
export function unpaidBody(): ParleyError {
  const message = `Insufficient credit: while the wallet is empty, no body over ${UNPAID_BODY_BYTES_MAX} bytes is read. Top up the wallet.`
  return new ParleyError('credit_insufficient', { message, details: { reason: 'unpaid_body' } })
}

const RETRY_AFTER_SECONDS = 1
const WHO = { session: 'This session', key_pair: 'This key pair', project: 'This project', account: 'This account' }

export function noPlace(full: FullShare): ParleyError {
  const options = { retryAfterSeconds: RETRY_AFTER_SECONDS, details: { reason: `${full}_calls` } }
  if (full === 'all') return new ParleyError('overloaded', options)
  const message = `${WHO[full]} has its share of this instance's calls in flight. Retry when some have ended.`
  return new ParleyError('concurrency_limited', { ...options, message })
}

function noMemory(full: FullShare): ParleyError {
  const options = { retryAfterSeconds: RETRY_AFTER_SECONDS, details: { reason: `${full}_bytes` } }
  if (full === 'all') return new ParleyError('overloaded', options)
  const message = `${WHO[full]} has requests in flight that are too large together. Retry when some have ended, or send fewer large requests at a time.`
  return new ParleyError('memory_limited', { ...options, message })
}
