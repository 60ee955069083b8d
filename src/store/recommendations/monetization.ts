import { sql } from 'kysely'
import type { MonetizationSettings } from '../../rules/recommendations/matching.ts'
import { DEFAULT_SETTINGS, type MatchersNow } from '../../rules/recommendations/monetization.ts'
import type { Db } from '../database.ts'

/** The settings of a project's recommendations, which its publisher chooses. */

export async function findMonetization(db: Db, projectId: string): Promise<MonetizationSettings> {
  const row = await db.selectFrom('monetization').selectAll().where('project_id', '=', projectId).executeTakeFirst()
  return row ? settingsOf(row as MonetizationRow) : DEFAULT_SETTINGS
}

/** The row, read alone or as JSON beside something else. */
export interface MonetizationRow {
  mode: MonetizationSettings['mode']
  label: string
  format: MonetizationSettings['format']
  audience: MonetizationSettings['audience']
  min_relevance: number
  first_turn: number
  min_turn_gap: number
  max_per_conversation: number
  /** At most 10^12: JSON carries it exactly, as a number. */
  floor_nanos: bigint | number
  blocked_categories: string[]
  blocked_advertisers: string[]
  blocked_domains: string[]
  excluded_topics: string[]
}

export function settingsOf(row: MonetizationRow): MonetizationSettings {
  return {
    mode: row.mode,
    label: row.label,
    format: row.format,
    audience: row.audience,
    minRelevance: row.min_relevance,
    firstTurn: row.first_turn,
    minTurnGap: row.min_turn_gap,
    maxPerConversation: row.max_per_conversation,
    floorNanos: BigInt(row.floor_nanos),
    blockedCategories: row.blocked_categories,
    blockedAdvertisers: row.blocked_advertisers,
    blockedDomains: row.blocked_domains,
    excludedTopics: row.excluded_topics,
  }
}

/** As it is now, and nobody else changes it before the transaction has ended. */
export async function lockMonetization(tx: Db, projectId: string): Promise<MonetizationSettings> {
  await tx
    .insertInto('monetization')
    .values({ project_id: projectId })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const row = await tx
    .selectFrom('monetization')
    .selectAll()
    .where('project_id', '=', projectId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return settingsOf(row as MonetizationRow)
}

/** Only what is given is changed. The row is there: it was locked before. */
export async function updateMonetization(
  tx: Db,
  projectId: string,
  changes: Partial<MonetizationSettings>,
): Promise<void> {
  const { minRelevance, firstTurn, minTurnGap, maxPerConversation, floorNanos } = changes
  const { blockedCategories, blockedAdvertisers, blockedDomains, excludedTopics } = changes
  const { mode, label, format, audience } = changes
  await tx
    .updateTable('monetization')
    .set({
      ...(mode !== undefined && { mode }),
      ...(label !== undefined && { label }),
      ...(format !== undefined && { format }),
      ...(audience !== undefined && { audience }),
      ...(minRelevance !== undefined && { min_relevance: minRelevance }),
      ...(firstTurn !== undefined && { first_turn: firstTurn }),
      ...(minTurnGap !== undefined && { min_turn_gap: minTurnGap }),
      ...(maxPerConversation !== undefined && { max_per_conversation: maxPerConversation }),
      ...(floorNanos !== undefined && { floor_nanos: floorNanos }),
      ...(blockedCategories && { blocked_categories: [...blockedCategories] }),
      ...(blockedAdvertisers && { blocked_advertisers: [...blockedAdvertisers] }),
      ...(blockedDomains && { blocked_domains: [...blockedDomains] }),
      ...(excludedTopics && { excluded_topics: [...excludedTopics] }),
      changed_at: sql`now()`,
    })
    .where('project_id', '=', projectId)
    .execute()
}

/** A matcher that has not told for this long is taken for gone. */
const HEARD_WITHIN = sql`interval '20 seconds'`

export async function findMatchersNow(db: Db): Promise<MatchersNow> {
  const { rows } = await sql<MatchersNow>`
    select coalesce((select is_on from recommendation_switch), true) as "isOn",
      count(*) filter (where state = 'ready')::int as ready,
      count(*) filter (where state = 'starting')::int as starting,
      count(*) filter (where state = 'switched_off')::int as "switchedOff",
      coalesce(max(offers) filter (where state = 'ready'), 0) as offers
    from matchers where beat_at > now() - ${HEARD_WITHIN}`.execute(db)
  return rows[0] ?? { isOn: true, ready: 0, starting: 0, switchedOff: 0, offers: 0n }
}

export interface NamedAdvertiser {
  id: string
  name: string
  domain: string
}

/** By name, those that can be recommended now; without a search, the first of them. */
export async function searchAdvertisers(db: Db, search: string, most: number): Promise<NamedAdvertiser[]> {
  const { rows } = await sql<NamedAdvertiser>`
    select id, name, domain from advertisers
    where status = 'active' and (strpos(lower(name), lower(${search})) > 0 or strpos(domain, lower(${search})) > 0)
    order by strpos(lower(name), lower(${search})) <> 1, lower(name) limit ${most}`.execute(db)
  return rows
}

/** Lists advertisers whatever their state: one that was blocked stays in sight. */
export async function listAdvertisers(db: Db, ids: readonly string[]): Promise<NamedAdvertiser[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<NamedAdvertiser>`
    select id, name, domain from advertisers where id = any (${ids}::uuid[]) order by lower(name)`.execute(db)
  return rows
}
