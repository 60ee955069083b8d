import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** Sentence vectors that some matcher has made, by the digest of their text: 384 int8 each. */
export interface TextVector {
  digest: Buffer
  vector: Buffer
}

/** Returns the vectors that exist, keyed by the digest in hex. */
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

export type VectorPlace = Pick<TextVector, 'digest'> & { model: string }

/**
 * Erases, among the next `most` vectors after a place, those whose text no offer and no hint has any longer, and those of an
 * encoder that was not used for so long, as long as another one has been since. Returns the place that was reached; undefined:
 * that was the end.
 */
export async function eraseUnusedVectors(
  db: Db,
  after: VectorPlace | undefined,
  { most, unusedMs }: { most: number; unusedMs: number },
): Promise<{ reached: VectorPlace | undefined; erased: number }> {
  const beyond = after === undefined ? sql`` : sql`where (model, digest) > (${after.model}, ${after.digest}::bytea)`
  const { rows } = await sql<VectorPlace & { seen: number; erased: number }>`
    with replaced as materialized (
        select e.model from encoders e
        where e.used_at < now() - ${unusedMs} * interval '1 millisecond'
          and exists (select from encoders later where later.used_at > e.used_at)),
      seen as materialized (select model, digest from text_vectors ${beyond} order by model, digest limit ${most}),
      erased as (
        delete from text_vectors v using seen s where v.model = s.model and v.digest = s.digest
          and (v.model in (select model from replaced) or (
            not exists (select from offers o where o.text_hash = v.digest)
            and v.digest not in (
              select sha256(convert_to(hint, 'UTF8')) from campaigns c, unnest(c.context_hints || c.negative_hints) as hint)))
        returning 1)
    select model, digest, (select count(*)::int from seen) as seen, (select count(*)::int from erased) as erased
    from seen order by model desc, digest desc limit 1`.execute(db)
  const [last] = rows
  if (!last) return { reached: undefined, erased: 0 }
  const { model, digest, seen, erased } = last
  return { reached: seen < most ? undefined : { model, digest }, erased }
}
