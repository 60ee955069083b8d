import { sql } from 'kysely'
import { FIRST_UUID } from '../../platform/uuid.ts'
import type { SearchedFields } from '../../rules/offers/search-text.ts'
import type { Db } from '../database.ts'

/**
 * How matchers follow the offers. Every row names the transaction that changed it last, and every question is asked
 * for changes since the oldest transaction that was open at the question before: what commits late is seen late, but
 * it is seen.
 */
export interface FollowingPoint {
  /** Names the server, its history and the database: after a restore from a backup, it is another one. */
  identity: string
  /** The store's clock. */
  atMs: number
  /** The changes of every earlier transaction can be seen by now. */
  xmin: string
  /** No transaction from here on had begun. */
  xmax: string
  /** Nothing that is there was changed by a transaction from here on. */
  end: string
}

export async function followingPoint(db: Db): Promise<FollowingPoint> {
  const { rows } = await sql<FollowingPoint>`
    select concat_ws('/', (pg_control_system()).system_identifier, (pg_control_checkpoint()).timeline_id,
        (select oid from pg_database where datname = current_database())) as identity,
      (extract(epoch from now()) * 1000)::float8 as "atMs", pg_snapshot_xmin(s) as xmin, pg_snapshot_xmax(s) as xmax,
      coalesce((select max(changed_in)::text::numeric + 1 from offers), 0)::text as "end"
    from pg_current_snapshot() as s`.execute(db)
  const [point] = rows
  if (!point) throw new Error('the store did not say where it is')
  return point
}

export interface OfferChange extends SearchedFields {
  id: string
  changedIn: string
  /** May it be found at all: in stock, approved, there, and in a language that the gates judge. */
  isServable: boolean
  campaignId: string
  feedId: string
  itemGroup: string | null
  link: string
  headline: string
  benefit: string
  price: string | null
  currency: string | null
  textHash: Buffer
  /** Null: nobody has embedded its text with this model yet. */
  vector: Buffer | null
}

export interface ChangesAsked {
  model: string
  /** The languages that the gates judge. */
  languages: readonly string[]
  /** Changed in this transaction or a later one. */
  from: string
  /** And before this one. */
  before: string
  /** The last one of the page before. */
  after: Pick<OfferChange, 'changedIn' | 'id'> | undefined
  limit: number
}

/** One page, oldest first. */
export async function changedOffers(db: Db, asked: ChangesAsked): Promise<OfferChange[]> {
  const { model, languages, from, before, after, limit } = asked
  const { rows } = await sql<OfferChange>`
    select ${columns(languages)}, v.vector
    from offers o left join text_vectors v on v.model = ${model} and v.digest = o.text_hash
    where (o.changed_in, o.id) > (${after?.changedIn ?? from}::xid8, ${after?.id ?? FIRST_UUID}::uuid)
      and o.changed_in < ${before}::xid8
    order by o.changed_in, o.id limit ${limit}`.execute(db)
  return rows
}

function columns(languages: readonly string[]) {
  return sql`o.id, o.changed_in as "changedIn", ${isServable(languages)} as "isServable", o.campaign_id as "campaignId",
    o.feed_id as "feedId", o.item_group_id as "itemGroup", o.title, o.brand, o.category, o.description, o.link, o.headline,
    o.benefit, o.price::text as price, o.currency, o.text_hash as "textHash"`
}

function isServable(languages: readonly string[]) {
  return sql`(o.removed_at is null and o.availability = 'in_stock' and o.review = 'approved'
    and o.language = any (${languages}))`
}

/** Returns those of these offers that exist, as they are now. */
export async function offersOf(
  db: Db,
  asked: Pick<ChangesAsked, 'model' | 'languages'> & { ids: readonly string[] },
): Promise<OfferChange[]> {
  const { model, languages, ids } = asked
  const { rows } = await sql<OfferChange>`
    select ${columns(languages)}, v.vector
    from offers o left join text_vectors v on v.model = ${model} and v.digest = o.text_hash
    where o.id = any (${ids}::uuid[])`.execute(db)
  return rows
}
