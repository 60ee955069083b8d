import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Metrics } from '../../metrics.ts'
import { networkOf } from '../../rules/accounts/addresses.ts'
import { shareOf } from '../../rules/calls/shares.ts'
import { rateOf, takeToken, type Bucket, type Rate } from '../../rules/calls/token-bucket.ts'
import { ParleyError } from '../../rules/errors.ts'
import { UNPAID_BODY_BYTES_MAX, type IntakeLimits } from '../../rules/limits.ts'
import type { Caller } from '../authenticate.ts'
import { createAdmission, noPlace, unpaidBody, type Admission } from './admission.ts'
import { createMemory } from './memory.ts'
import { readBody } from './read-body.ts'
import { createShares } from './shares.ts'
import type { Work } from './work.ts'

/**
 * The checks made before a body is read, so that no caller waits for a neighbour: how often it asks, and how many of the
 * process's places and how much of its memory it has. All of it is this process's own memory; the limits that hold across all
 * gateways are the ledger's.
 */
export interface Intake {
  /** Counts a request, whatever becomes of it. Before the keys are looked at: who guesses keys is counted, too. */
  greet(address: string): void
  /** Rejects with why the keys of this request are refused: at once now and then, and late for who is refused all the time. */
  refuseKeys(address: string, refusal: ParleyError): Promise<never>
  /** Admits a caller that has proven its keys. The admission ends when it is released, once. */
  admit(caller: Caller, declaredBytes: number | undefined): Admission
  /** Throws when it is too long, or comes too slowly. */
  read(stream: IncomingMessage, admission: Admission): Promise<Buffer>
}

export interface IntakeOptions {
  callsMax: number
  limits: IntakeLimits
  metrics: Pick<Metrics, 'intakeRefusals' | 'bodyBytes'>
  work: Pick<Work, 'waitOf'>
  /** Monotonic. */
  now?(): number
}

/** More callers than ask within the ten seconds that a bucket takes to fill up. A forgotten one starts again with a full one. */
const REMEMBERED_MAX = 50_000
/** For each network. More than a person ever sends, and fewer than guessing needs. */
const REFUSED_KEYS_PER_SECOND = 10
/** A script that asks again as soon as it is refused would keep the process busy with refusals. */
const REFUSED_AFTER_MS = 500

export function createIntake(options: IntakeOptions): Intake {
  const { callsMax, limits, metrics, work, now = () => performance.now() } = options
  const addresses = createRates(rateOf(limits.addressRequestsPerSecond), now)
  const refusedKeys = createRates(rateOf(REFUSED_KEYS_PER_SECOND), now)
  const keyPairs = createRates(rateOf(limits.keyPairRequestsPerSecond), now)
  const sessions = createRates(rateOf(limits.sessionRequestsPerSecond), now)
  const places = createShares({
    all: callsMax,
    // Too many in all are refused later, as 503: what is wrong with a request is said first.
    most: Number.POSITIVE_INFINITY,
    project: shareOf(callsMax, limits.projectCallsPercent),
    keyPair: shareOf(callsMax, limits.keyPairCallsPercent),
    session: limits.sessionCallsAtOnce,
  })
  const memory = createMemory(limits, (bytes) => metrics.bodyBytes.set(bytes))

  function refuse(reason: string, error: ParleyError): ParleyError {
    metrics.intakeRefusals.inc({ reason })
    return error
  }

  function refuseFor(waitMs: number, reason: string, what: string): void {
    if (waitMs === 0) return
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000))
    const message = `${what}, counting refused ones. Retry after the stated time.`
    throw refuse(reason, new ParleyError('too_many_requests', { message, retryAfterSeconds, details: { reason } }))
  }

  return {
    greet: (address) =>
      refuseFor(addresses.waitOf(networkOf(address)), 'address_rate', 'Too many requests from this network address'),
    async refuseKeys(address, refusal) {
      if (refusedKeys.waitOf(networkOf(address)) > 0) await sleep(REFUSED_AFTER_MS, undefined, { ref: false })
      throw refusal
    },
    admit(caller, declaredBytes) {
      const { keyPairId, publisherId, session } = caller
      // First: what one of its browsers sends too much is not taken from the pair's.
      if (session) refuseFor(sessions.waitOf(session.id), 'session_rate', 'Too many requests with this session')
      refuseFor(keyPairs.waitOf(keyPairId), 'key_pair_rate', 'Too many requests with this key pair')
      refuseFor(work.waitOf(publisherId), 'account_work', 'This account sends more than its share of large requests')
      const bodyBytesMax = caller.isWalletEmpty ? UNPAID_BODY_BYTES_MAX : undefined
      if (bodyBytesMax !== undefined && declaredBytes !== undefined && declaredBytes > bodyBytesMax)
        throw refuse('unpaid_body', unpaidBody())
      const full = places.take(caller, 1)
      if (full) throw refuse(`${full}_calls`, noPlace(full))
      return createAdmission({ caller, bodyBytesMax, places, memory, refuse })
    },
    read: (stream, admission) =>
      readBody(stream, admission, limits).catch((error: ParleyError) => {
        throw error.code === 'body_too_slow' ? refuse('slow_upload', error) : error
      }),
  }
}

interface Rates {
  /** 0: it may pass, and is counted. */
  waitOf(who: string): number
}

function createRates(rate: Rate, now: () => number): Rates {
  const buckets = new LRUCache<string, Bucket>({ max: REMEMBERED_MAX })
  return {
    waitOf(who) {
      const { bucket, waitMs } = takeToken(buckets.get(who), rate, now())
      buckets.set(who, bucket)
      return waitMs
    },
  }
}
