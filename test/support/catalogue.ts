import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Db } from '../../src/store/database.ts'
import { fund } from './clicks.ts'

/** Advertisers with offers, written as an import would have left them. */
export interface CatalogueOffer {
  advertiser: string
  domain: string
  headline: string
  benefit?: string
  category?: string
  price?: string
  /** A state of the advertiser or the offer in which nothing is recommended. */
  status?: 'pending' | 'active' | 'suspended'
  availability?: 'in_stock' | 'out_of_stock'
  /** The credit that the advertiser has prepaid: without it, matchers leave its offers out. */
  creditNanos?: bigint
}

export interface AddedOffer {
  offerId: string
  advertiserId: string
  campaignId: string
}

export async function addOffer(db: Db, offer: CatalogueOffer): Promise<AddedOffer> {
  const { advertiserId, campaignId, feedId } = await addAdvertiser(db, offer)
  const offerId = uuidv7()
  const digest = createHash('sha256').update(offerId).digest()
  await db
    .insertInto('offers')
    .values({
      id: offerId,
      advertiser_id: advertiserId,
      campaign_id: campaignId,
      feed_id: feedId,
      item_id: offerId,
      title: offer.headline,
      headline: offer.headline,
      benefit: offer.benefit ?? '',
      category: offer.category ?? '',
      link: `https://${offer.domain}/item`,
      price: offer.price ?? null,
      currency: offer.price === undefined ? null : 'USD',
      availability: offer.availability ?? 'in_stock',
      content_hash: digest,
      text_hash: digest,
    })
    .execute()
  return { offerId, advertiserId, campaignId }
}

/** The one with this name, made when it is not there. */
async function addAdvertiser(db: Db, offer: CatalogueOffer) {
  const { advertiser: name, domain, status = 'active', creditNanos = 1_000_000_000_000n } = offer
  const known = await db
    .selectFrom('advertisers as a')
    .innerJoin('feeds as f', 'f.advertiser_id', 'a.id')
    .select(['a.id as advertiserId', 'f.campaign_id as campaignId', 'f.id as feedId'])
    .where('a.name', '=', name)
    .executeTakeFirst()
  if (known) return known
  const [advertiserId, campaignId, feedId] = [uuidv7(), uuidv7(), uuidv7()]
  await db.insertInto('advertisers').values({ id: advertiserId, name, domain, status }).execute()
  await db
    .insertInto('campaigns')
    .values({ id: campaignId, advertiser_id: advertiserId, name: 'Always', bid_nanos: 400_000_000n })
    .execute()
  if (creditNanos > 0n) await fund(db, advertiserId, creditNanos)
  await db
    .insertInto('feeds')
    .values({
      id: feedId,
      advertiser_id: advertiserId,
      campaign_id: campaignId,
      name: 'Shop',
      expires_at: sql`now() + interval '30 days'`,
    })
    .execute()
  return { advertiserId, campaignId, feedId }
}

/** A matcher that says so from now until long after the test. */
export async function addMatcher(db: Db, offers = 1_000n): Promise<void> {
  const beat = sql<Date>`now() + interval '1 day'`
  await db
    .insertInto('matchers')
    .values({ id: uuidv7(), host: 'test', state: 'ready', offers, beat_at: beat })
    .execute()
}
