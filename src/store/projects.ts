import type { Db } from './database.ts'

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
  await db.transaction().execute(async (tx) => {
    await tx
      .insertInto('projects')
      .values({ id: project.id, publisher_id: project.publisherId, name: project.name })
      .execute()
    await tx.insertInto('accounts').values({ id: project.id, kind: 'wallet', project_id: project.id }).execute()
    await tx.insertInto('wallets').values({ project_id: project.id }).execute()
    await tx
      .insertInto('domains')
      .values({
        project_id: project.id,
        name: project.domain,
        verification_token: project.verificationToken,
        verified_at: project.domainVerifiedAt,
      })
      .execute()
  })
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

export async function listProjects(db: Db, publisherId?: string) {
  const query = projectRows(db).orderBy('p.created_at').limit(1_000)
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
    .select([
      'p.id',
      'p.publisher_id',
      'u.activated_at as publisher_activated_at',
      'p.name',
      'd.name as domain',
      'd.verified_at as domain_verified_at',
      'w.balance_nanos',
      'w.held_nanos',
      'p.content_retention_days',
      'p.allowed_models',
      'p.requests_per_minute',
      'p.tokens_per_minute',
      'p.concurrent_calls',
      'p.created_at',
    ])
}

export async function findDomain(db: Db, projectId: string) {
  return db.selectFrom('domains').selectAll().where('project_id', '=', projectId).executeTakeFirst()
}

/** Returns false when there is no such project. */
export async function setDomainVerified(db: Db, projectId: string, verifiedAt: Date | null): Promise<boolean> {
  const result = await db
    .updateTable('domains')
    .set({ verified_at: verifiedAt })
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Another name has to be verified anew. Returns false when there is no such project. */
export async function setDomainName(
  db: Db,
  projectId: string,
  name: string,
  verificationToken: string,
): Promise<boolean> {
  const result = await db
    .updateTable('domains')
    .set({ name, verification_token: verificationToken, verified_at: null })
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}
