import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { contract } from '../../src/console/contract.ts'
import { sign, valueIn } from '../../src/platform/signed.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { insertAdvertiserMember } from '../../src/store/accounts/advertiser-members.ts'
import { findAccount, replacePassword } from '../../src/store/accounts/credentials.ts'
import { HOUR_MS } from '../../src/rules/durations.ts'
import {
  createConsoleWorld,
  mailedToken,
  must,
  newPerson,
  newProject,
  openBrowser,
  PASSWORD,
  signIn,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { oneTimeCode } from '../support/one-time-code.ts'
import { addKeyPair, until } from '../support/world.ts'

/** A stranger signs up with somebody else's address and waits for its owner. */

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld({ roles: ['console', 'worker'] })
})
after(() => world.close())

const OWN_PASSWORD = 'the owner of the address chose this'

/** The stranger knows the password, and is signed in. */
async function hijack(email: string): Promise<Person> {
  return newPerson(world, { email, name: 'Stranger', confirms: false })
}

async function resetPassword(email: string, newPassword = OWN_PASSWORD): Promise<void> {
  const browser = openBrowser(world)
  await must(browser.send('POST /api/auth/request-password-reset', { body: { email } }))
  const token = await mailedToken(world, email, 'reset-password')
  await must(browser.send('POST /api/auth/reset-password', { body: { token, newPassword } }))
}

/** Routes that would let a stranger stay, or make Parley write to others. One that is missing here fails the test. */
const NEEDS_CONFIRMED = [
  'POST /api/advertisers/:advertiser/invitations',
  'POST /api/me/advertisers',
  'POST /api/me/passkeys',
  'POST /api/me/passkeys/options',
  'POST /api/me/two-factor',
  'POST /api/publishers/:publisher/invitations',
]

test('nobody adds a second factor or a passkey, invites others or advertises before the address is confirmed', async () => {
  const confirmed = Object.entries(contract).filter(([, entry]) => 'confirmed' in entry && entry.confirmed)
  assert.deepEqual(confirmed.map(([key]) => key).toSorted(), NEEDS_CONFIRMED)
  const email = 'first@example.com'
  const stranger = await hijack(email)
  const advertiser = await addAdvertiserOf(email)
  for (const key of NEEDS_CONFIRMED) {
    const path = key.replace(':publisher', stranger.publisherId).replace(':advertiser', advertiser)
    const { status, body } = await stranger.send(path)
    const sentence = 'Confirm your address first. The link is in the email we sent you.'
    assert.deepEqual([status, body.message], [409, sentence], key)
  }
})

/** The operator has let this person act for one. */
async function addAdvertiserOf(email: string): Promise<string> {
  const { db } = world.store
  const id = uuidv7()
  const { id: userId } = await db.selectFrom('users').select('id').where('email', '=', email).executeTakeFirstOrThrow()
  await db.insertInto('advertisers').values({ id, name: 'Lamp Works', domain: 'lamps.example' }).execute()
  await insertAdvertiserMember(db, id, userId, 'admin')
  return id
}

test('the link in the mail alone confirms nothing: it takes the password of the account, or sets a new one', async () => {
  const email = 'dora@example.com'
  const stranger = await hijack(email)
  const token = await mailedToken(world, email, 'activate')
  const follow = (body: object) => openBrowser(world).send('POST /api/auth/verify-email', { body: { token, ...body } })
  for (const body of [{}, { password: 'a guess of the owner' }, { password: PASSWORD, newPassword: OWN_PASSWORD }])
    assert.equal((await follow(body)).status, 422, JSON.stringify(body))
  const { user } = (await must(stranger.send('GET /api/me'))).body
  assert.equal(user.emailVerified, false)

  await must(follow({ newPassword: OWN_PASSWORD }))
  assert.equal((await stranger.send('GET /api/me')).status, 401, 'the session of the stranger has ended')
  assert.equal((await signIn(stranger, email, PASSWORD)).status, 401)
  const owner = openBrowser(world)
  await must(signIn(owner, email, OWN_PASSWORD))
  assert.equal((await must(owner.send('GET /api/me'))).body.user.emailVerified, true)
})

test('confirming with the password ends every session of the account and begins one where the link was followed', async () => {
  const email = 'ada@example.com'
  const earlier = await newPerson(world, { email, confirms: false })
  const token = await mailedToken(world, email, 'activate')
  const here = openBrowser(world)
  await must(here.send('POST /api/auth/verify-email', { body: { token, password: PASSWORD } }))
  assert.equal((await earlier.send('GET /api/me')).status, 401)
  assert.equal((await must(here.send('GET /api/me'))).body.user.emailVerified, true)
})

test('a link works once, and one for the password of before sets none', async () => {
  const email = 'links@example.com'
  await hijack(email)
  const confirming = await mailedToken(world, email, 'activate')
  const ask = openBrowser(world)
  await must(ask.send('POST /api/auth/request-password-reset', { body: { email } }))
  const resetting = await mailedToken(world, email, 'reset-password')
  const confirm = (token: string) =>
    openBrowser(world).send('POST /api/auth/verify-email', { body: { token, newPassword: OWN_PASSWORD } })
  const reset = (token: string) =>
    openBrowser(world).send('POST /api/auth/reset-password', { body: { token, newPassword: 'yet another password' } })
  assert.deepEqual(
    [(await confirm(resetting)).status, (await reset(confirming)).status],
    [422, 422],
    'each for its own',
  )
  const twice = await Promise.all([confirm(confirming), confirm(confirming)])
  assert.deepEqual(twice.map(({ status }) => String(status)).toSorted(), ['200', '422'])
  assert.equal((await confirm(confirming)).status, 422)
  assert.equal((await reset(resetting)).status, 422)
  await must(signIn(openBrowser(world), email, OWN_PASSWORD))
})

test('a link that confirms is good for a day, and one that sets a password for an hour', async () => {
  const email = 'late@example.com'
  await hijack(email)
  const account = (await findAccount(world.store.db, { email })) ?? assert.fail()
  const { id, passwordHash } = account
  const beganMs = Date.now()
  await must(openBrowser(world).send('POST /api/auth/request-password-reset', { body: { email } }))
  for (const [page, goodForMs, path, boundTo] of [
    ['activate', 24 * HOUR_MS, 'verify-email', ['confirm', email]],
    ['reset-password', HOUR_MS, 'reset-password', ['reset', email, passwordHash]],
  ] as const) {
    const { untilMs } = valueIn(await mailedToken(world, email, page)) as { untilMs: number }
    assert.ok(Math.abs(untilMs - goodForMs - beganMs) < 30_000, `${page}: ${untilMs - beganMs}`)
    const token = sign(world.secrets, 'links', { id, email, untilMs: Date.now() - 1 }, boundTo)
    const late = await openBrowser(world).send(`POST /api/auth/${path}`, { body: { token, newPassword: OWN_PASSWORD } })
    assert.deepEqual([late.status, late.body.message], [422, 'This link is no longer valid. Ask for a new one.'], page)
  }
  const token = sign(world.secrets, 'links', { id, email, untilMs: Date.now() + 60_000 }, ['confirm', email])
  await must(openBrowser(world).send('POST /api/auth/verify-email', { body: { token, newPassword: OWN_PASSWORD } }))
})

test('a password reset gets the owner of the address in, and leaves the stranger nothing to come back with', async () => {
  const { db } = world.store
  const email = 'victim@example.com'
  const stranger = await hijack(email)
  const { id } = (await must(stranger.send('GET /api/me'))).body.user
  // As the stranger could where the operator activates publishers who have confirmed nothing.
  const project = await newProject(stranger)
  const { publishableKey } = await addKeyPair(world.store, world.secrets, project)
  const pair = db.updateTable('key_pairs').where('publishable_key', '=', publishableKey)
  await pair.set({ created_by: id }).execute()
  // A sign-in that waits for its second step, and a second factor that waits for its first code.
  const soon = new Date(Date.now() + 600_000)
  await db.insertInto('verifications').values({ id: uuidv7(), identifier: 'x', value: id, expires_at: soon }).execute()
  await db.insertInto('two_factors').values({ id: uuidv7(), user_id: id, secret: 'x', backup_codes: 'x' }).execute()

  await resetPassword(email)
  assert.equal((await stranger.send('GET /api/me')).status, 401)
  assert.equal((await signIn(stranger, email, PASSWORD)).status, 401)
  const owner = openBrowser(world)
  assert.deepEqual((await must(signIn(owner, email, OWN_PASSWORD))).body, { twoFactor: false })
  assert.equal((await must(owner.send('GET /api/me'))).body.user.emailVerified, true, 'the link proved the address')
  const left = await Promise.all([
    db.selectFrom('key_pairs').select('id').where('created_by', '=', id).where('active', '=', true).execute(),
    db.selectFrom('verifications').select('id').where('value', '=', id).execute(),
    db.selectFrom('two_factors').select('id').where('user_id', '=', id).execute(),
  ])
  assert.deepEqual(left, [[], [], []])
})

test('the database itself refuses a second factor of an account that is not confirmed', async () => {
  await hijack('constraint@example.com')
  const users = world.store.db.updateTable('users').where('email', '=', 'constraint@example.com')
  await assert.rejects(users.set({ two_factor_enabled: true }).execute(), /second_factor_after_confirmation/)
})

test('a second factor of a confirmed account outlives a password reset: a mailbox alone opens nothing', async () => {
  const person = await newPerson(world, { email: 'confirmed@example.com' })
  const { uri } = (await must(person.send('POST /api/me/two-factor'))).body
  const code = oneTimeCode(String(new URL(uri).searchParams.get('secret')), Date.now())
  await must(person.send('POST /api/me/two-factor/confirm', { body: { code } }))
  await resetPassword(person.email)
  assert.deepEqual((await must(signIn(openBrowser(world), person.email, OWN_PASSWORD))).body, { twoFactor: true })
})

test('a sign-in that was under way when the password was replaced opens nothing', async () => {
  const { db } = world.store
  const email = 'race@example.com'
  const stranger = await hijack(email)
  const { id } = (await must(stranger.send('GET /api/me'))).body.user
  const answer = await db.transaction().execute(async (tx) => {
    const account = await findAccount(tx, { email })
    assert.ok(account && (await replacePassword(tx, account, 'another hash')))
    const late = openBrowser(world)
    const signing = signIn(late, email, PASSWORD)
    // The old password was found right, and a session was made: it waits only for who is replacing the password.
    await until(
      async () => (await db.selectFrom('sessions').where('user_id', '=', id).selectAll().execute()).length > 1,
    )
    return [signing]
  })
  assert.equal((await answer[0])?.status, 401)
  assert.deepEqual(await db.selectFrom('sessions').where('user_id', '=', id).selectAll().execute(), [])
})
