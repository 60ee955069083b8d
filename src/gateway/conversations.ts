import { errorFields, type Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import type { ChatRequest } from '../rules/calls/chat-request.ts'
import { asSaid, type Message } from '../rules/calls/message.ts'
import { isConversationId, numberOccurrences } from '../rules/calls/conversations.ts'
import { ParleyError, storeUnavailable } from '../rules/errors.ts'
import { STORE_WAIT_MS } from '../rules/limits.ts'
import { areDeleted, recordTurn, type ConversationKey } from '../store/calls/conversations.ts'
import type { Db } from '../store/database.ts'
import { createLookups } from '../store/lookups.ts'
import type { Caller } from './authenticate.ts'
import type { Call } from './call.ts'
import type { LoadedDigestKeys } from './digest-keys.ts'

export interface Conversations {
  /** Throws 404 for an id that is malformed or was deleted. Undefined: an independent request. */
  check(caller: Caller, id: string | undefined): Promise<void>
  /** Adds the call's new messages and its reply, if it has a whole one, after the answer and out of its way. */
  record(call: Call, request: ChatRequest, reply: Message | undefined): void
  /** Resolves when everything recorded is stored or given up. */
  idle(): Promise<void>
}

const RECORDS_RUNNING_MAX = 500

export interface ConversationsOptions {
  db: Db
  digestKeys: Pick<LoadedDigestKeys, 'keyFor'>
  log: Log
  metrics: Metrics
  storeWaitMs?: number
}

export function createConversations(options: ConversationsOptions): Conversations {
  const { db, digestKeys, log, metrics, storeWaitMs = STORE_WAIT_MS } = options
  const running = new Set<Promise<void>>()
  const deletedLookups = createLookups((keys: readonly ConversationKey[]) => areDeleted(db, keys))

  return {
    async check(caller, id) {
      if (id === undefined) return
      if (!isConversationId(id)) throw new ParleyError('conversation_not_found')
      const isDeleted = await deletedLookups.submit({ projectId: caller.projectId, id }, storeWaitMs).catch(() => {
        throw storeUnavailable()
      })
      if (isDeleted) throw new ParleyError('conversation_not_found')
    },
    record(call, request, reply) {
      if (call.conversationId === undefined) return
      if (running.size >= RECORDS_RUNNING_MAX) {
        metrics.conversationsDropped.inc()
        return
      }
      const turn = {
        conversation: { projectId: call.caller.projectId, id: call.conversationId },
        callId: call.id,
        messages: numberOccurrences(
          (reply ? [...request.messages, reply] : request.messages).map(asSaid),
          digestKeys.keyFor('message-digests'),
        ),
        retentionDays: call.caller.contentRetentionDays,
      }
      const write = recordTurn(db, turn).catch((error: unknown) => {
        metrics.conversationsDropped.inc()
        log.warn({ requestId: call.requestId, ...errorFields(error) }, 'conversation not recorded')
      })
      running.add(write)
      void write.finally(() => running.delete(write))
    },
    async idle() {
      await Promise.all(running)
    },
  }
}
