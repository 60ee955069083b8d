import assert from 'node:assert/strict'
import { argon2Sync, randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import {
  createConsoleWorld,
  mailedToken,
  must,
  newPerson,
  openBrowser,
  PASSWORD,
  signIn,
  userIdOf,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'

/** Guessing a password stays hopeless, from one network or from thousands, and keeps nobody out of their own account. */

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld({ roles: ['console', 'worker'] })
})
after(() => world.close())

const DEVICE = 'parley.device'
const GUESSES_PER_DAY = 100

/** Somebody whose password is as slow to check as it was twenty years ago: hundreds of guesses are made here. */
async function newVictim(): Promise<Person> {
  const victim = await newPerson(world)
  const nonce = randomBytes(16)
  const tag = argon2Sync('argon2id', { message: PASSWORD, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 })
  const [salt, digest] = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''))
  await world.store.db
    .updateTable('credentials')
    .set({ password: `$argon2id$v=19$m=8,t=1,p=1$${salt}$${digest}` })
    .where('user_id', '=', await userIdOf(victim))
    .execute()
  // What a device is known by goes with the password.
  await must(signIn(victim, victim.email))
  return victim
}

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
  const { email } = await newVictim()
  assert.deepEqual(await guess(email, 12), Array<number>(12).fill(401))
  await must(signIn(openBrowser(world), email))
})

test('somebody who sends guesses from one network slows down that network, and uses up little of what others have', async () => {
  const { email } = await newVictim()
  const guesser = openBrowser(world)
  const statuses: number[] = []
  for (let n = 0; n < 30; n++) statuses.push((await signIn(guesser, email, 'a guess')).status)
  assert.deepEqual(statuses, [...Array<number>(5).fill(401), ...Array<number>(25).fill(429)])
  // Attempts that were refused there do not count against the account.
  assert.deepEqual(await guess(email, GUESSES_PER_DAY - 5 - 1), Array<number>(GUESSES_PER_DAY - 5 - 1).fill(401))
  await must(signIn(openBrowser(world), email))
})

test('however many networks guess, a hundred passwords a day are tried; a device that was signed in on gets in all the same', async () => {
  const owner = await newVictim()
  const { email } = owner
  const statuses = await guess(email, GUESSES_PER_DAY + 20)
  assert.deepEqual(
    [statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length],
    [GUESSES_PER_DAY, 20],
  )
  const elsewhere = await signIn(openBrowser(world), email)
  assert.equal(elsewhere.status, 429, 'also the right password, on a device that nobody knows')
  assert.match(elsewhere.body.message, /a device that you signed in on before, or have a link sent/)
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

test('a device is known for one account, until its password changes, and only by our signature', async () => {
  const owner = await newVictim()
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
