import { MINUTE_MS } from '../../rules/durations.ts'
import { LONGEST_CALL_MS } from '../../rules/limits.ts'
import { cutSome } from '../../store/calls/retention-cuts.ts'
import type { Db } from '../../store/database.ts'
import type { Job } from '../job.ts'

/** Brings forward when stored text is erased, for projects that have chosen a shorter retention. */
export function cutRetentionJob({ db, signal }: { db: Db; signal: AbortSignal }): Job {
  return {
    name: 'cut retention',
    everyMs: MINUTE_MS,
    async run() {
      while (await cutSome(db, LONGEST_CALL_MS)) if (signal.aborted) return
    },
  }
}
