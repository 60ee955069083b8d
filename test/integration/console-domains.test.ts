import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createCheckDomain } from '../../src/actions/projects/domain-check/check.ts'
import { recordCheck } from '../../src/actions/projects/domains.ts'
import { claimDueDomains, findDomain, setDomainVerified } from '../../src/store/projects/domains.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import { checkDueDomains } from '../../src/worker/check-domains.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import {
  createConsoleWorld,
  must,
  newPerson,
  newProject,
  ORIGIN,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { createDnsServer, type DnsServer } from '../support/dns-server.ts'
import { addKeyPair, chatBody, complete, credit, until } from '../support/world.ts'

const texts = new Map<string, string[]>()
const silent = new Set<string>()
let dns: DnsServer
let world: ConsoleWorld

before(async () => {
  dns = await createDnsServer(({ name, type }) => {
    if (silent.has(name)) return { rcode: 'SERVFAIL' }
    const records = type === 'TXT' ? texts.get(name) : undefined
    return records && { records }
  })
  world = await createConsoleWorld({ env: { PARLEY_DNS_SERVERS: dns.address } })
})
after(async () => {
  await world.close()
  await dns.close()
})

let names = 0

async function newSite(): Promise<{ person: Person; project: string; name: string; path: string }> {
  const person = await newPerson(world)
  const name = `site${(names += 1)}.example.com`
  const project = await newProject(person, 'Site', name)
  return { person, project, name, path: `/api/projects/${project}/domain` }
}

async function prove(person: Person, path: string) {
  const { body } = await must(person.send(`GET ${path}`))
  texts.set(body.record.name, [body.record.value])
  return (await must(person.send(`POST ${path}/check`))).body
}

/** As if this much time had passed for the domain. */
async function passTime(project: string, ms: number): Promise<void> {
  const domain = await findDomain(world.store.db, project)
  const earlier = (date: Date | null | undefined) => date && new Date(date.getTime() - ms)
  await world.store.db
    .updateTable('domains')
    .set({
      pending_since: earlier(domain?.pendingSince) ?? new Date(),
      failing_since: earlier(domain?.failingSince) ?? null,
      next_check_at: new Date(Date.now() - 1),
    })
    .where('project_id', '=', project)
    .execute()
}

/** One turn of a worker, besides the one that runs anyway: whoever claims a domain checks it. */
async function work(): Promise<void> {
  const check = createCheckDomain({ dnsServers: [dns.address] })
  const { store, secrets } = world
  await checkDueDomains({ ...store, secrets, consoleUrl: ORIGIN, check, signal: new AbortController().signal })
}

test('a domain is pending until its record is there, and the page says what to do, what was seen and when it looks again', async () => {
  const { person, name, path } = await newSite()
  const { body: before } = await must(person.send(`GET ${path}`))
  assert.equal(before.state, 'pending')
  assert.match(before.explanation, /refused with 403/)
  assert.deepEqual(
    [before.record.name, before.record.host, before.record.zone],
    [`_parley-verify.${name}`, `_parley-verify.${name.split('.')[0]}`, 'example.com'],
  )
  assert.match(before.record.value, /^parley-verify=[0-9a-f]{32}$/)
  assert.equal(before.file.url, `https://${name}/.well-known/parley.txt`)
  assert.deepEqual([before.lastSeen, before.checkedAt], [null, null])
  const soonest = Date.parse(before.nextCheckAt) - Date.now()
  assert.ok(soonest > 0 && soonest <= 60_000, `${soonest}`)

  texts.set(before.record.name, ['parley-verify=of-somebody-else'])
  const { body: wrong } = await must(person.send(`POST ${path}/check`))
  assert.equal(wrong.state, 'pending')
  assert.equal(wrong.lastSeen.record.outcome, 'other')
  assert.deepEqual(wrong.lastSeen.record.values, ['parley-verify=of-somebody-else'])
  assert.match(wrong.lastSeen.file.explanation, /no address/)
  assert.ok(Date.parse(wrong.checkedAt) > 0)

  const proven = await prove(person, path)
  assert.deepEqual([proven.state, proven.provenBy], ['verified', 'dns'])
  assert.ok(Date.parse(proven.verifiedAt) > 0 && Date.parse(proven.nextCheckAt) - Date.now() > DAY_MS / 2)
  const { body: me } = await must(person.send('GET /api/me'))
  assert.equal(me.publishers[0].projects[0].domainVerifiedAt, proven.verifiedAt)
  await until(
    () => world.mails.some(({ to, text }) => to === person.email && text.includes(`${name} is verified`)),
    15_000,
  )
})

test('the token is another one for each project and after each change, and a new name has to be proven anew', async () => {
  const { person, project, path } = await newSite()
  const first = await prove(person, path)
  assert.equal(first.state, 'verified')
  const { body: changed } = await must(person.send(`PATCH ${path}`, { body: { name: 'https://KÜCHE.example/' } }))
  assert.deepEqual(
    [changed.name, changed.displayName, changed.state],
    ['xn--kche-0ra.example', 'küche.example', 'pending'],
  )
  assert.notEqual(changed.record.value, first.record.value)
  assert.deepEqual([changed.lastSeen, changed.checkedAt], [null, null], 'what was found was found at the old name')
  assert.equal((await findDomain(world.store.db, project))?.verifiedAt, null)
  const { body: log } = await must(person.send(`GET /api/publishers/${person.publisherId}/audit-log`))
  const changes = log.items.filter(({ action }: { action: string }) => action === 'domain.changed')
  assert.deepEqual(
    changes.map(({ actor, subject }: { actor: string; subject: string }) => [actor, subject]),
    [[person.name, 'xn--kche-0ra.example']],
  )
  const same = await person.send(`PATCH ${path}`, { body: { name: 'küche.example' } })
  assert.deepEqual([same.status, same.body.fields[0].path], [422, 'name'])
})

test('a domain that was changed is looked at a minute later, whether its next check was far away or there was none', async () => {
  const { db } = world.store
  const { person, project, path } = await newSite()
  const change = async (name: string) => {
    await must(person.send(`PATCH ${path}`, { body: { name } }))
    const { next_check_at: at, pending_since: since } = await db
      .selectFrom('domains')
      .select(['next_check_at', 'pending_since'])
      .where('project_id', '=', project)
      .executeTakeFirstOrThrow()
    return at && at.getTime() - since.getTime()
  }
  assert.equal((await prove(person, path)).state, 'verified')
  assert.equal(await change('far-away.example.com'), 60_000)
  await setDomainVerified(db, project, new Date())
  assert.equal(await change('none.example.com'), 60_000)
})

test('what nobody can own is refused beside the field', async () => {
  const { person, path } = await newSite()
  for (const name of ['127.0.0.1', 'localhost', 'co.uk', 'db.internal', 'me@x.com', '[::1]', '']) {
    const { status, body } = await person.send(`PATCH ${path}`, { body: { name } })
    assert.deepEqual([status, body.fields?.[0]?.path], [422, 'name'], name)
  }
})

test('check now is limited to a few times a minute', async () => {
  const { person, path } = await newSite()
  const statuses: number[] = []
  for (let n = 0; n < 7; n++) statuses.push((await person.send(`POST ${path}/check`)).status)
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 429])
})

test('a stranger, and a member who may only look, change nothing', async () => {
  const { person, path } = await newSite()
  const stranger = await newPerson(world)
  for (const key of [`GET ${path}`, `POST ${path}/check`]) assert.equal((await stranger.send(key)).status, 404)
  assert.equal((await stranger.send(`PATCH ${path}`, { body: { name: 'mine.example.com' } })).status, 404)
  await world.store.db
    .updateTable('memberships')
    .set({ role: 'viewer' })
    .where('publisher_id', '=', person.publisherId)
    .execute()
  assert.equal((await person.send(`GET ${path}`)).status, 200)
  assert.equal((await person.send(`POST ${path}/check`)).status, 403)
  assert.equal((await person.send(`PATCH ${path}`, { body: { name: 'mine.example.com' } })).status, 403)
})

test('a developer has the domain checked, and cannot change it: calls would be refused at once', async () => {
  const { person, path } = await newSite()
  const first = await prove(person, path)
  assert.equal(first.state, 'verified')
  const become = (role: string) =>
    world.store.db.updateTable('memberships').set({ role }).where('publisher_id', '=', person.publisherId).execute()
  await become('developer')
  assert.equal((await person.send(`POST ${path}/check`)).status, 200)
  assert.equal((await person.send(`PATCH ${path}`, { body: { name: 'mine.example.com' } })).status, 403)
  assert.equal((await must(person.send(`GET ${path}`))).body.state, 'verified')
  await become('admin')
  await must(person.send(`PATCH ${path}`, { body: { name: 'ours.example.com' } }))
})

test('a worker finds the record by itself', async () => {
  const { person, project, path } = await newSite()
  const { body } = await must(person.send(`GET ${path}`))
  texts.set(body.record.name, [body.record.value])
  await passTime(project, 0)
  await work()
  await until(async () => (await must(person.send(`GET ${path}`))).body.state === 'verified')
})

test('a proof that disappears is failing first, and lapses after seven days: only then calls answer 403', async () => {
  const { person, project, name, path } = await newSite()
  const proven = await prove(person, path)
  await credit(world.store, project, 10_000_000_000n)
  const { headers } = await addKeyPair(world.store, world.secrets, project)
  const call = async () => (await complete(world, chatBody('tokens=1'), { headers })).status
  const state = async () => (await must(person.send(`GET ${path}`))).body

  texts.delete(proven.record.name)
  await passTime(project, DAY_MS)
  await work()
  await passTime(project, 600_000)
  await work()
  await until(async () => (await state()).state === 'failing')
  const failing = await state()
  assert.equal(Date.parse(failing.lapsesAt) - Date.parse(failing.failingSince), 7 * DAY_MS)
  assert.match(failing.explanation, /still served until \d+ \w+ \d{4}/)
  assert.equal(await call(), 200)
  await until(
    () =>
      world.mails.some(({ to, text }) => to === person.email && text.includes(`no longer find the proof that ${name}`)),
    15_000,
  )
  const [, lastDay] = /still served until (\d+ \w+ \d{4})/.exec(failing.explanation) ?? []
  const told = world.mails.find(
    ({ to, text }) => to === person.email && text.includes('no longer find the proof'),
  )?.text
  assert.ok(lastDay && told?.includes(lastDay), `${told} says ${lastDay}`)

  // Nobody answers: that takes nothing away, however long it lasts.
  silent.add(proven.record.name)
  await passTime(project, 8 * DAY_MS)
  await work()
  assert.equal((await state()).state, 'failing')
  silent.delete(proven.record.name)
  await passTime(project, 0)
  await work()
  await until(async () => (await state()).state === 'lapsed')
  const lapsed = await state()
  assert.match(lapsed.explanation, /since \d+ \w+ \d{4} calls are refused with 403/)
  assert.equal(await call(), 403)
  await until(
    () => world.mails.some(({ to, text }) => to === person.email && text.includes('are now refused with status 403')),
    15_000,
  )

  assert.equal((await prove(person, path)).state, 'verified')
  assert.equal(await call(), 200)
  const { body: log } = await must(person.send(`GET /api/publishers/${person.publisherId}/audit-log`))
  const entries: { action: string; actor: string }[] = log.items
  assert.deepEqual(
    entries.filter(({ action }) => action.startsWith('domain.')).map(({ action, actor }) => `${action} ${actor}`),
    ['domain.verified Parley', 'domain.lapsed Parley', 'domain.failing Parley', 'domain.verified Parley'],
  )
})

test('two workers share the domains that are due: none is taken twice', async () => {
  const sites = await Promise.all(Array.from({ length: 4 }, () => newSite()))
  const projects = sites.map(({ project }) => project)
  const due = { next_check_at: new Date(Date.now() - 60_000) }
  // Again when the worker that runs anyway was quicker.
  await until(async () => {
    await world.store.db.updateTable('domains').set(due).where('project_id', 'in', projects).execute()
    const claimed = await Promise.all(Array.from({ length: 6 }, () => claimDueDomains(world.store.db, 3)))
    const ids = claimed.flat().map(({ projectId }) => projectId)
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(claimed.every(({ length }) => length <= 3))
    return projects.every((project) => ids.includes(project))
  })
})

/** Looks for the proof as it is now; what it returns writes the findings down later, as if the check had taken until then. */
async function beginCheck(person: Person, project: string) {
  const { name, token } = (await findDomain(world.store.db, project)) ?? assert.fail()
  const { body } = await must(person.send(`GET /api/projects/${project}/domain`))
  texts.set(body.record.name, [body.record.value])
  const findings = await createCheckDomain({ dnsServers: [dns.address] })({ name, token })
  assert.equal(findings.dns.outcome, 'match')
  const tenant = { publisherId: person.publisherId, projectId: project }
  const options = { secrets: world.secrets, consoleUrl: ORIGIN }
  return () =>
    withTenant(world.store.tenants, tenant, (tx) =>
      recordCheck(tx, options, { ...tenant, name, token, findings, isAsked: false }),
    )
}

test('a check that was under way when the domain was changed is about the old name and counts for nothing', async () => {
  const { person, project, path } = await newSite()
  const finish = await beginCheck(person, project)
  await must(person.send(`PATCH ${path}`, { body: { name: 'meanwhile.example.com' } }))
  assert.equal(await finish(), undefined)
  assert.equal((await findDomain(world.store.db, project))?.verifiedAt, null)
})

test('a check that was under way when the domain was changed, and changed back, found an old token and counts for nothing', async () => {
  const { person, project, name, path } = await newSite()
  const finish = await beginCheck(person, project)
  for (const next of ['meanwhile.example.com', name]) await must(person.send(`PATCH ${path}`, { body: { name: next } }))
  assert.equal(await finish(), undefined)
  const { name: same, verifiedAt, checkedAt } = (await findDomain(world.store.db, project)) ?? assert.fail()
  assert.deepEqual([same, verifiedAt, checkedAt], [name, null, null])
})

test('who the operator has vouched for stays verified without a record, and is not looked at', async () => {
  const { person, project, path } = await newSite()
  await setDomainVerified(world.store.db, project, new Date())
  const { body } = await must(person.send(`POST ${path}/check`))
  assert.deepEqual([body.state, body.provenBy, body.nextCheckAt], ['verified', 'operator', null])
  assert.match(body.explanation, /operator/)
})
