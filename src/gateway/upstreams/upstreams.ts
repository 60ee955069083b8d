import type { Log } from '../../platform/log.ts'
import type { Metrics } from '../../metrics.ts'
import { newRetryBudget, withCall, withRepeat } from '../../rules/upstreams/retry-budget.ts'
import { drawOrder } from '../../rules/upstreams/routing.ts'
import { steadyChance } from '../../rules/upstreams/steady-chance.ts'
import { createBreakers, type AttemptEnd } from './breakers.ts'
import type { OpenDeployment, ProviderKey } from './catalogue.ts'
import { createProviderKeys, type UpstreamCaller } from './provider-keys.ts'

/**
 * This process's knowledge of the providers: which deployments fail, which keys are refused, must rest or are busy. In memory
 * only: every gateway finds out by itself within a few calls, and none waits for another to tell it.
 */
export interface Upstreams {
  /** The deployments of a route in the order in which a call tries them: the same for all calls of a conversation. */
  inOrder(deployments: readonly OpenDeployment[], conversation?: string): OpenDeployment[]
  /** Leave for one attempt. `isOnly`: the call has no other one. `spentKeys` have failed this call already. */
  admit(
    deployment: OpenDeployment,
    caller: UpstreamCaller,
    isOnly: boolean,
    spentKeys: ReadonlySet<string>,
  ): Admission | Refusal
  /** How long to wait before the only deployment is tried once more. Undefined: too many calls do that already. */
  repeatAfterMs(): number | undefined
  /** Forgets all others: what is known must not outgrow the catalogue. */
  keepOnly(deployments: readonly OpenDeployment[]): void
  /** Attempts that have not ended. */
  readonly inFlight: number
}

export interface Admission {
  key: ProviderKey
  /** The first chunk is there. */
  began(): void
  /** Only the first time counts. */
  ended(end: AttemptEnd): void
}

export interface Refusal {
  /** `failing`: its breaker is open, or it refuses our keys. `busy`: its keys must rest or bear no more. */
  why: 'failing' | 'busy'
  /** Until it is worth while to ask again. */
  waitMs: number
}

export interface UpstreamsOptions {
  log: Log
  metrics: Metrics
  noteKeyRefusal(keyId: string, refusal: { status: number | undefined } | undefined): Promise<void>
  /** Monotonic. */
  now?(): number
  random?(): number
}

const BACKOFF_MS = { least: 50, most: 400 }

export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const { now = () => performance.now(), random = () => Math.random() } = options
  const breakers = createBreakers({ ...options, now })
  const providerKeys = createProviderKeys({ ...options, now, random })
  let budget = newRetryBudget(now())

  return {
    inOrder(deployments, conversation) {
      budget = withCall(budget)
      return drawOrder(deployments, conversation === undefined ? random : steadyChance(conversation))
    },
    admit(deployment, caller, isOnly, spentKeys) {
      const passage = breakers.enter(deployment, caller.publisherId, isOnly)
      if ('waitMs' in passage) return { why: 'failing', ...passage }
      const use = providerKeys.take(deployment, caller, spentKeys)
      if ('waitMs' in use) {
        passage.ended('left')
        return { why: use.why === 'busy' ? 'busy' : 'failing', waitMs: use.waitMs }
      }
      let isOver = false
      return {
        key: use.key,
        began() {
          passage.began()
          use.began()
        },
        ended(end) {
          if (isOver) return
          isOver = true
          const kind = end === 'complete' ? 'answered' : end === 'left' ? end : end.kind
          options.metrics.upstreamAttempts.inc({ provider: deployment.provider.name, kind })
          passage.ended(end)
          use.ended(end)
        },
      }
    },
    repeatAfterMs() {
      const spent = withRepeat(budget, now())
      if (!spent) return undefined
      budget = spent
      return BACKOFF_MS.least + random() * (BACKOFF_MS.most - BACKOFF_MS.least)
    },
    keepOnly(deployments) {
      breakers.keepOnly(deployments)
      providerKeys.keepOnly(deployments)
    },
    get inFlight() {
      return providerKeys.inFlight
    },
  }
}
