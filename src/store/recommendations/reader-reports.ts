import { sql } from 'kysely'
import type { ReportReason } from '../../rules/recommendations/report-reasons.ts'
import type { Db } from '../database.ts'

/** Reports by readers, and the offers that a project is spared because of them. */

export interface ReaderReport {
  recommendationId: string
  reason: ReportReason | null
  networkTag: Buffer
}

/** False: it adds nothing to what was reported before. Sending it again changes nothing. */
export async function reportRecommendation(
  db: Db,
  { recommendationId, reason, networkTag }: ReaderReport,
): Promise<boolean> {
  const { rows } = await sql<{ counts: boolean }>`
    select recommendation_report(${recommendationId}, ${reason}, ${networkTag}) as counts`.execute(db)
  return rows[0]?.counts ?? false
}

export interface ReportedOffer {
  offerId: string
  headline: string | null
  advertiser: string | null
  reports: number
  /** The most frequent one, among reports that gave a reason. */
  reason: string | null
  lastAt: Date
  isStopped: boolean
}

/** Lists a project's offers with unresolved reports by readers, and those that are stopped in it, latest first. */
export async function listReportedOffers(tx: Db, projectId: string, most: number): Promise<ReportedOffer[]> {
  const { rows } = await sql<ReportedOffer>`
    with open as (
      select offer_id, count(*)::int as reports, mode() within group (order by reason) as reason, max(created_at) as at,
        max(recommendation_id::text)::uuid as recommendation_id
      from recommendation_reports where project_id = ${projectId} and resolved_at is null group by offer_id
    )
    select coalesce(p.offer_id, s.offer_id) as "offerId", coalesce(r.headline, o.headline) as headline, a.name as advertiser,
      coalesce(p.reports, 0) as reports, p.reason, coalesce(p.at, s.stopped_at) as "lastAt",
      s.offer_id is not null as "isStopped"
    from open p full join (select * from offer_stops where project_id = ${projectId}) s on s.offer_id = p.offer_id
      left join recommendations r on r.id = p.recommendation_id and r.project_id = ${projectId}
      left join offers o on o.id = coalesce(p.offer_id, s.offer_id)
      left join advertisers a on a.id = coalesce(r.advertiser_id, o.advertiser_id)
    order by "lastAt" desc, "offerId" limit ${most}`.execute(tx)
  return rows
}

export interface ReportOfProject {
  offer: string
  project: string
  advertiser: string | null
  headline: string | null
  review: string | null
  reports: number
  reasons: string[]
  lastAt: Date
  isStopped: boolean
}

/** For the operator: what waits for a look, in every project. Those that are stopped first. */
export async function listReports(db: Db, most: number): Promise<ReportOfProject[]> {
  const { rows } = await sql<ReportOfProject>`
    select p.offer_id as offer, j.name as project, a.name as advertiser, o.headline, o.review, count(*)::int as reports,
      array_remove(array_agg(distinct p.reason), null) as reasons, max(p.created_at) as "lastAt",
      s.offer_id is not null as "isStopped"
    from recommendation_reports p join projects j on j.id = p.project_id
      left join offers o on o.id = p.offer_id left join advertisers a on a.id = o.advertiser_id
      left join offer_stops s on s.project_id = p.project_id and s.offer_id = p.offer_id
    where p.resolved_at is null
    group by p.offer_id, p.project_id, j.name, a.name, o.headline, o.review, s.offer_id
    order by s.offer_id is null, max(p.created_at) desc limit ${most}`.execute(db)
  return rows
}

/** How many offers are stopped somewhere and wait for a person. */
export async function countStoppedOffers(db: Db): Promise<bigint> {
  const { rows } = await sql<{ offers: bigint }>`
    select count(distinct s.offer_id) as offers from offer_stops s where exists (select from recommendation_reports p
      where p.project_id = s.project_id and p.offer_id = s.offer_id and p.resolved_at is null)`.execute(db)
  return rows[0]?.offers ?? 0n
}

/** A person has looked at these offers. What was approved is recommended again wherever it was stopped. */
export async function resolveReports(db: Db, offerIds: readonly string[], isApproved: boolean): Promise<void> {
  await db
    .updateTable('recommendation_reports')
    .set({ resolved_at: sql`now()` })
    .where('offer_id', 'in', [...offerIds])
    .where('resolved_at', 'is', null)
    .execute()
  if (isApproved)
    await db
      .deleteFrom('offer_stops')
      .where('offer_id', 'in', [...offerIds])
      .execute()
}

/** Returns how many were forgotten. What was stopped because of them stays stopped. */
export async function expireReports(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from recommendation_reports where recommendation_id in (
      select recommendation_id from recommendation_reports where created_at < now() - ${keptMs} * interval '1 ms'
      limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
