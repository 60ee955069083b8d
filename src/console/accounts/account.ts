import type { FastifyInstance } from 'fastify'
import { ParleyError } from '../../rules/errors.ts'
import { formatCredits } from '../../rules/money.ts'
import { findAccount, replacePassword } from '../../store/accounts/credentials.ts'
import { inTransaction } from '../../store/database.ts'
import { countMembers, listMemberships, lockOwners } from '../../store/accounts/members.ts'
import { listProjects } from '../../store/projects/projects.ts'
import { closePublisher, setPublisherName } from '../../store/accounts/publishers.ts'
import { sumOwed } from '../../store/billing/wallets.ts'
import { deleteSession, deleteSessions, deleteUser, listSessions, setUserName } from '../../store/accounts/users.ts'
import { audited, auditedEverywhere } from '../audited.ts'
import type { Call } from '../console-request.ts'
import { postMail } from './mail.ts'
import { hashOfNew } from './new-passwords.ts'
import { notThere, route, wrongFields } from '../route.ts'
import { openSession } from './sign-in.ts'
import { endMembership } from './team.ts'
import type { World } from '../world.ts'

export function settingsRoutes(app: FastifyInstance, world: World): void {
  const { db } = world
  route(app, world, 'PATCH /api/me', async ({ user, body, request }) => {
    await setUserName(db, user.id, body.name)
    await auditedEverywhere(db, { id: user.id, name: body.name }, request, 'user.renamed')
    return { done: true }
  })

  route(app, world, 'POST /api/me/password', (call) => changePassword(world, call))

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

  route(app, world, 'DELETE /api/me/sessions/:session', async ({ user, params, request }) => {
    if (!(await deleteSession(db, user.id, params.session))) throw notThere('session')
    await auditedEverywhere(db, user, request, 'user.session_ended')
    return { done: true }
  })

  route(app, world, 'DELETE /api/me/sessions', async ({ user, query, request }) => {
    await deleteSessions(db, user.id, query.keep === 'current' ? user.sessionId : undefined)
    await auditedEverywhere(db, user, request, 'user.signed_out_everywhere')
    return { done: true }
  })

  route(app, world, 'POST /api/me/delete', (call) => deleteAccount(world, call))

  route(app, world, 'PATCH /api/publishers/:publisher', async (call) => {
    const { publisher, body } = call
    await setPublisherName(call.db, publisher.id, body.name)
    await audited(call, 'publisher.renamed', { subject: body.name, details: { before: publisher.name } })
    return { done: true }
  })
}

async function changePassword(world: World, { user, body, request, setCookies }: Call<'POST /api/me/password'>) {
  const { db, secrets, installation } = world
  const account = await findAccount(db, { id: user.id })
  if (!account) throw new ParleyError('signed_out')
  const passwordHash = await hashOfNew(world, body.newPassword, user.email, 'newPassword')
  await inTransaction(db, async (tx) => {
    if (!(await replacePassword(tx, account, passwordHash))) throw new ParleyError('conflict')
    await auditedEverywhere(tx, user, request, 'user.password_changed')
    const data = { link: `${installation.consoleUrl}/sign-in` }
    await postMail(tx, secrets, { recipient: user.email, template: 'password_changed', data })
  })
  await openSession(world, request, user.id, setCookies)
  return { done: true as const }
}

/**
 * The person goes; a publisher of whom they were the only member is closed: its keys end and nobody can act for it. What
 * it owes and was charged stays in the ledger. Not while it has credit, which would be lost with it, or owes some.
 */
async function deleteAccount(world: World, { user, body, request }: Call<'POST /api/me/delete'>) {
  const { db } = world
  if (body.confirm.trim().toLowerCase() !== user.email)
    throw wrongFields([{ path: 'confirm', message: `Write ${user.email} to confirm.` }])
  await inTransaction(db, async (tx) => {
    for (const { publisherId, publisherName } of await listMemberships(tx, user.id)) {
      const owners = await lockOwners(tx, publisherId)
      const isLastOwner = owners.length === 1 && owners.includes(user.id)
      const facts = { db: tx, user, publisher: { id: publisherId }, request }
      if (!isLastOwner) {
        await audited(facts, 'member.left', { subject: user.email })
        await endMembership(facts, user)
        continue
      }
      if ((await countMembers(tx, publisherId)) > 1)
        throw refused(`You are the last owner of ${publisherName}. Make somebody else an owner, or remove the others.`)
      const owed = await sumOwed(tx, publisherId)
      if (owed > 0n)
        throw refused(`${publisherName} owes ${formatCredits(owed)} of credit. Top up the wallet that owes it first.`)
      const balance = (await listProjects(tx, publisherId)).reduce((sum, project) => sum + project.balance_nanos, 0n)
      if (balance > 0n)
        throw refused(
          `${publisherName} still has ${formatCredits(balance)} of credit. Use it, or ask for it back first.`,
        )
      await audited(facts, 'publisher.closed', { subject: publisherName })
      await closePublisher(tx, publisherId)
    }
    await deleteUser(tx, user.id)
  })
  return { done: true as const }
}

function refused(message: string): ParleyError {
  return new ParleyError('conflict', { message })
}
