import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { createJobs, type Repeated } from '../platform/every.ts'
import { createFairQueue, QueueFull, type FairQueue } from '../platform/fair-queue.ts'
import type { Log } from '../platform/log.ts'
import { uuidv7 } from '../platform/uuid.ts'
import { judge, match, type MatchWorld } from '../recommend/match.ts'
import type { OfferIndex } from '../recommend/offer-index/offer-index.ts'
import type { HintPreviews } from '../recommend/preview-hints.ts'
import type { HintPreview, HintPreviewRequest } from '../rules/offers/hint-preview.ts'
import type { JudgeReply, JudgeRequest, MatchReply, MatchRequest } from '../rules/recommendations/matching.ts'
import { beatMatcher, removeMatcher, type MatcherBeat } from '../store/recommendations/matchers.ts'
import type { RehearsalReply, RehearsalRequest } from '../recommend/rehearsal-wire.ts'
import { closeParts, openWhenMended, type OpeningOptions, type Parts } from './parts.ts'
import { watchServing } from './serving-first.ts'

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
  /** Previews the effect of hints. Undefined: nothing can be judged now. Rejects with `QueueFull`, too. */
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

export type MatcherOptions = Omit<OpeningOptions, 'repeat' | 'serving'>

const BEAT_EVERY_MS = 5_000
/** Searches of several matches overlap with the embedding of another; more would only share the same cores. */
const RUNNING_MAX = 4
/** For one project: the others' are searched alongside, also while it floods every gateway of the host. */
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
  const opening = { ...options, repeat: jobs.repeat, serving: watchServing() }
  const off = createOffSwitch(log, stopping.signal, () => beating?.soon())

  function stateNow(): MatcherBeat['state'] {
    if (off.problem !== undefined) return 'switched_off'
    return parts?.upkeep.index === undefined ? 'starting' : 'ready'
  }

  async function open(): Promise<void> {
    parts = await openWhenMended(opening, stopping.signal, () => beating?.soon(), off.say)
  }

  const healthNow = () => ({ state: stateNow(), problem: off.problem, failures: jobs.failures })
  const report = () => ({ id, ...reportOf(healthNow(), parts) })

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
      const world = worldOf(parts, index)
      return opening.serving.during(() => work(world, isLate))
    })
    return countDeclined(options, inLine)
  }

  return {
    start() {
      opened = open()
      beating = jobs.repeat(BEAT_EVERY_MS, () => beatMatcher(db, report()), 'heartbeat')
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
      if (parts) await closeParts(parts)
      await removeMatcher(db, id).catch(() => {})
    },
  }
}

/** For the list of matchers: one that is ready may have jobs that fail. */
function reportOf({ state, problem, failures }: MatcherHealth, parts: Parts | undefined): Omit<MatcherBeat, 'id'> {
  return {
    host: hostname(),
    state,
    problem: problem ?? (failures.join(' ') || undefined),
    offers: parts?.upkeep.offers ?? 0,
    encoder: parts?.embedders[0]?.modelId,
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

/** Returns the outcome: a full line is counted here, and refused by the server. */
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
