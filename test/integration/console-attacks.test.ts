import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { findInvitation } from '../../src/store/accounts/invitations.ts'
import {
  createConsoleWorld,
  mailedToken,
  must,
  newPerson,
  newProject,
  ofPublisher,
  openBrowser,
  PASSWORD,
  userIdOf,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { until } from '../support/world.ts'

/** Attempts of people who mean harm, or who are simply too fast. */

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld({ roles: ['console', 'worker'] })
})
after(() => world.close())

async function join(owner: Person, guest: Person, role: string): Promise<void> {
  const membership = { publisher_id: owner.publisherId, user_id: await userIdOf(guest), role }
  await world.store.db.insertInto('memberships').values(membership).execute()
}

async function ownersOf({ publisherId }: Person): Promise<string[]> {
  const rows = await world.store.db
    .selectFrom('memberships')
    .select('user_id')
    .where('publisher_id', '=', publisherId)
    .where('role', '=', 'owner')
    .execute()
  return rows.map(({ user_id }) => user_id)
}

async function untilWaiting(sessions: number): Promise<void> {
  await until(async () => {
    const { rows } = await sql<{ n: bigint }>`
      select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      world.store.db,
    )
    return Number(rows[0]?.n) >= sessions
  })
}

const OWNERS_LOCK = (id: string) => sql`select pg_advisory_xact_lock(hashtext('owners'), hashtext(${id}))`

test('two owners who demote each other in the same moment leave one owner', async () => {
  const owner = await newPerson(world)
  const second = await newPerson(world)
  await join(owner, second, 'owner')
  const [ownerId, secondId] = [await userIdOf(owner), await userIdOf(second)]
  const demote = (by: Person, id: string) =>
    by.send(ofPublisher(owner, `PATCH /members/${id}`), { body: { role: 'viewer' } })
  const answers = await world.store.db.transaction().execute(async (tx) => {
    await OWNERS_LOCK(owner.publisherId).execute(tx)
    const both = [demote(owner, secondId), demote(second, ownerId)]
    // Both were owners when they asked.
    await untilWaiting(2)
    return both
  })
  const statuses = (await Promise.all(answers)).map(({ status }) => String(status))
  assert.deepEqual(statuses.toSorted(), ['200', '403'])
  assert.equal((await ownersOf(owner)).length, 1)
})

test('who became the last owner while they were leaving stays', async () => {
  const owner = await newPerson(world)
  const heir = await newPerson(world)
  await join(owner, heir, 'developer')
  const [ownerId, heirId] = [await userIdOf(owner), await userIdOf(heir)]
  const leaving = await world.store.db.transaction().execute(async (tx) => {
    await OWNERS_LOCK(owner.publisherId).execute(tx)
    const answer = heir.send(ofPublisher(owner, 'POST /leave'))
    await Promise.race([untilWaiting(1), answer])
    const mine = tx.updateTable('memberships').where('publisher_id', '=', owner.publisherId)
    await mine.set({ role: 'owner' }).where('user_id', '=', heirId).execute()
    await mine.set({ role: 'viewer' }).where('user_id', '=', ownerId).execute()
    return [answer]
  })
  assert.equal((await leaving[0])?.status, 409)
  assert.deepEqual(await ownersOf(owner), [heirId])
})

test('an invitation that is withdrawn while it is being accepted lets nobody in', async () => {
  const owner = await newPerson(world)
  const guest = await newPerson(world)
  const body = { email: guest.email, role: 'admin' }
  const { id } = (await must(owner.send(ofPublisher(owner, 'POST /invitations'), { body }))).body
  const accepting = await world.store.db.transaction().execute(async (tx) => {
    await tx.deleteFrom('invitations').where('id', '=', id).execute()
    const answer = guest.send(`POST /api/me/invitations/${id}/accept`)
    await untilWaiting(1)
    return [answer]
  })
  assert.equal((await accepting[0])?.status, 404)
  assert.equal((await guest.send(ofPublisher(owner, 'GET /team'))).status, 404)
})

test('an invitation whose role is lowered while it is being accepted gives the lower one', async () => {
  const owner = await newPerson(world)
  const guest = await newPerson(world)
  const body = { email: guest.email, role: 'admin' }
  const { id } = (await must(owner.send(ofPublisher(owner, 'POST /invitations'), { body }))).body
  const accepting = await world.store.db.transaction().execute(async (tx) => {
    await tx.updateTable('invitations').set({ role: 'viewer' }).where('id', '=', id).execute()
    const answer = guest.send(`POST /api/me/invitations/${id}/accept`)
    await untilWaiting(1)
    return [answer]
  })
  assert.equal((await accepting[0])?.status, 200)
  const { publishers } = (await must(guest.send('GET /api/me'))).body
  const joined = publishers.find((publisher: { id: string }) => publisher.id === owner.publisherId)
  assert.equal(joined.role, 'viewer')
})

test('who has not confirmed their own address makes Parley write to nobody else', async () => {
  const person = await newPerson(world, { confirms: false })
  const body = { email: 'victim@example.com', role: 'viewer' }
  assert.equal((await person.send(ofPublisher(person, 'POST /invitations'), { body })).status, 409)
  const mails = world.store.db.selectFrom('mails').select('id').where('recipient', '=', body.email)
  assert.deepEqual(await mails.execute(), [])
})

test('nobody makes Parley say words of theirs to an address that they have not confirmed', async () => {
  const email = 'stranger@example.com'
  const words = 'You have won, go to evil.example'
  await newPerson(world, { email, name: words, confirms: false })
  await must(openBrowser(world).send('POST /api/auth/request-password-reset', { body: { email } }))
  for (const page of ['activate', 'reset-password']) await mailedToken(world, email, page)
  const mails = world.mails.filter(({ to }) => to === email)
  assert.equal(mails.length, 2, 'to confirm the address, and to set a new password')
  for (const { text } of mails) assert.ok(!text.includes(words), text)
})

test('how long it takes to ask for a mail does not tell whether the address is known', async () => {
  const { email } = await newPerson(world, { confirms: false })
  for (const path of ['send-verification-email', 'request-password-reset']) {
    for (const address of [email, email, 'unknown@example.com']) {
      const beganMs = performance.now()
      await must(openBrowser(world).send(`POST /api/auth/${path}`, { body: { email: address } }))
      assert.ok(performance.now() - beganMs >= 249, `${path} ${address}`)
    }
  }
})

test('one address gets a few invitations an hour from a publisher, and not many from all of them', async () => {
  const body = { email: 'popular@example.com', role: 'viewer' }
  const granted: number[] = []
  for (let publisher = 0; publisher < 5; publisher++) {
    const person = await newPerson(world)
    const statuses: number[] = []
    for (let n = 0; n < 6; n++)
      statuses.push((await person.send(ofPublisher(person, 'POST /invitations'), { body })).status)
    granted.push(statuses.filter((status) => status === 200).length)
    assert.equal(statuses.at(-1), 429)
  }
  assert.deepEqual(granted, [5, 5, 5, 5, 0])
})

test('a closed account takes its open invitations with it', async () => {
  const owner = await newPerson(world)
  const body = { email: 'late@example.com', role: 'owner' }
  const { id } = (await must(owner.send(ofPublisher(owner, 'POST /invitations'), { body }))).body
  await must(owner.send('POST /api/me/delete', { body: { confirm: owner.email } }))
  assert.equal(await findInvitation(world.store.db, owner, id), undefined)
})

test('a password reset is in the audit log with its address, and is told by mail', async () => {
  const person = await newPerson(world)
  await must(openBrowser(world).send('POST /api/auth/request-password-reset', { body: { email: person.email } }))
  const token = await mailedToken(world, person.email, 'reset-password')
  const thief = openBrowser(world, '203.0.113.7')
  const body = { token, newPassword: 'a completely new password' }
  await must(thief.send('POST /api/auth/reset-password', { body }))
  await until(
    () => world.mails.some(({ to, text }) => to === person.email && /password was changed/.test(text)),
    15_000,
  )
  const entry = await world.store.db
    .selectFrom('audit_log')
    .select(['actor', 'ip'])
    .where('publisher_id', '=', person.publisherId)
    .where('action', '=', 'user.password_reset')
    .execute()
  assert.deepEqual(entry, [{ actor: person.name, ip: '203.0.113.7' }])
})

test('a cookie that was signed out opens nothing, also when somebody has kept a copy', async () => {
  const person = await newPerson(world)
  const thief = openBrowser(world)
  for (const [name, value] of person.cookies) thief.cookies.set(name, value)
  await must(thief.send('GET /api/me'))
  await must(person.send('POST /api/auth/sign-out'))
  assert.equal((await thief.send('GET /api/me')).status, 401)
})

test('who owns a whole IPv6 network is throttled as one', async () => {
  const statuses: number[] = []
  for (let n = 1; n <= 11; n++) {
    const browser = openBrowser(world, `2600:1f18:77:1:${n}::${n}`)
    const body = { email: `nobody${n}@example.com`, password: PASSWORD }
    statuses.push((await browser.send('POST /api/auth/sign-in/email', { body })).status)
  }
  assert.deepEqual(statuses.slice(0, 10), Array<number>(10).fill(401))
  assert.equal(statuses[10], 429)
})

test('what is not an address is not taken for one, so that no proxy that passes it on opens a way around throttles', async () => {
  const person = await newPerson(world)
  const signIn = (from: string) => {
    const body = { email: person.email, password: PASSWORD }
    return openBrowser(world, from).send('POST /api/auth/sign-in/email', { body })
  }
  await must(signIn('x'.repeat(200)))
  await must(signIn('203.0.113.9:4711'))
  await must(signIn('[2001:db8:7::1]:4711'))
  const rows = await world.store.db
    .selectFrom('audit_log')
    .select('ip')
    .where('publisher_id', '=', person.publisherId)
    .where('action', '=', 'user.signed_in')
    .orderBy('seq')
    .execute()
  assert.deepEqual(
    rows.slice(1).map(({ ip }) => ip),
    ['127.0.0.1', '203.0.113.9', '2001:db8:7::1'],
  )
})

/** More than the connections of the console, and as many of them as it runs at once. */
const CHANGES = 12
const RUNNING_MAX = 7

test('many changes at once wait for each other and all succeed: none holds a connection while it waits for another', async () => {
  const person = await newPerson(world)
  const team = [person, await newPerson(world), await newPerson(world)]
  for (const colleague of team.slice(1)) await join(person, colleague, 'admin')
  const project = await newProject(person)
  await setDomainVerified(world.store.db, project, new Date())
  const answers = await world.store.db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtext('audit_log'), hashtext(${person.publisherId}))`.execute(tx)
    const all = Array.from({ length: CHANGES }, (_, n) =>
      (team[n % team.length] ?? person).send(`POST /api/projects/${project}/keys`, { body: { name: `key ${n}` } }),
    )
    await untilWaiting(RUNNING_MAX)
    return all
  })
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  assert.deepEqual(statuses, Array<number>(CHANGES).fill(200))
})

test('what the store cannot hold is the caller’s mistake and no alarm of ours', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  for (const [expected, path] of [
    [400, `/api/projects/${project}/calls?model=%00`],
    [400, `/api/projects/${project}/calls?id=%00`],
    [400, `/api/projects/${project}/conversations?id=%00`],
    [400, `/api/projects/${project}/ledger?after=1.${'-'.repeat(36)}.0`],
    [422, `/api/projects/${project}/usage?from=0000-01-01`],
    [400, `/api/publishers/${person.publisherId}/audit-log?action=%00`],
    [200, `/api/publishers/${person.publisherId}/audit-log?from=0000-01-01T00:00:00Z`],
  ] as const) {
    const { status, text } = await person.send(`GET ${path}`)
    assert.equal(status, expected, `${path}: ${text}`)
  }
})

test('a publisher has a bounded number of projects, each of which sends checks to a name of its choice', async () => {
  const person = await newPerson(world)
  await sql`
    with made as (
      insert into projects (id, publisher_id, name)
      select gen_random_uuid(), ${person.publisherId}, 'p' || n from generate_series(1, 100) n returning id), wallet as (insert into wallets (project_id) select id from made)
    insert into domains (project_id, name, verification_token, next_check_at)
    select id, 'a.example.com', 'x', null from made`.execute(world.store.db)
  const body = { name: 'One more', domain: 'victim.example.com' }
  assert.equal((await person.send(ofPublisher(person, 'POST /projects'), { body })).status, 409)
})

test('a member can write only so many lines a minute into a log that nobody can shorten', async () => {
  const person = await newPerson(world)
  const rename = async () => (await person.send('PATCH /api/me', { body: { name: uuidv7() } })).status
  const subject = createHash('sha256')
    .update(`changes/${await userIdOf(person)}`)
    .digest()
  assert.equal(await rename(), 200)
  const changed = await world.store.db
    .updateTable('throttles')
    .set({ attempts: 119 })
    .where('subject', '=', subject)
    .where('attempts', '=', 1)
    .executeTakeFirst()
  assert.equal(changed.numUpdatedRows, 1n)
  assert.deepEqual([await rename(), await rename(), await rename()], [200, 429, 429], '120 a minute')
  await must(person.send('GET /api/me'))
  await sql`update throttles set started_at = now() - interval '1 minute' where subject = ${subject}`.execute(
    world.store.db,
  )
  assert.equal(await rename(), 200, 'the next minute begins anew')
})
