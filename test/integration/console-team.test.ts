import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { firstBrokenEntry } from '../../src/store/accounts/audit-log.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { grantDueTrialCredits } from '../../src/store/billing/trial-credit.ts'
import { auditOf } from '../support/ledger.ts'
import {
  createConsoleWorld,
  must,
  newPerson,
  newProject,
  ofPublisher,
  userIdOf,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { addKeyPair, until } from '../support/world.ts'

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld()
})
after(() => world.close())

/** Invites somebody who then joins. */
async function join(owner: Person, guest: Person, role: string): Promise<void> {
  await must(owner.send(ofPublisher(owner, 'POST /invitations'), { body: { email: guest.email, role } }))
  const { items } = (await must(guest.send('GET /api/me/invitations'))).body
  await must(guest.send(`POST /api/me/invitations/${items[0].id}/accept`))
}

test('who is invited by mail can join with that address, once confirmed, and with the role that was offered', async () => {
  const owner = await newPerson(world, { name: 'Ada <b>Lovelace' })
  const email = 'guest@example.com'
  const invited = await must(
    owner.send(ofPublisher(owner, 'POST /invitations'), {
      body: { email: ` ${email.toUpperCase()} `, role: 'developer' },
    }),
  )
  await until(() => world.mails.some(({ to, text }) => to === email && /\/invitations/.test(text)), 15_000)
  const mail = world.mails.find(({ to }) => to === email)
  assert.match(mail?.raw ?? '', /^Subject: You are invited to a team on Parley\r$/m)
  assert.match(mail?.text ?? '', /<p>&#34;Ada &#60;b&#62;Lovelace&#34; invites you to join/)

  const stranger = await newPerson(world)
  const unconfirmed = await newPerson(world, { email, confirms: false })
  for (const person of [stranger, unconfirmed]) {
    assert.deepEqual((await must(person.send('GET /api/me/invitations'))).body, { items: [] })
    assert.equal((await person.send(`POST /api/me/invitations/${invited.body.id}/accept`)).status, 404)
  }
  await world.store.db.updateTable('users').set({ email_verified: true }).where('email', '=', email).execute()
  assert.equal((await must(unconfirmed.send('GET /api/me'))).body.invitations, 1)
  await must(unconfirmed.send(`POST /api/me/invitations/${invited.body.id}/accept`))
  const team = (await must(unconfirmed.send(ofPublisher(owner, 'GET /team')))).body
  assert.deepEqual(
    team.members.map(({ email, role, isYou }: Record<string, unknown>) => [email, role, isYou]),
    [
      [owner.email, 'owner', false],
      [email, 'developer', true],
    ],
  )
  assert.deepEqual(team.invitations, [])
  assert.equal((await unconfirmed.send(`POST /api/me/invitations/${invited.body.id}/accept`)).status, 404)
})

test('an invitation can be accepted for seven days', async () => {
  const owner = await newPerson(world)
  const guest = await newPerson(world)
  const body = { email: guest.email, role: 'viewer' }
  const { id, createdAt, expiresAt } = (await must(owner.send(ofPublisher(owner, 'POST /invitations'), { body }))).body
  assert.ok(Math.abs(Date.parse(expiresAt) - Date.parse(createdAt) - 7 * 86_400_000) < 5_000, expiresAt)
  const offered = async () => (await must(guest.send('GET /api/me/invitations'))).body.items.length
  assert.equal(await offered(), 1)
  await sql`update invitations set expires_at = now() - interval '1 ms' where id = ${id}`.execute(world.store.db)
  assert.equal(await offered(), 0)
  assert.equal((await must(guest.send('GET /api/me'))).body.invitations, 0)
  for (const verb of ['accept', 'decline'])
    assert.equal((await guest.send(`POST /api/me/invitations/${id}/${verb}`)).status, 404, verb)
})

test('nobody gives a role above their own, nor touches who has more', async () => {
  const owner = await newPerson(world)
  const admin = await newPerson(world)
  const viewer = await newPerson(world)
  await join(owner, admin, 'admin')
  await join(owner, viewer, 'viewer')
  const [ownerId, adminId, viewerId] = await Promise.all([userIdOf(owner), userIdOf(admin), userIdOf(viewer)])
  const invite = (person: Person, role: string) =>
    person.send(ofPublisher(owner, 'POST /invitations'), { body: { email: 'new@example.com', role } })
  const change = (person: Person, id: string, role: string) =>
    person.send(ofPublisher(owner, `PATCH /members/${id}`), { body: { role } })
  assert.deepEqual([(await invite(viewer, 'viewer')).status, (await invite(admin, 'owner')).status], [403, 403])
  assert.equal((await change(admin, viewerId, 'owner')).status, 403)
  assert.equal((await change(admin, adminId, 'owner')).status, 403)
  assert.equal((await change(admin, ownerId, 'viewer')).status, 403)
  assert.equal((await admin.send(ofPublisher(owner, `DELETE /members/${ownerId}`))).status, 403)
  await must(change(admin, viewerId, 'developer'))
  await must(change(owner, adminId, 'owner'))
})

test('the last owner can neither leave, be removed nor be demoted, also when two go at once', async () => {
  const owner = await newPerson(world)
  const second = await newPerson(world)
  const ownerId = await userIdOf(owner)
  const leave = (person: Person) => person.send(ofPublisher(owner, 'POST /leave'))
  assert.equal((await leave(owner)).status, 409)
  assert.equal(
    (await owner.send(ofPublisher(owner, `PATCH /members/${ownerId}`), { body: { role: 'admin' } })).status,
    409,
  )
  assert.equal((await owner.send(ofPublisher(owner, `DELETE /members/${ownerId}`))).status, 409)
  await join(owner, second, 'owner')
  const statuses = await Promise.all([leave(owner), leave(second)])
  assert.deepEqual(statuses.map(({ status }) => String(status)).toSorted(), ['200', '409'])
})

test('who is removed has no access from the next request on, and the keys stay', async () => {
  const owner = await newPerson(world)
  const developer = await newPerson(world)
  await join(owner, developer, 'developer')
  const project = await newProject(owner)
  const pair = await addKeyPair(world.store, world.secrets, project)
  await must(developer.send(`GET /api/projects/${project}`))
  await must(owner.send(ofPublisher(owner, `DELETE /members/${await userIdOf(developer)}`)))
  assert.equal((await developer.send(`GET /api/projects/${project}`)).status, 404)
  const row = world.store.db.selectFrom('key_pairs').select('active').where('publishable_key', '=', pair.publishableKey)
  assert.equal((await row.executeTakeFirstOrThrow()).active, true)
})

test('every change is in the audit log, with who, from where and what; filters, pages and CSV agree', async () => {
  const owner = await newPerson(world, { name: '=HYPERLINK("evil.example")' })
  const project = await newProject(owner, '+SUM(1)', 'one.example.com')
  await must(owner.send(`PATCH /api/projects/${project}`, { body: { name: 'Renamed' } }))
  await must(owner.send(ofPublisher(owner, 'PATCH /').replace(/\/$/, ''), { body: { name: 'New name' } }))
  const list = async (query: string) => (await must(owner.send(ofPublisher(owner, `GET /audit-log${query}`)))).body
  const { items, next } = await list('')
  assert.deepEqual(
    items.map(({ action }: { action: string }) => action),
    [
      'publisher.renamed',
      'project.renamed',
      'project.created',
      'user.signed_in',
      'user.address_confirmed',
      'publisher.signed_up',
    ],
  )
  assert.equal(next, null)
  assert.match(items[0].ip, /^10\.9\./)
  assert.deepEqual(
    [items[1].subject, items[1].details, items[1].projectId],
    ['Renamed', { before: '+SUM(1)' }, project],
  )
  assert.deepEqual((await list(`?project=${project}`)).items, items.slice(1, 3), 'its making is found under it, too')
  const pages = [await list('?limit=4')]
  pages.push(await list(`?limit=4&after=${pages[0].next}`))
  assert.deepEqual([...pages[0].items, ...pages[1].items], items)
  assert.equal((await list(`?action=project.renamed&project=${project}`)).items.length, 1)
  assert.equal((await list('?to=2020-01-01T00:00:00Z')).items.length, 0)
  const [newest, , third] = items
  assert.deepEqual((await list(`?to=${third.at}`)).items, items.slice(3))
  assert.deepEqual((await list(`?from=${third.at}`)).items, items.slice(0, 3))
  assert.deepEqual((await list(`?actor=${newest.actorId}`)).items, items)
  assert.deepEqual((await list(`?actor=${project}`)).items, [])
  const renamed = await must(owner.send(ofPublisher(owner, 'GET /audit-log.csv?action=project.renamed')))
  assert.equal(renamed.text.trimEnd().split('\r\n').length, 2)
  const csv = await must(owner.send(ofPublisher(owner, 'GET /audit-log.csv')))
  assert.match(csv.headers.get('content-disposition') ?? '', /attachment; filename="audit-log\.csv"/)
  const lines = csv.text.trimEnd().split('\r\n')
  assert.equal(lines.length, items.length + 1)
  for (const cell of csv.text.split(/,|\r\n/)) assert.doesNotMatch(cell, /^"?[=+@-]/, cell)
})

test('the audit log cannot be changed, and shows when somebody with more rights has done so', async () => {
  const { db } = world.store
  const owner = await newPerson(world)
  await newProject(owner)
  const { publisherId } = owner
  await assert.rejects(db.updateTable('audit_log').set({ actor: 'x' }).execute(), /append-only/)
  await assert.rejects(db.deleteFrom('audit_log').execute(), /append-only/)
  assert.equal(await firstBrokenEntry(db, publisherId), undefined)
  const concurrent = await Promise.all(
    ['A', 'B', 'C', 'D', 'E'].map((name) => owner.send(`PATCH /api/publishers/${publisherId}`, { body: { name } })),
  )
  assert.deepEqual(
    concurrent.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  )
  assert.equal(await firstBrokenEntry(db, publisherId), undefined)
  await db.transaction().execute(async (tx) => {
    await setTriggers(tx, 'disable')
    await tx
      .updateTable('audit_log')
      .set({ actor: 'Nobody' })
      .where('publisher_id', '=', publisherId)
      .where('seq', '=', 2n)
      .execute()
    await setTriggers(tx, 'enable')
  })
  assert.equal(await firstBrokenEntry(db, publisherId), 2n)
})

test('a mail that cannot be sent is tried again; one that is refused for good is given up; no body is kept', async () => {
  const { db } = world.store
  world.refuseMails(451)
  const person = await newPerson(world, { confirms: false })
  const mail = () => db.selectFrom('mails').selectAll().where('recipient', '=', person.email).executeTakeFirstOrThrow()
  await until(
    async () => (await mail()).attempts === 1 && world.logs.some((line) => line.includes('will be tried again')),
    15_000,
  )
  assert.equal((await mail()).sent_at, null)
  world.refuseMails(undefined)
  await db
    .updateTable('mails')
    .set({ next_attempt_at: new Date(0) })
    .where('recipient', '=', person.email)
    .execute()
  await until(async () => (await mail()).sent_at !== null, 15_000)
  assert.equal((await mail()).sealed_body, null)
  assert.equal(world.mails.filter(({ to }) => to === person.email).length, 1)
  world.refuseMails(550)
  const refused = await newPerson(world, { confirms: false })
  await until(async () => {
    const row = await db
      .selectFrom('mails')
      .selectAll()
      .where('recipient', '=', refused.email)
      .executeTakeFirstOrThrow()
    return row.given_up_at !== null && row.sealed_body === null
  }, 15_000)
  world.refuseMails(undefined)
})

test('where the operator approves, confirming activates nothing; the trial credit follows the approval', async () => {
  const strict = await createConsoleWorld({
    env: { PARLEY_REQUIRE_APPROVAL: 'true', PARLEY_TRIAL_CREDIT: '1' },
    roles: ['console', 'worker'],
  })
  try {
    const person = await newPerson(strict)
    const { publishers, installation } = (await must(person.send('GET /api/me'))).body
    assert.deepEqual([publishers[0].activatedAt, installation.requiresApproval], [null, true])
    const project = await newProject(person)
    const balance = async () => (await must(person.send(`GET /api/projects/${project}`))).body.balanceNanos
    const { db } = strict.store
    await setDomainVerified(db, project, new Date())
    await grantDueTrialCredits(db, 10)
    assert.equal(await balance(), '0')
    await db.updateTable('publishers').set({ activated_at: new Date() }).where('id', '=', person.publisherId).execute()
    await grantDueTrialCredits(db, 10)
    assert.equal(await balance(), '1000000000')
    assert.deepEqual(await auditOf(strict.store), [])
  } finally {
    await strict.close()
  }
})

async function setTriggers(tx: ConsoleWorld['store']['db'], to: 'enable' | 'disable'): Promise<void> {
  const { sql } = await import('kysely')
  await sql.raw(`alter table audit_log ${to} trigger user`).execute(tx)
}
