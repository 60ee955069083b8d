import { LRUCache } from 'lru-cache'
import type { Log } from '../../platform/log.ts'
import type { Metrics } from '../../metrics.ts'
import type { UpstreamError } from '../../providers/provider.ts'
import { BLAME, countsForAll, type Blame, type Probe } from '../../rules/upstreams/blame.ts'
import {
  CLOSED,
  afterBeginning,
  afterCompletion,
  afterFailure,
  afterLeaving,
  afterOthersOpened,
  passThrough,
  stateOf,
  waitOf,
  type Breaker,
  type Pass,
} from '../../rules/upstreams/breaker.ts'
import type { OpenDeployment } from './catalogue.ts'

/**
 * Breakers for each deployment, as this process has seen it: one for everybody, and one for each publisher. A publisher can
 * make its own calls fail by what it asks, so what fails for one closes the deployment to that one. It is closed to everybody
 * when it fails for two of them, and when nothing that was asked can be the cause.
 */
export interface Breakers {
  /** Lets an attempt pass, or says how long to wait. Each passage must be ended, once, with how it went. */
  enter(deployment: OpenDeployment, publisherId: string, isOnly: boolean): Passage | { waitMs: number }
  /** Forgets the deployments that are not among these. */
  keepOnly(deployments: readonly OpenDeployment[]): void
}

export interface Passage {
  /** The first chunk is there. */
  began(): void
  ended(end: AttemptEnd): void
}

/** `left`: the caller is gone, has had enough, or we are to blame. */
export type AttemptEnd = 'complete' | 'left' | UpstreamError

const STATE_VALUES = { closed: 0, half_open: 1, open: 2 }
/** For each deployment. A publisher that is forgotten starts again with a closed breaker. */
const PUBLISHERS_MAX = 1_000

export interface BreakersOptions {
  log: Log
  metrics: Metrics
  now(): number
}

export function createBreakers(options: BreakersOptions): Breakers {
  const known = new Map<string, { deployment: OpenDeployment; pair: BreakerPair }>()
  const { breakerState } = options.metrics

  function pairOf(deployment: OpenDeployment): BreakerPair {
    const before = known.get(deployment.id)
    if (before) return before.pair
    const pair = createPair(deployment, options)
    known.set(deployment.id, { deployment, pair })
    breakerState.set(labelsOf(deployment), STATE_VALUES.closed)
    return pair
  }

  return {
    enter(deployment, publisherId, isOnly) {
      const pair = pairOf(deployment)
      const passes = pair.enter(publisherId, isOnly)
      if ('waitMs' in passes) return passes
      // A deployment that was forgotten in the meantime is not to be shown again.
      const isKnown = () => known.get(deployment.id)?.pair === pair
      let hasBegun = false
      return {
        began() {
          hasBegun = true
          if (!isKnown()) return
          pair.changeOwn(publisherId, (own, nowMs) => afterBeginning(own, passes.own, nowMs))
          pair.changeEverybodys((shared, nowMs) => afterBeginning(shared, passes.everybodys, nowMs))
        },
        ended(end) {
          if (!isKnown()) return
          const blame = blameFor(end)
          const isForAll = countsForAll(blame, passes.everybodys.isProbe ? pair.probeOf(publisherId, blame) : undefined)
          pair.changeOwn(publisherId, afterEnd(end, passes.own, blame === 'one', hasBegun))
          pair.changeEverybodys(afterEnd(end, passes.everybodys, isForAll, hasBegun))
        },
      }
    },
    keepOnly(deployments) {
      const kept = new Set(deployments.map(({ id }) => id))
      for (const [id, { deployment }] of known) {
        if (kept.has(id)) continue
        known.delete(id)
        breakerState.remove(labelsOf(deployment))
      }
    },
  }
}

type Change = (breaker: Breaker, nowMs: number) => Breaker

/** The breakers of one deployment. */
interface BreakerPair {
  enter(publisherId: string, isOnly: boolean): { everybodys: Pass; own: Pass } | { waitMs: number }
  changeEverybodys(to: Change): void
  changeOwn(publisherId: string, to: Change): void
  /** The facts about a probe for everybody that has just ended. */
  probeOf(publisherId: string, blame: Blame): Probe
}

function createPair(deployment: OpenDeployment, { log, metrics, now }: BreakersOptions): BreakerPair {
  const publishers = new LRUCache<string, Breaker>({ max: PUBLISHERS_MAX })
  let everybodys = CLOSED
  let lastFailedOf: string | undefined

  function show(nowMs: number): void {
    const states = [everybodys, ...publishers.values()].map((breaker) => STATE_VALUES[stateOf(breaker, nowMs)])
    metrics.breakerState.set(labelsOf(deployment), Math.max(...states))
  }

  function tell(before: Breaker, breaker: Breaker, nowMs: number, publisher?: string): void {
    if (breaker.epoch === before.epoch) return
    const labels = { ...labelsOf(deployment), publisher }
    const openMs = Math.round(waitOf(breaker, nowMs))
    if (breaker.open) log.warn({ ...labels, openMs }, 'route fails: not used until a probe succeeds')
    else log.info(labels, 'route works again')
  }

  function changeEverybodys(to: Change): void {
    const nowMs = now()
    const before = everybodys
    everybodys = to(before, nowMs)
    if (everybodys.open === before.open) return
    tell(before, everybodys, nowMs)
    if (!everybodys.open) closeAll()
    show(nowMs)
  }

  /** A deployment that works again works for all. */
  function closeAll(): void {
    // A copy, because setting one makes it the last of those to come.
    const all = [...publishers]
    for (const [id, own] of all) {
      publishers.set(id, afterCompletion(own, { epoch: own.epoch, isProbe: false }))
    }
  }

  function changeOwn(publisherId: string, to: Change): void {
    const nowMs = now()
    const before = publishers.get(publisherId) ?? CLOSED
    const own = to(before, nowMs)
    if (own === before) return
    publishers.set(publisherId, own)
    if (own.open === before.open) return
    tell(before, own, nowMs, publisherId)
    const openOnes = [...publishers.values()].filter((breaker) => stateOf(breaker, nowMs) === 'open')
    if (own.epoch !== before.epoch && own.open && openOnes.length > 1) changeEverybodys(afterOthersOpened)
    show(nowMs)
  }

  return {
    enter(publisherId, isOnly) {
      const nowMs = now()
      const own = publishers.get(publisherId) ?? CLOSED
      const toAll = passThrough(everybodys, nowMs, isOnly)
      const toOne = passThrough(own, nowMs, isOnly)
      if (!toAll || !toOne) return { waitMs: Math.max(waitOf(everybodys, nowMs), waitOf(own, nowMs)) }
      changeEverybodys(() => toAll[0])
      changeOwn(publisherId, () => toOne[0])
      return { everybodys: toAll[1], own: toOne[1] }
    },
    changeEverybodys,
    changeOwn,
    probeOf(publisherId, blame) {
      const probe = { publisherId, lastFailedOf }
      if (blame === 'one') lastFailedOf = publisherId
      return probe
    },
  }
}

function afterEnd(end: AttemptEnd, pass: Pass, isCounted: boolean, hasBegun: boolean): Change {
  return (breaker, nowMs) => {
    if (end === 'complete') return afterCompletion(breaker, pass)
    return isCounted ? afterFailure(breaker, pass, hasBegun, nowMs) : afterLeaving(breaker, pass, hasBegun)
  }
}

function blameFor(end: AttemptEnd): Blame {
  return typeof end === 'string' ? 'nobody' : BLAME[end.kind]
}

function labelsOf({ id, provider, upstreamModel }: OpenDeployment) {
  return { provider: provider.name, deployment: id, model: upstreamModel }
}
