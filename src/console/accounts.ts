import type { FastifyInstance } from 'fastify'
import { setTimeout } from 'node:timers/promises'
import { uuidv7 } from '../platform/uuid.ts'
import { networkOf } from '../rules/addresses.ts'
import { weaknessOf } from '../rules/passwords.ts'
import { inTransaction, type Db } from '../store/database.ts'
import { listInvitationsTo } from '../store/invitations.ts'
import { listMemberships } from '../store/members.ts'
import { listProjects } from '../store/projects.ts'
import {
  confirmPublishers,
  deleteSession,
  deleteSessionOfToken,
  findUserByEmail,
  insertAccount,
} from '../store/users.ts'
import { auditedEverywhere } from './audited.ts'
import { asked, usedBefore } from './auth-errors.ts'
import { calledBy } from './auth.ts'
import type { Call, RequestFacts } from './call.ts'
import { postMail } from './mail.ts'
import { summaryOf } from './projects.ts'
import { findSession, route, wrongFields } from './route.ts'
import { forgive, isFirst, throttle } from './throttle.ts'
import type { World } from './world.ts'

const PER_ADDRESS = 10
const PER_ACCOUNT = 5
const HOUR_MS = 3_600_000
const SIGN_UPS_PER_HOUR = 10
/** What may send a mail answers no sooner: how long it took would tell whether the address is known. */
const ANSWER_AFTER_MS = 250
/** A code is taken half a minute early and late, too. */
export const CODE_GOOD_FOR_MS = 120_000

export function accountRoutes(app: FastifyInstance, world: World): void {
  const { db, auth } = world
  route(app, world, 'POST /api/auth/sign-up/email', (call) => signUp(world, call))

  route(app, world, 'POST /api/auth/send-verification-email', async ({ body, request }) => {
    await throttle(db, [{ subject: `mails/${networkOf(request.ip)}`, most: PER_ADDRESS }])
    await Promise.all([confirmAgain(world, body.email), setTimeout(ANSWER_AFTER_MS)])
    return { done: true }
  })

  route(app, world, 'POST /api/auth/verify-email', async ({ body, request }) => {
    await throttle(db, [{ subject: `links/${networkOf(request.ip)}`, most: PER_ADDRESS * 3 }])
    await asked(() => auth.api.verifyEmail({ query: { token: body.token }, headers: request.headers }))
    const user = await findUserByEmail(db, emailOf(body.token))
    const publishers = user ? await confirmPublishers(db, user.id, !world.installation.requiresApproval) : []
    if (user && publishers.length > 0) await auditedEverywhere(db, user, request, 'user.address_confirmed')
    return { activated: !world.installation.requiresApproval }
  })

  route(app, world, 'POST /api/auth/sign-in/email', (call) => signIn(world, call))

  route(app, world, 'POST /api/auth/two-factor/verify-totp', async ({ body, request, setCookies }) => {
    await throttle(db, [{ subject: `codes/${networkOf(request.ip)}`, most: PER_ADDRESS }])
    const { headers, response } = await asked(() =>
      auth.api.verifyTOTP({ body, headers: withoutSession(request), returnHeaders: true }),
    )
    // A code that somebody saw being typed must not open a second session while it is still good.
    if (!(await isFirst(db, codeOf(response.user.id, body.code), CODE_GOOD_FOR_MS))) {
      await deleteSessionOfToken(db, response.token)
      throw usedBefore()
    }
    setCookies(headers)
    await auditedEverywhere(db, response.user, request, 'user.signed_in')
    return { done: true }
  })

  route(app, world, 'POST /api/auth/two-factor/verify-backup-code', async ({ body, request, setCookies }) => {
    await throttle(db, [{ subject: `codes/${networkOf(request.ip)}`, most: PER_ADDRESS }])
    const { headers, response } = await asked(() =>
      auth.api.verifyBackupCode({ body, headers: withoutSession(request), returnHeaders: true }),
    )
    setCookies(headers)
    if (response.user) await auditedEverywhere(db, response.user, request, 'user.signed_in_by_recovery_code')
    return { done: true }
  })

  route(app, world, 'POST /api/auth/sign-out', async ({ request, setCookies }) => {
    const { headers } = await asked(() => auth.api.signOut({ headers: request.headers, returnHeaders: true }))
    setCookies(headers)
    return { done: true }
  })

  route(app, world, 'POST /api/auth/request-password-reset', async ({ body, request }) => {
    await throttle(db, [{ subject: `mails/${networkOf(request.ip)}`, most: PER_ADDRESS }])
    const isDue = await isFirst(db, `reset/${body.email}`)
    const asking = isDue ? asked(() => auth.api.requestPasswordReset({ body })) : undefined
    await Promise.all([asking, setTimeout(ANSWER_AFTER_MS)])
    return { done: true }
  })

  route(app, world, 'POST /api/auth/reset-password', (call) => resetPassword(world, call))
  route(app, world, 'GET /api/me', (call) => describeMe(world, call))
}

async function signUp(world: World, { body, request }: Call<'POST /api/auth/sign-up/email'>) {
  const { db, passwords, secrets, installation } = world
  const { name, email } = body
  await throttle(db, [{ subject: `sign-up/${networkOf(request.ip)}`, most: SIGN_UPS_PER_HOUR }], HOUR_MS)
  expectGoodPassword(body.password, email, 'password')
  // Also for a known address, so that the time it takes tells nothing.
  const passwordHash = await asked(() => passwords.hash(body.password))
  await inTransaction(db, async (tx) => {
    const user = { userId: uuidv7(), credentialId: uuidv7(), name, email, passwordHash }
    const publisher = {
      publisherId: uuidv7(),
      publisherName: body.publisher ?? name,
      trialCredit: installation.trialCredit,
    }
    if (await insertAccount(tx, { ...user, ...publisher })) {
      await auditedEverywhere(tx, { id: user.userId, name }, request, 'publisher.signed_up')
      await postConfirmation(world, tx, email)
    } else if (await isFirst(tx, `known/${email}`)) {
      const data = { link: `${installation.consoleUrl}/sign-in` }
      await postMail(tx, secrets, { recipient: email, template: 'known_address', data })
    }
  })
  return { done: true as const }
}

async function signIn(world: World, { body, request, setCookies }: Call<'POST /api/auth/sign-in/email'>) {
  const { db, auth } = world
  const account = `sign-in/${body.email}`
  await throttle(db, [
    { subject: `sign-in/${networkOf(request.ip)}`, most: PER_ADDRESS },
    { subject: account, most: PER_ACCOUNT },
  ])
  const before = await findSession(world, request)
  const { headers, response } = await asked(() =>
    auth.api.signInEmail({ body, headers: withoutSession(request), returnHeaders: true }),
  )
  await forgive(db, account)
  // The session that this browser had ends: nobody goes on with one that was known before signing in.
  if (before) await deleteSession(db, before.user.id, before.user.sessionId)
  setCookies(headers)
  const twoFactor = 'twoFactorRedirect' in response
  if (!twoFactor) await auditedEverywhere(db, response.user, request, 'user.signed_in')
  return { twoFactor }
}

async function resetPassword(world: World, { body, request }: Call<'POST /api/auth/reset-password'>) {
  const { db, secrets, installation } = world
  await throttle(db, [{ subject: `links/${networkOf(request.ip)}`, most: PER_ADDRESS * 3 }])
  expectGoodPassword(body.newPassword, '', 'newPassword')
  const user = await asked(() => world.auth.resetPassword(body))
  await auditedEverywhere(db, user, request, 'user.password_reset')
  const data = { name: calledBy(user), link: `${installation.consoleUrl}/sign-in` }
  await postMail(db, secrets, { recipient: user.email, template: 'password_changed', data })
  return { done: true as const }
}

async function describeMe(world: World, { user }: Call<'GET /api/me'>) {
  const { db, installation } = world
  // Done when the address was confirmed; and again here, should the process have ended in between.
  if (user.emailVerified) await confirmPublishers(db, user.id, !installation.requiresApproval)
  const memberships = await listMemberships(db, user.id)
  const publishers = await Promise.all(
    memberships.map(async ({ publisherId: id, publisherName: name, role, activatedAt }) => {
      return { id, name, role, activatedAt, projects: (await listProjects(db, id)).map(summaryOf) }
    }),
  )
  const invitations = user.emailVerified ? (await listInvitationsTo(db, user.email)).length : 0
  return { user, publishers, invitations, installation }
}

/** What remembers that a code was used. */
export function codeOf(userId: string, code: string): string {
  return `code/${userId}/${code}`
}

export function expectGoodPassword(password: string, email: string, field: string): void {
  const weakness = weaknessOf(password, email)
  if (weakness !== undefined) throw wrongFields([{ path: field, message: weakness }])
}

async function confirmAgain(world: World, email: string): Promise<void> {
  const { db } = world
  const user = await findUserByEmail(db, email)
  if (user && !user.email_verified && (await isFirst(db, `confirm/${user.id}`)))
    await postConfirmation(world, db, user.email)
}

async function postConfirmation(world: World, db: Db, recipient: string): Promise<void> {
  const link = `${world.installation.consoleUrl}/activate#token=${await world.auth.confirmationToken(recipient)}`
  await postMail(db, world.secrets, { recipient, template: 'activation', data: { link } })
}

/** Of a token that was proven to be ours. */
function emailOf(token: string): string {
  const [, payload = ''] = token.split('.')
  const { email } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { email?: unknown }
  return typeof email === 'string' ? email : ''
}

/** Signing in begins without the session of whoever was there before: the library would take a code for theirs. */
function withoutSession({ headers }: RequestFacts): Headers {
  const cookies = (headers.get('cookie') ?? '').split(/;\s*/).filter((cookie) => !/\.session_token=/.test(cookie))
  const without = new Headers(headers)
  without.set('cookie', cookies.join('; '))
  return without
}
