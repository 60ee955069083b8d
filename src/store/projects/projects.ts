import { sql } from 'kysely'
import { inTransaction, type Db, type Tx } from '../database.ts'
import { LISTED_MAX } from '../listed.ts'
import { deleteAlerts } from './alerts.ts'
import { insertDomain, setDomainVerified } from './domains.ts'
import { deleteWebhooks } from './webhook-endpoints.ts'
import { requestCut } from '../calls/retention-cuts.ts'
import { deleteAutoTopUp } from '../billing/top-ups/auto-top-ups.ts'
import { deleteAlert } from '../billing/wallet-alerts.ts'

/** A project comes with its wallet and its domain: none of the three is ever there without the others. */
export async function insertProject(
  db: Db,
  project: {
    id: string
    publisherId: string
    name: string
    domain: string
    verificationToken: string
    domainVerifiedAt: Date | null
  },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await tx
      .insertInto('projects')
      .values({ id: project.id, publisher_id: project.publisherId, name: project.name })
      .execute()
    await tx.insertInto('accounts').values({ id: project.id, kind: 'wallet', project_id: project.id }).execute()
    await tx
      .insertInto('wallets')
      .values({ project_id: project.id, has_limits: hasLimits(tx, project.publisherId) })
      .execute()
    await insertDomain(tx, {
      projectId: project.id,
      name: project.domain,
      verificationToken: project.verificationToken,
      verifiedAt: project.domainVerifiedAt,
    })
  })
}

/** Limits of the publisher hold for its new projects, too. */
function hasLimits(tx: Db, publisherId: string) {
  return sql<boolean>`exists (${tx.selectFrom('limits').where('scope', '=', 'publisher').where('subject', '=', publisherId).select('subject')})`
}

export interface ProjectSettings {
  name?: string
  allowed_models?: string[] | null
  content_retention_days?: number
  requests_per_minute?: number | null
  tokens_per_minute?: bigint | null
  concurrent_calls?: number | null
}

/** Returns false when there is no such project. */
export async function updateProject(db: Db, id: string, settings: ProjectSettings): Promise<boolean> {
  const result = await db.updateTable('projects').set(settings).where('id', '=', id).executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/**
 * Nobody deletes it, or gives it another key, until the transaction ends. Returns false when there is no such project, or it
 * was deleted.
 */
export async function lockProject(tx: Tx, id: string): Promise<boolean> {
  const row = await tx
    .selectFrom('projects')
    .select('id')
    .where('id', '=', id)
    .where('archived_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Nobody reaches the project any more: its key pairs are refused like ones that never were, its domain is free, and its
 * text is erased. Calls, charges and the wallet stay, because the ledger is never rewritten.
 */
export async function archiveProject(tx: Db, id: string): Promise<void> {
  await tx
    .updateTable('projects')
    .set({ archived_at: sql`now()`, content_retention_days: 0 })
    .where('id', '=', id)
    .execute()
  await tx
    .updateTable('key_pairs')
    .set({ active: false, deleted_at: sql`now()` })
    .where('project_id', '=', id)
    .where('deleted_at', 'is', null)
    .execute()
  await setDomainVerified(tx, id, null)
  await deleteAlert(tx, id)
  await deleteAutoTopUp(tx, id)
  await deleteAlerts(tx, id)
  await deleteWebhooks(tx, id)
  await requestCut(tx, id, 0)
}

/** Without those that were deleted. */
export async function listProjects(db: Db, publisherId?: string) {
  const query = projectRows(db).where('p.archived_at', 'is', null).orderBy('p.created_at').limit(LISTED_MAX)
  return (publisherId === undefined ? query : query.where('p.publisher_id', '=', publisherId)).execute()
}

export async function findProject(db: Db, id: string) {
  return projectRows(db).where('p.id', '=', id).executeTakeFirst()
}

function projectRows(db: Db) {
  return db
    .selectFrom('projects as p')
    .innerJoin('publishers as u', 'u.id', 'p.publisher_id')
    .innerJoin('wallets as w', 'w.project_id', 'p.id')
    .innerJoin('domains as d', 'd.project_id', 'p.id')
    .leftJoin('wallet_alerts as a', 'a.project_id', 'p.id')
    .select([
      'p.id',
      'p.publisher_id',
      'u.activated_at as publisher_activated_at',
      'p.name',
      'd.name as domain',
      'd.verified_at as domain_verified_at',
      'w.balance_nanos',
      'w.held_nanos',
      'w.owed_nanos',
      'a.threshold_nanos as alert_nanos',
      'p.content_retention_days',
      'p.allowed_models',
      'p.requests_per_minute',
      'p.tokens_per_minute',
      'p.concurrent_calls',
      'p.is_sandbox',
      'p.created_at',
    ])
}
