import { sql } from 'kysely'
import type { AdvertiserRole } from '../../rules/accounts/advertisers.ts'
import type { MemberRole } from '../../rules/accounts/roles.ts'
import type { Db } from '../database.ts'
import type { AdvertiserTenant, PublisherTenant } from '../tenancy.ts'

/** The team that an invitation is to. */
export type Team = Pick<PublisherTenant, 'publisherId'> | AdvertiserTenant
export type InvitedRole = MemberRole | AdvertiserRole

function idOf(team: Team): ['publisher_id' | 'advertiser_id', string] {
  return 'advertiserId' in team ? ['advertiser_id', team.advertiserId] : ['publisher_id', team.publisherId]
}

export interface NewInvitation {
  id: string
  team: Team
  email: string
  role: InvitedRole
  invitedBy: string
  inviterId: string
  expiresAt: Date
}

/** Inviting an address again replaces what it was invited to, and by whom. */
export async function upsertInvitation(tx: Db, invitation: NewInvitation) {
  const { id, team, email, role, invitedBy, inviterId, expiresAt } = invitation
  const [column, teamId] = idOf(team)
  const changed = { role, invited_by: invitedBy, inviter_id: inviterId, expires_at: expiresAt }
  return tx
    .insertInto('invitations')
    .values({ id, [column]: teamId, email, ...changed })
    .onConflict((conflict) => conflict.columns([column, 'email']).doUpdateSet(changed))
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function listInvitations(tx: Db, team: Team) {
  const [column, teamId] = idOf(team)
  return tx
    .selectFrom('invitations')
    .selectAll()
    .where(column, '=', teamId)
    .orderBy('created_at')
    .limit(1_000)
    .execute()
}

export async function findInvitation(tx: Db, team: Team, id: string) {
  const [column, teamId] = idOf(team)
  return tx.selectFrom('invitations').selectAll().where(column, '=', teamId).where('id', '=', id).executeTakeFirst()
}

export async function findInvitationTo(tx: Db, team: Team, email: string) {
  const [column, teamId] = idOf(team)
  return tx
    .selectFrom('invitations')
    .selectAll()
    .where(column, '=', teamId)
    .where('email', '=', email)
    .executeTakeFirst()
}

/** Deletes a member's invitations, except to roles that they may still invite to. Returns the invited addresses. */
export async function deleteInvitationsBy(
  tx: Db,
  team: Team,
  inviterId: string,
  except: readonly InvitedRole[],
): Promise<string[]> {
  const [column, teamId] = idOf(team)
  const query = tx.deleteFrom('invitations').where(column, '=', teamId).where('inviter_id', '=', inviterId)
  const rows = await (except.length > 0 ? query.where('role', 'not in', except) : query).returning('email').execute()
  return rows.map(({ email }) => email)
}

/** Returns what it offered; undefined when it is not there any more. */
export async function deleteInvitation(tx: Db, team: Team, id: string): Promise<InvitedRole | undefined> {
  const [column, teamId] = idOf(team)
  const row = await tx
    .deleteFrom('invitations')
    .where(column, '=', teamId)
    .where('id', '=', id)
    .returning('role')
    .executeTakeFirst()
  return row?.role as InvitedRole | undefined
}

/** Lists the invitations that an address may still accept, across teams: not for a tenant's transaction. */
export async function listInvitationsTo(db: Db, email: string) {
  const rows = await db
    .selectFrom('invitations as i')
    .leftJoin('publishers as p', 'p.id', 'i.publisher_id')
    .leftJoin('advertisers as a', 'a.id', 'i.advertiser_id')
    .select(['i.id', 'i.publisher_id', 'i.advertiser_id', 'i.role', 'i.invited_by', 'i.expires_at'])
    .select(({ fn }) => fn.coalesce('p.name', 'a.name').as('name'))
    .where('i.email', '=', email)
    .where('i.expires_at', '>', sql<Date>`now()`)
    .orderBy('i.created_at')
    .limit(100)
    .execute()
  return rows.map(({ publisher_id: publisherId, advertiser_id: advertiserId, ...row }) => {
    // One of them is there: the table says so.
    const team: Team = advertiserId === null ? { publisherId: String(publisherId) } : { advertiserId }
    return Object.assign(row, { name: String(row.name), role: row.role as InvitedRole, team })
  })
}

/** Deletes invitations that ended so long ago that they are no longer asked for. Returns how many. */
export async function expireInvitations(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from invitations where id in (
      select id from invitations where expires_at < now() - ${keptMs} * interval '1 ms' limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
