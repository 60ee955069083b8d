import { LRUCache } from 'lru-cache'
import { hasRoom, UNLIMITED, type Concurrency } from '../../rules/upstreams/concurrency.ts'
import { NO_WITNESSES, type KeyTrouble, type Witnesses } from '../../rules/upstreams/witnesses.ts'
import type { AttemptEnd } from './breakers.ts'

/** The state of a provider's key, as this process knows it, at each of the deployments that it is used for. */

export interface NoKey {
  /** `refused`: the provider accepts none of them. `busy`: they rest, or bear no more. */
  why: 'refused' | 'busy'
  waitMs: number
}

/** For one key at one deployment: the publishers whose own rests are remembered. */
const PUBLISHERS_MAX = 1_000
/** When a call will end is not known. */
const ROOM_WAIT_MS = 1_000

export interface KeyState {
  version: string
  labels: { provider: string; key: string }
  refusal: KeyRefusal | undefined
  lines: Map<string, Line>
}

/**
 * A key at a deployment. Providers limit requests by key and model, so a key that must rest for one model may have room
 * for another.
 */
export interface Line {
  concurrency: Concurrency
  /** For everybody, and for those alone who may have brought it upon themselves. */
  rest: Rest
  ownRests: LRUCache<string, Rest>
  witnesses: Witnesses
  refusal: KeyRefusal | undefined
  /** The publisher that was last answered 403, if nobody has been answered since. */
  forbiddenTo: string | undefined
}

export interface Rest {
  untilMs: number
  limitedInARow: number
}

/** Replaced by each new one, so that a call can tell whether it knew of this one when it began. */
export interface KeyRefusal {
  untilMs: number
  times: number
}

export function lineOf({ lines }: KeyState, deploymentId: string): Line {
  let line = lines.get(deploymentId)
  if (!line) {
    line = {
      concurrency: UNLIMITED,
      rest: newRest(),
      ownRests: new LRUCache({ max: PUBLISHERS_MAX }),
      witnesses: NO_WITNESSES,
      refusal: undefined,
      forbiddenTo: undefined,
    }
    lines.set(deploymentId, line)
  }
  return line
}

export function newRest(): Rest {
  return { untilMs: 0, limitedInARow: 0 }
}

export function whatIsMissing(state: KeyState, line: Line, publisherId: string, nowMs: number): NoKey | undefined {
  const refusedUntilMs = Math.max(state.refusal?.untilMs ?? 0, line.refusal?.untilMs ?? 0)
  if (nowMs < refusedUntilMs) return { why: 'refused', waitMs: refusedUntilMs - nowMs }
  const restsUntilMs = Math.max(line.rest.untilMs, line.ownRests.get(publisherId)?.untilMs ?? 0)
  if (nowMs < restsUntilMs) return { why: 'busy', waitMs: restsUntilMs - nowMs }
  return hasRoom(line.concurrency) ? undefined : { why: 'busy', waitMs: ROOM_WAIT_MS }
}

/** Returns the trouble that one publisher can bring upon itself, and a key can have. */
export function troubleOf(end: AttemptEnd): KeyTrouble | undefined {
  if (typeof end === 'string') return undefined
  if (end.kind === 'rate_limited' || end.status === 503 || end.status === 529) return 'overload'
  return end.kind === 'key_rejected' && end.status === 402 ? 'unpaid' : undefined
}
