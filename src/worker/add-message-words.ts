import { MINUTE_MS } from '../rules/durations.ts'
import type { ConversationKey } from '../store/calls/conversations.ts'
import type { Db } from '../store/database.ts'
import { addMissingWords } from '../store/calls/message-search.ts'
import { forAWhile, type Job } from './job.ts'

/** Small steps: a message may be long, and its words are counted by the database. */
const MESSAGES_PER_STEP = 200

/**
 * Makes messages searchable that were stored before words were kept. A walk through everything that added nothing is the last
 * one: what is stored now brings its words along.
 */
export function addMessageWordsJob({ db }: { db: Db }): Job {
  let after: ConversationKey | undefined
  let added = 0
  let isDone = false
  return {
    name: 'add message words',
    everyMs: MINUTE_MS,
    async run() {
      if (isDone) return
      await forAWhile(async () => {
        const step = await addMissingWords(db, after, MESSAGES_PER_STEP)
        added += step.added
        after = step.reached
        if (after !== undefined) return true
        isDone = added === 0
        added = 0
        return false
      })
    },
  }
}
