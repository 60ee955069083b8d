import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { Person as Actor } from '../../src/actions/actor.ts'
import { acceptInvitation, inviteMember } from '../../src/actions/accounts/invitations.ts'
import { changeMemberRole, removeMember } from '../../src/actions/accounts/members.ts'
import { setPublisherActivated } from '../../src/actions/accounts/publishers.ts'
import { setDomainVerified as decideOnDomain, recordCheck } from '../../src/actions/projects/domains.ts'
import { createKeyPair } from '../../src/actions/projects/key-pairs.ts'
import type { Tx } from '../../src/store/database.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import { createAuthenticator } from '../support/authenticator.ts'
import {
  createConsoleWorld,
  mailedToken,
  must,
  newPerson,
  newProject,
  ofPublisher,
  openBrowser,
  ORIGIN,
  PASSWORD,
  signIn,
  userIdOf,
  type Answer,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { oneTimeCode } from '../support/one-time-code.ts'
import { chatBody, complete, credit, until } from '../support/world.ts'

/** Two changes at once, of which one takes away what the other builds on: whichever comes second sees the first. */

let world: ConsoleWorld
before(async () => {
  world = await createConsoleWorld()
})
after(() => world.close())

/** Requests of one person that run at once. The others come after them, and must get the same result. */
const AT_ONCE = 3

const OPERATOR = { kind: 'operator', id: 'op', reason: 'fraud' } as const

async function join(owner: Person, guest: Person, role: string): Promise<string> {
  const user_id = await userIdOf(guest)
  await world.store.db.insertInto('memberships').values({ publisher_id: owner.publisherId, user_id, role }).execute()
  return user_id
}

async function actorOf(person: Person): Promise<Actor> {
  return { kind: 'person', id: await userIdOf(person), name: person.name, from: { ip: '10.0.0.1', userAgent: null } }
}

async function untilWaiting(count = 1): Promise<void> {
  await until(async () => {
    const { rows } = await sql<{ n: bigint }>`
      select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      world.store.db,
    )
    return Number(rows[0]?.n) >= count
  })
}

/** Sends the requests when `first` is done and not yet committed, and commits it when as many of them wait as can. */
async function during(
  owner: Person,
  first: (tx: Tx) => Promise<unknown>,
  ...requests: (() => Promise<Answer>)[]
): Promise<Answer[]> {
  const { publisherId } = owner
  const answers = await withTenant(world.store.tenants, { publisherId }, async (tx) => {
    await first(tx)
    const sent = requests.map((request) => request())
    await untilWaiting(Math.min(sent.length, AT_ONCE))
    return sent
  })
  return Promise.all(answers)
}

async function actionsOf({ publisherId }: Person): Promise<string[]> {
  const rows = await world.store.db
    .selectFrom('audit_log')
    .select('action')
    .where('publisher_id', '=', publisherId)
    .orderBy('seq')
    .execute()
  return rows.map(({ action }) => action)
}

async function rolesOf({ publisherId }: Person): Promise<Record<string, string>> {
  const rows = await world.store.db
    .selectFrom('memberships')
    .select(['user_id', 'role'])
    .where('publisher_id', '=', publisherId)
    .execute()
  return Object.fromEntries(rows.map(({ user_id, role }) => [user_id, role]))
}

async function verifiedProject(owner: Person, name: string): Promise<string> {
  const project = await newProject(owner, name, `${name.toLowerCase()}.example.com`)
  await setDomainVerified(world.store.db, project, new Date())
  return project
}

const newKey = (by: Person, project: string) => () =>
  by.send(`POST /api/projects/${project}/keys`, { body: { name: 'parting gift', expiresInDays: null } })

test('who is removed meanwhile gets no key, makes nobody an admin and removes nobody', async () => {
  const [owner, admin, mole] = [await newPerson(world), await newPerson(world), await newPerson(world)]
  const adminId = await join(owner, admin, 'admin')
  const moleId = await join(owner, mole, 'viewer')
  const project = await verifiedProject(owner, 'Removed')
  const actor = await actorOf(owner)
  const answers = await during(
    owner,
    (tx) => removeMember(tx, actor, { publisher: { id: owner.publisherId }, memberId: adminId }),
    newKey(admin, project),
    () => admin.send(ofPublisher(owner, `PATCH /members/${moleId}`), { body: { role: 'admin' } }),
    () => admin.send(ofPublisher(owner, `DELETE /members/${moleId}`)),
    () => admin.send(`PATCH /api/projects/${project}`, { body: { name: 'Mine' } }),
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404, 404, 404, 404],
  )
  assert.deepEqual(await rolesOf(owner), { [await userIdOf(owner)]: 'owner', [moleId]: 'viewer' })
  assert.equal((await actionsOf(owner)).at(-1), 'member.removed')
})

test('an admin neither demotes nor removes who becomes an owner meanwhile, nor touches what was raised to owner', async () => {
  const [owner, admin, heir] = [await newPerson(world), await newPerson(world), await newPerson(world)]
  await join(owner, admin, 'admin')
  const heirId = await join(owner, heir, 'admin')
  const publisher = { id: owner.publisherId, name: 'x' }
  const invite = (by: Person, email: string, role: string) =>
    by.send(ofPublisher(owner, 'POST /invitations'), { body: { email, role } })
  const { id } = (await must(invite(owner, 'vip@example.com', 'viewer'))).body
  const actor = await actorOf(owner)
  const installation = { secrets: world.secrets, consoleUrl: ORIGIN }
  const answers = await during(
    owner,
    async (tx) => {
      await changeMemberRole(tx, actor, { publisher, memberId: heirId, role: 'owner' })
      await inviteMember(tx, actor, { publisher, email: 'vip@example.com', role: 'owner', installation })
    },
    () => admin.send(ofPublisher(owner, `PATCH /members/${heirId}`), { body: { role: 'viewer' } }),
    () => admin.send(ofPublisher(owner, `DELETE /members/${heirId}`)),
    () => admin.send(ofPublisher(owner, `DELETE /invitations/${id}`)),
    () => invite(admin, 'vip@example.com', 'viewer'),
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    [403, 403, 403, 403],
  )
  assert.equal((await rolesOf(owner))[heirId], 'owner')
  const left = await world.store.db
    .selectFrom('invitations')
    .select('role')
    .where('publisher_id', '=', owner.publisherId)
    .execute()
  assert.deepEqual(left, [{ role: 'owner' }])
})

test('who leaves while they change something else neither waits for themselves nor changes it', async () => {
  const [owner, admin] = [await newPerson(world), await newPerson(world)]
  await join(owner, admin, 'admin')
  const project = await verifiedProject(owner, 'Left')
  const [left, renamed] = await world.store.db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtext('audit_log'), hashtext(${owner.publisherId}))`.execute(tx)
    const leaving = admin.send(ofPublisher(owner, 'POST /leave'))
    await untilWaiting(1)
    const renaming = admin.send(`PATCH /api/projects/${project}`, { body: { name: 'Mine' } })
    await untilWaiting(2)
    return [leaving, renaming]
  })
  assert.deepEqual([(await left)?.status, (await renamed)?.status], [200, 404])
})

test('of several who remove or change somebody at once, one does, and the log says so once', async () => {
  const [owner, guest] = [await newPerson(world), await newPerson(world)]
  const guestId = await join(owner, guest, 'viewer')
  const remove = () => owner.send(ofPublisher(owner, `DELETE /members/${guestId}`))
  const answers = await during(
    owner,
    (tx) => sql`select pg_advisory_xact_lock(hashtext('owners'), hashtext(${owner.publisherId}))`.execute(tx),
    remove,
    remove,
    remove,
  )
  assert.deepEqual(answers.map(({ status }) => String(status)).toSorted(), ['200', '404', '404'])
  assert.equal((await actionsOf(owner)).filter((action) => action === 'member.removed').length, 1)
})

test('nobody withdraws or declines what was accepted meanwhile, nor closes the account with a guest in it', async () => {
  const [owner, guest] = [await newPerson(world), await newPerson(world)]
  const body = { email: guest.email, role: 'admin' }
  const { id } = (await must(owner.send(ofPublisher(owner, 'POST /invitations'), { body }))).body
  const actor = await actorOf(guest)
  const answers = await during(
    owner,
    (tx) => acceptInvitation(tx, actor, { id, team: { publisherId: owner.publisherId }, email: guest.email }),
    () => owner.send(ofPublisher(owner, `DELETE /invitations/${id}`)),
    () => guest.send(`POST /api/me/invitations/${id}/decline`),
    () => owner.send('POST /api/me/delete', { body: { confirm: owner.email } }),
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    [404, 404, 409],
  )
  assert.equal((await actionsOf(owner)).at(-1), 'member.joined')
})

test('a project that is deleted meanwhile gets no key and no verified domain, and spends nothing', async () => {
  const [owner, developer] = [await newPerson(world), await newPerson(world)]
  await join(owner, developer, 'developer')
  const project = await verifiedProject(owner, 'Doomed')
  await credit(world.store, project, 1_000_000_000n)
  const { body: keys } = await must(newKey(developer, project)())
  const its = { id: project, name: 'Doomed', publisherId: owner.publisherId }
  const domain = await world.store.db
    .selectFrom('domains')
    .select(['name', 'verification_token as token'])
    .where('project_id', '=', project)
    .executeTakeFirstOrThrow()
  const [late] = await during(
    owner,
    (tx) => tx.selectFrom('projects').select('id').where('id', '=', project).forNoKeyUpdate().execute(),
    () => owner.send(`DELETE /api/projects/${project}`, { body: { leavesCredit: true } }),
  )
  assert.equal(late?.status, 200)
  const installation = { secrets: world.secrets, cell: '00', consoleUrl: ORIGIN }
  const tenant = { publisherId: owner.publisherId, projectId: project }
  const actor = await actorOf(developer)
  const input = { project: its, name: 'late', expiresInDays: null, installation }
  await assert.rejects(
    withTenant(world.store.tenants, tenant, (tx) => createKeyPair(tx, actor, input)),
    /There is no such project/,
  )
  const found = { dns: { state: 'found', values: [] }, file: { state: 'absent' } }
  const check = { ...domain, publisherId: owner.publisherId, projectId: project, isAsked: true }
  const checked = await withTenant(world.store.tenants, tenant, (tx) =>
    recordCheck(tx, installation, { ...check, findings: found as never }),
  )
  assert.equal(checked, undefined)
  // Had any of it slipped through, the ledger is the last wall.
  await sql`update key_pairs set active = true, deleted_at = null where project_id = ${project}`.execute(world.store.db)
  await sql`update domains set verified_at = now() where project_id = ${project}`.execute(world.store.db)
  const headers = { 'x-publishable-key': keys.publishableKey, 'x-secret-key': keys.secretKey }
  const caller = { ...keys, id: project, publisherId: owner.publisherId, headers }
  assert.equal((await complete({ ...world, project: caller }, chatBody('tokens=3'))).status, 401)
})

test('a key that is made while its project is being deleted goes with it', async () => {
  const owner = await newPerson(world)
  const project = await verifiedProject(owner, 'Both')
  const [deleted, ...made] = await Promise.all([
    owner.send(`DELETE /api/projects/${project}`, { body: {} }),
    ...Array.from({ length: 6 }, newKey(owner, project)),
  ])
  assert.equal(deleted?.status, 200)
  assert.ok(made.every(({ status }) => status === 200 || status === 404))
  const { rows } = await sql`
    select from key_pairs where project_id = ${project} and active and deleted_at is null`.execute(world.store.db)
  assert.equal(rows.length, 0)
})

test('of many keys that are made at once, none is beyond the limit', async () => {
  const owner = await newPerson(world)
  const project = await verifiedProject(owner, 'Many')
  await sql`insert into key_pairs (id, project_id, name, publishable_key, secret_digest, secret_version, secret_last4)
    select gen_random_uuid(), ${project}, 'k' || n, 'ply_pk_00' || md5(n || ${project}), sha256(n::text::bytea), 1, 'abcd'
    from generate_series(1, 99) n`.execute(world.store.db)
  const sent = await world.store.db.transaction().execute(async (tx) => {
    await tx.selectFrom('projects').select('id').where('id', '=', project).forNoKeyUpdate().execute()
    const requests = Array.from({ length: AT_ONCE }, newKey(owner, project))
    await untilWaiting(AT_ONCE)
    return requests
  })
  const statuses = (await Promise.all(sent)).map(({ status }) => String(status))
  assert.deepEqual(statuses.toSorted(), ['200', '409', '409'])
})

test('a download ends where its reader was removed', async () => {
  const [owner, viewer] = [await newPerson(world), await newPerson(world)]
  const viewerId = await join(owner, viewer, 'viewer')
  const project = await newProject(owner, 'Long', 'long.example.com')
  await credit(world.store, project, 1_000_000_000n)
  const actor = await actorOf(owner)
  let read!: Promise<PromiseSettledResult<Answer>[]>
  await withTenant(world.store.tenants, { publisherId: owner.publisherId }, async (tx) => {
    await removeMember(tx, actor, { publisher: { id: owner.publisherId }, memberId: viewerId })
    // It was allowed when it began, and waits before its first page.
    read = Promise.allSettled([viewer.send(`GET /api/projects/${project}/ledger.csv`)])
    await untilWaiting()
  })
  assert.deepEqual(
    (await read).map(({ status }) => status),
    ['rejected'],
  )
})

test('an operator’s decision stands: neither a confirmed address nor the old record undoes it', async () => {
  const late = await newPerson(world, { confirms: false })
  const { publisherId } = late
  const decide = (isActivated: boolean) =>
    world.store.db
      .transaction()
      .execute((tx) => setPublisherActivated(tx, OPERATOR, { publisherId, isActivated, sandboxDomain: undefined }))
  await decide(true)
  await decide(false)
  const token = await mailedToken(world, late.email, 'activate')
  await must(late.send('POST /api/auth/verify-email', { body: { token, password: PASSWORD } }))
  assert.equal((await must(late.send('GET /api/me'))).body.publishers[0].activatedAt, null)

  const owner = await newPerson(world)
  const id = await verifiedProject(owner, 'Phishing')
  const tokens = world.store.db.selectFrom('domains').select('verification_token').where('project_id', '=', id)
  const before = await tokens.executeTakeFirstOrThrow()
  const project = { id, name: 'Phishing', publisherId: owner.publisherId }
  await world.store.db.transaction().execute((tx) => decideOnDomain(tx, OPERATOR, { project, isVerified: false }))
  assert.notDeepEqual(await tokens.executeTakeFirstOrThrow(), before)
})

test('a code that is being checked while the password is reset opens no session', async () => {
  const person = await newPerson(world)
  const { uri } = (await must(person.send('POST /api/me/two-factor'))).body
  const secret = String(new URL(uri).searchParams.get('secret'))
  await must(person.send('POST /api/me/two-factor/confirm', { body: { code: oneTimeCode(secret, Date.now()) } }))
  const [thief, owner] = [openBrowser(world), openBrowser(world)]
  await must(signIn(thief, person.email))
  await must(owner.send('POST /api/auth/request-password-reset', { body: { email: person.email } }))
  const token = await mailedToken(world, person.email, 'reset-password')
  const id = await userIdOf(person)
  const [second, reset] = await world.store.db.transaction().execute(async (tx) => {
    // Both wait for it, and the reset comes first.
    await tx.selectFrom('credentials').select('id').where('user_id', '=', id).forUpdate().execute()
    const resetting = owner.send('POST /api/auth/reset-password', {
      body: { token, newPassword: 'the owner of the address chose this' },
    })
    await untilWaiting(1)
    const code = oneTimeCode(secret, Date.now() + 30_000)
    const verifying = thief.send('POST /api/auth/two-factor/verify-totp', { body: { code } })
    await untilWaiting(2)
    return [verifying, resetting]
  })
  assert.deepEqual([(await reset)?.status, (await second)?.status], [200, 401])
  assert.equal((await thief.send('GET /api/me')).status, 401)
  assert.ok(!(await actionsOf(person)).slice(-1).includes('user.signed_in'))
})

test('a session that ends meanwhile changes nothing of its person', async () => {
  const victim = await newPerson(world)
  const thief = openBrowser(world)
  await must(signIn(thief, victim.email))
  const { body: options } = await must(thief.send('POST /api/me/passkeys/options'))
  const credential = createAuthenticator(ORIGIN).create(options, {})
  const id = await userIdOf(victim)
  const [changed, added, renamed] = await world.store.db.transaction().execute(async (tx) => {
    await tx.selectFrom('users').select('id').where('id', '=', id).forNoKeyUpdate().execute()
    const changing = victim.send('POST /api/me/password', { body: { newPassword: 'a short and noisy brook' } })
    await untilWaiting(1)
    const adding = thief.send('POST /api/me/passkeys', { body: { name: 'Back door', credential } })
    const renaming = thief.send('PATCH /api/me', { body: { name: 'Somebody' } })
    await untilWaiting(3)
    return [changing, adding, renaming]
  })
  assert.deepEqual([(await changed)?.status, (await added)?.status, (await renamed)?.status], [200, 401, 401])
})

test('two people who share accounts never wait for each other, and no sign-in is without its entry', async () => {
  const [one, other] = [await newPerson(world), await newPerson(world)]
  await join(one, other, 'admin')
  await join(other, one, 'admin')
  for (let round = 0; round < 5; round++) {
    const renames = [one, other, one, other].map((who, n) =>
      who.send('PATCH /api/me', { body: { name: `Name ${round}${n}` } }),
    )
    for (const { status } of await Promise.all(renames)) assert.equal(status, 200)
  }
  const browser = openBrowser(world)
  const refused = await world.store.db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtext('audit_log'), hashtext(${one.publisherId}))`.execute(tx)
    // Longer than a statement waits for a lock.
    return signIn(browser, other.email)
  })
  assert.equal(refused.status, 503)
  assert.deepEqual(
    [...browser.cookies.keys()].filter((name) => name.includes('session')),
    [],
  )
  assert.equal((await browser.send('GET /api/me')).status, 401)
})

test('people are told apart in the log by more than their names', async () => {
  const [owner, mallory] = [await newPerson(world), await newPerson(world, { name: 'Mallory' })]
  await join(owner, mallory, 'admin')
  assert.equal((await mallory.send('PATCH /api/me', { body: { name: 'Operator' } })).status, 422)
  await must(mallory.send('PATCH /api/me', { body: { name: owner.name } }))
  const entry = await world.store.db
    .selectFrom('audit_log')
    .select(['actor', 'subject', 'details'])
    .where('publisher_id', '=', owner.publisherId)
    .orderBy('seq', 'desc')
    .executeTakeFirstOrThrow()
  assert.deepEqual(entry, { actor: 'Mallory', subject: owner.name, details: { before: 'Mallory' } })
})

test('what somebody does who is in very many accounts is in the log of each', async () => {
  const [owner, rogue] = [await newPerson(world), await newPerson(world)]
  const rogueId = await userIdOf(rogue)
  await sql`with made as (insert into publishers (id, name) select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'junk' from generate_series(1, 201) n returning id)
    insert into memberships (publisher_id, user_id, role) select id, ${rogueId}, 'viewer' from made`.execute(
    world.store.db,
  )
  await join(owner, rogue, 'owner')
  await sql`update memberships set role = 'admin' where publisher_id = ${owner.publisherId} and user_id <> ${rogueId}`.execute(
    world.store.db,
  )
  await must(rogue.send('PATCH /api/me', { body: { name: 'Somebody' } }))
  assert.equal((await actionsOf(owner)).at(-1), 'user.renamed')
  assert.equal((await rogue.send('POST /api/me/delete', { body: { confirm: rogue.email } })).status, 409)
})
