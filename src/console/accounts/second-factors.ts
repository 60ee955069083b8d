import type { FastifyInstance } from 'fastify'
import { wrongFields } from '../../actions/refusals.ts'
import { recordProof, recordSignIn, removeSecondFactor } from '../../actions/accounts/people.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { ParleyError } from '../../rules/errors.ts'
import { findAccount } from '../../store/accounts/credentials.ts'
import { inTransaction } from '../../store/database.ts'
import { callAuthLibrary, withPasswords } from './auth-errors.ts'
import type { ConsoleRequest, User } from '../console-request.ts'
import { route } from '../route.ts'
import { CODE_GOOD_FOR_MS, codeOf } from './sign-in.ts'
import { isFirst, throttle } from '../throttle.ts'
import type { World } from '../world.ts'

/** Codes of authenticator apps, and the proof of identity that changes which matter ask for. */

const PROOFS_PER_MINUTE = 5
const PROOFS_PER_HOUR = 30
/** The library wants one and is told that it is right; see `afterProof`. */
const PROVEN = { password: 'proven' }

export function secondFactorRoutes(app: FastifyInstance, world: World): void {
  const { db, auth } = world
  route(app, world, 'POST /api/me/proof', (call) => prove(world, call))

  route(app, world, 'POST /api/me/two-factor', async ({ request }) => {
    const made = await callAuthLibrary(db, () =>
      auth.afterProof(() =>
        auth.api.enableTwoFactor({ body: { ...PROVEN, method: 'totp' }, headers: request.headers }),
      ),
    )
    if (made.method !== 'totp') throw new ParleyError('internal')
    return { uri: made.totpURI, recoveryCodes: made.backupCodes }
  })

  route(app, world, 'POST /api/me/two-factor/confirm', async ({ user, actor, body, request, setCookies }) => {
    await throttleProofs(world, user)
    const { headers } = await callAuthLibrary(db, () =>
      auth.api.verifyTOTP({ body, headers: request.headers, returnHeaders: true }),
    )
    await isFirst(db, codeOf(user.id, body.code), CODE_GOOD_FOR_MS)
    await inTransaction(db, (tx) => recordSignIn(tx, actor, 'user.two_factor_enabled'))
    setCookies(headers)
    return { done: true }
  })

  route(app, world, 'POST /api/me/two-factor/recovery-codes', async ({ actor, request }) => {
    const { backupCodes } = await callAuthLibrary(db, () =>
      auth.afterProof(() => auth.api.generateBackupCodes({ body: PROVEN, headers: request.headers })),
    )
    await inTransaction(db, (tx) => recordSignIn(tx, actor, 'user.recovery_codes_renewed'))
    return { recoveryCodes: backupCodes }
  })

  route(app, world, 'POST /api/me/two-factor/disable', async ({ actor, change }) => {
    await change((tx) => removeSecondFactor(tx, actor))
    return { done: true }
  })
}

/** A session that somebody left open must not become a way to try passwords or codes. */
export async function throttleProofs({ db }: World, { id }: User): Promise<void> {
  await throttle(db, [{ subject: `proof/${id}`, most: PROOFS_PER_MINUTE }])
  await throttle(db, [{ subject: `proof/${id}/hour`, most: PROOFS_PER_HOUR }], HOUR_MS)
}

async function prove(world: World, { user, actor, body, request, change }: ConsoleRequest<'POST /api/me/proof'>) {
  const { db, passwords } = world
  await throttleProofs(world, user)
  const account = await findAccount(db, { id: user.id })
  if (!account || !(await withPasswords(() => passwords.verify(body.password, account.passwordHash))))
    throw wrongFields([{ path: 'password', message: 'This is not your password.' }])
  if (user.twoFactorEnabled) await proveByCode(world, user, request.headers, body.code)
  await change((tx) => recordProof(tx, actor, { sessionId: user.sessionId }))
  return { done: true as const }
}

async function proveByCode({ db, auth }: World, user: User, headers: Headers, code: string | undefined): Promise<void> {
  if (code === undefined) throw wrongCode('Enter the six digits that your authenticator app shows.')
  await callAuthLibrary(db, () => auth.api.verifyTOTP({ body: { code }, headers })).catch((error: unknown) => {
    throw error instanceof ParleyError && error.code === 'sign_in_failed' ? wrongCode(NOT_RIGHT) : error
  })
  if (!(await isFirst(db, codeOf(user.id, code), CODE_GOOD_FOR_MS))) throw wrongCode(NOT_RIGHT)
}

const NOT_RIGHT = 'The code is incorrect, or was used before.'

function wrongCode(message: string): ParleyError {
  return wrongFields([{ path: 'code', message }])
}
