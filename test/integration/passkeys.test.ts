import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { createAuthenticator, type Authenticator, type Misuse } from '../support/authenticator.ts'
import {
  createConsoleWorld,
  mailedToken,
  must,
  newPerson,
  openBrowser,
  ORIGIN,
  PASSWORD,
  type Answer,
  type Browser,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { oneTimeCode } from '../support/one-time-code.ts'
import { until } from '../support/world.ts'

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld({ roles: ['console', 'worker'] })
})
after(() => world.close())

async function add(person: Browser, authenticator: Authenticator, how: Misuse = {}): Promise<Answer> {
  const { body: options } = await must(person.send('POST /api/me/passkeys/options'))
  const credential = authenticator.create(options, how)
  return person.send('POST /api/me/passkeys', { body: { name: 'Laptop', credential } })
}

async function personWithPasskey(): Promise<{ person: Person; authenticator: Authenticator }> {
  const person = await newPerson(world)
  const authenticator = createAuthenticator(ORIGIN)
  await must(add(person, authenticator))
  return { person, authenticator }
}

async function signIn(browser: Browser, authenticator: Authenticator, how: Misuse = {}): Promise<Answer> {
  const { body: options } = await must(browser.send('POST /api/auth/passkey/options'))
  authenticator.counter += 1
  const credential = authenticator.use(options, how)
  return browser.send('POST /api/auth/passkey/sign-in', { body: { credential } })
}

async function grow(): Promise<void> {
  await sql`update sessions set proven_at = now() - interval '11 minutes'`.execute(world.store.db)
}

async function actionsOf(person: Person): Promise<Set<string>> {
  const { items } = (await must(person.send(`GET /api/publishers/${person.publisherId}/audit-log`))).body
  return new Set(items.map(({ action }: { action: string }) => action))
}

test('a passkey signs in without an address, a password or a code, and is listed, renamed and removed', async () => {
  const { person, authenticator } = await personWithPasskey()
  const browser = openBrowser(world)
  await must(signIn(browser, authenticator))
  const me = (await must(browser.send('GET /api/me'))).body
  assert.deepEqual([me.user.email, me.user.passkeys], [person.email, 1])
  const [passkey] = (await must(person.send('GET /api/me/passkeys'))).body.items
  assert.deepEqual([passkey.name, passkey.lastUsedAt === null], ['Laptop', false])
  await must(person.send(`PATCH /api/me/passkeys/${passkey.id}`, { body: { name: 'Phone' } }))
  assert.equal((await must(person.send('GET /api/me/passkeys'))).body.items[0].name, 'Phone')
  await until(() => world.mails.some(({ to, text }) => to === person.email && /passkey was added/.test(text)), 15_000)
  await must(person.send(`DELETE /api/me/passkeys/${passkey.id}`))
  assert.equal((await signIn(openBrowser(world), authenticator)).status, 401)
  const actions = await actionsOf(person)
  for (const action of ['user.passkey_added', 'user.signed_in_by_passkey', 'user.passkey_removed'])
    assert.ok(actions.has(action), action)
})

test('a passkey is both factors: with two-factor on it needs no code', async () => {
  const { person, authenticator } = await personWithPasskey()
  const { uri } = (await must(person.send('POST /api/me/two-factor'))).body
  const code = oneTimeCode(String(new URL(uri).searchParams.get('secret')), Date.now())
  await must(person.send('POST /api/me/two-factor/confirm', { body: { code } }))
  const browser = openBrowser(world)
  await must(signIn(browser, authenticator))
  await must(browser.send('GET /api/me'))
})

test('what was signed for another site, by another key, for another account or without a check of the user opens nothing', async () => {
  const { authenticator } = await personWithPasskey()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const misuses: Misuse[] = [
    { origin: 'https://console.test.evil.example' },
    { origin: ORIGIN.replace('http:', 'https:') },
    { rpId: 'evil.example' },
    { isVerified: false },
    { key: privateKey },
    { challenge: Buffer.alloc(32).toString('base64url') },
    { type: 'webauthn.create' },
    { userHandle: Buffer.alloc(16).toString('base64url') },
  ]
  for (const misuse of misuses) {
    const browser = openBrowser(world)
    const answer = await signIn(browser, authenticator, misuse)
    assert.equal(answer.status, 401, JSON.stringify(Object.keys(misuse)))
    assert.equal((await browser.send('GET /api/me')).status, 401)
  }
  assert.equal((await signIn(openBrowser(world), createAuthenticator(ORIGIN))).status, 401, 'one that nobody added')
  await must(signIn(openBrowser(world), authenticator))
})

test('a challenge is answered once, in time, and for what it was given out', async () => {
  const { person, authenticator } = await personWithPasskey()
  const options = async (browser: Browser, path: string) => (await must(browser.send(`POST ${path}`))).body
  const send = (credential: object) =>
    openBrowser(world).send('POST /api/auth/passkey/sign-in', { body: { credential } })
  authenticator.counter = 10
  const credential = authenticator.use(await options(openBrowser(world), '/api/auth/passkey/options'))
  await must(send(credential))
  assert.equal((await send(credential)).status, 401, 'replayed')

  authenticator.counter = 11
  const late = await options(openBrowser(world), '/api/auth/passkey/options')
  await sql`update verifications set expires_at = now() - interval '1 second'`.execute(world.store.db)
  assert.equal((await send(authenticator.use(late))).status, 401, 'late')

  const ofProof = await options(person, '/api/me/proof/passkey/options')
  assert.equal((await send(authenticator.use(ofProof))).status, 401, 'given out for a proof')
  const ofSignIn = await options(openBrowser(world), '/api/auth/passkey/options')
  const body = { credential: authenticator.use(ofSignIn) }
  assert.equal((await person.send('POST /api/me/proof/passkey', { body })).status, 401, 'given out for a sign-in')
})

test('an authenticator that counts less than before is a copy, and is refused', async () => {
  const { authenticator } = await personWithPasskey()
  authenticator.counter = 7
  await must(signIn(openBrowser(world), authenticator))
  authenticator.counter = 7
  const again = await signIn(openBrowser(world), authenticator)
  assert.deepEqual([again.status, /exist twice/.test(again.body.message)], [401, true], 'the same count')
  authenticator.counter = 2
  assert.equal((await signIn(openBrowser(world), authenticator)).status, 401)
  authenticator.counter = -1
  assert.equal((await signIn(openBrowser(world), authenticator)).status, 401, 'one that has stopped counting')
  authenticator.counter = 8
  await must(signIn(openBrowser(world), authenticator))
})

test('an authenticator that does not count is used as often as one likes', async () => {
  const { authenticator } = await personWithPasskey()
  for (let n = 0; n < 2; n++) {
    authenticator.counter = -1
    await must(signIn(openBrowser(world), authenticator))
  }
})

test('a passkey is a fresh proof for its own account and session, and for no other', async () => {
  const { person, authenticator } = await personWithPasskey()
  const stranger = await personWithPasskey()
  await grow()
  const prove = async (by: Person, with_: Authenticator, from = by) => {
    const { body: options } = await must(from.send('POST /api/me/proof/passkey/options'))
    with_.counter += 1
    return by.send('POST /api/me/proof/passkey', { body: { credential: with_.use(options) } })
  }
  const renew = () => person.send('POST /api/me/passkeys/options')
  assert.equal((await prove(person, stranger.authenticator)).status, 401, 'a passkey of somebody else')
  assert.equal((await prove(person, authenticator, stranger.person)).status, 401, 'a challenge of another session')
  assert.equal((await renew()).body.code, 'proof_needed')
  assert.ok(!(await actionsOf(person)).has('user.identity_proven'))
  await must(prove(person, authenticator))
  await must(renew())
  assert.ok((await actionsOf(person)).has('user.identity_proven'))
})

test('a passkey is added only with a fresh proof, a confirmed address, a check of the user, and on our own pages', async () => {
  const person = await newPerson(world)
  for (const misuse of [{ origin: 'https://evil.example' }, { isVerified: false }, { rpId: 'evil.example' }])
    assert.equal((await add(person, createAuthenticator(ORIGIN), misuse)).status, 422, JSON.stringify(misuse))
  const other = await newPerson(world)
  const { body: options } = await must(other.send('POST /api/me/passkeys/options'))
  const credential = createAuthenticator(ORIGIN).create(options)
  const stolen = await person.send('POST /api/me/passkeys', { body: { name: 'Laptop', credential } })
  assert.equal(stolen.status, 422, 'a challenge of somebody else')
  const { body: own } = await must(person.send('POST /api/me/passkeys/options'))
  const { body: proof } = await must(person.send('POST /api/me/proof/passkey/options'))
  const misused = createAuthenticator(ORIGIN).create({ ...own, challenge: proof.challenge })
  const { status } = await person.send('POST /api/me/passkeys', { body: { name: 'Laptop', credential: misused } })
  assert.equal(status, 422, 'a challenge that was given out for a proof')
  const authenticator = createAuthenticator(ORIGIN)
  await must(add(person, authenticator))
  assert.equal((await add(other, authenticator)).status, 409, 'the same credential for a second account')
  await grow()
  assert.equal((await person.send('POST /api/me/passkeys/options')).body.code, 'proof_needed')
  const unconfirmed = await newPerson(world, { confirms: false })
  assert.equal((await unconfirmed.send('POST /api/me/passkeys/options')).status, 409)
})

test('nobody renames or removes a passkey of somebody else', async () => {
  const { person } = await personWithPasskey()
  const [passkey] = (await must(person.send('GET /api/me/passkeys'))).body.items
  const stranger = await newPerson(world)
  assert.equal((await stranger.send(`DELETE /api/me/passkeys/${passkey.id}`)).status, 404)
  assert.equal((await stranger.send(`PATCH /api/me/passkeys/${passkey.id}`, { body: { name: 'x' } })).status, 404)
  assert.deepEqual((await must(stranger.send('GET /api/me/passkeys'))).body.items, [])
})

test('taking over an account that was never confirmed removes passkeys; resetting a confirmed one keeps them', async () => {
  const { person, authenticator } = await personWithPasskey()
  const reset = async () => {
    await sql`delete from throttles`.execute(world.store.db)
    world.mails.splice(0)
    const browser = openBrowser(world)
    await must(browser.send('POST /api/auth/request-password-reset', { body: { email: person.email } }))
    const token = await mailedToken(world, person.email, 'reset-password')
    await must(browser.send('POST /api/auth/reset-password', { body: { token, newPassword: `${PASSWORD} again` } }))
  }
  await reset()
  await must(signIn(openBrowser(world), authenticator))
  await world.store.db.updateTable('users').set({ email_verified: false }).where('email', '=', person.email).execute()
  await reset()
  assert.equal((await signIn(openBrowser(world), authenticator)).status, 401)
})
