import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** Sentence vectors that some matcher has made, by the digest of their text: 384 int8 each. */
export interface TextVector {
  digest: Buffer
  vector: Buffer
}

/** Those that are there. Keyed by the digest in hex. */
export async function findVectors(db: Db, model: string, digests: readonly Buffer[]): Promise<Map<string, Buffer>> {
  if (digests.length === 0) return new Map()
  const { rows } = await sql<TextVector>`
    select digest, vector from text_vectors where model = ${model} and digest = any (${digests}::bytea[])`.execute(db)
  return new Map(rows.map(({ digest, vector }) => [digest.toString('hex'), vector]))
}

/** Two matchers that embed the same text make the same vector: the first one stays. */
export async function insertVectors(db: Db, model: string, vectors: readonly TextVector[]): Promise<void> {
  if (vectors.length === 0) return
  const ordered = vectors.toSorted((a, b) => Buffer.compare(a.digest, b.digest))
  await sql`
    insert into text_vectors (model, digest, vector)
    select ${model}, digest, vector
    from unnest(${ordered.map(({ digest }) => digest)}::bytea[], ${ordered.map(({ vector }) => vector)}::bytea[])
      as made (digest, vector)
    on conflict do nothing`.execute(db)
}
