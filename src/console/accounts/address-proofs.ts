import type { FastifyInstance } from 'fastify'
import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import { confirmAddress, resetPassword, staleLink } from '../../actions/accounts/people.ts'
import { postMail } from '../../actions/mails.ts'
import { wrongFields } from '../../actions/refusals.ts'
import type { Secrets } from '../../platform/secrets.ts'
import { isSigned, sign, valueIn } from '../../platform/signed.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { networkOf } from '../../rules/accounts/addresses.ts'
import { findAccount, type Account } from '../../store/accounts/credentials.ts'
import { inTransaction, type Db } from '../../store/database.ts'
import type { ConsoleRequest, RequestFacts } from '../console-request.ts'
import { personOf, route } from '../route.ts'
import { isFirst, throttle } from '../throttle.ts'
import type { World } from '../world.ts'
import { withPasswords } from './auth-errors.ts'
import { rememberDevice } from './devices.ts'
import { hashOfNew } from './new-passwords.ts'
import { signInWithPassword } from './sign-in.ts'

/**
 * Links in mails. Following one proves that the address is one's own, and nothing else: a stranger may have made the
 * account with it. So a link alone lets nobody in. It takes the account's password, or sets another one and removes
 * whatever the stranger could come back with. Links are signed and stored nowhere.
 */

type LinkKind = 'confirm' | 'reset'

const GOOD_FOR_MS: Record<LinkKind, number> = { confirm: 24 * HOUR_MS, reset: HOUR_MS }
const MAILS_PER_MINUTE = 10
const LINKS_PER_MINUTE = 30
/** Requests that may send a mail are answered no sooner: the time taken would tell whether the address is known. */
const ANSWER_AFTER_MS = 250

export function addressProofRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'POST /api/auth/send-verification-email', async ({ body, request }) => {
    await throttleMails(world, request)
    await Promise.all([confirmAgain(world, body.email), setTimeout(ANSWER_AFTER_MS)])
    return { done: true }
  })
  route(app, world, 'POST /api/auth/request-password-reset', async ({ body, request }) => {
    await throttleMails(world, request)
    await Promise.all([postReset(world, body.email), setTimeout(ANSWER_AFTER_MS)])
    return { done: true }
  })
  route(app, world, 'POST /api/auth/verify-email', (call) => confirm(world, call))
  route(app, world, 'POST /api/auth/reset-password', async ({ body, request, setCookies }) => {
    const account = await accountOfLink(world, request, 'reset', body.token)
    await setNewPassword(world, request, account, body.newPassword)
    await rememberDevice(world, account.id, setCookies)
    return { done: true }
  })
}

async function confirm(world: World, { body, request, setCookies }: ConsoleRequest<'POST /api/auth/verify-email'>) {
  const account = await accountOfLink(world, request, 'confirm', body.token)
  const { password = '', newPassword } = body
  if (newPassword !== undefined) await setNewPassword(world, request, account, newPassword)
  else await confirmWithPassword(world, request, account, password)
  const signedIn = { email: account.email, password: newPassword ?? password, rememberMe: true }
  await signInWithPassword(world, request, signedIn, setCookies)
  return { activated: !world.installation.requiresApproval }
}

async function confirmWithPassword(world: World, request: RequestFacts, account: Account, password: string) {
  if (!(await withPasswords(() => world.passwords.verify(password, account.passwordHash))))
    throw wrongFields([{ path: 'password', message: 'This is not the password of this account.' }])
  await inTransaction(world.db, (tx) => confirmAddress(tx, personOf(account, request), activationIn(world)))
}

async function setNewPassword(world: World, request: RequestFacts, account: Account, newPassword: string) {
  const { db, secrets, installation } = world
  const { consoleUrl } = installation
  const passwordHash = await hashOfNew(world, newPassword, account.email, 'newPassword')
  const input = { account, passwordHash, ...activationIn(world), secrets, consoleUrl }
  await inTransaction(db, (tx) => resetPassword(tx, personOf(account, request), input))
}

function activationIn({ installation }: World) {
  return { isActivating: !installation.requiresApproval, sandboxDomain: installation.sandboxDomain }
}

export async function postConfirmation(world: World, tx: Db, account: Account): Promise<void> {
  const link = linkTo(world, 'activate', tokenFor(world.secrets, 'confirm', account))
  await postMail(tx, world.secrets, { recipient: account.email, template: 'activation', data: { link } })
}

async function confirmAgain(world: World, email: string): Promise<void> {
  const account = await findAccount(world.db, { email })
  if (account && !account.emailVerified && (await isFirst(world.db, `confirm/${account.id}`)))
    await postConfirmation(world, world.db, account)
}

async function postReset(world: World, email: string): Promise<void> {
  const { db, secrets } = world
  const account = await findAccount(db, { email })
  if (!account || !(await isFirst(db, `reset/${account.id}`))) return
  const link = linkTo(world, 'reset-password', tokenFor(secrets, 'reset', account))
  await postMail(db, secrets, { recipient: email, template: 'password_reset', data: { link } })
}

function throttleMails({ db }: World, request: RequestFacts): Promise<void> {
  return throttle(db, [{ subject: `mails/${networkOf(request.ip)}`, most: MAILS_PER_MINUTE }])
}

/** After #, so that no server, proxy or log on the way sees the token. */
function linkTo({ installation }: World, page: string, token: string): string {
  return `${installation.consoleUrl}/${page}#token=${token}`
}

/** The page that the link leads to shows the address. */
function tokenFor(secrets: Secrets, kind: LinkKind, account: Account): string {
  const { id, email } = account
  return sign(secrets, 'links', { id, email, untilMs: Date.now() + GOOD_FOR_MS[kind] }, bindingOf(kind, account))
}

/** One that sets a password ends with the password that it replaces; one that confirms, when the address is confirmed. */
function bindingOf(kind: LinkKind, { email, passwordHash }: Account): string[] {
  return kind === 'reset' ? [kind, email, passwordHash] : [kind, email]
}

const linkValue = z.object({ id: z.uuid(), untilMs: z.number() })

async function accountOfLink(world: World, request: RequestFacts, kind: LinkKind, token: string): Promise<Account> {
  const { db, secrets } = world
  await throttle(db, [{ subject: `links/${networkOf(request.ip)}`, most: LINKS_PER_MINUTE }])
  const { data: link } = linkValue.safeParse(valueIn(token))
  const account = link && (await findAccount(db, { id: link.id }))
  if (!account || !isSigned(secrets, 'links', token, bindingOf(kind, account)) || link.untilMs < Date.now())
    throw staleLink()
  if (kind === 'confirm' && account.emailVerified) throw staleLink()
  return account
}
