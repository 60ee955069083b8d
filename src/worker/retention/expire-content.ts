import type { Metrics } from '../../metrics.ts'
import { MINUTE_MS } from '../../rules/durations.ts'
import { expireContent } from '../../store/calls/conversations.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** No text outlives its retention by more than this. */
const EXPIRE_EVERY_MS = MINUTE_MS

/**
 * Erases the text of conversations whose retention has passed. The moment stands beside each text since it was stored: its
 * project's `content_retention_days` later. Where a project shortens those, cut-retention.ts brings it forward.
 */
export function expireContentJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'messagesExpired'> }): Job {
  return {
    name: 'expire content',
    everyMs: EXPIRE_EVERY_MS,
    run: () => untilNoneIsLeft((most) => expireContent(db, most), metrics.messagesExpired),
  }
}
