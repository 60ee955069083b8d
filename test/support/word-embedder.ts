import { createHash } from 'node:crypto'
import type { Embedder } from '../../src/recommend/embedding/embedder.ts'
import { VECTOR_DIMENSIONS } from '../../src/rules/recommendations/vectors.ts'

export interface WordEmbedder extends Embedder {
  /** How many texts it was given so far. */
  readonly embedded: number
}

/** Texts with the same words are near each other, and nothing more: for tests that are not about meaning. */
export function createWordEmbedder(modelId = 'words'): WordEmbedder {
  let embedded = 0
  return {
    modelId,
    get embedded() {
      return embedded
    },
    close: () => Promise.resolve(),
    embed(texts) {
      embedded += texts.length
      return Promise.resolve(texts.map(vectorOf))
    },
  }
}

function vectorOf(text: string): Float32Array {
  const vector = new Float32Array(VECTOR_DIMENSIONS)
  for (const word of wordsOf(text)) {
    const place = createHash('sha256').update(word).digest().readUInt16BE() % VECTOR_DIMENSIONS
    vector[place] = (vector[place] ?? 0) + 1
  }
  const length = Math.hypot(...vector) || 1
  return vector.map((part) => part / length)
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? []
}
