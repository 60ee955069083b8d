import type { Metrics } from '../../metrics.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import {
  eraseLeftovers,
  forgetConversations,
  forgetDeletedIds,
  forgetLostSums,
  forgetOldMessages,
} from '../../store/calls/conversation-retention.ts'
import type { Db } from '../../store/database.ts'
import { createWalk, forAWhile, untilNoneIsLeft, type Job } from '../job.ts'
import type { KeptDays } from '../kept-days.ts'

export interface ForgetConversationsOptions {
  db: Db
  metrics: Pick<Metrics, 'rowsErased'>
  kept: Pick<KeptDays, 'conversations'>
}

/** Forgets conversations a while after their last call, with what is left of their messages and their sums. */
export function forgetConversationsJob({ db, metrics, kept }: ForgetConversationsOptions): Job {
  const keptMs = kept.conversations * DAY_MS
  const erased = metrics.rowsErased
  return {
    name: 'forget conversations',
    everyMs: MINUTE_MS,
    async run() {
      await forAWhile(async (most) => {
        const { conversations, messages, conversationSums } = await forgetConversations(db, keptMs, most)
        erased.inc({ table: 'conversations' }, conversations)
        erased.inc({ table: 'messages' }, messages)
        erased.inc({ table: 'conversation_sums' }, conversationSums)
        return conversations + messages > 0
      })
      await untilNoneIsLeft((most) => forgetDeletedIds(db, keptMs, most), erased.labels('conversations'))
    },
  }
}

/** Forgets what was said long ago in conversations that go on. */
export function forgetMessagesJob({ db, metrics }: Omit<ForgetConversationsOptions, 'kept'>): Job {
  const walk = createWalk<ConversationPlace>(
    (after, most) => forgetOldMessages(db, after, KEPT_MS.messages, most),
    metrics.rowsErased.labels('messages'),
  )
  return { name: 'forget messages', everyMs: HOUR_MS, run: walk }
}

/** Erases metadata and openings of conversations that were deleted by a version that leaves them. */
export function eraseLeftoversJob({ db, metrics }: Omit<ForgetConversationsOptions, 'kept'>): Job {
  const walk = createWalk<ConversationPlace>(
    (after, most) => eraseLeftovers(db, after, most),
    metrics.rowsErased.labels('call_metadata'),
  )
  return { name: 'erase leftovers', everyMs: HOUR_MS, run: walk }
}

/** Erases sums of conversations that are not there. */
export function forgetSumsJob({ db, metrics }: Omit<ForgetConversationsOptions, 'kept'>): Job {
  const walk = createWalk<ConversationPlace>(
    (after, most) => forgetLostSums(db, after, most),
    metrics.rowsErased.labels('conversation_sums'),
  )
  return { name: 'forget conversation sums', everyMs: HOUR_MS, run: walk }
}

type ConversationPlace = NonNullable<Parameters<typeof forgetLostSums>[1]>
