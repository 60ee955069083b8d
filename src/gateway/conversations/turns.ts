import { LRUCache } from 'lru-cache'
import { createFairQueue, QueueFull } from '../../platform/fair-queue.ts'
import { errorFields, type Log } from '../../platform/log.ts'
import type { Metrics } from '../../metrics.ts'
import { keptOf, numberInSteps, type SeenMessage } from '../../rules/calls/conversations.ts'
import type { Message } from '../../rules/calls/message.ts'
import type { Opening } from '../../rules/calls/openings.ts'
import { withBytes, type DailyBytes } from '../../rules/daily-bytes.ts'
import { LARGE_BODY_BYTES, MESSAGES_BYTES_PER_DAY } from '../../rules/limits.ts'
import { allAtOnce, type Steps } from '../../rules/steps.ts'
import { recordTurn } from '../../store/calls/conversations.ts'
import type { Db } from '../../store/database.ts'
import type { Call } from '../call.ts'
import type { LoadedDigestKeys } from '../digest-keys.ts'
import { createShares } from '../intake/shares.ts'
import type { Work } from '../intake/work.ts'

/**
 * Turns on their way into the store, after the answer and out of its way. They leave most of the connections that all tenants
 * share alone: a few are written at a time, two of an account, and of a conversation one, because the next would only hold a
 * connection while it waits for the row.
 */
export interface Turns {
  add(call: TurnOf, messages: readonly Message[], opening: Opening | undefined): void
  /** Resolves when everything added is stored or given up. */
  idle(): Promise<void>
}

/** A call that names a conversation. */
export type TurnOf = Pick<Call, 'id' | 'requestId' | 'caller' | 'bodyBytes'> & { readonly conversationId: string }

export interface TurnsOptions {
  db: Db
  digestKeys: Pick<LoadedDigestKeys, 'keyFor'>
  work: Pick<Work, 'run' | 'runInTurn'>
  log: Log
  metrics: Pick<Metrics, 'conversationsDropped' | 'messagesOverBudget'>
  /** For each project. */
  messagesBytesPerDay?: number | undefined
  now?(): number
}

const WRITTEN_AT_ONCE = { runningMax: 3, runningEachMax: 2 }
const WAITING_MAX = 500
const WAIT_MS = 10_000
const MIB = 1024 * 1024
/** Requests that wait are kept in memory whole. Each account has its share of it, as of the bodies of calls in flight. */
const MEMORY = { all: 128 * MIB, most: 256 * MIB, project: 128 * MIB, keyPair: 128 * MIB }
/** Digests of more messages than this take a while, however short they are. */
const MANY_MESSAGES = 500
const STEP_MS = 5
/** Projects whose day is known. One that is forgotten starts its day again. */
const PROJECTS_MAX = 50_000

export function createTurns({ db, digestKeys, work, log, metrics, ...options }: TurnsOptions): Turns {
  const { messagesBytesPerDay = MESSAGES_BYTES_PER_DAY, now = Date.now } = options
  const queue = createFairQueue({ ...WRITTEN_AT_ONCE, waitingMax: WAITING_MAX })
  const memory = createShares(MEMORY)
  const days = new LRUCache<string, DailyBytes>({ max: PROJECTS_MAX })
  const running = new Set<Promise<void>>()
  /** By conversation, the turn that is written last. */
  const writing = new Map<string, Promise<void>>()

  /** Makes digests of messages, as work of their account. */
  function read({ caller: { publisherId }, bodyBytes }: TurnOf, messages: readonly Message[]): Promise<SeenMessage[]> {
    const steps = numberInSteps(messages, digestKeys.keyFor('message-digests'))
    const isLittle = bodyBytes < LARGE_BODY_BYTES && messages.length <= MANY_MESSAGES
    if (isLittle) return Promise.resolve(work.run(publisherId, () => allAtOnce(steps)))
    return work.runInTurn(publisherId, (giveWay) => inTurns(steps, giveWay))
  }

  async function write(call: TurnOf, messages: readonly Message[], opening: Opening | undefined): Promise<void> {
    const { projectId, contentRetentionDays } = call.caller
    const kept = keptOf(withBytes(days.get(projectId), 0, now()).bytes, messagesBytesPerDay)
    if (kept !== 'text' && messages.length > 0) metrics.messagesOverBudget.inc()
    const bytes = await recordTurn(db, {
      conversation: { projectId, id: call.conversationId },
      callId: call.id,
      messages: kept === 'count' ? [] : await read(call, messages),
      retentionDays: kept === 'text' ? contentRetentionDays : 0,
      opening,
    })
    days.set(projectId, withBytes(days.get(projectId), bytes, now()))
  }

  /** After the turn before it in its conversation, which holds up none but its account. */
  async function writeNext(key: string, doing: () => Promise<void>): Promise<void> {
    const before = writing.get(key)?.catch(() => {})
    const mine = before ? before.then(doing) : doing()
    writing.set(key, mine)
    try {
      await mine
    } finally {
      if (writing.get(key) === mine) writing.delete(key)
    }
  }

  function giveUp(call: TurnOf, error: unknown): void {
    metrics.conversationsDropped.inc()
    // An account that overdoes it fills no log.
    if (!(error instanceof QueueFull))
      log.warn({ requestId: call.requestId, ...errorFields(error) }, 'conversation not recorded')
  }

  return {
    add(call, messages, opening) {
      const { publisherId, projectId } = call.caller
      if (memory.take(call.caller, call.bodyBytes)) return metrics.conversationsDropped.inc()
      const key = `${projectId} ${call.conversationId}`
      const doing = () => writeNext(key, () => write(call, messages, opening))
      const written = queue
        .run(publisherId, WAIT_MS, doing)
        .then((late) => late && giveUp(call, new Error('too many turns were in line before it')))
        .catch((error: unknown) => giveUp(call, error))
        .finally(() => memory.give(call.caller, call.bodyBytes))
      running.add(written)
      void written.finally(() => running.delete(written))
    },
    async idle() {
      await Promise.all(running)
    },
  }
}

async function inTurns<T>(steps: Steps<T>, giveWay: () => Promise<void>): Promise<T> {
  for (let sinceMs = performance.now(); ;) {
    const { done, value } = steps.next()
    if (done) return value
    if (performance.now() - sinceMs < STEP_MS) continue
    await giveWay()
    sinceMs = performance.now()
  }
}
