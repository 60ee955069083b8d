import { sql } from 'kysely'
import type { MemberRole } from '../../rules/accounts/roles.ts'
import type { Db } from '../database.ts'

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

export async function listMemberships(db: Db, userId: string): Promise<Membership[]> {
  const rows = await membershipRows(db, userId).orderBy('m.created_at').limit(200).execute()
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

export async function insertMembership(tx: Db, publisherId: string, userId: string, role: MemberRole): Promise<void> {
  await tx
    .insertInto('memberships')
    .values({ publisher_id: publisherId, user_id: userId, role })
    .onConflict((conflict) => conflict.columns(['publisher_id', 'user_id']).doNothing())
    .execute()
}

/**
 * The owners of the publisher, and nobody stops being one until the transaction ends: two owners who leave in the same
 * moment would otherwise each see the other stay.
 */
export async function lockOwners(tx: Db, publisherId: string): Promise<string[]> {
  await sql`select pg_advisory_xact_lock(hashtext('owners'), hashtext(${publisherId}))`.execute(tx)
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
