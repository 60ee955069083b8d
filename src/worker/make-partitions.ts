import { HOUR_MS } from '../rules/durations.ts'
import { ensurePartitions } from '../store/billing/wallets.ts'
import type { Db } from '../store/database.ts'
import type { Job } from './job.ts'

/** Makes the tables of the days to come. Two weeks ahead, so that none is missing after days without a worker. */
export function makePartitionsJob({ db }: { db: Db }): Job {
  return { name: 'partitions', everyMs: HOUR_MS, run: () => ensurePartitions(db) }
}
