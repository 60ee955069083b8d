import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { refundWallet } from '../../src/store/billing/wallets.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import { earn } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { oneTimeCode } from '../support/one-time-code.ts'
import { addKeyPair, chatBody, complete, credit, until } from '../support/world.ts'
import {
  createConsoleWorld,
  mailedToken,
  must,
  newPerson,
  newProject,
  openBrowser,
  ORIGIN,
  PASSWORD,
  signIn,
  type ConsoleWorld,
} from '../support/console.ts'

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld()
})
after(() => world.close())

const SESSION = 'parley.session_token'

/** Returns the code that an authenticator app shows for the secret in the address, `steps` half minutes from now. */
function codeOf(uri: string, steps = 0): string {
  return oneTimeCode(String(new URL(uri).searchParams.get('secret')), Date.now() + steps * 30_000)
}

test('an account lives: sign up, sign in, confirm, and only then calls are answered', async () => {
  const person = await newPerson(world, { confirms: false, email: 'Life@Example.com' })
  const before = (await must(person.send('GET /api/me'))).body
  assert.deepEqual(
    [before.user.email, before.user.emailVerified, before.publishers[0].role, before.publishers[0].activatedAt],
    ['life@example.com', false, 'owner', null],
  )
  assert.deepEqual(before.installation, {
    gatewayUrl: 'http://127.0.0.1:8080',
    consoleUrl: ORIGIN,
    canPay: false,
    requiresApproval: false,
  })
  const id = await newProject(person, 'My site', 'https://WWW.Bücher.example.com/')
  const project = (await must(person.send(`GET /api/projects/${id}`))).body
  assert.deepEqual([project.domain, project.balanceNanos], ['www.xn--bcher-kva.example.com', '0'])
  await world.store.db.updateTable('domains').set({ verified_at: new Date() }).where('project_id', '=', id).execute()
  const keys = await addKeyPair(world.store, world.secrets, id)
  const call = () => complete({ ...world, project: { publisherId: '', id, ...keys } }, chatBody('tokens=3'))
  assert.equal((await call()).status, 403)

  const token = await mailedToken(world, 'life@example.com', 'activate')
  const confirmed = await person.send('POST /api/auth/verify-email', { body: { token, password: PASSWORD } })
  assert.deepEqual([confirmed.status, confirmed.body], [200, { activated: true }])
  assert.equal((await person.send('POST /api/auth/verify-email', { body: { token, password: PASSWORD } })).status, 422)
  await credit(world.store, id, 1_000_000_000n)
  // The gateway believes what it knew of a key for two seconds.
  await until(async () => (await call()).status === 200, 10_000)

  await must(person.send('POST /api/auth/sign-out'))
  assert.equal((await person.send('GET /api/me')).status, 401)
})

test('a known and an unknown address get the same answers, and the owner of a known one is told by mail', async () => {
  const { email } = await newPerson(world)
  const ask = async (key: string, address: string, extra = {}) => {
    const { status, text, headers } = await openBrowser(world).send(key, { body: { email: address, ...extra } })
    return { status, text, cookies: headers.getSetCookie() }
  }
  const form = { name: 'Somebody', password: 'another long password' }
  assert.deepEqual(
    await ask('POST /api/auth/sign-up/email', email, form),
    await ask('POST /api/auth/sign-up/email', 'unknown1@example.com', form),
  )
  await until(() => world.mails.some((mail) => mail.to === email && /already have an account/.test(mail.text)), 15_000)
  for (const path of ['send-verification-email', 'request-password-reset'])
    assert.deepEqual(
      await ask(`POST /api/auth/${path}`, email),
      await ask(`POST /api/auth/${path}`, 'nobody@example.com'),
    )
  const wrong = { password: 'not the right password' }
  const refused = await ask('POST /api/auth/sign-in/email', email, wrong)
  assert.equal(refused.status, 401)
  assert.deepEqual(refused, await ask('POST /api/auth/sign-in/email', 'nobody@example.com', wrong))
  assert.equal((await signIn(openBrowser(world), email)).status, 200, 'the password of the known one has not changed')
})

test('the confirmation can be sent again, once a minute', async () => {
  const person = await newPerson(world, { confirms: false })
  const mailsTo = () => world.mails.filter(({ to }) => to === person.email).length
  await until(() => mailsTo() === 1, 15_000)
  for (const _ of [1, 2, 3]) await must(person.send('POST /api/auth/send-verification-email', { body: person }))
  await until(() => mailsTo() === 2, 15_000)
  const waiting = world.store.db.selectFrom('mails').select('id').where('recipient', '=', person.email)
  assert.equal((await waiting.execute()).length, 2)
})

test('a password must be long and not be one of the first that are tried', async () => {
  const signUp = (password: string) =>
    openBrowser(world).send('POST /api/auth/sign-up/email', {
      body: { name: 'P', email: 'weak@example.com', password },
    })
  for (const password of [
    'short',
    'x'.repeat(129),
    'passwordpassword',
    'P@ssw0rd 1234!',
    '123456789012',
    'aaaaaaaaaaaab',
    'weak@example.com',
  ]) {
    const { status, body } = await signUp(password)
    assert.deepEqual([status, body.fields?.[0].path], [422, 'password'], password)
  }
})

test('signing in is throttled by account and network, with Retry-After, and a success starts anew', async () => {
  const { email } = await newPerson(world)
  const browser = openBrowser(world)
  for (const _ of [1, 2, 3, 4]) assert.equal((await signIn(browser, email, 'wrong wrong wrong')).status, 401)
  assert.equal((await signIn(browser, email)).status, 200)
  const elsewhere = openBrowser(world)
  for (const _ of [1, 2, 3, 4, 5]) assert.equal((await signIn(elsewhere, email, 'wrong wrong')).status, 401)
  const refused = await signIn(elsewhere, email)
  assert.equal(refused.status, 429)
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(seconds >= 1 && seconds <= 60, `${seconds}`)
  const busy = openBrowser(world)
  const statuses = await Promise.all(Array.from({ length: 12 }, (_, n) => signIn(busy, `many${n}@example.com`)))
  assert.equal(statuses.filter(({ status }) => status === 429).length, 2, 'ten per network and minute')
})

test('the session cookie is out of reach of scripts, and signing in always makes a new session', async () => {
  const person = await newPerson(world)
  const first = person.cookies.get(SESSION)
  const planted = openBrowser(world)
  planted.cookies.set(SESSION, 'planted.signature')
  const { headers } = await signIn(planted, person.email)
  const cookie = headers.getSetCookie().find((line) => line.startsWith(`${SESSION}=`)) ?? ''
  assert.match(cookie, /; HttpOnly/i)
  assert.match(cookie, /; SameSite=Lax/i)
  assert.match(cookie, /; Path=\//)
  assert.doesNotMatch(cookie, /Domain=/i)
  assert.notEqual(planted.cookies.get(SESSION), 'planted.signature')
  await must(signIn(person, person.email))
  assert.notEqual(person.cookies.get(SESSION), first)
  const old = openBrowser(world)
  old.cookies.set(SESSION, first ?? '')
  assert.equal((await old.send('GET /api/me')).status, 401, 'the session of before has ended')
  const tampered = openBrowser(world)
  const { token } = await world.store.db.selectFrom('sessions').select('token').executeTakeFirstOrThrow()
  tampered.cookies.set(SESSION, `${token}.${Buffer.alloc(32).toString('base64')}`)
  assert.equal((await tampered.send('GET /api/me')).status, 401, 'what the table holds opens nothing')
})

test('a password reset works once, ends all sessions, and a stale link is refused', async () => {
  const person = await newPerson(world)
  await must(openBrowser(world).send('POST /api/auth/request-password-reset', { body: { email: person.email } }))
  const token = await mailedToken(world, person.email, 'reset-password')
  const reset = (newPassword: string) =>
    openBrowser(world).send('POST /api/auth/reset-password', { body: { token, newPassword } })
  assert.equal((await reset('short')).status, 422)
  await must(reset('a completely new password'))
  assert.equal((await reset('yet another new password')).status, 422)
  assert.equal((await person.send('GET /api/me')).status, 401)
  assert.equal((await signIn(openBrowser(world), person.email)).status, 401)
  await must(signIn(person, person.email, 'a completely new password'))
})

test('changing the password ends every other session and tells by mail', async () => {
  const person = await newPerson(world)
  const other = openBrowser(world)
  await must(signIn(other, person.email))
  const copy = openBrowser(world)
  for (const [name, value] of person.cookies) copy.cookies.set(name, value)
  const change = (newPassword: string) => person.send('POST /api/me/password', { body: { newPassword } })
  assert.equal((await change(person.email)).status, 422)
  await must(change('a completely new password'))
  for (const browser of [other, copy]) assert.equal((await browser.send('GET /api/me')).status, 401)
  await must(person.send('GET /api/me'))
  assert.equal((await signIn(openBrowser(world), person.email)).status, 401)
  await must(signIn(openBrowser(world), person.email, 'a completely new password'))
  await until(
    () => world.mails.some(({ to, text }) => to === person.email && /password was changed/.test(text)),
    15_000,
  )
})

test('sessions can be listed and ended, one or everywhere', async () => {
  const person = await newPerson(world)
  const others = [openBrowser(world), openBrowser(world), openBrowser(world)]
  for (const browser of others) await must(signIn(browser, person.email))
  const { items } = (await must(person.send('GET /api/me/sessions'))).body
  assert.deepEqual([items.length, items.filter((item: { isCurrent: boolean }) => item.isCurrent).length], [4, 1])
  assert.match(items[0].ip, /^10\.9\./)
  const aSession = items.find((item: { isCurrent: boolean }) => !item.isCurrent).id
  await must(person.send(`DELETE /api/me/sessions/${aSession}`))
  assert.equal((await person.send(`DELETE /api/me/sessions/${aSession}`)).status, 404)
  await must(person.send('DELETE /api/me/sessions'))
  for (const browser of others) assert.equal((await browser.send('GET /api/me')).status, 401)
  await must(person.send('GET /api/me'))
  await must(person.send('DELETE /api/me/sessions?keep=none'))
  assert.equal((await person.send('GET /api/me')).status, 401)
})

test('a session says since when it is open, when it was last used, when it ends, and where', async () => {
  const person = await newPerson(world)
  await must(signIn(openBrowser(world), person.email))
  const list = async () => (await must(person.send('GET /api/me/sessions'))).body.items
  // Not the one that asks: asking is a use.
  const { id } = (await list()).find(({ isCurrent }: { isCurrent: boolean }) => !isCurrent)
  const [hourMs, nowMs] = [3_600_000, Date.now()]
  const times = {
    created_at: new Date(nowMs - 3 * hourMs),
    updated_at: new Date(nowMs - hourMs),
    expires_at: new Date(nowMs + 2 * hourMs),
  }
  const where = { ip_address: '203.0.113.5', user_agent: 'Lynx' }
  await world.store.db
    .updateTable('sessions')
    .set({ ...times, ...where })
    .where('id', '=', id)
    .execute()
  assert.deepEqual(
    (await list()).find((session: { id: string }) => session.id === id),
    {
      id,
      isCurrent: false,
      ip: '203.0.113.5',
      userAgent: 'Lynx',
      createdAt: times.created_at.toISOString(),
      lastSeenAt: times.updated_at.toISOString(),
      expiresAt: times.expires_at.toISOString(),
    },
  )
})

test('a session that has ended by itself is not among those where one is signed in', async () => {
  const person = await newPerson(world)
  await must(signIn(openBrowser(world), person.email))
  const listed = async () => {
    const items: { id: string; isCurrent: boolean }[] = (await must(person.send('GET /api/me/sessions'))).body.items
    return items.toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent)).map(({ id }) => id)
  }
  const [mine, other = ''] = await listed()
  const ends = (at: Date) =>
    world.store.db.updateTable('sessions').set({ expires_at: at }).where('id', '=', other).execute()
  await ends(new Date(Date.now() + MINUTE_MS))
  assert.deepEqual(await listed(), [mine, other])
  await ends(new Date(Date.now() - 1_000))
  assert.deepEqual(await listed(), [mine])
})

test('a session ends seven days after signing in, however much it is used', async () => {
  const person = await newPerson(world)
  const { id } = (await must(person.send('GET /api/me'))).body.user
  const statusAtAge = async (ageMs: number) => {
    const created_at = new Date(Date.now() - ageMs)
    await world.store.db.updateTable('sessions').set({ created_at }).where('user_id', '=', id).execute()
    return (await person.send('GET /api/me')).status
  }
  assert.equal(await statusAtAge(7 * DAY_MS - MINUTE_MS), 200)
  assert.equal(await statusAtAge(7 * DAY_MS + 1), 401)
})

test('a session ends twelve hours after it was last used; use renews it, once an hour', async () => {
  const person = await newPerson(world)
  const { id } = (await must(person.send('GET /api/me'))).body.user
  const session = world.store.db.selectFrom('sessions').select('expires_at').where('user_id', '=', id)
  const unusedFor = async (ms: number) => {
    const ends = new Date(Date.now() + 12 * HOUR_MS - ms)
    await world.store.db.updateTable('sessions').set({ expires_at: ends }).where('user_id', '=', id).execute()
    return ends
  }
  const used = Date.now()
  const soon = await unusedFor(HOUR_MS - MINUTE_MS)
  await must(person.send('GET /api/me'))
  assert.deepEqual(await session.executeTakeFirstOrThrow(), { expires_at: soon }, 'not renewed within the hour')
  await unusedFor(HOUR_MS)
  await must(person.send('GET /api/me'))
  const { expires_at: renewed } = await session.executeTakeFirstOrThrow()
  assert.ok(renewed.getTime() >= used + 12 * HOUR_MS && renewed.getTime() <= Date.now() + 12 * HOUR_MS)
  await unusedFor(12 * HOUR_MS - MINUTE_MS)
  await must(person.send('GET /api/me'))
  await unusedFor(12 * HOUR_MS)
  assert.equal((await person.send('GET /api/me')).status, 401)
})

test('with two-factor on, a password alone opens nothing; codes and recovery codes work once', async () => {
  const person = await newPerson(world)
  const { uri, recoveryCodes } = (await must(person.send('POST /api/me/two-factor'))).body
  assert.equal(
    (await must(signIn(openBrowser(world), person.email))).body.twoFactor,
    false,
    'not on before a code was right',
  )
  const used = codeOf(uri)
  await must(person.send('POST /api/me/two-factor/confirm', { body: { code: used } }))
  assert.equal((await must(person.send('GET /api/me'))).body.user.twoFactorEnabled, true)

  const browser = openBrowser(world)
  assert.deepEqual((await must(signIn(browser, person.email))).body, { twoFactor: true })
  assert.equal((await browser.send('GET /api/me')).status, 401)
  const verify = (code: string) => browser.send('POST /api/auth/two-factor/verify-totp', { body: { code } })
  assert.equal((await verify('000000')).status, 401)
  const sessions = world.store.db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select('s.id')
    .where('u.email', '=', person.email)
  const before = await sessions.execute()
  assert.equal((await verify(used)).status, 401, 'the code that turned it on was used')
  assert.deepEqual(await sessions.execute(), before, 'and leaves no session behind')
  assert.equal((await browser.send('GET /api/me')).status, 401)
  await must(signIn(browser, person.email))
  await must(verify(codeOf(uri, 1)))
  await must(browser.send('GET /api/me'))

  const lost = openBrowser(world)
  const recover = (code: string) => lost.send('POST /api/auth/two-factor/verify-backup-code', { body: { code } })
  await must(signIn(lost, person.email))
  await must(recover(recoveryCodes[0]))
  await must(lost.send('GET /api/me'))
  await must(signIn(lost, person.email))
  assert.equal((await recover(recoveryCodes[0])).status, 401)
  const { secret, backup_codes } = await world.store.db.selectFrom('two_factors').selectAll().executeTakeFirstOrThrow()
  assert.ok(!backup_codes.includes(recoveryCodes[1]) && !uri.includes(secret), 'both are sealed')
  const renewed = (await must(browser.send('POST /api/me/two-factor/recovery-codes'))).body.recoveryCodes
  await must(signIn(lost, person.email))
  assert.equal((await recover(recoveryCodes[2])).status, 401)
  await must(signIn(lost, person.email))
  await must(recover(renewed[0]))
  await must(browser.send('POST /api/me/two-factor/disable'))
  assert.equal((await must(signIn(openBrowser(world), person.email))).body.twoFactor, false)
})

test('an account is deleted only with its address typed, no credit left, nothing owed and no orphaned team', async () => {
  const person = await newPerson(world)
  const remove = (body: object) => person.send('POST /api/me/delete', { body })
  assert.equal((await remove({ confirm: 'DELETE' })).status, 422)
  const id = await newProject(person)
  await credit(world.store, id, 2_500_000_000n)
  const withCredit = await remove({ confirm: person.email })
  assert.deepEqual([withCredit.status, /\$2\.50 of credit/.test(withCredit.body.message)], [409, true])
  const pair = await addKeyPair(world.store, world.secrets, id)
  const back = { id: uuidv7(), projectId: id, amount: 2_500_000_000n, reference: `test:${id}`, reason: null }
  await refundWallet(world.store.db, back)
  const more = { ...back, id: uuidv7(), amount: 1_500_000_000n, reference: `test:${id}:more` }
  await refundWallet(world.store.db, more, true)
  const indebted = await remove({ confirm: person.email })
  assert.deepEqual([indebted.status, / owes \$1\.50 of credit/.test(indebted.body.message)], [409, true])
  await credit(world.store, id, 1_500_000_000n)
  const guest = await newPerson(world)
  const member = { publisher_id: person.publisherId, user_id: (await guest.send('GET /api/me')).body.user.id }
  await world.store.db
    .insertInto('memberships')
    .values({ ...member, role: 'admin' })
    .execute()
  const orphaning = await remove({ confirm: person.email })
  assert.deepEqual([orphaning.status, orphaning.body.message.startsWith('You are the last owner of ')], [409, true])
  await world.store.db.deleteFrom('memberships').where('user_id', '=', member.user_id).execute()
  await must(remove({ confirm: person.email.toUpperCase() }))
  assert.equal((await person.send('GET /api/me')).status, 401)
  assert.equal((await signIn(openBrowser(world), person.email)).status, 401)
  const key = world.store.db.selectFrom('key_pairs').select('active').where('publishable_key', '=', pair.publishableKey)
  assert.equal((await key.executeTakeFirstOrThrow()).active, false)
})

test('an account is not deleted while a project of it has pending earnings, but after it was deleted with them', async () => {
  const person = await newPerson(world)
  const remove = () => person.send('POST /api/me/delete', { body: { confirm: person.email } })
  const project = await newProject(person)
  await earn(world.store.db, project, await addOffer(world.store.db))
  const refused = await remove()
  assert.deepEqual(
    [refused.status, / still has \$0\.084 of pending earnings\./.test(refused.body.message)],
    [409, true],
  )
  await must(person.send(`DELETE /api/projects/${project}`, { body: { leavesCredit: true } }))
  await must(remove())
})

test('neither passwords, tokens, codes nor addresses of links are in any log', () => {
  const logs = world.logs.join('')
  for (const secret of [PASSWORD, 'token=', 'a completely new password', 'otpauth:', '@example.com'])
    assert.ok(!logs.includes(secret), secret)
  assert.ok(world.mails.length > 10)
})
