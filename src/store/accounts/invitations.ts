import { sql } from 'kysely'
import type { MemberRole } from '../../rules/accounts/roles.ts'
import type { Db } from '../database.ts'

export interface NewInvitation {
  id: string
  publisherId: string
  email: string
  role: MemberRole
  invitedBy: string
  inviterId: string
  expiresAt: Date
}

/** Inviting an address again replaces what it was invited to, and by whom. */
export async function upsertInvitation(tx: Db, invitation: NewInvitation) {
  const { id, publisherId, email, role, invitedBy, inviterId, expiresAt } = invitation
  const changed = { role, invited_by: invitedBy, inviter_id: inviterId, expires_at: expiresAt }
  return tx
    .insertInto('invitations')
    .values({ id, publisher_id: publisherId, email, ...changed })
    .onConflict((conflict) => conflict.columns(['publisher_id', 'email']).doUpdateSet(changed))
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function listInvitations(tx: Db, publisherId: string) {
  return tx
    .selectFrom('invitations')
    .selectAll()
    .where('publisher_id', '=', publisherId)
    .orderBy('created_at')
    .limit(1_000)
    .execute()
}

export async function findInvitation(tx: Db, publisherId: string, id: string) {
  return tx
    .selectFrom('invitations')
    .selectAll()
    .where('publisher_id', '=', publisherId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function findInvitationTo(tx: Db, publisherId: string, email: string) {
  return tx
    .selectFrom('invitations')
    .selectAll()
    .where('publisher_id', '=', publisherId)
    .where('email', '=', email)
    .executeTakeFirst()
}

/** Those that this member has sent, except to the roles that they may still invite to. Returns to whom they were. */
export async function deleteInvitationsBy(
  tx: Db,
  publisherId: string,
  inviterId: string,
  except: readonly MemberRole[],
): Promise<string[]> {
  const query = tx.deleteFrom('invitations').where('publisher_id', '=', publisherId).where('inviter_id', '=', inviterId)
  const rows = await (except.length > 0 ? query.where('role', 'not in', except) : query).returning('email').execute()
  return rows.map(({ email }) => email)
}

/** Returns what it offered; undefined when it is not there any more. */
export async function deleteInvitation(tx: Db, publisherId: string, id: string): Promise<MemberRole | undefined> {
  const row = await tx
    .deleteFrom('invitations')
    .where('publisher_id', '=', publisherId)
    .where('id', '=', id)
    .returning('role')
    .executeTakeFirst()
  return row?.role as MemberRole | undefined
}

/** What an address was invited to and may still accept, across publishers: not for a tenant's transaction. */
export async function listInvitationsTo(db: Db, email: string) {
  return db
    .selectFrom('invitations as i')
    .innerJoin('publishers as p', 'p.id', 'i.publisher_id')
    .select(['i.id', 'i.publisher_id', 'p.name as publisher', 'i.role', 'i.invited_by', 'i.expires_at'])
    .where('i.email', '=', email)
    .where('i.expires_at', '>', sql<Date>`now()`)
    .orderBy('i.created_at')
    .limit(100)
    .execute()
}

/** Those that ended so long ago that nobody asks for them any more. Returns how many. */
export async function expireInvitations(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from invitations where id in (
      select id from invitations where expires_at < now() - ${keptMs} * interval '1 ms' limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
