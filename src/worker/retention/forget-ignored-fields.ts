import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { forgetIgnoredFields } from '../../store/calls/ignored-fields.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets which fields of requests were ignored long ago. */
export function forgetIgnoredFieldsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget ignored fields',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => forgetIgnoredFields(db, KEPT_MS.ignoredFields, most),
        metrics.rowsErased.labels('ignored_fields'),
      ),
  }
}
