import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { eraseUnusedVectors, type VectorPlace } from '../../store/offers/text-vectors.ts'
import { createWalk, type Job } from '../job.ts'

/** Erases sentence vectors of texts that no offer and no hint has any more, and all of an encoder that was replaced. */
export function forgetVectorsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  const erased = metrics.rowsErased.labels('text_vectors')
  return {
    name: 'forget text vectors',
    everyMs: HOUR_MS,
    run: createWalk<VectorPlace>(
      (after, most) => eraseUnusedVectors(db, after, { most, unusedMs: KEPT_MS.replacedEncoders }),
      erased,
    ),
  }
}
