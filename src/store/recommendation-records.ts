import { sql } from 'kysely'
import type { Outcome } from '../rules/matching.ts'
import type { Restraint } from '../rules/recommendation-caps.ts'
import type { Db } from './database.ts'

/** What gateways write down of recommendations, in batches and out of the way of answers. */

export interface RecommendationRecord {
  id: string
  projectId: string
  callId: string
  advertiserId: string
  campaignId: string
  offerId: string
  turn: number
  priceNanos: bigint
  relevance: number
  label: string
  state: 'delivered' | 'aborted' | 'test'
}

export async function insertRecommendations(db: Db, records: readonly RecommendationRecord[]): Promise<void> {
  if (records.length === 0) return
  await db
    .insertInto('recommendations')
    .values(
      records.map((record) => ({
        id: record.id,
        project_id: record.projectId,
        call_id: record.callId,
        advertiser_id: record.advertiserId,
        campaign_id: record.campaignId,
        offer_id: record.offerId,
        turn: record.turn,
        price_nanos: record.priceNanos,
        relevance: record.relevance,
        label: record.label,
        state: record.state,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export interface OutcomeCount {
  projectId: string
  hour: Date
  outcome: Outcome
  calls: number
}

/** In one order, so that two gateways that count for the same projects never wait for each other in a circle. */
export async function addOutcomes(db: Db, counts: readonly OutcomeCount[]): Promise<void> {
  if (counts.length === 0) return
  const keyOf = ({ projectId, hour, outcome }: OutcomeCount) => `${projectId}/${hour.toISOString()}/${outcome}`
  const sorted = counts.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  await db
    .insertInto('recommendation_outcomes')
    .values(
      sorted.map(({ projectId, hour, outcome, calls }) => ({
        project_id: projectId,
        hour,
        outcome,
        calls: BigInt(calls),
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'hour', 'outcome'])
        .doUpdateSet({ calls: sql`recommendation_outcomes.calls + excluded.calls` }),
    )
    .execute()
}

export interface ConversationDigest {
  projectId: string
  digest: Buffer
}

export interface RememberedRestraint extends Restraint, Recommended {}

/** In the order in which they were recommended; an advertiser as often as it was. */
export interface Recommended {
  offers: string[]
  advertisers: string[]
}

const REMEMBERED_FOR = sql`interval '24 hours'`

/** Counts a turn of each conversation, and tells what is remembered of it, in the order asked. */
export async function countTurns(db: Db, keys: readonly ConversationDigest[]): Promise<RememberedRestraint[]> {
  const { rows } = await sql<RememberedRestraint>`
    with asked as materialized (
      select k.project_id, decode(k.digest, 'hex') as digest, k.n
      from unnest(${keys.map(({ projectId }) => projectId)}::uuid[], ${keys.map(({ digest }) => digest.toString('hex'))}::text[])
        with ordinality as k (project_id, digest, n)
    ), counted as (
      insert into conversation_restraints as r (project_id, digest, expires_at)
      select distinct project_id, digest, now() + ${REMEMBERED_FOR} from asked order by project_id, digest
      on conflict (project_id, digest) do update set expires_at = excluded.expires_at,
        turns = case when r.expires_at < now() then 1 else r.turns + 1 end,
        is_sensitive = r.is_sensitive and r.expires_at >= now(),
        served = case when r.expires_at < now() then 0 else r.served end,
        last_turn = case when r.expires_at < now() then null else r.last_turn end,
        offers = case when r.expires_at < now() then '{}' else r.offers end,
        advertisers = case when r.expires_at < now() then '{}' else r.advertisers end
      returning *
    )
    select c.turns, c.is_sensitive as "isSensitive", c.served, c.last_turn as "lastTurn", c.offers, c.advertisers
    from asked a join counted c using (project_id, digest) order by a.n`.execute(db)
  return rows
}

export interface RestraintNote extends ConversationDigest {
  isSensitive: boolean
  served: { turn: number; offerId: string; advertiserId: string } | undefined
}

export async function noteRestraints(db: Db, notes: readonly RestraintNote[]): Promise<void> {
  const rows = JSON.stringify(
    notes.map(({ projectId, digest, isSensitive, served }) => ({
      project_id: projectId,
      digest: digest.toString('hex'),
      is_sensitive: isSensitive,
      turn: served?.turn,
      offer: served?.offerId,
      advertiser: served?.advertiserId,
    })),
  )
  await sql`
    insert into conversation_restraints as r (project_id, digest, is_sensitive, served, last_turn, offers, advertisers,
      expires_at)
    select n.project_id, decode(n.digest, 'hex'), bool_or(n.is_sensitive), count(n.offer), max(n.turn),
      coalesce(array_agg(n.offer) filter (where n.offer is not null), '{}'),
      coalesce(array_agg(n.advertiser) filter (where n.offer is not null), '{}'), now() + ${REMEMBERED_FOR}
    from json_to_recordset(${rows}) as n (project_id uuid, digest text, is_sensitive bool, turn int, offer uuid,
      advertiser uuid)
    group by n.project_id, n.digest order by n.project_id, n.digest
    on conflict (project_id, digest) do update set
      -- What was noted is remembered for as long as any other, also in a row whose time was over.
      expires_at = excluded.expires_at,
      is_sensitive = r.is_sensitive or excluded.is_sensitive,
      served = r.served + excluded.served,
      last_turn = greatest(r.last_turn, excluded.last_turn),
      offers = r.offers || excluded.offers,
      advertisers = r.advertisers || excluded.advertisers`.execute(db)
}

/** What was recommended under these ids, in this project: callers send back links that may be anybody's. */
export async function findRecommended(db: Db, projectId: string, ids: readonly string[]): Promise<Recommended> {
  if (ids.length === 0) return { offers: [], advertisers: [] }
  const rows = await db
    .selectFrom('recommendations')
    .select(['offer_id', 'advertiser_id'])
    .where('id', 'in', ids)
    .where('project_id', '=', projectId)
    .execute()
  return { offers: rows.map((row) => row.offer_id), advertisers: rows.map((row) => row.advertiser_id) }
}

/** Where the links of a recommendation lead. */
export async function findRecommendation(db: Db, id: string) {
  return db
    .selectFrom('recommendations as r')
    .innerJoin('offers as o', 'o.id', 'r.offer_id')
    .innerJoin('advertisers as a', 'a.id', 'r.advertiser_id')
    .select(['o.link', 'a.name as advertiser', 'a.domain', 'r.label', 'r.created_at as createdAt'])
    .where('r.id', '=', id)
    .executeTakeFirst()
}

/** Returns how many were forgotten. Those that a gateway is just writing to are left: they are not over, and to wait for
 * them in another order than gateways do would be a circle. */
export async function expireRestraints(db: Db, limit: number): Promise<number> {
  const result = await db
    .deleteFrom('conversation_restraints')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('project_id', 'digest'),
        'in',
        selectFrom('conversation_restraints')
          .select(['project_id', 'digest'])
          .where('expires_at', '<', sql<Date>`now()`)
          .limit(limit)
          .forUpdate()
          .skipLocked()
          .$asTuple('project_id', 'digest'),
      ),
    )
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
