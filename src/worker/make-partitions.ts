import type { Metrics } from '../metrics.ts'
import type { Log } from '../platform/log.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import type { Db } from '../store/database.ts'
import { ensurePartitions } from '../store/partitions.ts'
import type { Job } from './job.ts'

/** Also how long it waits when somebody was in its way. */
const MAKE_EVERY_MS = 10 * MINUTE_MS
/** With fewer, somebody has been in the way for more than a week. */
const DAYS_AHEAD_FEW = 7

export interface MakePartitionsOptions {
  db: Db
  log: Log
  metrics: Pick<Metrics, 'partitionDaysAhead'>
}

/** Makes the tables of the days to come. Two weeks ahead, so that none is missing after days without a worker. */
export function makePartitionsJob({ db, log, metrics }: MakePartitionsOptions): Job {
  return {
    name: 'partitions',
    everyMs: MAKE_EVERY_MS,
    async run() {
      const { daysAhead, isBusy } = await ensurePartitions(db)
      metrics.partitionDaysAhead.set(daysAhead)
      if (!isBusy || daysAhead >= DAYS_AHEAD_FEW) return
      const mend = 'Find who holds a lock on charges, calls or recommendations (pg_locks) and end it.'
      log.error({ daysAhead, mend }, 'no table can be made for the days to come')
    },
  }
}
