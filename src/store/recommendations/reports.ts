import { sql } from 'kysely'
import { LAST_UUID } from '../../platform/uuid.ts'
import type { Db } from '../database.ts'
import { MAY_BE_ADVERTISED } from '../offers/offers.ts'
import { goByIndexes } from '../planner.ts'

/** What was recommended in a project, and why so often nothing was, as its publisher looks at it. */

export interface RecommendationRow {
  id: string
  callId: string
  advertiserId: string
  /** Null when the advertiser is not there any more. */
  advertiser: string | null
  /** What readers saw. Null only where a version before this one wrote it, and the offer is not there any more. */
  headline: string | null
  turn: number
  relevance: number
  priceNanos: bigint
  label: string
  state: 'delivered' | 'test'
  createdAt: Date
}

/** Newest first. What a reader did not stay for was shown to nobody, so it is not among them. */
export async function listRecommendations(
  tx: Db,
  projectId: string,
  { before, most }: { before?: string | undefined; most: number },
): Promise<RecommendationRow[]> {
  await goByIndexes(tx)
  const { rows } = await sql<RecommendationRow>`
    select r.id, r.call_id as "callId", r.advertiser_id as "advertiserId", a.name as advertiser,
      coalesce(r.headline, o.headline) as headline, r.turn,
      r.relevance, r.price_nanos as "priceNanos", r.label, r.state, r.created_at as "createdAt"
    from (
      select * from recommendations where project_id = ${projectId} and state <> 'aborted'
        and id < ${before ?? LAST_UUID}::uuid
      order by id desc limit ${most}) r
      left join advertisers a on a.id = r.advertiser_id
      left join offers o on o.id = r.offer_id
    order by r.id desc`.execute(tx)
  return rows
}

export async function sumOutcomes(
  db: Db,
  projectId: string,
  from: Date,
): Promise<{ outcome: string; calls: bigint }[]> {
  const { rows } = await sql<{ outcome: string; calls: bigint }>`
    select outcome, sum(calls)::int8 as calls from recommendation_outcomes
    where project_id = ${projectId} and hour >= ${from} group by outcome order by calls desc, outcome`.execute(db)
  return rows
}

export interface PreviewOffer {
  id: string
  advertiserId: string
  advertiser: string
  domain: string
  headline: string
  benefit: string
  category: string
  amount: string | null
  currency: string | null
}

/** The newest offers are looked through, and no more: a catalogue may have millions. */
const OFFERS_SEEN = 2_000

/** Offers that could be recommended now, newest first. Asked as the owner: publishers may not read the catalogue. */
export async function listPreviewOffers(db: Db, most: number): Promise<PreviewOffer[]> {
  const { rows } = await sql<PreviewOffer>`
    select o.id, a.id as "advertiserId", a.name as advertiser, a.domain, o.headline, o.benefit, o.category,
      o.price::text as amount, o.currency
    from (select * from offers order by changed_in desc, id desc limit ${OFFERS_SEEN}) o
      join advertisers a on a.id = o.advertiser_id join campaigns c on c.id = o.campaign_id
      join feeds f on f.id = o.feed_id
    where ${MAY_BE_ADVERTISED} and f.expires_at > now() and o.availability = 'in_stock'
    order by o.changed_in desc, o.id desc limit ${most}`.execute(db)
  return rows
}

const CATEGORIES_FROM = 20_000

/** The first words of the categories that there are, as far as a sample of the catalogue has them, most frequent first. */
export async function listTopCategories(db: Db, most: number): Promise<string[]> {
  const { rows: sizes } = await sql<{ rows: number }>`
    select reltuples::float8 as rows from pg_class where oid = 'offers'::regclass`.execute(db)
  const percent = Math.min(100, (100 * CATEGORIES_FROM) / Math.max(sizes[0]?.rows ?? 0, 1))
  const { rows } = await sql<{ category: string }>`
    select category from (
      select split_part(category, ' > ', 1) as category
      from offers tablesample system (${percent}) repeatable (1)
      where removed_at is null and category <> '' limit ${CATEGORIES_FROM}) seen
    group by category order by count(*) desc, category limit ${most}`.execute(db)
  return rows.map(({ category }) => category)
}

export interface StoredReply {
  conversationId: string
  text: string
  createdAt: Date
}

const CONVERSATIONS_SEEN = 30

/** The last answers of the newest conversations whose text is kept, newest first. Longer ones than asked for are left out. */
export async function listLatestReplies(db: Db, projectId: string, lengthMax: number): Promise<StoredReply[]> {
  const { rows } = await sql<StoredReply>`
    select c.id as "conversationId", m.content ->> 'content' as text, m.created_at as "createdAt"
    from (
      select project_id, id, last_call_at from conversations where project_id = ${projectId} and deleted_at is null
      order by last_call_at desc, id desc limit ${CONVERSATIONS_SEEN}) c
      cross join lateral (
        select m.content, m.created_at from messages m
        where m.project_id = c.project_id and m.conversation_id = c.id and m.role = 'assistant'
        order by m.seq desc limit 1) m
    where json_typeof(m.content -> 'content') = 'string' and length(m.content ->> 'content') <= ${lengthMax}
    order by c.last_call_at desc, c.id desc`.execute(db)
  return rows
}
