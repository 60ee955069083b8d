import assert from 'node:assert/strict'
import { LRUCache } from 'lru-cache'
import { textDigestOf } from '../../rules/text-digest.ts'
import type { Embedder } from './embedder.ts'

/** 20,000 vectors of 1.5 kB: the last turns of as many conversations. */
const REMEMBERED_MAX = 20_000

/**
 * The same embedder with a memory, for what is asked again and again: a turn is judged, searched with, and comes again
 * with the next turn. By digest and in memory alone; what was said is neither kept nor written anywhere.
 */
export function rememberVectors(embedder: Embedder, max = REMEMBERED_MAX): Embedder {
  const remembered = new LRUCache<string, Float32Array>({ max })
  return {
    modelId: embedder.modelId,
    close: () => embedder.close(),
    async embed(texts) {
      const digests = texts.map((text) => textDigestOf(text).toString('base64'))
      const missing = new Map<string, string>()
      digests.forEach((digest, n) => {
        if (!remembered.has(digest)) missing.set(digest, texts[n] ?? '')
      })
      const made = missing.size === 0 ? [] : await embedder.embed([...missing.values()])
      const fresh = new Map(
        [...missing.keys()].map((digest, n) => [digest, made[n] ?? assert.fail('a vector for every text')]),
      )
      for (const [digest, vector] of fresh) remembered.set(digest, vector)
      // Not from the memory alone, which a long list may have pushed out again by now.
      return digests.map((digest) => fresh.get(digest) ?? remembered.get(digest) ?? assert.fail('remembered or made'))
    },
  }
}
