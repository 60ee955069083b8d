import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { every, type Repeated } from '../platform/every.ts'
import { errorFields } from '../platform/log.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { EmbedderUnavailable, type Embedder } from '../recommend/embedding/embedder.ts'
import { openEmbedderThread } from '../recommend/embedding/embedder-thread.ts'
import { createGates, type Gates } from '../recommend/gates/gates.ts'
import { readHeads } from '../recommend/gates/heads.ts'
import { judge, match, type MatchWorld } from '../recommend/match.ts'
import { proofOf, type Proof } from '../recommend/gates/proof.ts'
import { rememberVectors } from '../recommend/embedding/remembered-vectors.ts'
import type { JudgeReply, JudgeRequest, MatchReply, MatchRequest } from '../rules/recommendations/matching.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import { beatMatcher, removeMatcher, type MatcherBeat } from '../store/recommendations/matchers.ts'
import { createQueue } from './queue.ts'
import { startUpkeep, type Upkeep, type UpkeepOptions } from './upkeep.ts'

/**
 * One process per host that knows all offers and answers the gateways of the host. If it cannot judge conversations as it
 * was proven to, or has no sentence vectors, it is switched off and says so: there is no lesser way of matching.
 */
export interface Matcher {
  /** Not before its port is taken: two of them on one directory would undo each other's work. */
  start(): void
  readonly state: MatcherBeat['state']
  /** Rejects with `QueueFull` when too many wait; everything else that can go wrong is an outcome. */
  judge(request: JudgeRequest): Promise<JudgeReply>
  match(request: MatchRequest): Promise<MatchReply>
  /** Finishes what runs, and closes the index. */
  stop(): Promise<void>
}

export interface MatcherOptions extends Omit<UpkeepOptions, 'onReady'> {
  /** Where the index is kept. Nobody else may write there. */
  directory: string
  /** Where the encoder's file is, if it is not there too. */
  encoderDirectory?: string | undefined
  /** How the gates were proven; tests state it. */
  proof?: Proof
  openEmbedder?: (cacheDir: string) => Promise<Embedder>
  /** How long it waits before it tries again to open what an operator may have mended meanwhile. */
  openAgainMs?: number
}

/** Everything that a match needs, once it is there. */
interface Parts {
  embedder: Embedder
  gates: Gates
  upkeep: Upkeep
}

const BEAT_EVERY_MS = 5_000
/** Searches of several matches overlap with the embedding of another; more would only share the same cores. */
const RUNNING_MAX = 4
const WAITING_MAX = 64
const STOP_WITHIN_MS = 5_000

export function createMatcher(options: MatcherOptions): Matcher {
  const { db, log, metrics } = options
  const id = uuidv7()
  const queue = createQueue({ runningMax: RUNNING_MAX, waitingMax: WAITING_MAX })
  let parts: Parts | undefined
  let problem: string | undefined
  const stopping = new AbortController()
  let opened: Promise<void> = Promise.resolve()
  let beating: Repeated | undefined

  function stateNow(): MatcherBeat['state'] {
    if (problem !== undefined) return 'switched_off'
    return parts?.upkeep.index === undefined ? 'starting' : 'ready'
  }

  async function open(): Promise<void> {
    parts = await openWhenMended(options, stopping.signal, () => beating?.soon(), say)
  }

  function say(why: string | undefined): void {
    if (stopping.signal.aborted || problem === why) return
    problem = why
    if (problem === undefined) return log.info('the matcher is switched on again')
    log.error({ problem }, 'the matcher is switched off')
    beating?.soon()
  }

  const beat = () =>
    beatMatcher(db, { id, host: hostname(), state: stateNow(), problem, offers: parts?.upkeep.offers ?? 0 })

  /** In its turn, and before it is too late. */
  async function inTurn<Reply>(
    { deadlineMs }: JudgeRequest,
    work: (world: MatchWorld, isLate: () => boolean) => Promise<Reply>,
  ): Promise<Reply | { outcome: 'unavailable' | 'deadline' }> {
    // Not worth a place in the line.
    if (stateNow() !== 'ready') return { outcome: 'unavailable' }
    metrics.matcherWaiting.set(queue.waiting)
    const reply = await queue.run(deadlineMs, async (isLate) => {
      const index = parts?.upkeep.index
      if (!parts || !index) return { outcome: 'unavailable' as const }
      return work({ gates: parts.gates, campaigns: parts.upkeep.campaigns, index, now: Date.now }, isLate)
    })
    return reply === 'late' ? { outcome: 'deadline' } : reply
  }

  return {
    start() {
      opened = open()
      beating = every(BEAT_EVERY_MS, beat, 'matcher heartbeat', log)
    },
    get state() {
      return stateNow()
    },
    judge: (request) => inTurn(request, (world) => judge(world, request)),
    async match(request) {
      const reply = await inTurn(request, (world, isLate) => measureWork(options, () => match(world, request, isLate)))
      metrics.matches.inc({ outcome: reply.outcome })
      return reply
    },
    async stop() {
      stopping.abort()
      beating?.stop()
      await Promise.race([Promise.all([queue.idle(), opened]), sleep(STOP_WITHIN_MS, undefined, { ref: false })])
      await parts?.upkeep.stop()
      await parts?.embedder.close()
      await removeMatcher(db, id).catch(() => {})
    },
  }
}

/**
 * What an operator can mend is tried again until it is mended: its message says what to do, and nobody should have to restart
 * the matcher after it. Undefined when there is no hope, or when it is stopped.
 */
async function openWhenMended(
  options: MatcherOptions,
  signal: AbortSignal,
  onReady: () => void,
  /** Told why it is switched off, and of nothing when it is not any more. */
  say: (why: string | undefined) => void,
): Promise<Parts | undefined> {
  const { proof = proofOf(), openAgainMs = MINUTE_MS } = options
  if (!proof.isProven) say(proof.why ?? 'The gates are not proven.')
  while (proof.isProven && !signal.aborted) {
    try {
      const parts = await openParts(options, signal, onReady)
      say(undefined)
      return parts
    } catch (error) {
      const isMendable = error instanceof EmbedderUnavailable
      say(isMendable ? error.message : `It cannot start: ${errorFields(error).error}.`)
      if (!isMendable) return undefined
    }
    await sleep(openAgainMs, undefined, { signal }).catch(() => {})
  }
  return undefined
}

async function openParts(options: MatcherOptions, signal: AbortSignal, onReady: () => void): Promise<Parts> {
  const { log, encoderDirectory = options.directory, openEmbedder } = options
  const onPreparing = () =>
    log.info({ directory: encoderDirectory }, 'the encoder is not prepared, or is damaged, and is built now')
  const embedder = await (openEmbedder?.(encoderDirectory) ??
    openEmbedderThread(encoderDirectory, undefined, { onPreparing, signal }))
  const gates = createGates({ embedder: rememberVectors(embedder), heads: readHeads() })
  return { embedder, gates, upkeep: startUpkeep(embedder, { ...options, onReady }) }
}

async function measureWork<T>({ metrics }: Pick<MatcherOptions, 'metrics'>, work: () => Promise<T>): Promise<T> {
  const stop = metrics.matchSeconds.startTimer()
  try {
    return await work()
  } finally {
    stop()
  }
}
