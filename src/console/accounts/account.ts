import type { FastifyInstance } from 'fastify'
import { changePassword, deletePerson, endSession, endSessions, renamePerson } from '../../actions/accounts/people.ts'
import { renamePublisher } from '../../actions/accounts/publishers.ts'
import { wrongField } from '../../actions/refusals.ts'
import { ParleyError } from '../../rules/errors.ts'
import { findAccount } from '../../store/accounts/credentials.ts'
import { listInvitationsTo } from '../../store/accounts/invitations.ts'
import { listAdvertiserMemberships } from '../../store/accounts/advertiser-members.ts'
import { listMemberships } from '../../store/accounts/members.ts'
import { countPasskeys } from '../../store/accounts/passkeys.ts'
import { listSessions } from '../../store/accounts/users.ts'
import { listProjects } from '../../store/projects/projects.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { summaryOf } from '../projects/projects.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'
import { hashOfNew } from './new-passwords.ts'
import { openSession } from './sign-in.ts'

export function accountRoutes(app: FastifyInstance, world: World): void {
  const { db } = world
  route(app, world, 'GET /api/me', (call) => describeMe(world, call))

  route(app, world, 'PATCH /api/me', async ({ actor, body, change }) => {
    await change((tx) => renamePerson(tx, actor, { name: body.name }))
    return { done: true }
  })

  route(app, world, 'POST /api/me/password', (call) => replacePassword(world, call))

  route(app, world, 'GET /api/me/sessions', async ({ user }) => {
    const items = (await listSessions(db, user.id)).map((session) => ({
      id: session.id,
      isCurrent: session.id === user.sessionId,
      ip: session.ip_address,
      userAgent: session.user_agent,
      createdAt: session.created_at,
      lastSeenAt: session.updated_at,
      expiresAt: session.expires_at,
    }))
    return { items }
  })

  route(app, world, 'DELETE /api/me/sessions/:session', async ({ actor, params, change }) => {
    await change((tx) => endSession(tx, actor, { sessionId: params.session }))
    return { done: true }
  })

  route(app, world, 'DELETE /api/me/sessions', async ({ user, actor, query, change }) => {
    const exceptId = query.keep === 'current' ? user.sessionId : undefined
    await change((tx) => endSessions(tx, actor, { exceptId }))
    return { done: true }
  })

  route(app, world, 'POST /api/me/delete', async ({ user, actor, body, change }) => {
    if (body.confirm.trim().toLowerCase() !== user.email) throw wrongField('confirm', `Write ${user.email} to confirm.`)
    await change((tx) => deletePerson(tx, actor, { email: user.email }))
    return { done: true }
  })

  route(app, world, 'PATCH /api/publishers/:publisher', async ({ db: tx, actor, publisher, body }) => {
    await renamePublisher(tx, actor, { publisher, name: body.name })
    return { done: true }
  })
}

async function replacePassword(world: World, call: ConsoleRequest<'POST /api/me/password'>) {
  const { user, actor, body, request, setCookies, change } = call
  const { db, secrets, installation } = world
  const account = await findAccount(db, { id: user.id })
  if (!account) throw new ParleyError('signed_out')
  const passwordHash = await hashOfNew(world, body.newPassword, user.email, 'newPassword')
  const { consoleUrl } = installation
  await change((tx) => changePassword(tx, actor, { account, passwordHash, secrets, consoleUrl }))
  await openSession(world, request, user.id, setCookies)
  return { done: true as const }
}

async function describeMe(world: World, { user }: ConsoleRequest<'GET /api/me'>) {
  const { db, installation } = world
  const memberships = await listMemberships(db, user.id)
  const publishers = await Promise.all(
    memberships.map(async ({ publisherId: id, publisherName: name, role, activatedAt }) => {
      return { id, name, role, activatedAt, projects: (await listProjects(db, id)).map(summaryOf) }
    }),
  )
  const invitations = user.emailVerified ? (await listInvitationsTo(db, user.email)).length : 0
  const passkeys = await countPasskeys(db, user.id)
  const advertisers = await listAdvertiserMemberships(db, user.id)
  return { user: { ...user, passkeys }, publishers, advertisers, invitations, installation }
}
