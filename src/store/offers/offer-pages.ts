import { sql } from 'kysely'
import type { OfferStanding } from '../../rules/offers/offer-standing.ts'
import type { Db } from '../database.ts'
import { MAKES_FEED_OUTDATED } from './offers.ts'

/** An offer as its advertiser sees it. */
export interface OfferOfAdvertiser {
  id: string
  itemId: string
  title: string
  headline: string
  benefit: string
  category: string
  link: string
  imageLink: string | null
  price: string | null
  currency: string | null
  availability: string
  feed: string
  campaign: string
  standing: OfferStanding
  reviewReason: string | null
}

export interface OffersAsked {
  advertiserId: string
  /** Without it, all but those that were withdrawn. */
  standing?: OfferStanding | undefined
  feedId?: string | undefined
  /** Its own id, or a part of its title. */
  text?: string | undefined
  /** The advertiser's id of the last one of the page before. */
  after?: string | undefined
  limit: number
}

/** In the order of rules/offers/offer-standing.ts. */
const STANDING = sql<OfferStanding>`case
  when o.removed_at is not null or f.removed_at is not null then 'withdrawn'
  when o.review = 'rejected' then 'rejected'
  when o.review = 'pending' then 'waiting'
  when exists (select from offer_stops s where s.offer_id = o.id) then 'stopped'
  when o.availability <> 'in_stock' then 'out_of_stock'
  when ${MAKES_FEED_OUTDATED} then 'outdated'
  else 'approved' end`

/** In the order of the advertiser's own ids, which an index has. */
export async function listOffersOf(tx: Db, asked: OffersAsked): Promise<OfferOfAdvertiser[]> {
  const { advertiserId, standing, feedId, text, after, limit } = asked
  const isReviewed = standing === 'rejected' || standing === 'waiting'
  const conditions = [
    sql`o.advertiser_id = ${advertiserId}`,
    standing === undefined ? sql`o.removed_at is null and f.removed_at is null` : sql`${STANDING} = ${standing}`,
    // Said once more, for the index of those few.
    ...(isReviewed ? [sql`o.review <> 'approved'`] : []),
    ...(feedId === undefined ? [] : [sql`o.feed_id = ${feedId}`]),
    ...(text === undefined ? [] : [sql`(o.item_id = ${text} or o.title ilike ${`%${literally(text)}%`})`]),
    ...(after === undefined ? [] : [sql`o.item_id > ${after}`]),
  ]
  const { rows } = await sql<OfferOfAdvertiser>`
    select o.id, o.item_id as "itemId", o.title, o.headline, o.benefit, o.category, o.link, o.image_link as "imageLink",
      o.price::text as price, o.currency, o.availability, f.name as feed, c.name as campaign, ${STANDING} as standing,
      o.review_reason as "reviewReason"
    from offers o join feeds f on f.id = o.feed_id join campaigns c on c.id = o.campaign_id
    where ${sql.join(conditions, sql` and `)}
    order by o.item_id limit ${limit}`.execute(tx)
  return rows
}

/** As it was typed: "100%" is no pattern. */
function literally(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`)
}
