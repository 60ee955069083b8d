import { errorFields, type Log } from '../../platform/log.ts'
import type { Metrics } from '../../metrics.ts'
import type { UpstreamError } from '../../providers/provider.ts'
import { MINUTE_MS } from '../../rules/durations.ts'
import { withOneLess, withOneMore, type SlotEnd } from '../../rules/upstreams/concurrency.ts'
import { cooldownMs } from '../../rules/upstreams/cooldown.ts'
import { inSteadyOrder } from '../../rules/upstreams/steady-chance.ts'
import { isEverybodys, withAnswer, withRefusal, withUse, type KeyTrouble } from '../../rules/upstreams/witnesses.ts'
import type { AttemptEnd } from './breakers.ts'
import type { OpenDeployment, ProviderKey } from './catalogue.ts'
import {
  lineOf,
  newRest,
  troubleOf,
  whatIsMissing,
  type KeyRefusal,
  type KeyState,
  type Line,
  type NoKey,
} from './key-lines.ts'

/** The keys of each provider, used in turn, or always in the same order by a conversation: which are refused, which must rest, and how much each bears. */
export interface ProviderKeys {
  /** The next key that can be used at this deployment. Whoever takes it gives it back, once. */
  take(deployment: OpenDeployment, caller: UpstreamCaller, spentKeys: ReadonlySet<string>): KeyInUse | NoKey
  /** Forgets the keys that are not among these. */
  keepOnly(deployments: readonly OpenDeployment[]): void
  readonly inFlight: number
}

/** The caller, as far as it matters to a provider. */
export interface UpstreamCaller {
  publisherId: string
  /** Undefined: an independent request, which may go anywhere. */
  conversation?: string | undefined
}

export interface KeyInUse {
  key: ProviderKey
  began(): void
  ended(end: AttemptEnd): void
}

export interface ProviderKeysOptions {
  log: Log
  metrics: Metrics
  now(): number
  random(): number
  /** For the operator to see. */
  noteKeyRefusal(keyId: string, refusal: { status: number | undefined } | undefined): Promise<void>
}

/** A refused key is tried by one call after so long, then after twice as long, and so on. */
const REFUSED_MS = { first: 10_000, most: 10 * MINUTE_MS }
/** No permission for this model, or what a prompt is answered that somebody's filter dislikes. 401 and 402 are about the key. */
const STATUS_OF_ONE_MODEL = 403
export function createProviderKeys(options: ProviderKeysOptions): ProviderKeys {
  const { now, metrics } = options
  const states = new Map<string, KeyState>()
  const turns = new Map<string, number>()
  let inFlight = 0

  /** A key that was replaced starts anew. Calls that began before may still come with the old one. */
  function stateOf({ id, version, name }: ProviderKey, provider: string): KeyState {
    let state = states.get(id)
    if (state?.version !== version) {
      if (state) hide(metrics, state)
      state = { version, labels: { provider, key: name }, refusal: undefined, lines: new Map() }
      states.set(id, state)
    }
    return state
  }

  function inTurn({ keys, providerId }: OpenDeployment): ProviderKey[] {
    const turn = (turns.get(providerId) ?? 0) % keys.length
    turns.set(providerId, (turn + 1) % keys.length)
    return [...keys.slice(turn), ...keys.slice(0, turn)]
  }

  return {
    take(deployment, { publisherId, conversation }, spentKeys) {
      // Accounts do not share caches: a conversation stays with a key as long as that can be used.
      const keys = conversation === undefined ? inTurn(deployment) : inSteadyOrder(deployment.keys, conversation)
      const none: NoKey = { why: 'refused', waitMs: Number.POSITIVE_INFINITY }
      for (const key of keys) {
        if (spentKeys.has(key.id)) continue
        const state = stateOf(key, deployment.provider.name)
        const line = lineOf(state, deployment.id)
        const missing = whatIsMissing(state, line, publisherId, now())
        if (!missing) {
          inFlight += 1
          return use(options, { deployment, publisherId, key, state, line }, () => (inFlight -= 1))
        }
        if (missing.why === 'busy') none.why = 'busy'
        none.waitMs = Math.min(none.waitMs, missing.waitMs)
      }
      return none
    },
    keepOnly(deployments) {
      const ids = new Set(deployments.map(({ id }) => id))
      const keys = new Map(deployments.flatMap((deployment) => deployment.keys.map(({ id, version }) => [id, version])))
      const providers = new Set(deployments.map(({ providerId }) => providerId))
      for (const [id, { version, labels, lines }] of states) {
        if (keys.get(id) !== version) {
          states.delete(id)
          hide(metrics, { labels, lines })
        }
        for (const deployment of lines.keys()) {
          if (ids.has(deployment)) continue
          lines.delete(deployment)
          metrics.concurrencyLimit.remove({ ...labels, deployment })
        }
      }
      for (const provider of turns.keys()) if (!providers.has(provider)) turns.delete(provider)
    },
    get inFlight() {
      return inFlight
    },
  }
}

/** Takes what is forgotten out of the metrics. */
function hide({ keyDisabled, concurrencyLimit }: Metrics, { labels, lines }: Pick<KeyState, 'labels' | 'lines'>): void {
  keyDisabled.remove(labels)
  for (const deployment of lines.keys()) concurrencyLimit.remove({ ...labels, deployment })
}

interface Use {
  deployment: OpenDeployment
  publisherId: string
  key: ProviderKey
  state: KeyState
  line: Line
}

function use(options: ProviderKeysOptions, used: Use, onEnd: () => void): KeyInUse {
  const { key, state, line, publisherId } = used
  const { cuts } = line.concurrency
  const known = [state.refusal, line.refusal]
  line.concurrency = withOneMore(line.concurrency)
  line.witnesses = withUse(line.witnesses, publisherId, options.now())
  // One call finds out whether a refused key is accepted again; the others do not wait for it.
  for (const refusal of known) if (refusal) refusal.untilMs = options.now() + refusedMs(refusal.times)
  return {
    key,
    began() {
      line.rest.limitedInARow = 0
      line.ownRests.delete(publisherId)
      line.witnesses = withAnswer(line.witnesses)
      line.forbiddenTo = undefined
      if (known.some((refusal) => refusal !== undefined)) accept(options, used, known)
    },
    ended(end) {
      onEnd()
      const { limit } = line.concurrency
      const trouble = troubleOf(end)
      const isForAll = trouble !== undefined && concernsAll(options, used, trouble)
      line.concurrency = withOneLess(line.concurrency, slotEndOf(end, isForAll), cuts)
      if (line.concurrency.limit !== limit) {
        const labels = { ...state.labels, deployment: used.deployment.id }
        options.metrics.concurrencyLimit.set(labels, line.concurrency.limit)
      }
      if (typeof end === 'string') return
      if (end.kind === 'rate_limited') rest(options, used, end, isForAll)
      if (end.kind === 'key_rejected' && (trouble === undefined || isForAll)) refuse(options, used, known, end)
    },
  }
}

function slotEndOf(end: AttemptEnd, isForAll: boolean): SlotEnd {
  if (end === 'complete') return 'success'
  return troubleOf(end) === 'overload' && isForAll ? 'overload' : 'other'
}

function concernsAll({ now, log }: ProviderKeysOptions, used: Use, trouble: KeyTrouble): boolean {
  const { line, publisherId, key, state } = used
  const nowMs = now()
  const isForAll = isEverybodys(line.witnesses, trouble, publisherId, nowMs)
  if (trouble === 'unpaid' && !isForAll && !line.witnesses.refused.unpaid) {
    const said = { provider: state.labels.provider, providerKey: key.name, publisher: publisherId }
    log.warn(said, 'provider answers 402: to a request that is too dear, or to a key without credit')
  }
  line.witnesses = withRefusal(line.witnesses, trouble, publisherId, nowMs)
  return isForAll
}

function rest(
  { metrics, now, random }: ProviderKeysOptions,
  { state, line, publisherId }: Use,
  error: UpstreamError,
  isForAll: boolean,
): void {
  metrics.upstreamRateLimited.inc(state.labels)
  const nowMs = now()
  const whose = isForAll ? line.rest : (line.ownRests.get(publisherId) ?? newRest())
  // Calls that were under way when the first was refused are refused as well: that is no second time.
  if (nowMs >= whose.untilMs) whose.limitedInARow += 1
  const untilMs = nowMs + cooldownMs(error.retryAfterSeconds, whose.limitedInARow, random())
  whose.untilMs = Math.max(whose.untilMs, untilMs)
  if (!isForAll) line.ownRests.set(publisherId, whose)
}

type Known = readonly (KeyRefusal | undefined)[]

function refuse(options: ProviderKeysOptions, used: Use, known: Known, { status }: UpstreamError): void {
  const { log, metrics, now } = options
  const { deployment, key, state, line } = used
  if (status === STATUS_OF_ONE_MODEL && mayBeThePrompt(options, used)) return
  const where = status === STATUS_OF_ONE_MODEL ? line : state
  // Said once, and not again by every call that was under way.
  if (!known.includes(where.refusal)) return
  const times = (where.refusal?.times ?? 0) + 1
  where.refusal = { times, untilMs: now() + refusedMs(times) }
  metrics.keyDisabled.set(state.labels, 1)
  const said = { provider: state.labels.provider, providerKey: key.name }
  const model = status === STATUS_OF_ONE_MODEL ? deployment.upstreamModel : undefined
  log.error({ ...said, upstreamStatus: status, model }, 'provider refuses a key: replace it, or mend its account')
  note(options, used, { status })
}

/**
 * One publisher can have itself answered 403 by what it asks, and must not take the key from the others. It is the key when
 * another one is answered so, too, and nobody was answered in between.
 */
function mayBeThePrompt({ log }: ProviderKeysOptions, { deployment, publisherId, key, state, line }: Use): boolean {
  if (line.refusal !== undefined) return false
  if (line.forbiddenTo !== undefined && line.forbiddenTo !== publisherId) return false
  if (line.forbiddenTo === undefined) {
    const said = { provider: state.labels.provider, providerKey: key.name, model: deployment.upstreamModel }
    log.warn({ ...said, publisher: publisherId }, 'provider answers 403: to a prompt, or to a key without permission')
  }
  line.forbiddenTo = publisherId
  return true
}

function note(
  { log, noteKeyRefusal }: ProviderKeysOptions,
  { key, state }: Use,
  refusal?: { status: number | undefined },
) {
  noteKeyRefusal(key.id, refusal).catch((error: unknown) => {
    const { provider } = state.labels
    log.warn({ provider, providerKey: key.name, ...errorFields(error) }, 'whether a key is refused could not be noted')
  })
}

/** Only what the call knew of when it began: its key may have been refused since. */
function accept(options: ProviderKeysOptions, used: Use, known: Known): void {
  const { key, state, line } = used
  if (known.includes(state.refusal)) state.refusal = undefined
  if (known.includes(line.refusal)) line.refusal = undefined
  const isRefused =
    state.refusal !== undefined || [...state.lines.values()].some(({ refusal }) => refusal !== undefined)
  options.metrics.keyDisabled.set(state.labels, isRefused ? 1 : 0)
  if (!isRefused) note(options, used)
  options.log.info({ provider: state.labels.provider, providerKey: key.name }, 'provider accepts the key again')
}

function refusedMs(times: number): number {
  return Math.min(REFUSED_MS.first * 2 ** (times - 1), REFUSED_MS.most)
}
