import { sql } from 'kysely'
import type { RecommendationOutcome } from '../../rules/recommendations/matching.ts'
import { NANOS_MAX } from '../../rules/money.ts'
import type { Restraint } from '../../rules/recommendations/caps.ts'
import type { Db } from '../database.ts'

/** Recommendations, as gateways record them in batches: each before it is shown, the rest out of the way of answers. */

const REMEMBERED_FOR = sql`interval '24 hours'`

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
  /** The campaign's hint that decided the match; undefined: the offer's own words did. */
  hint?: string | undefined
  label: string
  /** Digest of the conversation that it is shown in, if the caller named one. */
  conversation: Buffer | undefined
  /** The tag of the network that the caller is in. */
  networkTag?: Buffer | undefined
}

/** Stands for the budget of a campaign that has none. */
const NO_BUDGET = sql.lit(NANOS_MAX.toString())
/** Campaign `c` could pay for a click on `n` today, as far as its budgets go. */
const HAS_BUDGET = sql<boolean>`coalesce(d.spent_nanos, 0) + n.price_nanos <= coalesce(c.daily_budget_nanos, ${NO_BUDGET})
  and coalesce(t.spent_nanos, 0) + n.price_nanos <= coalesce(c.total_budget_nanos, ${NO_BUDGET})`

/**
 * Writes down what is about to be shown, with the link and the headline that its offer and the budgets that its campaign has now,
 * and in its conversation, so that the next turn knows of it. Says of each, in order, whether its offer may still be advertised, in
 * that project and for that money: matchers hear of a change some seconds late. Sending a batch again changes nothing.
 */
export async function insertRecommendations(db: Db, records: readonly RecommendationRecord[]): Promise<boolean[]> {
  const asked = JSON.stringify(
    records.map((record) => ({
      id: record.id,
      project_id: record.projectId,
      call_id: record.callId,
      advertiser_id: record.advertiserId,
      campaign_id: record.campaignId,
      offer_id: record.offerId,
      turn: record.turn,
      price_nanos: record.priceNanos.toString(),
      relevance: record.relevance,
      hint: record.hint,
      label: record.label,
      conversation: record.conversation?.toString('hex'),
      network_tag: record.networkTag?.toString('hex'),
    })),
  )
  const { rows } = await sql<{ id: string }>`
    with allowed as materialized (
      select n.*, o.link, o.headline, coalesce(c.daily_budget_nanos, ${NO_BUDGET}) as daily_budget_nanos,
        coalesce(c.total_budget_nanos, ${NO_BUDGET}) as total_budget_nanos
      from json_to_recordset(${asked}) as n (id uuid, project_id uuid, call_id uuid, advertiser_id uuid, campaign_id uuid,
        offer_id uuid, turn int, price_nanos int8, relevance real, hint text, label text, conversation text, network_tag text)
        join advertisers a on a.id = n.advertiser_id join campaigns c on c.id = n.campaign_id
        join offers o on o.id = n.offer_id and o.advertiser_id = a.id
        left join campaign_totals t on t.campaign_id = c.id
        left join campaign_days d on d.campaign_id = c.id and d.day = (now() at time zone 'utc')::date
      where may_be_advertised(a.status, c.status, c.starts_at, c.ends_at, o.review, o.removed_at) and ${HAS_BUDGET}
        and not exists (select from offer_stops s where s.project_id = n.project_id and s.offer_id = o.id)
    ), written as (
      insert into recommendations (id, project_id, call_id, advertiser_id, campaign_id, offer_id, turn, price_nanos,
        relevance, hint, label, state, link, headline, network_tag, daily_budget_nanos, total_budget_nanos)
      select id, project_id, call_id, advertiser_id, campaign_id, offer_id, turn, price_nanos, relevance, hint, label,
        -- Seen by nobody until setRecommendationStates says otherwise.
        'aborted', link, headline, decode(network_tag, 'hex'), daily_budget_nanos, total_budget_nanos
      from allowed on conflict (id) do nothing returning id
    ), noted as (
      insert into conversation_restraints as r (project_id, digest, served, last_turn, offers, advertisers, expires_at)
      select project_id, decode(conversation, 'hex'), count(*), max(turn), array_agg(offer_id order by turn),
        array_agg(advertiser_id order by turn), now() + ${REMEMBERED_FOR}
      from allowed join written using (id)
      where conversation is not null
      group by project_id, conversation order by project_id, conversation
      on conflict (project_id, digest) do update set
        -- Remembered for as long as any other, also in a row whose time was over.
        expires_at = excluded.expires_at,
        served = r.served + excluded.served,
        last_turn = greatest(r.last_turn, excluded.last_turn),
        offers = r.offers || excluded.offers,
        advertisers = r.advertisers || excluded.advertisers
    )
    select id from written
    union all
    select id from recommendations where id = any(${records.map(({ id }) => id)}) and id in (select id from allowed)`.execute(
    db,
  )
  const written = new Set(rows.map(({ id }) => id))
  return records.map(({ id }) => written.has(id))
}

export interface RecommendationState {
  id: string
  state: 'delivered' | 'test'
}

export async function setRecommendationStates(db: Db, states: readonly RecommendationState[]): Promise<void> {
  for (const state of ['delivered', 'test'] as const) {
    const ids = states.filter((each) => each.state === state).map(({ id }) => id)
    if (ids.length > 0) await db.updateTable('recommendations').set({ state }).where('id', 'in', ids).execute()
  }
}

export interface OutcomeCount {
  projectId: string
  hour: Date
  outcome: RecommendationOutcome
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

function unnestConversations(conversations: readonly ConversationDigest[]) {
  const projectIds = conversations.map(({ projectId }) => projectId)
  const digests = conversations.map(({ digest }) => digest.toString('hex'))
  return sql`unnest(${projectIds}::uuid[], ${digests}::text[])`
}

/** Counts a turn of each conversation, and tells what is remembered of it, in the order asked. */
export async function countTurns(db: Db, keys: readonly ConversationDigest[]): Promise<RememberedRestraint[]> {
  const { rows } = await sql<RememberedRestraint>`
    with asked as materialized (
      select k.project_id, decode(k.digest, 'hex') as digest, k.n
      from ${unnestConversations(keys)} with ordinality as k (project_id, digest, n)
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

/** Keeps these conversations free of recommendations. */
export async function noteSensitive(db: Db, conversations: readonly ConversationDigest[]): Promise<void> {
  await sql`
    insert into conversation_restraints (project_id, digest, is_sensitive, expires_at)
    select distinct project_id, decode(digest, 'hex'), true, now() + ${REMEMBERED_FOR}
    from ${unnestConversations(conversations)} as k (project_id, digest)
    order by 1, 2
    -- Remembered for as long as any other, also in a row whose time was over.
    on conflict (project_id, digest) do update set is_sensitive = true, expires_at = excluded.expires_at`.execute(db)
}

/** Finds what was recommended under these ids, in this project: callers send back links that may belong to any project. */
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

/**
 * Completes, among the next `most` recommendations after an id, those that a gateway of the version before wrote, without the
 * headline that readers saw: their offers can then be erased. Returns the id that was reached.
 */
export async function completeHeadlines(
  db: Db,
  after: string,
  most: number,
): Promise<{ reached: string; seen: number }> {
  const { rows } = await sql<{ reached: string; seen: number }>`
    with seen as materialized (
      select id, offer_id, headline from recommendations
      -- Not what a gateway may just be writing to.
      where id > ${after}::uuid and id < first_id_of(now() - interval '1 hour') order by id limit ${most}
    ), completed as (
      update recommendations r set headline = o.headline from seen s join offers o on o.id = s.offer_id
      where s.headline is null and r.id = s.id)
    select id as reached, (select count(*)::int from seen) as seen from seen order by id desc limit 1`.execute(db)
  return rows[0] ?? { reached: after, seen: 0 }
}

/** Returns how many rows were forgotten. By project, because that is how the rows are found. */
export async function expireOutcomes(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from recommendation_outcomes where (project_id, hour, outcome) in (
      select o.project_id, o.hour, o.outcome from projects p cross join lateral (
        select project_id, hour, outcome from recommendation_outcomes o
        where o.project_id = p.id and o.hour < now() - ${keptMs} * interval '1 ms' limit ${most}) o
      limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
