import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { UpstreamError, type UpstreamErrorKind } from '../providers/provider.ts'
import {
  CLOSED,
  afterBeginning,
  afterCompletion,
  afterFailure,
  afterLeaving,
  passThrough,
  stateOf,
  waitOf,
  type Breaker,
} from '../rules/breaker.ts'
import type { Route } from './catalogue.ts'

/** One breaker for each deployment, as this process has seen it. */
export interface Breakers {
  /** Whoever enters says how it went, once. */
  enter(route: Route, isOnly: boolean): Passage | { waitMs: number }
  /** Forgets the deployments that are not among these. */
  keepOnly(routes: readonly Route[]): void
}

export interface Passage {
  /** The first piece is there. */
  began(): void
  ended(end: AttemptEnd): void
}

/** `left`: the caller is gone, has had enough, or we are to blame. */
export type AttemptEnd = 'complete' | 'left' | UpstreamError

/** These are about a key or a request. Whoever answers so is well. */
const SAYS_NOTHING_OF_HEALTH: ReadonlySet<UpstreamErrorKind> = new Set(['rate_limited', 'key_rejected', 'rejected'])
const STATE_VALUES = { closed: 0, half_open: 1, open: 2 }

export interface BreakersOptions {
  log: Log
  metrics: Metrics
  now(): number
}

export function createBreakers({ log, metrics, now }: BreakersOptions): Breakers {
  const breakers = new Map<string, { route: Route; breaker: Breaker }>()

  function breakerOf(route: Route): Breaker {
    const known = breakers.get(route.deployment.id)
    if (known) return known.breaker
    breakers.set(route.deployment.id, { route, breaker: CLOSED })
    metrics.breakerState.set(labelsOf(route), STATE_VALUES.closed)
    return CLOSED
  }

  function change(route: Route, to: (breaker: Breaker, nowMs: number) => Breaker): void {
    const known = breakers.get(route.deployment.id)
    if (!known) return
    const nowMs = now()
    const before = known.breaker
    known.breaker = to(before, nowMs)
    if (known.breaker.open === before.open) return
    metrics.breakerState.set(labelsOf(route), STATE_VALUES[stateOf(known.breaker, nowMs)])
    if (known.breaker.epoch === before.epoch) return
    const openMs = Math.round(waitOf(known.breaker, nowMs))
    if (known.breaker.open) log.warn({ ...labelsOf(route), openMs }, 'route fails: not used until a probe succeeds')
    else log.info(labelsOf(route), 'route works again')
  }

  return {
    enter(route, isOnly) {
      const breaker = breakerOf(route)
      const entered = passThrough(breaker, now(), isOnly)
      if (!entered) return { waitMs: waitOf(breaker, now()) }
      const [next, pass] = entered
      change(route, () => next)
      let hasBegun = false
      return {
        began() {
          hasBegun = true
          change(route, (current, nowMs) => afterBeginning(current, pass, nowMs))
        },
        ended(end) {
          change(route, (current, nowMs) => {
            if (end === 'complete') return afterCompletion(current, pass)
            const isLeft = end === 'left' || SAYS_NOTHING_OF_HEALTH.has(end.kind)
            return isLeft ? afterLeaving(current, pass, hasBegun) : afterFailure(current, pass, hasBegun, nowMs)
          })
        },
      }
    },
    keepOnly(routes) {
      const kept = new Set(routes.map(({ deployment }) => deployment.id))
      for (const [id, { route }] of breakers) {
        if (kept.has(id)) continue
        breakers.delete(id)
        metrics.breakerState.remove(labelsOf(route))
      }
    },
  }
}

function labelsOf({ deployment, provider }: Route) {
  return { provider: provider.name, deployment: deployment.id, model: deployment.upstreamModel }
}
