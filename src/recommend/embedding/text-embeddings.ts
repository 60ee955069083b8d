import assert from 'node:assert/strict'
import type { Db } from '../../store/database.ts'
import { insertVectors } from '../../store/offers/text-vectors.ts'
import { toInt8 } from '../../rules/recommendations/vectors.ts'
import type { Embedder } from './embedder.ts'

/** Embeds and stores, so that no other host, and no later start, has to. In the order of the texts. */
export async function embedForAll(
  db: Db,
  embedder: Embedder,
  texts: readonly { digest: Buffer; text: string }[],
): Promise<Int8Array[]> {
  const vectors = (await embedder.embed(texts.map(({ text }) => text))).map(toInt8)
  await insertVectors(
    db,
    embedder.modelId,
    texts.map(({ digest }, n) => ({ digest, vector: bytesOf(vectors[n] ?? assert.fail('a vector for every text')) })),
  )
  return vectors
}

export function bytesOf(vector: Int8Array): Buffer {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.length)
}

export function vectorOf(bytes: Buffer): Int8Array {
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}
