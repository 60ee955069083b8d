import { sql } from 'kysely'
import type { MonetizationSettings } from '../../rules/recommendations/matching.ts'
import type { Db } from '../database.ts'
import { settingsOf, type MonetizationRow } from '../recommendations/monetization.ts'

/** Everything that authentication needs to know of a publishable key, in one row. */
export interface KeyRecord {
  keyPairId: string
  /** The id of the pair whose limits hold for its calls: its own, or that of the pair that it took the place of. */
  countedAs: string
  projectId: string
  publisherId: string
  publishableKey: string
  secretDigest: Buffer
  secretVersion: number
  isActive: boolean
  expiresAt: Date | null
  isAccountActivated: boolean
  isDomainVerified: boolean
  /** Empty: it has none. */
  domain: string
  allowedModels: readonly string[] | null
  contentRetentionDays: number
  /** For trying things out: chats only, and readers are never shown a recommendation. */
  isSandbox: boolean
  /** The console's own pair: what it causes is nobody's to bill. */
  isPlayground: boolean
  monetization: MonetizationSettings | undefined
  /** Offers that its readers reported: the latest of them. */
  stoppedOffers?: readonly string[]
  /** Credit that is held by calls in flight is still in the wallet. */
  isWalletEmpty: boolean
}

/** Matchers are told of so many. All others are looked at when one of them would be shown. */
const STOPPED_OFFERS_MAX = 50

/** In the order asked; undefined where there is no such key. */
export async function findKeyRecords(db: Db, publishableKeys: readonly string[]): Promise<(KeyRecord | undefined)[]> {
  const rows = await selectKeyRecords(db).where('k.publishable_key', 'in', publishableKeys).execute()
  const found = new Map(rows.map((row) => [row.publishableKey, keyRecordOf(row)]))
  return publishableKeys.map((key) => found.get(key))
}

/** Pairs that were not deleted, of projects that are there. */
export function selectKeyRecords(db: Db) {
  return db
    .selectFrom('key_pairs as k')
    .innerJoin('projects as p', 'p.id', 'k.project_id')
    .innerJoin('publishers as u', 'u.id', 'p.publisher_id')
    .leftJoin('domains as d', 'd.project_id', 'p.id')
    .leftJoin('monetization as m', 'm.project_id', 'p.id')
    .leftJoin('wallets as w', 'w.project_id', 'p.id')
    .select([
      'k.id as keyPairId',
      'k.project_id as projectId',
      'p.publisher_id as publisherId',
      'k.publishable_key as publishableKey',
      'k.secret_digest as secretDigest',
      'k.secret_version as secretVersion',
      'k.active as isActive',
      'k.expires_at as expiresAt',
      'u.activated_at',
      'd.verified_at',
      'd.name as domain',
      'p.allowed_models as allowedModels',
      'p.content_retention_days as contentRetentionDays',
      'p.is_sandbox as isSandbox',
      'k.purpose',
      'w.balance_nanos',
    ])
    .select(sql<string>`coalesce(k.counted_as, k.id)`.as('countedAs'))
    .select(sql<MonetizationRow | null>`case when m.mode <> 'off' then to_json(m) end`.as('monetization'))
    .select(
      sql<string[] | null>`case when m.mode <> 'off' then array(select s.offer_id::text from offer_stops s
        where s.project_id = p.id order by s.stopped_at desc limit ${STOPPED_OFFERS_MAX}) end`.as('stopped_offers'),
    )
    .where('k.deleted_at', 'is', null)
    .where('p.archived_at', 'is', null)
}

type KeyRecordRow = Awaited<ReturnType<ReturnType<typeof selectKeyRecords>['execute']>>[number]

export function keyRecordOf(row: KeyRecordRow): KeyRecord {
  const { activated_at, verified_at, domain, purpose, monetization, stopped_offers, balance_nanos, ...rest } = row
  return {
    ...rest,
    isAccountActivated: activated_at !== null,
    isDomainVerified: verified_at !== null,
    domain: domain ?? '',
    isPlayground: purpose === 'playground',
    monetization: monetization ? shownIn(settingsOf(monetization), rest.isSandbox) : undefined,
    stoppedOffers: stopped_offers ?? [],
    isWalletEmpty: (balance_nanos ?? 0n) <= 0n,
  }
}

/** Never `on` in a sandbox, whatever the table says: nothing of a sandbox is ever billed to an advertiser. */
function shownIn(settings: MonetizationSettings, isSandbox: boolean): MonetizationSettings {
  return isSandbox && settings.mode === 'on' ? { ...settings, mode: 'test' } : settings
}

export interface NewKeyPair {
  id: string
  projectId: string
  name: string
  publishableKey: string
  secretDigest: Buffer
  secretVersion: number
  secretLast4: string
  expiresAt?: Date | null
  /** The person who made it; none when an operator did. */
  createdBy?: string
  /** The pair that it takes the place of, and shares limits and budgets with. */
  countedAs?: string
}

export async function insertKeyPair(db: Db, pair: NewKeyPair): Promise<void> {
  await db
    .insertInto('key_pairs')
    .values({
      id: pair.id,
      project_id: pair.projectId,
      name: pair.name,
      publishable_key: pair.publishableKey,
      secret_digest: pair.secretDigest,
      secret_version: pair.secretVersion,
      secret_last4: pair.secretLast4,
      expires_at: pair.expiresAt ?? null,
      created_by: pair.createdBy ?? null,
      counted_as: pair.countedAs ?? null,
    })
    .execute()
}

/** More than a project can have, so that no list is cut. */
export const LISTED_MAX = 500

export async function listKeyPairs(db: Db, projectId: string) {
  return db
    .selectFrom('key_pairs')
    .select(['id', 'name', 'publishable_key', 'secret_last4', 'active', 'expires_at', 'last_used_at', 'created_at'])
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .limit(LISTED_MAX)
    .execute()
}

/** How many active pairs there are of each secret version: those versions must stay configured. */
export async function countKeyPairsBySecret(db: Db) {
  return db
    .selectFrom('key_pairs')
    .select(({ fn }) => ['secret_version', fn.countAll<bigint>().as('pairs')])
    .where('active', '=', true)
    .groupBy('secret_version')
    .orderBy('secret_version')
    .execute()
}

/** Finds a pair of any purpose, for the operator who has only the key. */
export async function findKeyPair(db: Db, publishableKey: string) {
  return db
    .selectFrom('key_pairs')
    .select(['id', 'project_id as projectId', 'counted_as as countedAs'])
    .where('publishable_key', '=', publishableKey)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
}

export async function touchKeyPairs(db: Db, ids: readonly string[], at: Date): Promise<void> {
  if (ids.length === 0) return
  await db.updateTable('key_pairs').set({ last_used_at: at }).where('id', 'in', ids).execute()
}
