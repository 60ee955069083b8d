import { sql } from 'kysely'
import type { DomainStanding, Findings, ProvenBy } from '../../rules/projects/domains.ts'
import type { Db } from '../database.ts'

export interface Domain extends DomainStanding {
  projectId: string
  name: string
  token: string
  checkedAt: Date | null
  /** The findings of the last check. */
  findings: Findings | null
}

/** The row of a project that is made in this transaction. Who is verified from the start, an operator has vouched for. */
export async function insertDomain(
  tx: Db,
  domain: { projectId: string; name: string; verificationToken: string; verifiedAt: Date | null },
): Promise<void> {
  const vouched = domain.verifiedAt ? { proven_by: 'operator', next_check_at: null } : {}
  await tx
    .insertInto('domains')
    .values({
      project_id: domain.projectId,
      name: domain.name,
      verification_token: domain.verificationToken,
      verified_at: domain.verifiedAt,
      ...vouched,
    })
    .execute()
}

export async function findDomain(db: Db, projectId: string): Promise<Domain | undefined> {
  const row = await db.selectFrom('domains').selectAll().where('project_id', '=', projectId).executeTakeFirst()
  return row && domainFromRow(row)
}

/** Nobody else changes it until the transaction ends. */
export async function lockDomain(tx: Db, projectId: string): Promise<Domain | undefined> {
  const row = await tx
    .selectFrom('domains')
    .selectAll()
    .where('project_id', '=', projectId)
    .forUpdate()
    .executeTakeFirst()
  return row && domainFromRow(row)
}

/** The operator's word, which no check takes back; or its end, after which a proof is needed. False: no such project. */
export async function setDomainVerified(db: Db, projectId: string, verifiedAt: Date | null): Promise<boolean> {
  const result = await db
    .updateTable('domains')
    .set({
      verified_at: verifiedAt,
      proven_by: verifiedAt ? 'operator' : null,
      failing_since: null,
      lapsed_at: null,
      misses: 0,
      pending_since: sql`now()`,
      // An operator who takes the word back does not want a check to undo that by itself.
      next_check_at: null,
    })
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Replaces the token: a DNS record for the old one no longer proves anything. */
export async function setVerificationToken(tx: Db, projectId: string, token: string): Promise<void> {
  await tx.updateTable('domains').set({ verification_token: token }).where('project_id', '=', projectId).execute()
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
    .set({
      name,
      verification_token: verificationToken,
      verified_at: null,
      proven_by: null,
      failing_since: null,
      lapsed_at: null,
      misses: 0,
      checked_at: null,
      findings: null,
      pending_since: sql`now()`,
      next_check_at: sql`now() + interval '1 minute'`,
    })
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function saveCheck(
  tx: Db,
  projectId: string,
  standing: DomainStanding,
  findings: Findings,
): Promise<void> {
  await tx
    .updateTable('domains')
    .set({
      verified_at: standing.verifiedAt,
      proven_by: standing.provenBy,
      failing_since: standing.failingSince,
      lapsed_at: standing.lapsedAt,
      pending_since: standing.pendingSince,
      misses: standing.misses,
      next_check_at: standing.nextCheckAt,
      checked_at: sql`now()`,
      findings: JSON.stringify(findings),
    })
    .where('project_id', '=', projectId)
    .execute()
}

export interface DueDomain {
  projectId: string
  publisherId: string
  name: string
  token: string
}

/**
 * Takes domains that are due and puts their next check off before anything is asked: another worker does not check them
 * too, and what a worker leaves behind when it dies is checked a little later.
 */
export async function claimDueDomains(db: Db, most: number): Promise<DueDomain[]> {
  const { rows } = await sql<DueDomain>`
    update domains d set next_check_at = now() + interval '2 minutes'
    from projects p
    where p.id = d.project_id and d.project_id in (
      select project_id from domains where next_check_at <= now()
      order by next_check_at limit ${most} for update skip locked)
    returning d.project_id as "projectId", p.publisher_id as "publisherId", d.name, d.verification_token as token`.execute(
    db,
  )
  return rows
}

function domainFromRow(row: {
  project_id: string
  name: string
  verification_token: string
  verified_at: Date | null
  proven_by: string | null
  failing_since: Date | null
  lapsed_at: Date | null
  pending_since: Date
  next_check_at: Date | null
  misses: number
  checked_at: Date | null
  findings: unknown
}): Domain {
  return {
    projectId: row.project_id,
    name: row.name,
    token: row.verification_token,
    verifiedAt: row.verified_at,
    provenBy: row.proven_by as ProvenBy | null,
    failingSince: row.failing_since,
    lapsedAt: row.lapsed_at,
    pendingSince: row.pending_since,
    nextCheckAt: row.next_check_at,
    misses: row.misses,
    checkedAt: row.checked_at,
    findings: row.findings as Findings | null,
  }
}
