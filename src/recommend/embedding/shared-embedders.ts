import assert from 'node:assert/strict'
import type { Embedder } from './embedder.ts'

/** Several of the same kind as one: whoever asks is served by the one that has least to do. */
export function shareEmbedders(embedders: readonly Embedder[]): Embedder {
  const [first] = embedders
  assert(first)
  const texts = new Map(embedders.map((embedder) => [embedder, 0]))
  const add = (embedder: Embedder, more: number) => texts.set(embedder, (texts.get(embedder) ?? 0) + more)
  return {
    modelId: first.modelId,
    async embed(asked) {
      const [idlest = first] = embedders.toSorted((a, b) => (texts.get(a) ?? 0) - (texts.get(b) ?? 0))
      add(idlest, asked.length)
      try {
        return await idlest.embed(asked)
      } finally {
        add(idlest, -asked.length)
      }
    },
    async close() {
      await Promise.all(embedders.map((embedder) => embedder.close()))
    },
  }
}
