import { sql } from 'kysely'
import type { AdvertiserRole, AdvertiserStatus } from '../../rules/accounts/advertisers.ts'
import type { Db } from '../database.ts'

/** The members of advertisers, who may act for them. Their locks are those of publishers' teams: see holdTeam in members.ts. */

export interface AdvertiserMembership {
  id: string
  name: string
  domain: string
  status: AdvertiserStatus
  role: AdvertiserRole
}

/** Undefined also when there is no such advertiser: who is not a member learns nothing. */
export async function findAdvertiserMembership(
  db: Db,
  userId: string,
  advertiserId: string,
): Promise<AdvertiserMembership | undefined> {
  const row = await membershipRows(db, userId).where('m.advertiser_id', '=', advertiserId).executeTakeFirst()
  return row && membershipOf(row)
}

/** In the same order for everybody, as listMemberships is. */
export async function listAdvertiserMemberships(db: Db, userId: string): Promise<AdvertiserMembership[]> {
  const rows = await membershipRows(db, userId).orderBy('m.advertiser_id').execute()
  return rows.map(membershipOf)
}

function membershipRows(db: Db, userId: string) {
  return db
    .selectFrom('advertiser_members as m')
    .innerJoin('advertisers as a', 'a.id', 'm.advertiser_id')
    .select(['a.id', 'a.name', 'a.domain', 'a.status', 'm.role'])
    .where('m.user_id', '=', userId)
}

function membershipOf(row: { id: string; name: string; domain: string; status: string; role: string }) {
  return { ...row, status: row.status as AdvertiserStatus, role: row.role as AdvertiserRole }
}

/** The members of the advertiser whose tenant this transaction is, with their names and addresses. */
export async function listAdvertiserPeople(tx: Db) {
  return tx.selectFrom('advertiser_people').selectAll().orderBy('created_at').limit(1_000).execute()
}

export async function findAdvertiserPerson(tx: Db, userId: string) {
  return tx.selectFrom('advertiser_people').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** The same of any advertiser, for whoever sees all of them. */
export async function listAdvertiserMembers(db: Db, advertiserId: string) {
  return db
    .selectFrom('advertiser_members as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['u.id', 'u.name', 'u.email', 'm.role', 'm.created_at'])
    .where('m.advertiser_id', '=', advertiserId)
    .orderBy('m.created_at')
    .limit(1_000)
    .execute()
}

/** Returns false when they are a member already. */
export async function insertAdvertiserMember(
  tx: Db,
  advertiserId: string,
  userId: string,
  role: AdvertiserRole,
): Promise<boolean> {
  const result = await tx
    .insertInto('advertiser_members')
    .values({ advertiser_id: advertiserId, user_id: userId, role })
    .onConflict((conflict) => conflict.columns(['advertiser_id', 'user_id']).doNothing())
    .executeTakeFirst()
  return (result.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** The role of a member, which nobody changes until the transaction ends. Undefined when they are no member any more. */
export async function holdAdvertiserRole(
  tx: Db,
  advertiserId: string,
  userId: string,
): Promise<AdvertiserRole | undefined> {
  const { rows } = await sql<{ role: AdvertiserRole }>`
    select role from advertiser_members where advertiser_id = ${advertiserId} and user_id = ${userId} for share`.execute(
    tx,
  )
  return rows[0]?.role
}

export async function listAdvertiserAdmins(tx: Db, advertiserId: string): Promise<string[]> {
  const admins = await tx
    .selectFrom('advertiser_members')
    .select('user_id')
    .where('advertiser_id', '=', advertiserId)
    .where('role', '=', 'admin')
    .execute()
  return admins.map(({ user_id: userId }) => userId)
}

export async function setAdvertiserRole(
  tx: Db,
  advertiserId: string,
  userId: string,
  role: AdvertiserRole,
): Promise<void> {
  await tx
    .updateTable('advertiser_members')
    .set({ role })
    .where('advertiser_id', '=', advertiserId)
    .where('user_id', '=', userId)
    .execute()
}

/** Returns false when they were none. */
export async function deleteAdvertiserMember(tx: Db, advertiserId: string, userId: string): Promise<boolean> {
  const result = await tx
    .deleteFrom('advertiser_members')
    .where('advertiser_id', '=', advertiserId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}
