import { errorFields, type Log } from '../../platform/log.ts'
import type { Metrics } from '../../metrics.ts'
import type { ConversationCache } from '../../providers/provider.ts'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import { asSaid, type Message } from '../../rules/calls/message.ts'
import { isConversationId, numberOccurrences } from '../../rules/calls/conversations.ts'
import { ParleyError, storeUnavailable } from '../../rules/errors.ts'
import { STORE_WAIT_MS } from '../../rules/limits.ts'
import {
  findConversations,
  recordTurn,
  type ConversationKey,
  type KnownConversation,
} from '../../store/calls/conversations.ts'
import type { Db } from '../../store/database.ts'
import { createLookups } from '../../store/lookups.ts'
import type { Call } from '../call.ts'
import type { LoadedDigestKeys } from '../digest-keys.ts'
import { createOpenings } from './openings.ts'

export interface Conversations {
  /** Throws 404 for an id that is malformed or was deleted. What it returns is for providers' caches: see `ConversationCache`. */
  check(call: CallOfConversation, request: ChatRequest): Promise<ConversationCache | undefined>
  /** Adds the call's new messages and its reply, if it has a whole one, after the answer and out of its way. */
  record(call: Call, request: ChatRequest, reply: Message | undefined): void
  /** Resolves when everything recorded is stored or given up. */
  idle(): Promise<void>
}

type CallOfConversation = Pick<Call, 'caller' | 'conversationId'>

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
  const lookups = createLookups((keys: readonly ConversationKey[]) => findConversations(db, keys))
  const openings = createOpenings(digestKeys)

  async function find(projectId: string, id: string): Promise<KnownConversation> {
    if (!isConversationId(id)) throw new ParleyError('conversation_not_found')
    const found = await lookups.submit({ projectId, id }, storeWaitMs).catch(() => {
      throw storeUnavailable()
    })
    if (found.isDeleted) throw new ParleyError('conversation_not_found')
    return found
  }

  return {
    async check({ caller: { projectId }, conversationId }, request) {
      if (conversationId !== undefined) {
        const { opening } = await find(projectId, conversationId)
        return openings.cacheOf(projectId, `conversation ${conversationId}`, request, opening)
      }
      const { prompt_cache_key: key } = request
      return key === undefined ? undefined : openings.cacheOf(projectId, `key ${key}`, request)
    },
    record(call, request, reply) {
      const opening = openings.note(call.progress.cache, request)
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
        opening,
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
