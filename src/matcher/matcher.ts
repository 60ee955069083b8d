import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { createJobs, type Repeat, type Repeated } from '../platform/every.ts'
import { createFairQueue, QueueFull, type FairQueue } from '../platform/fair-queue.ts'
import { errorFields, type Log } from '../platform/log.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { EmbedderUnavailable, type Embedder } from '../recommend/embedding/embedder.ts'
import { openEmbedderThread } from '../recommend/embedding/embedder-thread.ts'
import { createGates, type Gates } from '../recommend/gates/gates.ts'
import { readHeads } from '../recommend/gates/heads.ts'
import { judge, match, type MatchWorld } from '../recommend/match.ts'
import { proofOf, type Proof } from '../recommend/gates/proof.ts'
import { rememberVectors } from '../recommend/embedding/remembered-vectors.ts'
import type { OfferIndex } from '../recommend/offer-index/offer-index.ts'
import { createHintPreviews, type HintPreviews } from '../recommend/preview-hints.ts'
import type { HintPreview, HintPreviewRequest } from '../rules/offers/hint-preview.ts'
import type { JudgeReply, JudgeRequest, MatchReply, MatchRequest } from '../rules/recommendations/matching.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import { beatMatcher, removeMatcher, type MatcherBeat } from '../store/recommendations/matchers.ts'
import type { RehearsalReply, RehearsalRequest } from '../recommend/rehearsal-wire.ts'
import { createRehearsals, type Rehearsals } from './rehearsals.ts'
import { startUpkeep, type Upkeep, type UpkeepOptions } from './upkeep.ts'

/**
 * One process per host that knows all offers and answers the gateways of the host. If it cannot judge conversations as it
 * was proven to, or has no sentence vectors, it is switched off and says so: there is no lesser way of matching.
 */
export interface Matcher {
  /** Not before its port is taken: two of them on one directory would undo each other's work. */
  start(): void
  readonly state: MatcherBeat['state']
  readonly health: MatcherHealth
  /** Rejects with `QueueFull` when too many wait, or too many of the project; everything else that can go wrong is an outcome. */
  judge(request: JudgeRequest): Promise<JudgeReply>
  match(request: MatchRequest): Promise<MatchReply>
  /** What hints would bring. Undefined: nothing can be judged now. Rejects with `QueueFull`, too. */
  previewHints(request: HintPreviewRequest): Promise<HintPreview | undefined>
  /** Some conversations of a rehearsal. Undefined: nothing can be matched now. Rejects with `RehearsalBusy`. */
  rehearse(request: RehearsalRequest, signal: AbortSignal): Promise<RehearsalReply | undefined>
  endRehearsal(rehearsal: Pick<RehearsalRequest, 'id' | 'projectId'>): void
  /** Finishes what runs, and closes the index. */
  stop(): Promise<void>
}

export interface MatcherHealth extends Pick<MatcherBeat, 'state' | 'problem'> {
  /** A sentence for each job that is failing now. */
  failures: string[]
}

export interface MatcherOptions extends Omit<UpkeepOptions, 'onReady' | 'repeat'> {
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
  rehearsals: Rehearsals
  hintPreviews: HintPreviews
}

const BEAT_EVERY_MS = 5_000
/** Searches of several matches overlap with the embedding of another; more would only share the same cores. */
const RUNNING_MAX = 4
/** Of one project: the others' are searched beside it, also while it floods every gateway of the host. */
const RUNNING_EACH_MAX = 2
const PLACES = { runningMax: RUNNING_MAX, runningEachMax: RUNNING_EACH_MAX, waitingMax: 64 }
/** No project has this id. */
const HINT_PREVIEWS = 'hint previews'
const STOP_WITHIN_MS = 5_000

export function createMatcher(options: MatcherOptions): Matcher {
  const { db, log, metrics } = options
  const id = uuidv7()
  const queue = createFairQueue(PLACES)
  let parts: Parts | undefined
  const stopping = new AbortController()
  let opened: Promise<void> = Promise.resolve()
  let beating: Repeated | undefined
  const jobs = createJobs(options)
  const off = createOffSwitch(log, stopping.signal, () => beating?.soon())

  function stateNow(): MatcherBeat['state'] {
    if (off.problem !== undefined) return 'switched_off'
    return parts?.upkeep.index === undefined ? 'starting' : 'ready'
  }

  async function open(): Promise<void> {
    parts = await openWhenMended({ ...options, repeat: jobs.repeat }, stopping.signal, () => beating?.soon(), off.say)
  }

  const healthNow = () => ({ state: stateNow(), problem: off.problem, failures: jobs.failures })
  const beat = () => beatMatcher(db, { id, host: hostname(), ...healthNow(), offers: parts?.upkeep.offers ?? 0 })

  /** In its turn, and before it is too late. */
  async function inTurn<Reply>(
    { deadlineMs, projectId = '' }: JudgeRequest,
    work: (world: MatchWorld, isLate: () => boolean) => Promise<Reply>,
  ): Promise<Reply | { outcome: 'unavailable' | 'deadline' }> {
    // Not worth a place in the line.
    if (stateNow() !== 'ready') return { outcome: 'unavailable' }
    metrics.matcherWaiting.set(queue.waiting)
    const inLine = queue.run(projectId, deadlineMs, async (isLate) => {
      const index = parts?.upkeep.index
      if (!parts || !index) return { outcome: 'unavailable' as const }
      return work(worldOf(parts, index), isLate)
    })
    return countDeclined(options, inLine)
  }

  return {
    start() {
      opened = open()
      beating = jobs.repeat(BEAT_EVERY_MS, beat, 'heartbeat')
    },
    get state() {
      return stateNow()
    },
    get health() {
      return healthNow()
    },
    judge: (request) => inTurn(request, (world) => judge(world, request)),
    async match(request) {
      const reply = await inTurn(request, (world, isLate) => measureWork(options, () => match(world, request, isLate)))
      metrics.matches.inc({ outcome: reply.outcome })
      return reply
    },
    previewHints: (request) => previewInLine(queue, request, () => parts?.hintPreviews),
    rehearse: (request, signal) => rehearseWith(parts, request, AbortSignal.any([signal, stopping.signal])),
    endRehearsal: (rehearsal) => parts?.rehearsals.end(rehearsal),
    async stop() {
      stopping.abort()
      beating?.stop()
      await Promise.race([Promise.all([queue.idle(), opened]), sleep(STOP_WITHIN_MS, undefined, { ref: false })])
      await parts?.rehearsals.stop()
      await parts?.upkeep.stop()
      await parts?.embedder.close()
      await removeMatcher(db, id).catch(() => {})
    },
  }
}

function worldOf({ gates, upkeep: { campaigns, chances } }: Parts, index: OfferIndex): MatchWorld {
  return { gates, campaigns, chances, index, now: Date.now }
}

/** In line with live replies, where all advertisers together have no more room than one project. */
async function previewInLine(
  queue: FairQueue,
  request: HintPreviewRequest,
  previews: () => HintPreviews | undefined,
): Promise<HintPreview | undefined> {
  const reply = await queue.run(HINT_PREVIEWS, request.deadlineMs, async () => previews()?.preview(request))
  return reply === 'late' ? undefined : reply
}

async function rehearseWith(
  parts: Parts | undefined,
  request: RehearsalRequest,
  signal: AbortSignal,
): Promise<RehearsalReply | undefined> {
  const { index, campaigns } = parts?.upkeep ?? {}
  if (!parts || !index || !campaigns?.isOn) return undefined
  return parts.rehearsals.run({ campaigns, index, now: Date.now }, request, signal)
}

/** Why it is switched off, if it is. */
function createOffSwitch(log: Log, signal: AbortSignal, onOff: () => void) {
  let problem: string | undefined
  return {
    get problem() {
      return problem
    },
    say(why: string | undefined): void {
      if (signal.aborted || problem === why) return
      problem = why
      if (problem === undefined) return log.info('the matcher is switched on again')
      log.error({ problem }, 'the matcher is switched off')
      onOff()
    },
  }
}

/**
 * What an operator can mend is tried again until it is mended: its message says what to do, and nobody should have to restart
 * the matcher after it. Undefined when there is no hope, or when it is stopped.
 */
async function openWhenMended(
  options: OpeningOptions,
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

type OpeningOptions = MatcherOptions & { repeat: Repeat }

async function openParts(options: OpeningOptions, signal: AbortSignal, onReady: () => void): Promise<Parts> {
  const { log, encoderDirectory = options.directory, openEmbedder } = options
  const onPreparing = () =>
    log.info({ directory: encoderDirectory }, 'the encoder is not prepared, or is damaged, and is built now')
  const embedder = await (openEmbedder?.(encoderDirectory) ??
    openEmbedderThread(encoderDirectory, undefined, { onPreparing, signal }))
  const heads = readHeads()
  const gates = createGates({ embedder: rememberVectors(embedder), heads })
  const openInBackground = () =>
    openEmbedder?.(encoderDirectory) ?? openEmbedderThread(encoderDirectory, undefined, { isBackground: true })
  const rehearsals = createRehearsals({ openEmbedder: openInBackground, heads })
  const hintPreviews = createHintPreviews({ gates, embedder })
  return { embedder, gates, upkeep: startUpkeep(embedder, { ...options, onReady }), rehearsals, hintPreviews }
}

/** What became of it: a full line is counted, and refused by the server. */
async function countDeclined<Reply>(
  { metrics }: Pick<MatcherOptions, 'metrics'>,
  inLine: Promise<Reply | 'late'>,
): Promise<Reply | { outcome: 'deadline' }> {
  try {
    const reply = await inLine
    return reply === 'late' ? { outcome: 'deadline' } : reply
  } catch (error) {
    if (error instanceof QueueFull) metrics.matcherDeclined.inc({ by: 'matcher' })
    throw error
  }
}

async function measureWork<T>({ metrics }: Pick<MatcherOptions, 'metrics'>, work: () => Promise<T>): Promise<T> {
  const stop = metrics.matchSeconds.startTimer()
  try {
    return await work()
  } finally {
    stop()
  }
}
