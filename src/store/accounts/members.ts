import { sql } from 'kysely'
import type { MemberRole } from '../../rules/accounts/roles.ts'
import type { Db, Tx } from '../database.ts'

export interface Membership {
  publisherId: string
  publisherName: string
  activatedAt: Date | null
  role: MemberRole
}

/** Undefined also when there is no such publisher: who is not a member learns nothing. */
export async function findMembership(db: Db, userId: string, publisherId: string): Promise<Membership | undefined> {
  const row = await membershipRows(db, userId).where('m.publisher_id', '=', publisherId).executeTakeFirst()
  return row && membershipOf(row)
}

/** Undefined also when there is no such project, or it was deleted. */
export async function findMembershipOfProject(db: Db, userId: string, projectId: string) {
  const row = await membershipRows(db, userId)
    .innerJoin('projects as j', 'j.publisher_id', 'm.publisher_id')
    .select('j.name as project_name')
    .where('j.id', '=', projectId)
    .where('j.archived_at', 'is', null)
    .executeTakeFirst()
  return row && { ...membershipOf(row), project: { id: projectId, name: row.project_name } }
}

/**
 * All of them, so that nothing that a person does is left out of a log. In the same order for everybody: two people who lock
 * publishers that they share, one by one, never wait for each other.
 */
export async function listMemberships(db: Db, userId: string): Promise<Membership[]> {
  const rows = await membershipRows(db, userId).orderBy('m.publisher_id').execute()
  return rows.map(membershipOf)
}

function membershipRows(db: Db, userId: string) {
  return db
    .selectFrom('memberships as m')
    .innerJoin('publishers as p', 'p.id', 'm.publisher_id')
    .select(['m.publisher_id', 'm.role', 'p.name', 'p.activated_at'])
    .where('m.user_id', '=', userId)
}

function membershipOf(row: {
  publisher_id: string
  role: string
  name: string
  activated_at: Date | null
}): Membership {
  return {
    publisherId: row.publisher_id,
    publisherName: row.name,
    activatedAt: row.activated_at,
    role: row.role as MemberRole,
  }
}

/** The members of the publisher whose tenant this transaction is. */
export async function listMembers(tx: Db) {
  return tx.selectFrom('members').selectAll().orderBy('created_at').limit(1_000).execute()
}

export async function findMember(tx: Db, userId: string) {
  return tx.selectFrom('members').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** Returns false when they are a member already. */
export async function insertMembership(
  tx: Db,
  publisherId: string,
  userId: string,
  role: MemberRole,
): Promise<boolean> {
  const result = await tx
    .insertInto('memberships')
    .values({ publisher_id: publisherId, user_id: userId, role })
    .onConflict((conflict) => conflict.columns(['publisher_id', 'user_id']).doNothing())
    .executeTakeFirst()
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** From when it was about owners only. The version before takes it by this name. */
const TEAM_LOCK = 'owners'

/**
 * Until the transaction ends, nobody joins, leaves or gets another role. Everybody who changes something for the publisher
 * takes it, so that what they may do when they begin is what they may do when it is done.
 */
export async function holdTeam(tx: Tx, publisherId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(hashtext(${TEAM_LOCK}), hashtext(${publisherId}))`.execute(tx)
}

/** For whoever changes the team: nobody else does, or changes anything for the publisher, until the transaction ends. */
export async function lockTeam(tx: Tx, publisherId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext(${TEAM_LOCK}), hashtext(${publisherId}))`.execute(tx)
}

export async function listOwners(tx: Db, publisherId: string): Promise<string[]> {
  const owners = await tx
    .selectFrom('memberships')
    .select('user_id')
    .where('publisher_id', '=', publisherId)
    .where('role', '=', 'owner')
    .execute()
  return owners.map(({ user_id: userId }) => userId)
}

/** The role of a member, which nobody changes until the transaction ends. Undefined when they are no member any more. */
export async function holdRole(tx: Db, publisherId: string, userId: string): Promise<MemberRole | undefined> {
  const row = await tx
    .selectFrom('memberships')
    .select('role')
    .where('publisher_id', '=', publisherId)
    .where('user_id', '=', userId)
    .forShare()
    .executeTakeFirst()
  return row?.role as MemberRole | undefined
}

export async function setMemberRole(tx: Db, publisherId: string, userId: string, role: MemberRole): Promise<void> {
  await tx
    .updateTable('memberships')
    .set({ role })
    .where('publisher_id', '=', publisherId)
    .where('user_id', '=', userId)
    .execute()
}

export async function deleteMembership(tx: Db, publisherId: string, userId: string): Promise<void> {
  await tx.deleteFrom('memberships').where('publisher_id', '=', publisherId).where('user_id', '=', userId).execute()
}

export async function countMembers(db: Db, publisherId: string): Promise<number> {
  const rows = await db.selectFrom('memberships').select('user_id').where('publisher_id', '=', publisherId).execute()
  return rows.length
}
