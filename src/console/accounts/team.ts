import type { FastifyInstance } from 'fastify'
import {
  acceptInvitation,
  declineInvitation,
  inviteMember,
  withdrawInvitation,
} from '../../actions/accounts/invitations.ts'
import { changeMemberRole, leavePublisher, removeMember } from '../../actions/accounts/members.ts'
import { notThere } from '../../actions/refusals.ts'
import type { MemberRole } from '../../rules/accounts/roles.ts'
import type { Db } from '../../store/database.ts'
import { listInvitations, listInvitationsTo } from '../../store/accounts/invitations.ts'
import { listMembers } from '../../store/accounts/members.ts'
import { withTenant } from '../../store/tenancy.ts'
import type { ConsoleRequest, User } from '../console-request.ts'
import { invitationOf, throttleInvitations } from '../invitations.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

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
    const invitations = await listInvitations(db, { publisherId: publisher.id })
    return { members, invitations: invitations.map((row) => invitationOf(row, row.role as MemberRole)) }
  })

  route(app, world, 'POST /api/publishers/:publisher/invitations', (call) => invite(world, call))

  route(app, world, 'DELETE /api/publishers/:publisher/invitations/:invitation', async (call) => {
    const { db, actor, publisher, params } = call
    await withdrawInvitation(db, actor, { publisher, invitationId: params.invitation })
    return { done: true }
  })

  route(app, world, 'PATCH /api/publishers/:publisher/members/:member', async (call) => {
    const { db, actor, publisher, params, body } = call
    await changeMemberRole(db, actor, { publisher, memberId: params.member, role: body.role })
    return { done: true }
  })

  route(app, world, 'DELETE /api/publishers/:publisher/members/:member', async ({ db, actor, publisher, params }) => {
    await removeMember(db, actor, { publisher, memberId: params.member })
    return { done: true }
  })

  route(app, world, 'POST /api/publishers/:publisher/leave', async ({ db, actor, publisher, user }) => {
    await leavePublisher(db, actor, { publisher, email: user.email })
    return { done: true }
  })

  route(app, world, 'GET /api/me/invitations', async ({ user }) => {
    const items = (await invitationsTo(world.db, user)).map(({ id, team, name, role, invited_by, expires_at }) => {
      const to: 'advertiser' | 'publisher' = 'advertiserId' in team ? 'advertiser' : 'publisher'
      return { id, to, name, role, invitedBy: invited_by, expiresAt: expires_at }
    })
    return { items }
  })

  route(app, world, 'POST /api/me/invitations/:invitation/accept', async ({ user, actor, params }) => {
    const invitation = await invitationTo(world.db, user, params.invitation)
    await withTenant(world.tenants, invitation.team, (tx) => acceptInvitation(tx, actor, invitation))
    return { publisherId: null, advertiserId: null, ...invitation.team }
  })

  route(app, world, 'POST /api/me/invitations/:invitation/decline', async ({ user, actor, params }) => {
    const invitation = await invitationTo(world.db, user, params.invitation)
    await withTenant(world.tenants, invitation.team, (tx) => declineInvitation(tx, actor, invitation))
    return { done: true }
  })
}

async function invite(world: World, call: ConsoleRequest<'POST /api/publishers/:publisher/invitations'>) {
  const { publisher, body } = call
  await throttleInvitations(world, publisher, body.email)
  const { secrets } = world
  const installation = { secrets, consoleUrl: world.installation.consoleUrl }
  const invited = await call.inTenant((tx) => inviteMember(tx, call.actor, { publisher, ...body, installation }))
  return invitationOf(invited, body.role)
}

/** Only a confirmed address proves that the invitation was meant for this person. */
async function invitationsTo(db: Db, user: User) {
  return user.emailVerified ? listInvitationsTo(db, user.email) : []
}

async function invitationTo(db: Db, user: User, id: string) {
  const invitation = (await invitationsTo(db, user)).find((candidate) => candidate.id === id)
  if (!invitation) throw notThere('invitation')
  return { id, team: invitation.team, email: user.email }
}
