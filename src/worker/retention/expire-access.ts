import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { expireProofs } from '../../store/accounts/users.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Deletes sessions and short-lived proofs that have ended. Nobody could use them since: this only makes room. */
export function expireAccessJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'expire sessions',
    everyMs: HOUR_MS,
    async run() {
      for (const table of ['sessions', 'verifications'] as const)
        await untilNoneIsLeft((most) => expireProofs(db, table, most), metrics.rowsErased.labels(table))
    },
  }
}
