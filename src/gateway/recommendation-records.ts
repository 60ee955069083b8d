import { every } from '../platform/every.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Outcome } from '../rules/matching.ts'
import { isUnavailable, type Db } from '../store/database.ts'
import {
  addOutcomes,
  insertRecommendations,
  noteRestraints,
  type OutcomeCount,
  type RecommendationRecord,
  type RestraintNote,
} from '../store/recommendation-records.ts'

/** Writes down what was recommended and why nothing was, now and then and many at once: no answer waits for it. */
export interface RecommendationRecords {
  count(projectId: string, outcome: Outcome): void
  add(record: RecommendationRecord): void
  note(note: RestraintNote): void
  /** Resolves when everything was written, or given up. */
  stop(): Promise<void>
}

/** A link must lead somewhere by the time a reader has read the line that it stands in. */
const WRITE_EVERY_MS = 250
/** What the store does not take for so long is given up, and counted: gateways do not grow with its absence. */
const WAITING_MAX = 10_000
const PER_STATEMENT_MAX = 1_000
const HOUR_MS = 3_600_000

export function createRecommendationRecords(options: { db: Db; log: Log; metrics: Metrics }): RecommendationRecords {
  const { db, log, metrics } = options
  const counts = new Map<string, OutcomeCount>()
  const records: RecommendationRecord[] = []
  const notes: RestraintNote[] = []

  /** What the store refuses is tried alone and given up: one odd row must not hold up all that come after it. */
  async function writeAll<Row>(waiting: Row[], insert: (rows: readonly Row[]) => Promise<void>): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, PER_STATEMENT_MAX)
      await insert(batch).catch(async (error: unknown) => {
        if (isUnavailable(error)) throw error
        for (const row of batch) await insert([row]).catch(giveUp)
      })
      waiting.splice(0, batch.length)
    }
  }
  const giveUp = (error: unknown) => {
    if (isUnavailable(error)) throw error
    metrics.recommendationsDropped.inc()
  }

  async function write(): Promise<void> {
    await writeAll(notes, (rows) => noteRestraints(db, rows))
    await writeAll(records, (rows) => insertRecommendations(db, rows))
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
  let written = Promise.resolve()
  const writing = every(WRITE_EVERY_MS, () => (written = write()), 'recommendation records', log)
  const isFull = (waiting: readonly unknown[]) => {
    if (waiting.length < WAITING_MAX) return false
    metrics.recommendationsDropped.inc()
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
    add(record) {
      if (!isFull(records)) records.push(record)
    },
    note(note) {
      if (isFull(notes)) return
      notes.push(note)
      // The conversation's next turn may come at once, and must know.
      writing.soon()
    },
    async stop() {
      writing.stop()
      // One after the other: both would take the same rows, and throw away those that came between.
      await written.catch(() => {})
      await write().catch(() => {})
    },
  }
}
