import { sql } from 'kysely'
import type { Db, Tx } from '../database.ts'

export type Review = 'approved' | 'pending' | 'rejected'

export interface OfferFilter {
  advertiserId?: string
  review?: Review
  isRemovedToo: boolean
  limit: number
}

/** None of feed `f` is recommended: its last run is too old, or there was none. */
export const MAKES_FEED_OUTDATED = sql<boolean>`(f.expires_at is null or f.expires_at <= now())`

/** Stands for the words that a person reads before they decide: with other words it is another one. */
const WORDS_MARK = sql<string>`left(encode(sha256(convert_to(
  row(o.title, o.description, o.brand, o.category, o.headline, o.benefit)::text, 'UTF8')), 'hex'), 16)`

function offersWithNames(db: Db) {
  return db
    .selectFrom('offers as o')
    .innerJoin('advertisers as a', 'a.id', 'o.advertiser_id')
    .innerJoin('campaigns as c', 'c.id', 'o.campaign_id')
    .innerJoin('feeds as f', 'f.id', 'o.feed_id')
}

export async function listOffers(db: Db, { advertiserId, review, isRemovedToo, limit }: OfferFilter) {
  return offersWithNames(db)
    .select([
      'o.id',
      'a.name as advertiser',
      'c.name as campaign',
      'o.item_id',
      'o.headline',
      'o.price',
      'o.currency',
      'o.availability',
      'o.review',
      'o.review_reason',
      'o.removed_at',
      WORDS_MARK.as('words_mark'),
    ])
    .$if(advertiserId !== undefined, (query) => query.where('o.advertiser_id', '=', advertiserId ?? ''))
    .$if(review !== undefined, (query) => query.where('o.review', '=', review ?? ''))
    .$if(!isRemovedToo, (query) => query.where('o.removed_at', 'is', null))
    .orderBy('o.id')
    .limit(limit)
    .execute()
}

/** By its own id, or by an advertiser's id of it. */
export async function findOffer(db: Db, by: { id: string } | { advertiserId: string; itemId: string }) {
  const query = offersWithNames(db)
    .selectAll('o')
    .select([
      'a.name as advertiser',
      'a.status as advertiser_status',
      'c.name as campaign',
      'c.status as campaign_status',
      'f.name as feed',
      'f.expires_at',
      WORDS_MARK.as('words_mark'),
    ])
  const chosen =
    'id' in by
      ? query.where('o.id', '=', by.id)
      : query.where('o.advertiser_id', '=', by.advertiserId).where('o.item_id', '=', by.itemId)
  return chosen.executeTakeFirst()
}

/** In the order of their ids; nobody changes them until the transaction ends. */
export async function lockOffers(tx: Tx, ids: readonly string[]) {
  return tx
    .selectFrom('offers as o')
    .select(['o.id', 'o.headline', WORDS_MARK.as('words_mark')])
    .where('o.id', 'in', [...ids])
    .orderBy('o.id')
    .forUpdate()
    .execute()
}

/** Writes down a person's decision. Returns how many offers were decided on. */
export async function reviewOffers(
  db: Db,
  ids: readonly string[],
  { review, reason }: { review: 'approved' | 'rejected'; reason: string | null },
): Promise<number> {
  const result = await db
    .updateTable('offers')
    .set({ review, review_reason: reason, reviewed_at: sql`now()` })
    .where('id', 'in', [...ids])
    .executeTakeFirst()
  return Number(result.numUpdatedRows)
}

/** How many offers wait for a person. */
export async function countPendingOffers(db: Db): Promise<bigint> {
  const { n } = await db
    .selectFrom('offers')
    .select(({ fn }) => fn.countAll<bigint>().as('n'))
    .where('review', '=', 'pending')
    .where('removed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return n
}

/**
 * Erases offers that were removed so long ago, except those that a person rejected: an advertiser who takes one away and
 * brings it again must not get another answer. Returns how many.
 */
export async function eraseRemovedOffers(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from offers where id in (
      select id from offers where removed_at < now() - ${keptMs} * interval '1 ms'
        and not (review = 'rejected' and reviewed_at is not null) limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
