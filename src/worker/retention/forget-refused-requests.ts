import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { forgetRefusedOfDeleted, forgetRefusedRequests } from '../../store/calls/refused-requests.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets requests that were refused long ago, and all of projects that were deleted. */
export function forgetRefusedRequestsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  const erased = metrics.rowsErased.labels('refused_requests')
  const keptMs = KEPT_MS.refusedRequests
  return {
    name: 'forget refused requests',
    everyMs: HOUR_MS,
    async run() {
      await untilNoneIsLeft((most) => forgetRefusedRequests(db, keptMs, most), erased)
      await untilNoneIsLeft((most) => forgetRefusedOfDeleted(db, keptMs, most), erased)
    },
  }
}
