import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { CountedText, KnownTexts } from '../../rules/calls/tokens.ts'

/**
 * The counts of texts that were counted before: an app sends the same messages again with every turn of a conversation. Each
 * account has its own, or the time that a call takes would tell what others have sent.
 */
export interface TokenMemory {
  of(publisherId: string): KnownTexts
}

/** About five megabytes. */
const REMEMBERED_MAX = 20_000
/** Counting a shorter text takes about as long as its digest. */
const CHARACTERS_MIN = 64

export function createTokenMemory(rememberedMax = REMEMBERED_MAX): TokenMemory {
  const counted = new LRUCache<string, CountedText>({ max: rememberedMax })
  return {
    of(publisherId) {
      const keyOf = (text: string) => `${publisherId} ${hash('sha256', text, 'base64')}`
      return {
        get: (text) => (text.length < CHARACTERS_MIN ? undefined : counted.get(keyOf(text))),
        set(text, count) {
          if (text.length >= CHARACTERS_MIN) counted.set(keyOf(text), count)
        },
      }
    },
  }
}
