import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sign } from '../../src/platform/signed.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { findAccount } from '../../src/store/accounts/credentials.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import {
  createConsoleWorld,
  mailedToken,
  must,
  newPerson,
  openBrowser,
  ORIGIN,
  signIn,
  userIdOf,
  type ConsoleWorld,
} from '../support/console.ts'

/** Guessing a password stays hopeless, from one network or from thousands, and keeps nobody out of their own account. */

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld({ roles: ['console', 'worker'] })
})
after(() => world.close())

const DEVICE = 'parley.device'
const GUESSES_PER_DAY = 100

/** Each from a network of its own. */
async function guess(email: string, times: number): Promise<number[]> {
  const statuses: number[] = []
  while (statuses.length < times) {
    const some = Math.min(10, times - statuses.length)
    const answers = await Promise.all(Array.from({ length: some }, () => signIn(openBrowser(world), email, 'a guess')))
    statuses.push(...answers.map(({ status }) => status))
  }
  return statuses
}

test('wrong passwords from elsewhere do not keep the owner of an account out', async () => {
  const { email } = await newPerson(world)
  assert.deepEqual(await guess(email, 12), Array<number>(12).fill(401))
  await must(signIn(openBrowser(world), email))
})

test('somebody who sends guesses from one network slows down that network, and uses up little of what others have', async () => {
  const { email } = await newPerson(world)
  const guesser = openBrowser(world)
  const statuses: number[] = []
  for (let n = 0; n < 30; n++) statuses.push((await signIn(guesser, email, 'a guess')).status)
  assert.deepEqual(statuses, [...Array<number>(5).fill(401), ...Array<number>(25).fill(429)])
  // Attempts that were refused there do not count against the account.
  assert.deepEqual(await guess(email, GUESSES_PER_DAY - 5 - 1), Array<number>(GUESSES_PER_DAY - 5 - 1).fill(401))
  await must(signIn(openBrowser(world), email))
})

test('however many networks guess, a hundred passwords a day are tried; a device that was signed in on gets in all the same', async () => {
  const owner = await newPerson(world)
  const { email } = owner
  const statuses = await guess(email, GUESSES_PER_DAY + 20)
  assert.deepEqual(
    [statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length],
    [GUESSES_PER_DAY, 20],
  )
  const elsewhere = await signIn(openBrowser(world), email)
  assert.equal(elsewhere.status, 429, 'also the right password, on a device that nobody knows')
  assert.match(elsewhere.body.message, /a device you have used before, or reset your password/)
  await must(owner.send('POST /api/auth/sign-out'))
  await must(signIn(owner, email))

  // A link in a mail gets the owner in on a new device.
  const fresh = openBrowser(world)
  await must(fresh.send('POST /api/auth/request-password-reset', { body: { email } }))
  const token = await mailedToken(world, email, 'reset-password')
  const newPassword = 'chosen after all those guesses'
  await must(fresh.send('POST /api/auth/reset-password', { body: { token, newPassword } }))
  await must(signIn(fresh, email, newPassword))
})

test('an unknown address is limited like a known one', async () => {
  const statuses = await guess('nobody@example.com', GUESSES_PER_DAY + 1)
  assert.deepEqual(statuses, [...Array<number>(GUESSES_PER_DAY).fill(401), 429])
})

test('a neighbour in the same network keeps no known device out', async () => {
  const network = '203.0.113.80'
  const owner = openBrowser(world, network)
  const { email } = await newPerson(world)
  await must(signIn(owner, email))
  const neighbour = openBrowser(world, network)
  const statuses: number[] = []
  for (let n = 0; n < 12; n++) statuses.push((await signIn(neighbour, `nobody${n}@example.com`)).status)
  assert.equal(statuses.at(-1), 429)
  await must(signIn(owner, email))
})

test('a known device has a limit of its own', async () => {
  const owner = await newPerson(world)
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) statuses.push((await signIn(owner, owner.email, 'a guess')).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
})

test('a device is known for one account, for 400 days, until its password changes, and only by our signature', async () => {
  const owner = await newPerson(world)
  const other = await newPerson(world)
  await guess(owner.email, GUESSES_PER_DAY)
  const device = String(owner.cookies.get(DEVICE))
  const [version, value] = device.split('.')
  const tryWith = async (cookie: string) => {
    const browser = openBrowser(world)
    browser.cookies.set(DEVICE, cookie)
    return (await signIn(browser, owner.email)).status
  }
  assert.equal(await tryWith(device), 200)
  const account = (await findAccount(world.store.db, { email: owner.email })) ?? assert.fail()
  const knownSince = (ms: number) =>
    sign(world.secrets, 'devices', { id: uuidv7(), sinceMs: ms }, [account.id, account.passwordHash])
  assert.equal(await tryWith(knownSince(Date.now() - 400 * DAY_MS + MINUTE_MS)), 200)
  assert.equal(await tryWith(knownSince(Date.now() - 400 * DAY_MS)), 429, 'after 400 days')
  for (const cookie of [String(other.cookies.get(DEVICE)), `${version}.${value}.${'A'.repeat(43)}`, 'x', ''])
    assert.equal(await tryWith(cookie), 429, cookie)
  const { headers } = await signIn(owner, owner.email)
  const set = headers.getSetCookie().find((line) => line.startsWith(`${DEVICE}=`)) ?? ''
  assert.match(set, /; HttpOnly/)
  assert.match(set, /; SameSite=Lax/)
  assert.doesNotMatch(set, /Domain=/)

  const body = { newPassword: 'a completely new password' }
  await must(owner.send('POST /api/me/password', { body }))
  const old = openBrowser(world)
  old.cookies.set(DEVICE, device)
  assert.equal((await signIn(old, owner.email, body.newPassword)).status, 429)
  await must(signIn(owner, owner.email, body.newPassword))
})

const IP = '203.0.113.99'
const TOKEN = '1.e30.x'
const CREDENTIAL = { credential: createAuthenticator(ORIGIN).use({ challenge: 'x', rpId: 'x' }) }
const NEW = { newPassword: 'a completely new password' }
const EMAIL = 'nobody@example.com'
const PER_DAY = `sign-in/${EMAIL}/${IP}/day`
const INVITE = 'POST /api/publishers/PUBLISHER/invitations'

/** Subject, most attempts, window, and the request that is refused then. USER and PUBLISHER stand for the caller's ids. */
const LIMITS: [subject: string, most: number, windowMs: number, key: string, body?: object][] = [
  [`sign-in/${IP}`, 10, MINUTE_MS, 'POST /api/auth/sign-in/email', { email: EMAIL, password: 'x' }],
  [`sign-in/${EMAIL}/${IP}`, 5, MINUTE_MS, 'POST /api/auth/sign-in/email', { email: EMAIL, password: 'x' }],
  [PER_DAY, 20, DAY_MS, 'POST /api/auth/sign-in/email', { email: EMAIL, password: 'x' }],
  [`sign-in/${EMAIL}`, 100, DAY_MS, 'POST /api/auth/sign-in/email', { email: EMAIL, password: 'x' }],
  [`sign-up/${IP}`, 10, HOUR_MS, 'POST /api/auth/sign-up/email', { name: 'A', email: EMAIL, password: 'x'.repeat(12) }],
  [`codes/${IP}`, 10, MINUTE_MS, 'POST /api/auth/two-factor/verify-totp', { code: '123456' }],
  [`codes/${IP}`, 10, MINUTE_MS, 'POST /api/auth/two-factor/verify-backup-code', { code: 'a-code' }],
  [`mails/${IP}`, 10, MINUTE_MS, 'POST /api/auth/send-verification-email', { email: EMAIL }],
  [`mails/${IP}`, 10, MINUTE_MS, 'POST /api/auth/request-password-reset', { email: EMAIL }],
  [`links/${IP}`, 30, MINUTE_MS, 'POST /api/auth/verify-email', { token: TOKEN, password: 'x' }],
  [`links/${IP}`, 30, MINUTE_MS, 'POST /api/auth/reset-password', { token: TOKEN, ...NEW }],
  [`passkeys/${IP}`, 30, MINUTE_MS, 'POST /api/auth/passkey/options'],
  [`passkeys/${IP}`, 30, MINUTE_MS, 'POST /api/auth/passkey/sign-in', CREDENTIAL],
  ['proof/USER', 5, MINUTE_MS, 'POST /api/me/proof', { password: 'x' }],
  ['proof/USER/hour', 30, HOUR_MS, 'POST /api/me/proof', { password: 'x' }],
  ['proof/USER', 5, MINUTE_MS, 'POST /api/me/proof/passkey', CREDENTIAL],
  ['proof/USER', 5, MINUTE_MS, 'POST /api/me/two-factor/confirm', { code: '123456' }],
  ['invitations/PUBLISHER', 30, HOUR_MS, INVITE, { email: EMAIL, role: 'viewer' }],
  [`invited/${EMAIL}/PUBLISHER`, 5, HOUR_MS, INVITE, { email: EMAIL, role: 'viewer' }],
  [`invited/${EMAIL}`, 20, HOUR_MS, INVITE, { email: EMAIL, role: 'viewer' }],
]

test('what can be guessed, or sends mails, is refused when it was tried as often as is written here, until its time is over', async () => {
  const person = await newPerson(world)
  const caller = openBrowser(world, IP)
  for (const [name, value] of person.cookies) if (name !== DEVICE) caller.cookies.set(name, value)
  const ids = { USER: await userIdOf(person), PUBLISHER: person.publisherId }
  const named = (text: string) => text.replace(/USER|PUBLISHER/, (word) => ids[word as keyof typeof ids])
  const { db } = world.store
  for (const [whom, most, windowMs, key, body] of LIMITS) {
    const subject = createHash('sha256').update(named(whom)).digest()
    const statusAt = async (ageMs: number, attempts: number) => {
      await db.deleteFrom('throttles').execute()
      const started_at = new Date(Date.now() - ageMs)
      await db.insertInto('throttles').values({ subject, attempts, started_at }).execute()
      return (await caller.send(named(key), { body })).status
    }
    const what = `${whom}: ${key}`
    assert.notEqual(await statusAt(windowMs - 10_000, most - 1), 429, what)
    assert.equal(await statusAt(windowMs - 10_000, most), 429, what)
    assert.notEqual(await statusAt(windowMs, most), 429, what)
  }
})

test('a right password was no guess: it is forgotten on an unknown device, on a known one and for the account', async () => {
  const { db } = world.store
  const { email } = await newPerson(world)
  const counted = async () => {
    const rows = await db.selectFrom('throttles').select(['subject', 'attempts']).execute()
    const digestOf = (whom: string) => createHash('sha256').update(whom).digest('hex')
    const subjects = [`sign-in/${email}/${IP}`, `sign-in/${email}/${IP}/day`, `sign-in/${email}`]
    return subjects.map((whom) => rows.find(({ subject }) => subject.toString('hex') === digestOf(whom))?.attempts)
  }
  await db.deleteFrom('throttles').execute()
  const unknown = openBrowser(world, IP)
  await signIn(unknown, email, 'a guess')
  assert.deepEqual(await counted(), [1, 1, 1])
  await must(signIn(unknown, email))
  assert.deepEqual(await counted(), [undefined, undefined, 1], 'of the account only what was right')
  await db.deleteFrom('throttles').execute()
  await signIn(unknown, email, 'a guess')
  assert.equal((await db.selectFrom('throttles').selectAll().execute()).length, 2, 'the device, by minute and by day')
  await must(signIn(unknown, email))
  assert.deepEqual(await db.selectFrom('throttles').selectAll().execute(), [])
})

test('the time of a limit runs from the first attempt: whoever goes on trying waits no longer', async () => {
  const { db } = world.store
  const subject = createHash('sha256').update(`sign-in/${IP}`).digest()
  const started_at = new Date(Date.now() - MINUTE_MS + 20_000)
  await db.deleteFrom('throttles').execute()
  await db.insertInto('throttles').values({ subject, attempts: 9, started_at }).execute()
  const body = { email: EMAIL, password: 'x' }
  const statuses: number[] = []
  for (let n = 0; n < 3; n++) {
    const { status, headers } = await openBrowser(world, IP).send('POST /api/auth/sign-in/email', { body })
    statuses.push(status)
    if (status === 429) assert.ok(Number(headers.get('retry-after')) <= 20, String(headers.get('retry-after')))
  }
  assert.deepEqual(statuses, [401, 429, 429])
  const counted = db.selectFrom('throttles').selectAll().where('subject', '=', subject)
  assert.deepEqual(await counted.execute(), [{ subject, attempts: 12, started_at }])
})
