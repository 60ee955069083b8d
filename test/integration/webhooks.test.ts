import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { PARLEY } from '../../src/actions/actor.ts'
import { postEvent } from '../../src/actions/events.ts'
import { createDomainResolver } from '../../src/actions/projects/domain-check/resolver.ts'
import { createEndpoint, replay, rollEndpointSecret, sendTestEvent } from '../../src/actions/projects/webhooks.ts'
import { createLog } from '../../src/platform/log.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { DAY_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import { DELIVERY_ERRORS, WEBHOOK_EVENTS, wordsOfDeliveryError } from '../../src/rules/webhooks.ts'
import type { Store } from '../../src/store/database.ts'
import { claimDeliveries, noteDelivered, noteFailed } from '../../src/store/projects/webhook-deliveries.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import { deliverDue, type DeliverOptions } from '../../src/worker/deliver-webhooks.ts'
import { createPostWebhook, type PostWebhookOptions } from '../../src/worker/post-webhook.ts'
import { createAuthority } from '../support/certificates.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { createDnsServer, type DnsServer } from '../support/dns-server.ts'
import { loginUrl } from '../support/logins.ts'
import { createRandom } from '../support/random.ts'
import { ACCEPTING, BEHAVIOURS, createReceiver, type Received } from '../support/webhook-receiver.ts'
import { addProject, type TestProject } from '../support/world.ts'

/** Events of publishers, from the transaction that posts them to a server over real sockets. */

const NAME = 'hooks.example.com'
const URL = `https://${NAME}/parley?from=test`
const secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 9) }])
const authority = createAuthority()
const certificate = authority.issue(NAME)
const isLoopback = (address: string) => address === '127.0.0.1'

let database: TestDatabase
/** A store with the owner's login. */
let store: Store
let workers: Store[]
let dns: DnsServer
let zone: Record<string, string[]> = {}

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'webhooks test' })
  const logins = { url: loginUrl(database.url, 'worker'), tenantUrl: loginUrl(database.url, 'tenant') }
  workers = [1, 2].map((n) => openTestStore({ ...logins, applicationName: `webhooks test worker ${n}` }))
  dns = await createDnsServer(({ type, name }) => ({ records: zone[`${type} ${name}`] ?? [] }))
})
after(async () => {
  await dns.close()
  await Promise.all(workers.map((each) => each.close()))
  await store.close()
  await database.drop()
})

type Verify = (secret: string, headers: Record<string, string>, body: string) => { id: string; data: { n: number } }

/** The verifyWebhook that the guide shows. */
async function documentedVerify(): Promise<Verify> {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/webhooks.md'), 'utf8')
  const [, code = ''] = /^```js\n([^]*?)^```$/m.exec(guide) ?? []
  const module = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as { verifyWebhook: Verify }
  return module.verifyWebhook
}

function inTenant<T>(project: TestProject, work: Parameters<typeof withTenant<T>>[2]): Promise<T> {
  const [worker] = workers
  assert.ok(worker)
  return withTenant(worker.tenants, { publisherId: project.publisherId, projectId: project.id }, work)
}

const atHand = ({ id, publisherId }: TestProject) => ({ id, publisherId, name: 'Test Project' })

async function newEndpoint(url = URL) {
  const project = await addProject(store, secrets)
  const wanted = { project: atHand(project), url, eventTypes: WEBHOOK_EVENTS, secrets }
  const endpoint = await inTenant(project, (tx) => createEndpoint(tx, PARLEY, wanted))
  return { project, endpoint }
}

function post(project: TestProject, object: string, ...numbers: number[]): Promise<void> {
  return inTenant(project, async (tx) => {
    for (const n of numbers)
      await postEvent(tx, { projectId: project.id, type: 'key.created', objectKey: object, data: { object, n } })
  })
}

function poster(port: number, options: Partial<PostWebhookOptions> = {}) {
  const resolver = createDomainResolver([dns.address])
  return createPostWebhook({ resolver, isAllowed: isLoopback, port, ca: authority.cert, withinMs: 2_000, ...options })
}

function worker(n: number, options: Partial<DeliverOptions> & Pick<DeliverOptions, 'postWebhook'>): DeliverOptions {
  const its = workers[n]
  assert.ok(its)
  const log = createLog('silent')
  const signal = new AbortController().signal
  return { db: its.db, tenants: its.tenants, log, secrets, consoleUrl: 'http://console.test', signal, ...options }
}

async function states(project: TestProject): Promise<Record<string, number>> {
  const rows = await store.db
    .selectFrom('webhook_deliveries')
    .select(['state', ({ fn }) => fn.countAll<bigint>().as('count')])
    .where('project_id', '=', project.id)
    .groupBy('state')
    .execute()
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]))
}

const OBJECTS = 50
const EVENTS_EACH = 20

test('1,000 events reach an endpoint that misbehaves in every way: each at least once, in order per object, signed, and nowhere else', async (t) => {
  zone = { [`A ${NAME}`]: ['127.0.0.1'] }
  const random = createRandom(7)
  const other = await createReceiver(authority.issue('inside.example.com'), {
    behave: () => 'ok',
    redirectTo: () => '',
  })
  const endless = await createReceiver(certificate, {
    // Two of three are taken at once; the others in every way there is.
    behave: () => (random.next() < 0.66 ? 'ok' : random.pick(BEHAVIOURS)),
    redirectTo: () => `https://127.0.0.1:${other.port}/inside`,
  })
  // Also when this fails: what it left hanging would keep the file from ending.
  t.after(() => Promise.all([endless.close(), other.close()]))
  const { project, endpoint } = await newEndpoint()
  const numbers = Array.from({ length: EVENTS_EACH }, (_, n) => n)
  for (let object = 0; object < OBJECTS; object++) await post(project, `object ${object}`, ...numbers)

  const waits: number[][] = []
  const waitMsAfter = (attempts: number) => {
    const waitMs = Math.min(10 * 2 ** attempts, 200)
    ;(waits[attempts] ??= []).push(waitMs)
    return waitMs
  }
  const postWebhook = poster(endless.port, { withinMs: 300 })
  const untilMs = performance.now() + 50_000
  while (((await states(project))['pending'] ?? 0) > 0 && performance.now() < untilMs)
    await Promise.all([0, 1].map((n) => deliverDue(worker(n, { postWebhook, waitMsAfter }))))

  assert.deepEqual(await states(project), { delivered: OBJECTS * EVENTS_EACH })
  assert.equal(other.received.length, 0)
  const verify = await documentedVerify()
  const byObject = Map.groupBy(
    endless.received,
    ({ body }) => (JSON.parse(body) as { data: { object: string } }).data.object,
  )
  assert.equal(byObject.size, OBJECTS)
  for (const [object, requests] of byObject) {
    for (const { headers, body } of requests)
      assert.equal(verify(endpoint.secret, headers, body).id, headers['webhook-id'])
    assertInOrder(object, requests)
  }
  for (const behaviour of BEHAVIOURS)
    assert.ok(
      endless.received.some((each) => each.behaviour === behaviour),
      behaviour,
    )
  assert.ok(waits.length > 2, 'some were tried more than twice')
})

/** Nothing is sent before what comes first was taken, nothing that was taken is sent again, and never two at once. */
function assertInOrder(object: string, requests: readonly Received[]): void {
  let next = 0
  let endedMs = -Infinity
  for (const { body, behaviour, fromMs, toMs } of requests) {
    const { n } = (JSON.parse(body) as { data: { n: number } }).data
    assert.equal(n, next, `${object}: event ${n} came when ${next} was next`)
    assert.ok(fromMs >= endedMs - 50, `${object}: event ${n} was sent while another one was`)
    endedMs = toMs
    if (ACCEPTING.has(behaviour)) next++
  }
  assert.equal(next, EVENTS_EACH, object)
}

test('a name that leads to a private address is refused, however its addresses are mixed, and nothing is connected to', async () => {
  const receiver = await createReceiver(certificate, { behave: () => 'ok', redirectTo: () => '' })
  const postWebhook = poster(receiver.port, { isAllowed: undefined })
  const sent = () => postWebhook({ url: URL, headers: {}, body: '{}' })
  const refused = { error: 'address_not_public', status: null }
  for (const [type, ...addresses] of [
    ['A', '127.0.0.1'],
    ['A', '169.254.169.254'],
    ['A', '10.0.0.1'],
    ['A', '93.184.215.14', '127.0.0.1'],
    ['AAAA', '::1'],
    ['AAAA', '::ffff:127.0.0.1'],
    ['AAAA', 'fd00::1'],
  ]) {
    zone = { [`${type} ${NAME}`]: addresses }
    assert.deepEqual(await sent(), refused, addresses.join())
  }
  for (const url of ['https://127.0.0.1/', 'https://[::1]/', 'https://localhost/', 'https://169.254.169.254/latest'])
    assert.deepEqual(await postWebhook({ url, headers: {}, body: '{}' }), refused, url)
  assert.equal(receiver.received.length, 0)
  await receiver.close()
})

test('a name is looked up once for a try: an answer that changes afterwards leads nowhere', async () => {
  const receiver = await createReceiver(certificate, { behave: () => 'ok', redirectTo: () => '' })
  let asked = 0
  const resolver = { addresses: () => Promise.resolve(asked++ === 0 ? ['127.0.0.1'] : ['127.0.0.2']) }
  const allowed: string[] = []
  const isAllowed = (address: string) => (allowed.push(address), isLoopback(address))
  assert.deepEqual(await poster(receiver.port, { resolver, isAllowed })({ url: URL, headers: {}, body: '{}' }), {
    status: 200,
  })
  assert.equal(asked, 1)
  // The address that was looked up, and the one that the socket is connected to.
  assert.deepEqual(allowed, ['127.0.0.1', '127.0.0.1'])
  await receiver.close()
})

test('each way to fail has its own name, and a redirect is not followed', async () => {
  zone = { [`A ${NAME}`]: ['127.0.0.1'] }
  const found: Record<string, unknown> = {}
  const other = await createReceiver(authority.issue('inside.example.com'), {
    behave: () => 'ok',
    redirectTo: () => '',
  })
  for (const behaviour of BEHAVIOURS) {
    const receiver = await createReceiver(certificate, {
      behave: () => behaviour,
      redirectTo: () => `https://127.0.0.1:${other.port}/`,
    })
    const withinMs = behaviour === 'hang' ? 200 : 5_000
    found[behaviour] = await poster(receiver.port, { withinMs })({ url: URL, headers: {}, body: '{}' })
    await receiver.close()
  }
  assert.deepEqual(found, {
    ok: { status: 200 },
    error: { error: 'status', status: 500 },
    hang: { error: 'timeout', status: null },
    redirect: { error: 'redirect', status: 302 },
    cut: { status: 200 },
    garbage: { error: 'malformed', status: null },
    endless: { status: 200 },
    reset: { error: 'connection', status: null },
    upgrade: { error: 'malformed', status: null },
  })
  assert.equal(other.received.length, 0)
  const stranger = await createReceiver(authority.selfSigned(NAME), { behave: () => 'ok', redirectTo: () => '' })
  const refusal = await poster(stranger.port)({ url: URL, headers: {}, body: '{}' })
  assert.deepEqual(refusal, { error: 'certificate', status: null })
  await Promise.all([other.close(), stranger.close()])
})

test('of an answer whose status is known, the rest is waited for no longer than a second', async () => {
  zone = { [`A ${NAME}`]: ['127.0.0.1'] }
  const receiver = await createReceiver(certificate, { behave: () => 'slow', redirectTo: () => '' })
  const postWebhook = poster(receiver.port, { withinMs: 20_000 })
  assert.deepEqual(await postWebhook({ url: URL, headers: {}, body: '{}' }), { status: 200 })
  const [{ fromMs } = { fromMs: 0 }] = receiver.received
  assert.ok(performance.now() - fromMs < 5_000)
  await receiver.close()
})

test('an event is sent if and only if what it tells of is committed', async () => {
  const { project } = await newEndpoint()
  const failed = inTenant(project, async (tx) => {
    await postEvent(tx, { projectId: project.id, type: 'key.created', objectKey: 'key:1', data: {} })
    throw new Error('undone')
  })
  await assert.rejects(failed, /undone/)
  assert.deepEqual(await states(project), {})
  await post(project, 'key:1', 1)
  assert.deepEqual(await states(project), { pending: 1 })
})

const CLAIM = { most: 10, perEndpoint: 4, perPublisher: 8, leaseMs: MINUTE_MS }

test('two workers that look at the same moment never have the same delivery, and of one object only the first', async () => {
  const { project } = await newEndpoint()
  for (const object of ['a', 'b', 'c']) await post(project, object, 1, 2)
  const claims = await Promise.all(workers.map(({ db }) => claimDeliveries(db, CLAIM)))
  const claimed = claims.flat().filter(({ body }) => body.includes(project.id))
  assert.equal(claimed.length, 3)
  assert.deepEqual(
    claimed.map(({ body }) => (JSON.parse(body) as { data: { n: number } }).data.n),
    [1, 1, 1],
  )
  // A worker keeps the delivery that it has claimed: one that comes later does not get it.
  const [, second] = workers
  assert.ok(second)
  assert.deepEqual(
    (await claimDeliveries(second.db, CLAIM)).filter(({ body }) => body.includes(project.id)),
    [],
  )
})

test('one publisher has at most 8 tries at once, and its many events do not go before the one of another', async () => {
  await store.db.updateTable('webhook_deliveries').set({ state: 'failed' }).where('state', '=', 'pending').execute()
  const { project: busy } = await newEndpoint()
  for (const url of ['https://b.example.com/', 'https://c.example.com/']) {
    const wanted = { project: atHand(busy), url, eventTypes: WEBHOOK_EVENTS, secrets }
    await inTenant(busy, (tx) => createEndpoint(tx, PARLEY, wanted))
  }
  for (let object = 0; object < 10; object++) await post(busy, `object ${object}`, 1)
  const { project: quiet } = await newEndpoint()
  await post(quiet, 'a', 1)
  const [first] = workers
  assert.ok(first)
  const claim = async (most: number) => {
    const claimed = await claimDeliveries(first.db, { ...CLAIM, most })
    return claimed.map(({ body }) => (body.includes(quiet.id) ? 'quiet' : 'busy')).toSorted()
  }
  assert.deepEqual(await claim(2), ['busy', 'quiet'])
  assert.deepEqual(
    await claim(64),
    Array.from({ length: 7 }, () => 'busy'),
  )
  assert.deepEqual(await claim(64), [])
})

test('what fails holds back its own object and no other, and is given up after three days', async () => {
  const { project } = await newEndpoint()
  await post(project, 'a', 1, 2)
  await post(project, 'b', 1)
  const [first] = workers
  assert.ok(first)
  const claim = async () => (await claimDeliveries(first.db, CLAIM)).filter(({ body }) => body.includes(project.id))
  const [a, b] = (await claim()).toSorted((one, other) =>
    one.body.includes('"a"') ? -1 : other.body.includes('"a"') ? 1 : 0,
  )
  assert.ok(a && b)
  const failure = { error: 'status', status: 500, waitMs: MINUTE_MS } as const
  assert.equal(await noteFailed(first.db, a, failure), false)
  await noteDelivered(first.db, b, 200)
  assert.deepEqual(await claim(), [])
  await post(project, 'b', 2)
  const [next] = await claim()
  assert.equal(next?.endpointId, b.endpointId)
  // Its turn comes again, and then the wait is longer than what is left of the three days.
  const due = { next_attempt_at: new Date(0) }
  await store.db.updateTable('webhook_deliveries').set(due).where('id', '=', a.id).execute()
  const [again] = await claim()
  assert.equal(again?.id, a.id)
  assert.equal(await noteFailed(first.db, again, { ...failure, waitMs: 3 * DAY_MS }), true)
  const [later] = await claim()
  assert.equal((JSON.parse(String(later?.body)) as { data: { n: number } }).data.n, 2)
})

test('a worker whose lease ran out writes nothing over what another one has found since', async () => {
  const { project } = await newEndpoint()
  await post(project, 'a', 1)
  const [first, second] = workers
  assert.ok(first && second)
  const claim = async ({ db }: Store) =>
    (await claimDeliveries(db, CLAIM)).find(({ body }) => body.includes(project.id))
  const slow = await claim(first)
  await store.db
    .updateTable('webhook_deliveries')
    .set({ leased_until: new Date(0) })
    .where('id', '=', String(slow?.id))
    .execute()
  const quick = await claim(second)
  assert.ok(slow && quick)
  await noteDelivered(second.db, quick, 200)
  await noteFailed(first.db, slow, { error: 'timeout', status: null, waitMs: 1 })
  assert.deepEqual(await states(project), { delivered: 1 })
})

test('both secrets sign for a day after one is rolled, and then only the new one', async () => {
  zone = { [`A ${NAME}`]: ['127.0.0.1'] }
  const receiver = await createReceiver(certificate, { behave: () => 'ok', redirectTo: () => '' })
  const { project, endpoint } = await newEndpoint()
  const endpointId = endpoint.id
  const input = { project: atHand(project), endpointId }
  const { secret } = await inTenant(project, (tx) => rollEndpointSecret(tx, PARLEY, { ...input, secrets }))
  const verify = await documentedVerify()
  const deliver = async () => {
    await inTenant(project, (tx) => sendTestEvent(tx, PARLEY, input))
    await deliverDue(worker(0, { postWebhook: poster(receiver.port) }))
    return receiver.received.findLast(({ body }) => body.includes(project.id))
  }
  const during = await deliver()
  assert.ok(during)
  for (const each of [secret, endpoint.secret]) verify(each, during.headers, during.body)
  const past = { old_secret_ends_at: new Date(Date.now() - 1_000) }
  await store.db.updateTable('webhook_endpoints').set(past).where('id', '=', endpointId).execute()
  const after24h = await deliver()
  assert.ok(after24h)
  verify(secret, after24h.headers, after24h.body)
  assert.throws(() => verify(endpoint.secret, after24h.headers, after24h.body), /not signed/)
  assert.throws(() => verify(secret, after24h.headers, `${after24h.body} `), /not signed/)
  await receiver.close()
})

test('what was delivered can be sent again, with the same id, behind what waits', async () => {
  const sent: string[] = []
  const postWebhook: DeliverOptions['postWebhook'] = ({ headers, body }) => {
    if (body.includes(project.id)) sent.push(String(headers['webhook-id']))
    return Promise.resolve({ status: 200 })
  }
  const { project } = await newEndpoint()
  await post(project, 'a', 1)
  await deliverDue(worker(0, { postWebhook }))
  const [first] = await store.db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('project_id', '=', project.id)
    .execute()
  assert.ok(first)
  await post(project, 'a', 2)
  await inTenant(project, (tx) => replay(tx, PARLEY, { project: atHand(project), deliveryId: first.id }))
  await deliverDue(worker(0, { postWebhook }))
  assert.equal(sent.length, 3)
  assert.deepEqual([sent[2] === sent[0], sent[1] === sent[0]], [true, false])
  await assert.rejects(
    inTenant(project, async (tx) => {
      const again = { project: atHand(project), deliveryId: first.id }
      await replay(tx, PARLEY, again)
      await replay(tx, PARLEY, again)
    }),
    /still waiting/,
  )
})

test('1,000 events wait at an endpoint; what comes then has failed at once, and can be sent again when there is room', async () => {
  const { project } = await newEndpoint()
  await post(project, 'a', ...Array.from({ length: 1_000 }, (_, n) => n))
  assert.deepEqual(await states(project), { pending: 1_000 })
  await post(project, 'b', 1)
  assert.deepEqual(await states(project), { pending: 1_000, failed: 1 })
  const own = store.db
    .selectFrom('webhook_deliveries')
    .select(['id', 'last_error'])
    .where('project_id', '=', project.id)
  const { id: deliveryId, last_error: why } = await own.where('state', '=', 'failed').executeTakeFirstOrThrow()
  assert.equal(wordsOfDeliveryError(why), DELIVERY_ERRORS.queue_full)
  const again = () => inTenant(project, (tx) => replay(tx, PARLEY, { project: atHand(project), deliveryId }))
  await assert.rejects(again(), /Too many events are waiting/)
  const { id: waiting } = await own.where('state', '=', 'pending').executeTakeFirstOrThrow()
  await store.db.updateTable('webhook_deliveries').set({ state: 'delivered' }).where('id', '=', waiting).execute()
  await again()
  assert.deepEqual(await states(project), { pending: 1_000, delivered: 1 })
  await store.db.updateTable('webhook_deliveries').set({ state: 'failed' }).where('state', '=', 'pending').execute()
})

test('an endpoint that took nothing for three days is switched off, and its owners and admins are told once', async () => {
  const { project, endpoint } = await newEndpoint()
  const since = (ms: number) =>
    store.db
      .updateTable('webhook_endpoints')
      .set({ failing_since: new Date(Date.now() - ms) })
      .where('id', '=', endpoint.id)
      .execute()
  const look = async () => {
    await deliverDue(worker(0, { postWebhook: () => Promise.resolve({ status: 200 }) }))
    const rows = store.db
      .selectFrom('webhook_endpoints')
      .select(['enabled', 'off_because'])
      .where('id', '=', endpoint.id)
    return rows.executeTakeFirstOrThrow()
  }
  for (const [role, user] of [
    ['owner', 'o'],
    ['admin', 'a'],
    ['developer', 'd'],
  ] as const) {
    const id = `${project.id.slice(0, -1)}${user === 'o' ? '1' : user === 'a' ? '2' : '3'}`
    await store.db
      .insertInto('users')
      .values({ id, name: user, email: `${user}@${project.id}.example` })
      .execute()
    await store.db.insertInto('memberships').values({ publisher_id: project.publisherId, user_id: id, role }).execute()
  }
  await since(3 * DAY_MS - MINUTE_MS)
  assert.deepEqual(await look(), { enabled: true, off_because: null })
  await since(3 * DAY_MS)
  assert.deepEqual(await look(), { enabled: false, off_because: 'failing' })
  await look()
  const mails = await store.db.selectFrom('mails').select('recipient').where('template', '=', 'webhook_off').execute()
  const told = mails.map(({ recipient }) => recipient).filter((address) => address.endsWith(`${project.id}.example`))
  assert.deepEqual(told.toSorted(), [`a@${project.id}.example`, `o@${project.id}.example`])
  // Nothing is recorded for it from then on.
  await post(project, 'a', 1)
  assert.deepEqual(await states(project), {})
})
