import type { FastifyInstance } from 'fastify'
import { uuidv7 } from '../../platform/uuid.ts'
import { ParleyError } from '../../rules/errors.ts'
import { invitableRoles, type MemberRole } from '../../rules/accounts/roles.ts'
import type { Db } from '../../store/database.ts'
import {
  deleteInvitation,
  deleteInvitationsBy,
  findInvitation,
  findInvitationTo,
  listInvitations,
  listInvitationsTo,
  upsertInvitation,
} from '../../store/accounts/invitations.ts'
import {
  deleteMembership,
  findMember,
  holdRole,
  insertMembership,
  listMembers,
  lockOwners,
  setMemberRole,
} from '../../store/accounts/members.ts'
import { withTenant } from '../../store/tenancy.ts'
import { audited, type AuditedCall } from '../audited.ts'
import type { Call, User } from '../console-request.ts'
import { postMail } from './mail.ts'
import { notThere, requireRole, route, wrongFields } from '../route.ts'
import { throttle } from '../throttle.ts'
import type { World } from '../world.ts'

const INVITATION_MS = 7 * 24 * 3_600_000
const INVITATIONS_MAX = 100
const INVITATIONS_PER_HOUR = 30
/** Whoever sends them: the address may be of somebody who wants none. */
const INVITATIONS_TO_ONE_PER_HOUR = 5
const HOUR_MS = 3_600_000

export function teamRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/publishers/:publisher/team', async ({ db, publisher, user }) => {
    const members = (await listMembers(db)).map((member) => ({
      id: String(member.user_id),
      name: String(member.name),
      email: String(member.email),
      role: member.role as MemberRole,
      twoFactorEnabled: member.two_factor_enabled ?? false,
      isYou: member.user_id === user.id,
      createdAt: member.created_at ?? new Date(0),
    }))
    return { members, invitations: (await listInvitations(db, publisher.id)).map(invitationOf) }
  })

  route(app, world, 'POST /api/publishers/:publisher/invitations', (call) => invite(world, call))

  route(app, world, 'DELETE /api/publishers/:publisher/invitations/:invitation', async (call) => {
    const { db, publisher, params } = call
    const invitation = await findInvitation(db, publisher.id, params.invitation)
    if (!invitation) throw notThere('invitation')
    requireRole(publisher.role, invitation.role as MemberRole)
    await deleteInvitation(db, publisher.id, invitation.id)
    await audited(call, 'invitation.withdrawn', { subject: invitation.email })
    return { done: true }
  })

  route(app, world, 'PATCH /api/publishers/:publisher/members/:member', changeRole)
  route(app, world, 'DELETE /api/publishers/:publisher/members/:member', removeMember)

  route(app, world, 'POST /api/publishers/:publisher/leave', async (call) => {
    const { db, publisher, user } = call
    await expectAnotherOwner(db, publisher.id, user.id)
    await audited(call, 'member.left', { subject: user.email })
    await endMembership(call, user)
    return { done: true }
  })

  route(app, world, 'GET /api/me/invitations', async ({ user }) => {
    const items = (await invitationsTo(world.db, user)).map(({ id, publisher, role, invited_by, expires_at }) => {
      return { id, publisher, role: role as MemberRole, invitedBy: invited_by, expiresAt: expires_at }
    })
    return { items }
  })

  route(app, world, 'POST /api/me/invitations/:invitation/accept', async ({ user, params, request }) => {
    const { id, publisher_id: publisherId } = await invitationTo(world.db, user, params.invitation)
    await withTenant(world.tenants, { publisherId }, async (db) => {
      // What it offers now: it may have been changed, or withdrawn, since it was found.
      const role = await deleteInvitation(db, publisherId, id)
      if (role === undefined) throw notThere('invitation')
      await insertMembership(db, publisherId, user.id, role)
      await audited({ db, user, publisher: { id: publisherId }, request }, 'member.joined', {
        subject: user.email,
        details: { role },
      })
    })
    return { publisherId }
  })

  route(app, world, 'POST /api/me/invitations/:invitation/decline', async ({ user, params, request }) => {
    const { id, publisher_id: publisherId } = await invitationTo(world.db, user, params.invitation)
    await withTenant(world.tenants, { publisherId }, async (db) => {
      await deleteInvitation(db, publisherId, id)
      await audited({ db, user, publisher: { id: publisherId }, request }, 'invitation.declined', {
        subject: user.email,
      })
    })
    return { done: true }
  })
}

async function invite(world: World, call: Call<'POST /api/publishers/:publisher/invitations'>) {
  const { publisher, body } = call
  const limits = [
    { subject: `invitations/${publisher.id}`, most: INVITATIONS_PER_HOUR },
    { subject: `invited/${body.email}`, most: INVITATIONS_TO_ONE_PER_HOUR },
  ]
  await throttle(world.db, limits, HOUR_MS)
  return call.inTenant((db) => inviteOnce(world, call, db))
}

async function inviteOnce(world: World, call: Call<'POST /api/publishers/:publisher/invitations'>, db: Db) {
  const { publisher, user, body } = call
  // As it is now and until this is committed: an invitation must not outlive the right to send it.
  const role = await holdRole(db, publisher.id, user.id)
  if (role === undefined) throw notThere('publisher')
  requireRole(role, 'admin')
  requireRole(role, body.role)
  const earlier = await findInvitationTo(db, publisher.id, body.email)
  if (earlier) requireRole(role, earlier.role as MemberRole)
  if ((await listMembers(db)).some(({ email }) => email === body.email))
    throw wrongFields([{ path: 'email', message: 'This person is a member already.' }])
  if ((await listInvitations(db, publisher.id)).length >= INVITATIONS_MAX)
    throw new ParleyError('conflict', { message: 'There are too many open invitations. Withdraw some first.' })
  const invitation = await upsertInvitation(db, {
    id: uuidv7(),
    publisherId: publisher.id,
    email: body.email,
    role: body.role,
    invitedBy: user.name,
    inviterId: user.id,
    expiresAt: new Date(Date.now() + INVITATION_MS),
  })
  const link = `${world.installation.consoleUrl}/invitations`
  const data = { publisher: publisher.name, invitedBy: user.name, role: body.role, link }
  await postMail(db, world.secrets, { recipient: body.email, template: 'invitation', data })
  await audited({ ...call, db }, 'member.invited', { subject: body.email, details: { role: body.role } })
  return invitationOf(invitation)
}

async function changeRole(call: Call<'PATCH /api/publishers/:publisher/members/:member'>) {
  const { db, publisher, params, body } = call
  const member = await memberOf(db, params.member)
  // Nobody gives away more than they have, nor takes it from who has more.
  requireRole(publisher.role, body.role)
  requireRole(publisher.role, member.role)
  if (body.role !== 'owner') await expectAnotherOwner(db, publisher.id, member.id)
  await setMemberRole(db, publisher.id, member.id, body.role)
  // After it: one that is being sent now is seen here, or finds that the role is another one.
  await noteWithdrawn(call, await deleteInvitationsBy(db, publisher.id, member.id, invitableRoles(body.role)))
  await audited(call, 'member.role_changed', {
    subject: member.email,
    details: { before: member.role, after: body.role },
  })
  return { done: true as const }
}

async function removeMember(call: Call<'DELETE /api/publishers/:publisher/members/:member'>) {
  const { db, publisher, params } = call
  const member = await memberOf(db, params.member)
  requireRole(publisher.role, member.role)
  await expectAnotherOwner(db, publisher.id, member.id)
  await endMembership(call, member)
  await audited(call, 'member.removed', { subject: member.email, details: { role: member.role } })
  return { done: true as const }
}

/** Nobody comes back by themselves: not through what they have sent, nor through what was sent to them. */
export async function endMembership(call: AuditedCall, member: { id: string; email: string }): Promise<void> {
  const { db, publisher } = call
  const sent = (await listInvitations(db, publisher.id)).filter(({ inviter_id }) => inviter_id === member.id)
  // First, and what they have sent goes with it: one that is being sent now holds the membership, and waits for nothing.
  await deleteMembership(db, publisher.id, member.id)
  const toThem = await findInvitationTo(db, publisher.id, member.email)
  if (toThem) await deleteInvitation(db, publisher.id, toThem.id)
  await noteWithdrawn(
    call,
    sent.map(({ email }) => email),
  )
}

async function noteWithdrawn(call: AuditedCall, emails: readonly string[]): Promise<void> {
  for (const email of emails) await audited(call, 'invitation.withdrawn', { subject: email })
}

async function memberOf(db: Db, id: string): Promise<{ id: string; email: string; role: MemberRole }> {
  const member = await findMember(db, id)
  if (!member) throw notThere('member')
  return { id, email: String(member.email), role: member.role as MemberRole }
}

/** An account without an owner could never be managed again. */
async function expectAnotherOwner(db: Db, publisherId: string, userId: string): Promise<void> {
  // Not by the role that was read before: it may have become another while this waited.
  const owners = await lockOwners(db, publisherId)
  if (owners.length > 1 || !owners.includes(userId)) return
  throw new ParleyError('conflict', { message: 'This is the last owner. Make somebody else an owner first.' })
}

/** Only a confirmed address proves that the invitation was meant for this person. */
async function invitationsTo(db: Db, user: User) {
  return user.emailVerified ? listInvitationsTo(db, user.email) : []
}

async function invitationTo(db: Db, user: User, id: string) {
  const invitation = (await invitationsTo(db, user)).find((candidate) => candidate.id === id)
  if (!invitation) throw notThere('invitation')
  return invitation
}

function invitationOf(row: Awaited<ReturnType<typeof upsertInvitation>>) {
  const { id, email, role, invited_by: invitedBy, created_at: createdAt, expires_at: expiresAt } = row
  return { id, email, role: role as MemberRole, invitedBy, createdAt, expiresAt }
}
