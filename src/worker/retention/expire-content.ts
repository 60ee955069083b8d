import type { Metrics } from '../../metrics.ts'
import { MINUTE_MS } from '../../rules/durations.ts'
import { expireContent } from '../../store/calls/conversations.ts'
import { cutMetadata, expireMetadata } from '../../store/calls/metadata.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

export interface ExpireContentOptions {
  db: Db
  metrics: Pick<Metrics, 'messagesExpired' | 'rowsErased'>
}

/** No text outlives its retention by more than this. */
const EXPIRE_EVERY_MS = MINUTE_MS

/**
 * Erases the text of conversations, and the metadata of calls, whose retention has passed. The moment stands beside each since
 * it was stored: its project's `content_retention_days` later. Where a project shortens those, cut-retention.ts brings it forward
 * for text; metadata has no conversation to go by and is looked up here.
 */
export function expireContentJob({ db, metrics }: ExpireContentOptions): Job {
  const metadata = metrics.rowsErased.labels('call_metadata')
  return {
    name: 'expire content',
    everyMs: EXPIRE_EVERY_MS,
    async run() {
      await untilNoneIsLeft((most) => expireContent(db, most), metrics.messagesExpired)
      await untilNoneIsLeft((most) => expireMetadata(db, most), metadata)
      await untilNoneIsLeft((most) => cutMetadata(db, most), metadata)
    },
  }
}
