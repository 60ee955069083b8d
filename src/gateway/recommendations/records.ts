import { createLane, type Lane } from '../../platform/batch.ts'
import type { Repeat } from '../../platform/every.ts'
import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import type { RecommendationOutcome } from '../../rules/recommendations/matching.ts'
import { isUnavailable, type Db } from '../../store/database.ts'
import {
  addOutcomes,
  insertRecommendations,
  noteSensitive,
  setRecommendationStates,
  type ConversationDigest,
  type OutcomeCount,
  type RecommendationRecord,
  type RecommendationState,
} from '../../store/recommendations/records.ts'

/**
 * Writes down what is recommended before a reader sees it, so that at every gateway its links work and its conversation
 * knows of it from the first moment on. Everything else is written now and then and many at once: no answer waits for that.
 */
export interface RecommendationRecords {
  count(projectId: string, outcome: RecommendationOutcome): void
  /** Is it in the store, and may it be shown? Rejects when the store does not answer in time. */
  add(record: RecommendationRecord, waitMs: number): Promise<boolean>
  /** Notes what became of a recommendation. */
  setState(state: RecommendationState): void
  noteSensitive(conversation: ConversationDigest): void
  /** Resolves when everything was written, or given up. */
  stop(): Promise<void>
}

const WRITE_EVERY_MS = 250
/** Records beyond this many, while the store takes none, are given up and counted: gateways do not grow with its absence. */
const WAITING_MAX = 10_000
const PER_STATEMENT_MAX = 1_000

export interface RecordsOptions {
  db: Db
  metrics: Metrics
  repeat: Repeat
}

export function createRecommendationRecords({ db, metrics, repeat }: RecordsOptions): RecommendationRecords {
  const counts = new Map<string, OutcomeCount>()
  const adding = createRecordLane(db)
  const states: RecommendationState[] = []
  const sensitive: ConversationDigest[] = []

  const drop = () => metrics.recommendationsDropped.inc()
  async function writeOutcomes(): Promise<void> {
    await writeAll(states, (rows) => setRecommendationStates(db, rows), drop)
    const counted = [...counts]
    for (let start = 0; start < counted.length; start += PER_STATEMENT_MAX) {
      const batch = counted.slice(start, start + PER_STATEMENT_MAX)
      // Counted once or not at all: adding again after a lost answer would count twice.
      for (const [key] of batch) counts.delete(key)
      await addOutcomes(
        db,
        batch.map(([, count]) => count),
      )
    }
  }
  // Apart, so that statistics that cannot be written keep no conversation from staying free.
  const writeSensitive = () => writeAll(sensitive, (rows) => noteSensitive(db, rows), drop)
  const noting = writeNowAndThen(writeSensitive, 'sensitive conversations', repeat)
  const writing = writeNowAndThen(writeOutcomes, 'recommendation records', repeat)
  const isFull = (waiting: readonly unknown[]) => {
    if (waiting.length < WAITING_MAX) return false
    drop()
    return true
  }

  return {
    count(projectId, outcome) {
      metrics.recommendations.inc({ outcome })
      const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS)
      const key = `${projectId}/${hour.getTime()}/${outcome}`
      const known = counts.get(key)
      if (known) known.calls += 1
      else counts.set(key, { projectId, hour, outcome, calls: 1 })
    },
    add: (record, waitMs) => adding.submit(record, waitMs),
    setState(state) {
      if (!isFull(states)) states.push(state)
    },
    noteSensitive(conversation) {
      if (isFull(sensitive)) return
      sensitive.push(conversation)
      // The conversation's next turn may come at once, and must know.
      noting.soon()
    },
    async stop() {
      await adding.idle()
      await Promise.all([noting.stop(), writing.stop()])
    },
  }
}

function writeNowAndThen(
  write: () => Promise<void>,
  name: string,
  repeat: Repeat,
): { soon(): void; stop(): Promise<void> } {
  let written = Promise.resolve()
  const writing = repeat(WRITE_EVERY_MS, () => (written = write()), name)
  return {
    soon: writing.soon,
    async stop() {
      writing.stop()
      // One after the other: both would take the same rows, and throw away those that came between.
      await written.catch(() => {})
      await write().catch(() => {})
    },
  }
}

/** Rows that the store refuses are tried alone and dropped: one odd row must not hold up all that come after it. */
async function writeAll<Row>(
  waiting: Row[],
  write: (rows: readonly Row[]) => Promise<void>,
  drop: () => void,
): Promise<void> {
  while (waiting.length > 0) {
    const batch = waiting.slice(0, PER_STATEMENT_MAX)
    await write(batch).catch(async (error: unknown) => {
      if (isUnavailable(error)) throw error
      for (const row of batch)
        await write([row]).catch((refusal: unknown) => {
          if (isUnavailable(refusal)) throw refusal
          drop()
        })
    })
    waiting.splice(0, batch.length)
  }
}

function createRecordLane(db: Db): Lane<RecommendationRecord, boolean> {
  return createLane({
    run: (records) => insertRecommendations(db, records),
    batchMax: 256,
    queueMax: 1_000,
    isTransient: isUnavailable,
    retryEveryMs: 50,
  })
}
