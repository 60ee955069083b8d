import { sql } from 'kysely'
import { LAST_UUID } from '../../platform/uuid.ts'
import type { Db } from '../database.ts'
import { goByIndexes } from '../planner.ts'

/** The recommendations in a project, and the reasons why so often there were none, as its publisher looks at them. */

export interface RecommendationRow {
  id: string
  callId: string
  advertiserId: string
  /** Null when the advertiser is not there any more. */
  advertiser: string | null
  /** The headline that readers saw. Null only where a version before this one wrote it, and the offer is no longer there. */
  headline: string | null
  turn: number
  relevance: number
  /** The campaign's hint that decided the match; null: the offer's own words did, or a version before this one wrote it. */
  hint: string | null
  priceNanos: bigint
  label: string
  state: 'delivered' | 'test'
  createdAt: Date
}

/** An id is made when its call has credit held, seconds after the call's own at the most: so their times say where to look. */
const MADE_BEFORE = sql`interval '5 seconds'`
const MADE_AFTER = sql`interval '2 minutes'`

/** Finds the recommendations that the replies of these calls carried, or in test mode would have carried, by call. */
export async function findRecommendationsOfCalls(
  tx: Db,
  projectId: string,
  callIds: readonly string[],
): Promise<Map<string, RecommendationRow>> {
  if (callIds.length === 0) return new Map()
  await goByIndexes(tx)
  const { rows } = await sql<RecommendationRow>`
    select ${RECOMMENDATION_COLUMNS}
    from unnest(${callIds}::uuid[]) as c (id) cross join lateral (
      select * from recommendations t where t.project_id = ${projectId} and t.call_id = c.id and t.state <> 'aborted'
        and t.id >= first_id_of(time_of_id(c.id) - ${MADE_BEFORE})
        and t.id < first_id_of(time_of_id(c.id) + ${MADE_AFTER})
      order by t.id limit 1) r
      left join advertisers a on a.id = r.advertiser_id
      left join offers o on o.id = r.offer_id`.execute(tx)
  return new Map(rows.map((row) => [row.callId, row]))
}

const RECOMMENDATION_COLUMNS = sql`r.id, r.call_id as "callId", r.advertiser_id as "advertiserId", a.name as advertiser,
  coalesce(r.headline, o.headline) as headline, r.turn, r.relevance, r.hint, r.price_nanos as "priceNanos", r.label, r.state,
  r.created_at as "createdAt"`

/** Newest first. What a reader did not stay for was shown to nobody, so it is not among them. */
export async function listRecommendations(
  tx: Db,
  projectId: string,
  { before, most }: { before?: string | undefined; most: number },
): Promise<RecommendationRow[]> {
  await goByIndexes(tx)
  const { rows } = await sql<RecommendationRow>`
    select ${RECOMMENDATION_COLUMNS}
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
  to?: Date,
): Promise<{ outcome: string; calls: bigint }[]> {
  const { rows } = await sql<{ outcome: string; calls: bigint }>`
    select outcome, sum(calls)::int8 as calls from recommendation_outcomes
    where project_id = ${projectId} and hour >= ${from} and hour < ${to ?? 'infinity'} group by outcome order by calls desc, outcome`.execute(
    db,
  )
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
  /** The messages before it, oldest first; null when they are too much to look at. */
  before: { role: string; content: object | null }[] | null
}

const CONVERSATIONS_SEEN = 30
const MESSAGES_SEEN = 40
const BYTES_SEEN = 64 * 1024

/** The last answers of the newest conversations whose text is kept, newest first. Longer ones than asked for are left out. */
export async function listLatestReplies(db: Db, projectId: string, lengthMax: number): Promise<StoredReply[]> {
  const mine = sql`t.project_id = c.project_id and t.conversation_id = c.id`
  const { rows } = await sql<StoredReply>`
    select c.id as "conversationId", m.content ->> 'content' as text, m.created_at as "createdAt", b.before
    from (
      select project_id, id, last_call_at from conversations where project_id = ${projectId} and deleted_at is null
      order by last_call_at desc, id desc limit ${CONVERSATIONS_SEEN}) c
      cross join lateral (
        select t.seq, t.content, t.created_at from messages t where ${mine} and t.role = 'assistant'
        order by t.seq desc limit 1) m
      cross join lateral (
        select case when count(*) <= ${MESSAGES_SEEN} and sum(length(t.content::text)) <= ${BYTES_SEEN}
          then json_agg(json_build_object('role', t.role, 'content', t.content) order by t.seq) end as before
        from (select t.seq, t.role, t.content from messages t where ${mine} and t.seq < m.seq
          order by t.seq desc limit ${MESSAGES_SEEN + 1}) t) b
    where json_typeof(m.content -> 'content') = 'string' and length(m.content ->> 'content') <= ${lengthMax}
    order by c.last_call_at desc, c.id desc`.execute(db)
  return rows
}
