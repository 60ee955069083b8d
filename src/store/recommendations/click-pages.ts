import { sql, type RawBuilder } from 'kysely'
import { LAST_UUID } from '../../platform/uuid.ts'
import type { ClickState } from '../../rules/clicks/earnings.ts'
import type { ClickVerdict } from '../../rules/clicks/verdict.ts'
import type { Db } from '../database.ts'
import { goByIndexes } from '../planner.ts'

/** Clicks as people look at them: the publisher's list, one of them in full, and those on the recommendation of a reply. */

export interface ClickRow {
  id: string
  at: Date
  verdict: ClickVerdict
  state: ClickState
  /** The price that the advertiser paid, and the publisher's share of it. */
  price: bigint
  share: bigint
  recommendationId: string
  advertiserId: string
  /** Null when the advertiser, or the offer and its words, are not there any more. */
  advertiser: string | null
  headline: string | null
  /** Null when the recommendation is kept no longer. */
  callId: string | null
  shownAt: Date | null
}

export interface ClickFilters {
  verdict?: ClickVerdict | undefined
  state?: ClickState | undefined
  advertiserId?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
}

/** Without what is known of the reader's network, which is no publisher's. */
const READABLE = sql`id, project_id, recommendation_id, advertiser_id, offer_id, verdict, state, price_nanos, share_nanos`

const CLICK_COLUMNS = sql`k.id, time_of_id(k.id) as at, k.verdict, k.state, k.price_nanos as price, k.share_nanos as share,
  k.recommendation_id as "recommendationId", k.advertiser_id as "advertiserId", a.name as advertiser,
  coalesce(r.headline, o.headline) as headline, r.call_id as "callId", r.created_at as "shownAt"`

const NAMED = sql`left join recommendations r on r.id = k.recommendation_id and r.project_id = k.project_id
  left join advertisers a on a.id = k.advertiser_id left join offers o on o.id = k.offer_id`

/** Newest first. */
export async function listClicks(
  tx: Db,
  projectId: string,
  { filters, before, most }: { filters: ClickFilters; before?: string | undefined; most: number },
): Promise<ClickRow[]> {
  await goByIndexes(tx)
  const { rows } = await sql<ClickRow>`
    select ${CLICK_COLUMNS} from (
      select ${READABLE} from clicks where project_id = ${projectId} ${matching(filters)} and id < ${before ?? LAST_UUID}::uuid
      order by id desc limit ${most}) k ${NAMED}
    order by k.id desc`.execute(tx)
  return rows
}

/** A state but `unpaid` says that the verdict is `valid`: each question is one that an index answers. */
function matching({ verdict, state, advertiserId, from, to }: ClickFilters): RawBuilder<unknown> {
  const conditions = [sql``]
  if (verdict !== undefined && state !== undefined && (verdict === 'valid') === (state === 'unpaid'))
    conditions.push(sql`and false`)
  if (state !== undefined && (state !== 'unpaid' || verdict === undefined)) conditions.push(sql`and state = ${state}`)
  else if (verdict !== undefined) conditions.push(sql`and verdict = ${verdict}`)
  if (advertiserId !== undefined) conditions.push(sql`and advertiser_id = ${advertiserId}`)
  if (from !== undefined) conditions.push(sql`and id >= first_id_of(${from}::timestamptz)`)
  if (to !== undefined) conditions.push(sql`and id < first_id_of(${to}::timestamptz)`)
  return sql.join(conditions, sql` `)
}

export async function findClick(db: Db, projectId: string, id: string): Promise<ClickRow | undefined> {
  const { rows } = await sql<ClickRow>`
    select ${CLICK_COLUMNS} from clicks k ${NAMED} where k.id = ${id} and k.project_id = ${projectId}`.execute(db)
  return rows[0]
}

export interface ClickOnRecommendation {
  id: string
  at: Date
  verdict: ClickVerdict
  state: ClickState
  share: bigint
}

const CLICKS_SHOWN = 20

/** The clicks on each of these recommendations, by its id: the paid one first, then the newest. */
export async function findClicksOn(
  tx: Db,
  projectId: string,
  recommendationIds: readonly string[],
): Promise<Map<string, ClickOnRecommendation[]>> {
  if (recommendationIds.length === 0) return new Map()
  await goByIndexes(tx)
  const { rows } = await sql<ClickOnRecommendation & { recommendationId: string }>`
    select k.recommendation_id as "recommendationId", k.id, time_of_id(k.id) as at, k.verdict, k.state, k.share_nanos as share
    from unnest(${recommendationIds}::uuid[]) as r (id) cross join lateral (
      (select ${READABLE} from clicks c where c.recommendation_id = r.id and c.project_id = ${projectId}
        and c.price_nanos > 0)
      union all
      (select ${READABLE} from clicks c where c.recommendation_id = r.id and c.project_id = ${projectId}
        and c.price_nanos = 0 order by c.id desc limit ${CLICKS_SHOWN})) k`.execute(tx)
  return Map.groupBy(rows, ({ recommendationId }) => recommendationId)
}

/** A click as the operator sees it: with both sides of it, and every movement of the ledger that it made. */
export interface ClickReceipt extends ClickRow {
  projectId: string
  project: string | null
  campaignId: string
  campaign: string | null
  offerId: string
  movements: { id: string; kind: string; nanos: bigint; reference: string; reason: string | null; at: Date }[]
}

export async function findClickReceipt(db: Db, id: string): Promise<ClickReceipt | undefined> {
  const { rows } = await sql<Omit<ClickReceipt, 'movements'>>`
    select ${CLICK_COLUMNS}, k.project_id as "projectId", p.name as project, k.campaign_id as "campaignId", c.name as campaign,
      k.offer_id as "offerId"
    from clicks k ${NAMED} left join projects p on p.id = k.project_id left join campaigns c on c.id = k.campaign_id
    where k.id = ${id}`.execute(db)
  const [row] = rows
  if (!row) return undefined
  const references = ['click', 'click-fee', 'click-reversal', 'click-fee-reversal'].map((kind) => `${kind}:${id}`)
  const movements = await db
    .selectFrom('transfers')
    .select(['id', 'kind', 'amount_nanos as nanos', 'reference', 'reason', 'created_at as at'])
    .where('reference', 'in', references)
    .orderBy('created_at')
    .orderBy('reference')
    .execute()
  return { ...row, movements }
}
