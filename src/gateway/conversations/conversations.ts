import type { ConversationCache } from '../../providers/provider.ts'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import type { Message } from '../../rules/calls/message.ts'
import { isConversationId } from '../../rules/calls/conversations.ts'
import { ParleyError, storeUnavailable } from '../../rules/errors.ts'
import { STORE_WAIT_MS } from '../../rules/limits.ts'
import { findConversations, type ConversationKey, type KnownConversation } from '../../store/calls/conversations.ts'
import { createLookups } from '../../store/lookups.ts'
import type { Call } from '../call.ts'
import { createOpenings } from './openings.ts'
import { createTurns, type TurnsOptions } from './turns.ts'

export interface Conversations {
  /** Throws 404 for an id that is malformed or was deleted. What it returns is for providers' caches: see `ConversationCache`. */
  check(call: CallOfConversation, request: ChatRequest): Promise<ConversationCache | undefined>
  /**
   * Adds a call to its conversation, after the answer and out of its way: its new messages and its reply, if it has a whole one.
   * A call that no provider has worked on is only counted: nobody pays for it, and who sends it again sends its messages again.
   */
  record(call: Call, request: ChatRequest, isWorkedOn: boolean, reply: Message | undefined): void
  /** Resolves when everything recorded is stored or given up. */
  idle(): Promise<void>
}

type CallOfConversation = Pick<Call, 'caller' | 'conversationId'>

export interface ConversationsOptions extends TurnsOptions {
  storeWaitMs?: number | undefined
}

export function createConversations(options: ConversationsOptions): Conversations {
  const { db, digestKeys, storeWaitMs = STORE_WAIT_MS } = options
  const turns = createTurns(options)
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
    record(call, request, isWorkedOn, reply) {
      const opening = openings.note(call.progress.cache, request)
      const { conversationId } = call
      if (conversationId === undefined) return
      const said = reply ? [...request.messages, reply] : request.messages
      turns.add({ ...call, conversationId }, isWorkedOn ? said : [], opening)
    },
    idle: turns.idle,
  }
}
