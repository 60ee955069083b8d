import { HOUR_MS } from '../rules/durations.ts'
import type { Db } from '../store/database.ts'
import { releaseEarnings } from '../store/recommendations/clicks.ts'
import { untilNoneIsLeft, type Job } from './job.ts'

/** Gives publishers what their recommendations earned a week ago: from then on it pays for calls. */
export function releaseEarningsJob({ db }: { db: Db }): Job {
  return {
    name: 'release earnings',
    everyMs: HOUR_MS,
    run: () => untilNoneIsLeft((most) => releaseEarnings(db, most)),
  }
}
