import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { createLane } from '../platform/batch.ts'
import { errorFields, type Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import { metadataOf, withMetadata } from '../rules/calls/metadata.ts'
import type { DailyBytes } from '../rules/daily-bytes.ts'
import { insertMetadata, type CallMetadata as Stored, type LockedCall } from '../store/calls/metadata.ts'
import { isUnavailable, type Db } from '../store/database.ts'
import type { Call } from './call.ts'

/** Metadata that publishers send along with a call, for themselves: it is kept with the call and passed on to nobody. */
export interface CallMetadata {
  /** For a call that has its charge. Runs after the answer and out of its way. */
  record(call: Pick<Call, 'id' | 'requestId' | 'caller' | 'body' | 'conversationId' | 'progress'>): void
  /** Resolves when everything recorded is stored or given up. */
  idle(): Promise<void>
}

/** As long as the store may be away, or a conversation locked, before what waits for it is given up. */
const GIVEN_UP_AFTER_MS = 10_000
/** Projects whose day is known. One that is forgotten starts its day again. */
const PROJECTS_MAX = 50_000
/** For all projects together: calls that wait for a lock. They wait outside the lane, so that they hold up no other calls. */
const LOCKED_MAX = 500
const AGAIN_AFTER_MS = 50
const AGAIN_AFTER_MS_MAX = 1_000

/** Somebody had the conversation or the end user locked all the time. The code is PostgreSQL's for it. */
class StillLocked extends Error {
  override name = 'StillLocked'
  readonly code = '55P03'
}

export interface CallMetadataOptions {
  db: Db
  log: Log
  metrics: Pick<Metrics, 'metadataDropped' | 'metadataOverBudget'>
  givenUpAfterMs?: number
  now?(): number
  insert?: typeof insertMetadata
}

export function createCallMetadata({ db, log, metrics, ...options }: CallMetadataOptions): CallMetadata {
  const { now = Date.now, insert = insertMetadata, givenUpAfterMs = GIVEN_UP_AFTER_MS } = options
  const days = new LRUCache<string, DailyBytes>({ max: PROJECTS_MAX })
  const running = new Set<Promise<void>>()
  let locked = 0
  const lane = createLane<Stored, LockedCall | undefined>({
    run: async (calls) => {
      const notNow = new Map((await insert(db, calls)).map((call) => [call.callId, call]))
      return calls.map(({ callId }) => notNow.get(callId))
    },
    batchMax: 100,
    queueMax: 1_000,
    isTransient: isUnavailable,
    retryEveryMs: 100,
  })

  async function store(call: Stored): Promise<void> {
    const untilMs = performance.now() + givenUpAfterMs
    let { hadEndUser = false } = call
    for (let pauseMs = AGAIN_AFTER_MS; ; pauseMs = Math.min(2 * pauseMs, AGAIN_AFTER_MS_MAX)) {
      const lock = await lane.submit({ ...call, hadEndUser }, untilMs - performance.now())
      if (!lock) return
      if (locked >= LOCKED_MAX || performance.now() + pauseMs > untilMs) throw new StillLocked()
      hadEndUser = lock.hasEndUser
      locked += 1
      await sleep(pauseMs)
      locked -= 1
    }
  }

  return {
    record({ id: callId, requestId, caller, body, conversationId, progress: { endUserId } }) {
      const { projectId, contentRetentionDays: retentionDays } = caller
      const pairs = retentionDays > 0 ? metadataOf(body) : []
      if (pairs.length === 0) return
      const today = withMetadata(days.get(projectId), pairs, now())
      if (!today) return metrics.metadataOverBudget.inc()
      days.set(projectId, today)
      const stored = { projectId, callId, conversationId, endUserId, pairs, retentionDays }
      const write = store(stored).catch((error: unknown) => {
        metrics.metadataDropped.inc()
        log.warn({ requestId, ...errorFields(error) }, 'metadata not recorded')
      })
      running.add(write)
      void write.finally(() => running.delete(write))
    },
    async idle() {
      await Promise.all(running)
    },
  }
}
