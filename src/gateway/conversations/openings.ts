import { LRUCache } from 'lru-cache'
import type { ConversationCache } from '../../providers/provider.ts'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import { beginsWith, openingOf, type Opening } from '../../rules/calls/openings.ts'
import type { LoadedDigestKeys } from '../digest-keys.ts'
import { keyedDigest } from '../../rules/keyed-digest.ts'

/**
 * Recognises the conversations that come back. The store's record of a conversation is read by the look-up that is made
 * anyway, and all gateways share it. Each gateway also remembers what it saw last: that is all there is for a
 * `prompt_cache_key`, and it recognises a second turn that is faster than the first one's record.
 */
export interface Openings {
  /** `id` tells the conversations of a project apart. Throws 503 before the keys were read. */
  cacheOf(projectId: string, id: string, request: ChatRequest, stored?: Opening): ConversationCache
  /** Remembers how a prompt that was sent begins, and returns it; undefined if that is known. */
  note(cache: ConversationCache | undefined, request: ChatRequest): Opening | undefined
}

/** A few megabytes at most. One that is forgotten writes nothing to a cache for one turn. */
const REMEMBERED_MAX = 20_000

export function createOpenings(digestKeys: Pick<LoadedDigestKeys, 'keyFor'>): Openings {
  const seen = new LRUCache<string, Opening>({ max: REMEMBERED_MAX })
  return {
    cacheOf(projectId, id, request, stored) {
      const digestKey = digestKeys.keyFor('prompt-caches')
      const digest = keyedDigest(digestKey).update(`${projectId} ${id}`).digest().subarray(0, 16)
      const key = digest.toString('base64url')
      const known = [stored, seen.get(key)].filter((opening) => opening !== undefined)
      return { key, isReturning: known.some((opening) => beginsWith(request, opening, digestKey)) }
    },
    note(cache, request) {
      if (!cache || cache.isReturning) return undefined
      const opening = openingOf(request, digestKeys.keyFor('prompt-caches'))
      seen.set(cache.key, opening)
      return opening
    },
  }
}
