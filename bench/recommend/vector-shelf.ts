/** Vectors of all texts that were embedded in earlier runs, in one file for each model: 28,000 offers take minutes. */
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Embedder } from '../../src/recommend/embedding/embedder.ts'
import { toInt8, VECTOR_DIMENSIONS } from '../../src/rules/recommendations/vectors.ts'
import { createProgress } from './progress.ts'

export interface VectorShelf {
  modelId: string
  /** In order; embeds what it has not seen before. */
  vectorsOf(texts: readonly string[]): Promise<Int8Array[]>
}

const DIGEST_BYTES = 32
const RECORD_BYTES = DIGEST_BYTES + VECTOR_DIMENSIONS
const BATCH = 256

export function openVectorShelf(embedder: Embedder, dir: string): VectorShelf {
  const path = join(dir, `vectors-${embedder.modelId}.bin`)
  const known = readShelf(path)
  return {
    modelId: embedder.modelId,
    async vectorsOf(texts) {
      const missing = [...new Set(texts)].filter((text) => !known.has(keyOf(text)))
      const progress = createProgress('embedding', missing.length)
      mkdirSync(dir, { recursive: true })
      for (let start = 0; start < missing.length; start += BATCH) {
        const batch = missing.slice(start, start + BATCH)
        const vectors = (await embedder.embed(batch)).map(toInt8)
        for (const [i, vector] of vectors.entries()) {
          const key = keyOf(batch[i] ?? '')
          known.set(key, vector)
          appendFileSync(path, Buffer.concat([Buffer.from(key, 'base64'), Buffer.from(vector.buffer)]))
        }
        progress.add(batch.length)
      }
      progress.end()
      return texts.map((text) => known.get(keyOf(text)) ?? new Int8Array(VECTOR_DIMENSIONS))
    },
  }
}

function readShelf(path: string): Map<string, Int8Array> {
  const known = new Map<string, Int8Array>()
  if (!existsSync(path)) return known
  const bytes = readFileSync(path)
  // A run that was stopped may have left half a record at the end.
  for (let at = 0; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
    const key = bytes.subarray(at, at + DIGEST_BYTES).toString('base64')
    known.set(key, new Int8Array(bytes.subarray(at + DIGEST_BYTES, at + RECORD_BYTES)))
  }
  return known
}

function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
