import type { FastifyInstance } from 'fastify'
import { recordSignIn } from '../../actions/accounts/people.ts'
import { networkOf } from '../../rules/accounts/addresses.ts'
import { ParleyError } from '../../rules/errors.ts'
import { endPendingSteps, findAccount, isStillPassword, type Account } from '../../store/accounts/credentials.ts'
import { deleteSession, deleteSessionOfToken } from '../../store/accounts/users.ts'
import { inTransaction } from '../../store/database.ts'
import { callAuthLibrary, usedBefore } from './auth-errors.ts'
import type { ConsoleRequest, RequestFacts } from '../console-request.ts'
import { rememberDevice } from './devices.ts'
import { findSession, personOf, route } from '../route.ts'
import { countSignIn } from './sign-in-limits.ts'
import { isFirst, throttle } from '../throttle.ts'
import type { World } from '../world.ts'

const CODES_PER_MINUTE = 10
/** A code is taken half a minute early and late, too. */
export const CODE_GOOD_FOR_MS = 120_000

export function signInRoutes(app: FastifyInstance, world: World): void {
  const { db, auth } = world
  route(app, world, 'POST /api/auth/sign-in/email', (call) => signIn(world, call))

  route(app, world, 'POST /api/auth/two-factor/verify-totp', async ({ body, request, setCookies }) => {
    await throttle(db, [{ subject: `codes/${networkOf(request.ip)}`, most: CODES_PER_MINUTE }])
    const account = await pendingAccount(world, request)
    const { headers, response } = await callAuthLibrary(db, () =>
      auth.api.verifyTOTP({ body, headers: withoutSession(request), returnHeaders: true }),
    )
    // A code that somebody saw being typed must not open a second session while it is still good.
    if (!(await isFirst(db, codeOf(response.user.id, body.code), CODE_GOOD_FOR_MS))) {
      await deleteSessionOfToken(db, response.token)
      throw usedBefore()
    }
    await admit(world, request, { account, token: response.token, event: 'user.signed_in' })
    setCookies(headers)
    await rememberDevice(world, response.user.id, setCookies)
    return { done: true }
  })

  route(app, world, 'POST /api/auth/two-factor/verify-backup-code', async ({ body, request, setCookies }) => {
    await throttle(db, [{ subject: `codes/${networkOf(request.ip)}`, most: CODES_PER_MINUTE }])
    const account = await pendingAccount(world, request)
    const { headers, response } = await callAuthLibrary(db, () =>
      auth.api.verifyBackupCode({ body, headers: withoutSession(request), returnHeaders: true }),
    )
    if (!response.user || !response.token) throw new ParleyError('internal')
    await admit(world, request, { account, token: response.token, event: 'user.signed_in_by_recovery_code' })
    setCookies(headers)
    await rememberDevice(world, response.user.id, setCookies)
    return { done: true }
  })

  route(app, world, 'POST /api/auth/sign-out', async ({ request, setCookies }) => {
    const { headers } = await callAuthLibrary(db, () =>
      auth.api.signOut({ headers: request.headers, returnHeaders: true }),
    )
    setCookies(headers)
    return { done: true }
  })
}

async function signIn(world: World, { body, request, setCookies }: ConsoleRequest<'POST /api/auth/sign-in/email'>) {
  const wasRight = await countSignIn(world, request, body.email)
  const twoFactor = await signInWithPassword(world, request, body, setCookies)
  await wasRight()
  return { twoFactor }
}

export interface PasswordSignIn {
  email: string
  password: string
  rememberMe: boolean
}

/** Returns whether a second step is needed; if not, there is a session, in place of the one that this browser had. */
export async function signInWithPassword(
  world: World,
  request: RequestFacts,
  credentials: PasswordSignIn,
  setCookies: (headers: Headers) => void,
): Promise<boolean> {
  const { db, auth } = world
  const account = await findAccount(db, { email: credentials.email })
  const { headers, response } = await callAuthLibrary(db, () =>
    auth.api.signInEmail({ body: credentials, headers: withoutSession(request), returnHeaders: true }),
  )
  const twoFactor = 'twoFactorRedirect' in response
  if (!twoFactor) await admit(world, request, { account, token: response.token, event: 'user.signed_in' })
  else if (!account || !(await isStillPassword(db, account))) {
    await endPendingSteps(db, account?.id ?? '')
    throw new ParleyError('sign_in_failed')
  }
  await endSessionOf(world, request)
  setCookies(headers)
  if (!twoFactor && account) await rememberDevice(world, account.id, setCookies)
  return twoFactor
}

interface SignIn {
  /** As it was when they began to show who they are. */
  account: Account | undefined
  /** The token of the session that the library has opened, and that has not been handed out yet. */
  token: string
  event: 'user.signed_in' | 'user.signed_in_by_recovery_code'
}

/**
 * The last step before somebody is given a session. Checking a password or a code takes a moment: a password that was
 * replaced in it, which ended all sessions, opens no new one. And there is no session that the log does not tell of.
 */
async function admit({ db }: World, request: RequestFacts, { account, token, event }: SignIn): Promise<void> {
  try {
    await inTransaction(db, async (tx) => {
      if (!account || !(await isStillPassword(tx, account))) throw new ParleyError('sign_in_failed')
      await recordSignIn(tx, personOf(account, request), event)
    })
  } catch (error) {
    await deleteSessionOfToken(db, token)
    throw error
  }
}

/** Returns the account whose password was just given and whose code is asked for now. */
async function pendingAccount({ db, auth }: World, request: RequestFacts): Promise<Account | undefined> {
  const { userId } = await callAuthLibrary(db, () => auth.api.findPendingUser({ headers: withoutSession(request) }))
  return userId === undefined ? undefined : findAccount(db, { id: userId })
}

/** For somebody who has shown who they are, in place of the session that this browser had. */
export async function openSession(
  world: World,
  request: RequestFacts,
  userId: string,
  setCookies: (headers: Headers) => void,
): Promise<void> {
  const { auth } = world
  const { headers } = await callAuthLibrary(world.db, () =>
    auth.api.openSession({ body: { userId }, headers: withoutSession(request), returnHeaders: true }),
  )
  await endSessionOf(world, request)
  setCookies(headers)
  await rememberDevice(world, userId, setCookies)
}

/** Nobody goes on with a session that was known before signing in. */
async function endSessionOf(world: World, request: RequestFacts): Promise<void> {
  const before = await findSession(world, request)
  if (before) await deleteSession(world.db, before.user.id, before.user.sessionId)
}

/** Returns the key under which the use of a code is remembered. */
export function codeOf(userId: string, code: string): string {
  return `code/${userId}/${code}`
}

/** Signing in begins without the session of whoever was there before: the library would take a code for theirs. */
function withoutSession({ headers }: RequestFacts): Headers {
  const cookies = (headers.get('cookie') ?? '').split(/;\s*/).filter((cookie) => !/\.session_token=/.test(cookie))
  const without = new Headers(headers)
  without.set('cookie', cookies.join('; '))
  return without
}
