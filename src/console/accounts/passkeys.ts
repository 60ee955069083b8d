import { verifyAuthenticationResponse, verifyRegistrationResponse } from '@simplewebauthn/server'
import type { FastifyInstance } from 'fastify'
import { randomBytes } from 'node:crypto'
import { addPasskey, removePasskey, renamePasskey } from '../../actions/accounts/passkeys.ts'
import { recordProof, recordSignIn } from '../../actions/accounts/people.ts'
import { HOUR_MS, MINUTE_MS } from '../../rules/durations.ts'
import { networkOf } from '../../rules/accounts/addresses.ts'
import { ParleyError } from '../../rules/errors.ts'
import { findAccount } from '../../store/accounts/credentials.ts'
import { inTransaction } from '../../store/database.ts'
import {
  consumeChallenge,
  countPasskeyUse,
  findPasskey,
  insertChallenge,
  listPasskeys,
} from '../../store/accounts/passkeys.ts'
import type { ConsoleRequest, RequestFacts } from '../console-request.ts'
import { personOf, route } from '../route.ts'
import { throttleProofs } from './second-factors.ts'
import { openSession } from './sign-in.ts'
import { throttle } from '../throttle.ts'
import type { World } from '../world.ts'

/**
 * Keys that a device keeps for this console's host name, and uses only after it has checked who is using it. So a passkey is
 * both factors at once: it opens a session without a password or a code, and it is a proof of identity.
 */

const PASSKEYS_MAX = 20
const SIGN_INS_PER_MINUTE = 30
const TIMEOUT_MS = 5 * MINUTE_MS
/** A sign-in page offers passkeys for as long as it stands there. */
const SIGN_IN_WITHIN_MS = HOUR_MS
/** EdDSA, ES256, RS256: what authenticators have. */
const ALGORITHMS = [-8, -7, -257]

/** A challenge counts only for the purpose, and the session, that it was given out for. */
const PURPOSES = {
  signIn: 'passkey/sign-in',
  proof: (sessionId: string) => `passkey/proof/${sessionId}`,
  adding: (sessionId: string) => `passkey/adding/${sessionId}`,
}

type UsedCredential = ConsoleRequest<'POST /api/auth/passkey/sign-in'>['body']['credential']

export function passkeyRoutes(app: FastifyInstance, world: World): void {
  const { db } = world
  route(app, world, 'POST /api/auth/passkey/options', async ({ request }) => {
    await throttleSignIns(world, request)
    return requestOptions(world, PURPOSES.signIn, [], SIGN_IN_WITHIN_MS)
  })
  route(app, world, 'POST /api/auth/passkey/sign-in', (call) => signIn(world, call))

  route(app, world, 'POST /api/me/proof/passkey/options', async ({ user }) =>
    requestOptions(world, PURPOSES.proof(user.sessionId), await listPasskeys(db, user.id), TIMEOUT_MS),
  )
  route(app, world, 'POST /api/me/proof/passkey', (call) => prove(world, call))

  route(app, world, 'GET /api/me/passkeys', async ({ user }) => {
    const items = (await listPasskeys(db, user.id)).map((row) => {
      return { id: row.id, name: row.name, createdAt: row.created_at, lastUsedAt: row.last_used_at }
    })
    return { items }
  })
  route(app, world, 'POST /api/me/passkeys/options', (call) => creationOptions(world, call))
  route(app, world, 'POST /api/me/passkeys', (call) => register(world, call))

  route(app, world, 'PATCH /api/me/passkeys/:passkey', async ({ actor, params, body, change }) => {
    await change((tx) => renamePasskey(tx, actor, { passkeyId: params.passkey, name: body.name }))
    return { done: true }
  })

  route(app, world, 'DELETE /api/me/passkeys/:passkey', async ({ actor, params, change }) => {
    await change((tx) => removePasskey(tx, actor, { passkeyId: params.passkey }))
    return { done: true }
  })
}

async function signIn(world: World, { body, request, setCookies }: ConsoleRequest<'POST /api/auth/passkey/sign-in'>) {
  const { db } = world
  await throttleSignIns(world, request)
  const userId = await ownerOf(world, body.credential, PURPOSES.signIn)
  const account = await findAccount(db, { id: userId })
  if (!account) throw refused()
  // First: there is no session that the log does not tell of.
  await inTransaction(db, (tx) => recordSignIn(tx, personOf(account, request), 'user.signed_in_by_passkey'))
  await openSession(world, request, userId, setCookies)
  return { done: true as const }
}

async function prove(world: World, { user, actor, body, change }: ConsoleRequest<'POST /api/me/proof/passkey'>) {
  await throttleProofs(world, user)
  if ((await ownerOf(world, body.credential, PURPOSES.proof(user.sessionId))) !== user.id) throw refused()
  await change((tx) => recordProof(tx, actor, { sessionId: user.sessionId }))
  return { done: true as const }
}

/** Returns the user whose passkey signed our challenge, on our own pages and after its device has checked them. */
async function ownerOf(world: World, credential: UsedCredential, purpose: string): Promise<string> {
  const { db, installation } = world
  const passkey = await findPasskey(db, credential.id)
  if (!passkey) throw refused()
  const { userHandle, ...response } = credential.response
  if (userHandle != null && userHandle !== handleOf(passkey.user_id).toString('base64url')) throw refused()
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: { ...credential, response },
    expectedChallenge: (challenge) => consumeChallenge(db, challenge, purpose),
    expectedOrigin: installation.consoleUrl,
    expectedRPID: hostOf(world),
    // Counted below, in one statement with the comparison.
    credential: { id: passkey.credential_id, publicKey: new Uint8Array(passkey.public_key), counter: 0 },
    requireUserVerification: true,
  }).catch(() => {
    throw refused()
  })
  if (!verified) throw refused()
  if (!(await countPasskeyUse(db, passkey.id, authenticationInfo.newCounter)))
    throw new ParleyError('sign_in_failed', {
      message: 'This passkey seems to exist twice. Sign in with your password, remove it, and add it again.',
    })
  return passkey.user_id
}

async function creationOptions(world: World, { user }: ConsoleRequest<'POST /api/me/passkeys/options'>) {
  const known = await listPasskeys(world.db, user.id)
  if (known.length >= PASSKEYS_MAX)
    throw new ParleyError('conflict', { message: `You have ${PASSKEYS_MAX} passkeys. Remove some first.` })
  return {
    challenge: await newChallenge(world, PURPOSES.adding(user.sessionId), TIMEOUT_MS),
    rp: { id: hostOf(world), name: 'Parley' },
    user: { id: handleOf(user.id).toString('base64url'), name: user.email, displayName: user.name },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key' as const, alg })),
    timeout: TIMEOUT_MS,
    excludeCredentials: known.map(descriptorOf),
    // Kept on the device with the account, so that nobody has to write an address; and never without a check of the user.
    authenticatorSelection: { residentKey: 'required' as const, userVerification: 'required' as const },
    attestation: 'none' as const,
  }
}

async function register(world: World, { user, actor, body, change }: ConsoleRequest<'POST /api/me/passkeys'>) {
  const { db, secrets, installation } = world
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: body.credential,
    expectedChallenge: (challenge) => consumeChallenge(db, challenge, PURPOSES.adding(user.sessionId)),
    expectedOrigin: installation.consoleUrl,
    expectedRPID: hostOf(world),
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => {
    throw notAdded()
  })
  if (!verified) throw notAdded()
  const { id: credentialId, publicKey, counter } = registrationInfo.credential
  const { transports = [] } = body.credential.response
  const passkey = { name: body.name, credentialId, publicKey: Buffer.from(publicKey), counter, transports }
  const told = { email: user.email, installation: { secrets, consoleUrl: installation.consoleUrl } }
  await change((tx) => addPasskey(tx, actor, { passkey, ...told }))
  return { done: true as const }
}

type PasskeyRow = Awaited<ReturnType<typeof listPasskeys>>[number]

async function requestOptions(world: World, purpose: string, allowed: readonly PasskeyRow[], goodForMs: number) {
  return {
    challenge: await newChallenge(world, purpose, goodForMs),
    rpId: hostOf(world),
    timeout: TIMEOUT_MS,
    userVerification: 'required' as const,
    allowCredentials: allowed.map(descriptorOf),
  }
}

async function newChallenge({ db }: World, purpose: string, goodForMs: number): Promise<string> {
  const challenge = randomBytes(32).toString('base64url')
  await insertChallenge(db, challenge, purpose, goodForMs)
  return challenge
}

function descriptorOf({ credential_id: id, transports }: PasskeyRow) {
  return { id, type: 'public-key' as const, transports }
}

/** The id under which a device keeps the account. */
function handleOf(userId: string): Buffer {
  return Buffer.from(userId.replaceAll('-', ''), 'hex')
}

/** Browsers use a passkey on pages of this host only. */
function hostOf({ installation }: World): string {
  return new URL(installation.consoleUrl).hostname
}

function throttleSignIns({ db }: World, request: RequestFacts): Promise<void> {
  return throttle(db, [{ subject: `passkeys/${networkOf(request.ip)}`, most: SIGN_INS_PER_MINUTE }])
}

/** Why is not said, and not logged either: the library's words quote what was sent. */
function refused(): ParleyError {
  const message = 'This passkey is not accepted here. Try again, or sign in with your password.'
  return new ParleyError('sign_in_failed', { message })
}

function notAdded(): ParleyError {
  return new ParleyError('invalid_value', { message: 'This passkey could not be added. Try again.' })
}
