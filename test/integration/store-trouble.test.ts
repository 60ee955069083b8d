import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { Client } from 'pg'
import type { Call } from '../../src/gateway/call.ts'
import { createConversations } from '../../src/gateway/conversations/conversations.ts'
import { createWork } from '../../src/gateway/intake/work.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { parseChatRequest, type ChatRequest } from '../../src/rules/calls/chat-request.ts'
import { storeUnavailable } from '../../src/rules/errors.ts'
import { BEATS_PER_LEASE } from '../../src/rules/limits.ts'
import { KEPT_DAYS } from '../../src/rules/retention.ts'
import { isUnavailable, openStore } from '../../src/store/database.ts'
import { urlWith } from '../../src/store/database-logins.ts'
import { createWorker } from '../../src/worker/worker.ts'
import { startCuttable } from '../conformance/second-gateway.ts'
import { createConsoleWorld, newPerson, type ConsoleWorld } from '../support/console.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestLedger, settlementOf } from '../support/ledger.ts'
import { addProject, chatBody, complete, createWorld, eventsOf, until, walletOf } from '../support/world.ts'

/** PostgreSQL away, full, or with new passwords, as callers, balancers and the operator see it. */

let site: ConsoleWorld
before(async () => {
  site = await createConsoleWorld({ roles: ['console', 'worker'] })
})
after(() => site.close())

async function statusOf(opsUrl: string): Promise<number> {
  const response = await fetch(`${opsUrl}/readyz`)
  await response.arrayBuffer()
  return response.status
}

test('while PostgreSQL is away, signed-in pages answer 503, and console and worker are not ready', async () => {
  const person = await newPerson(site)
  const admin = new Client({ connectionString: site.env.DATABASE_URL })
  await admin.connect()
  const { rows } = await admin.query<{ name: string }>('select quote_ident(current_database()) as name')
  const name = rows[0]?.name
  // Superusers still come in; the logins of the planes do not.
  await admin.query(`alter database ${name} connection limit 0`)
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and usename <> current_user and pid <> pg_backend_pid()`,
  )
  try {
    for (const key of ['GET /api/me', `GET /api/publishers/${person.publisherId}/projects`]) {
      const { status, body } = await person.send(key)
      assert.deepEqual([key, status, body?.code], [key, 503, 'store_unavailable'])
    }
    await until(async () => (await statusOf(site.opsUrl)) === 503, 5_000)
  } finally {
    await admin.query(`alter database ${name} connection limit -1`)
    await admin.end()
  }
  await until(async () => (await statusOf(site.opsUrl)) === 200, 5_000)
  await until(async () => (await person.send('GET /api/me')).status === 200, 5_000)
})

test('a database that takes no connections is away like any other: calls are 503, and are answered again when it does', async (t) => {
  const world = await createWorld()
  t.after(() => world.close())
  const url = new URL(String(world.env.DATABASE_URL))
  const name = decodeURIComponent(url.pathname.slice(1))
  url.pathname = '/postgres'
  const admin = new Client({ connectionString: url.href })
  await admin.connect()
  t.after(() => admin.end())
  const call = async () => {
    const response = await complete(world, chatBody('tokens=3'))
    const { message } = (await response.json()) as { message?: string }
    return [response.status, message]
  }
  assert.deepEqual(await call(), [200, undefined])
  await admin.query(`alter database "${name}" allow_connections false`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  // Past what the gateway still knows of its callers.
  await until(async () => {
    assert.deepEqual(await call(), [503, storeUnavailable().message])
    return (await statusOf(world.opsUrl)) === 503
  }, 15_000)
  await admin.query(`alter database "${name}" allow_connections true`)
  await until(async () => (await call())[0] === 200)
})

test('a gateway that has not reached PostgreSQL for three beats is not ready, and is again when it has', async (t) => {
  const leaseMs = 6_000
  const gateway = await startCuttable(site, { PARLEY_LEASE_MS: String(leaseMs) })
  gateway.relay.cut()
  assert.equal(await statusOf(gateway.opsUrl), 200, 'a moment ago it was there')
  const { now } = performance
  t.mock.method(performance, 'now', () => now.call(performance) + (3 * leaseMs) / BEATS_PER_LEASE)
  assert.equal(await statusOf(gateway.opsUrl), 503)
  gateway.relay.mend()
  await until(async () => (await statusOf(gateway.opsUrl)) === 200)
})

test('a disk that is full is told in the log and by readiness, and so is its end', async (t) => {
  const world = await createWorld()
  t.after(() => world.close())
  const { db } = world.store
  await sql`create function no_space() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`.execute(db)
  await sql`create trigger no_space before insert on holds for each row execute function no_space()`.execute(db)
  const call = async () => {
    const response = await complete(world, chatBody('tokens=3'))
    await response.arrayBuffer()
    return response.status
  }
  const said = (text: string) => world.logs.filter((line) => line.includes(text))
  assert.equal(await call(), 503)
  await until(async () => {
    assert.equal(await call(), 503)
    return (await statusOf(world.opsUrl)) === 503
  }, 15_000)
  const [line, ...more] = said('the ledger cannot be written: calls are refused')
  assert.match(line ?? '', /"level":"warn".*"errorCode":"53100"/)
  assert.equal(more.length, 0)
  await sql`drop trigger no_space on holds`.execute(db)
  await until(async () => (await call()) === 200)
  assert.equal(await statusOf(world.opsUrl), 200)
  assert.equal(said('"job":"ledger","msg":"recovered"').length, 1)
})

test('an answer that was delivered while its login was refused is charged, and the connection stays while it is idle', async () => {
  const database = await createTestDatabase()
  const owner = openStore({ url: database.url, applicationName: 'owner' })
  const login = { name: `parley_test_${randomBytes(4).toString('hex')}`, password: 'x' }
  const name = sql.id(login.name)
  await sql`create role ${name} login in role parley_gateway`.execute(owner.db)
  const store = openStore({ url: urlWith(database.url, login), applicationName: 'gateway' })
  try {
    const ledger = createTestLedger(store.ledgerPool)
    const project = await addProject(owner, createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }]))
    const keys = owner.db.selectFrom('key_pairs').select('id').where('project_id', '=', project.id)
    const { id: keyPairId } = await keys.executeTakeFirstOrThrow()
    const callId = uuidv7()
    const asked = { keyPairId, modelId: 'm', priceVersion: 1n, want: 100n, min: 100n, hasIdempotencyKey: false }
    await ledger.hold({ ...asked, callId, projectId: project.id })
    await sql`alter role ${name} nologin`.execute(owner.db)
    assert.equal(store.ledgerPool.options.idleTimeoutMillis, 0)

    await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${login.name}`.execute(owner.db)
    await until(() => store.ledgerPool.totalCount === 0)
    await assert.rejects(store.ledgerPool.query('select 1'), (error: { code?: string }) => {
      assert.equal(error.code, '28000')
      return isUnavailable(error)
    })
    const settled = ledger.settle(settlementOf(callId, project.id, 70n))
    const isRefused = await Promise.race([
      settled.then(
        () => true,
        () => true,
      ),
      new Promise<false>((resolve) => setTimeout(() => resolve(false), 500)),
    ])
    assert.equal(isRefused, false, 'it waits')
    await sql`alter role ${name} login`.execute(owner.db)
    assert.equal(await settled, 70n)
  } finally {
    await store.close()
    await sql`drop role ${name}`.execute(owner.db)
    await owner.close()
    await database.drop()
  }
})

test('a stream that needs more credit than it holds while PostgreSQL stays away ends in an error event, and costs nothing', async (t) => {
  const world = await createWorld()
  t.after(() => world.close())
  const gateway = await startCuttable(world)
  // Longer than all of its waiting: an answer that has come to its end has no provider to leave.
  const response = await complete(gateway, chatBody('tokens=6000 gap=5', { stream: true }))
  const requestId = String(response.headers.get('x-request-id'))
  const [reader, decoder] = [response.body?.getReader(), new TextDecoder()]
  let text = decoder.decode((await reader?.read())?.value)
  gateway.relay.cut()
  const isOver = (async () => {
    for (let read = await reader?.read(); read?.value; read = await reader?.read()) text += decoder.decode(read.value)
  })()
  // It waits ten seconds for more, and then leaves its provider.
  await until(() => world.simulator.openCalls() === 0, 30_000)
  gateway.relay.mend()
  await isOver
  const events = eventsOf(text)
  assert.ok(events.length > 100, 'what was held was delivered')
  const last = JSON.parse(events.at(-1) ?? '{}') as { error?: { code: string } }
  assert.equal(last.error?.code, 'store_unavailable')
  assert.ok(!text.includes('"finish_reason":"length"') && !text.includes('[DONE]'))
  const { outcome, charged_nanos } = await world.store.db
    .selectFrom('calls')
    .innerJoin('charges', 'charges.id', 'calls.id')
    .select(['calls.outcome', 'charges.charged_nanos'])
    .where('calls.request_id', '=', requestId)
    .executeTakeFirstOrThrow()
  assert.deepEqual([outcome, charged_nanos], ['gateway_failed', 0n])
  const { balance, held } = await walletOf(world.store, world.project.id)
  assert.deepEqual([balance, held], [1_000_000_000_000n, 0n])
})

test('a worker that was off for long sweeps before it audits, and finds nothing broken', async () => {
  const world = await createWorld()
  const { store, project, secrets } = world
  const keys = store.db.selectFrom('key_pairs').select('id').where('project_id', '=', project.id)
  const { id: keyPairId } = await keys.executeTakeFirstOrThrow()
  // The holds are left by a gateway that has died.
  const ledger = createTestLedger(store.ledgerPool)
  const asked = { projectId: project.id, keyPairId, modelId: 'sim-small', priceVersion: 1n, want: 100n, min: 100n }
  const calls = Array.from({ length: 300 }, () => uuidv7())
  await Promise.all(calls.map((callId) => ledger.hold({ ...asked, callId, hasIdempotencyKey: false })))
  await sql`update holds set held_at = now() - interval '1 hour'`.execute(store.db)

  // Somebody uses the wallet, so that sweeping takes a while.
  const user = new Client({ connectionString: world.env.DATABASE_URL })
  await user.connect()
  await user.query('begin; select from wallets for no key update')
  const lines: string[] = []
  const metrics = createMetrics()
  const worker = createWorker({
    db: store.db,
    tenants: store.tenants,
    log: createLog('info', { write: (line) => lines.push(line) }),
    metrics,
    secrets,
    leaseMs: 15_000,
    stripe: undefined,
    mail: { smtpUrl: undefined, from: 'Parley <parley@example.com>' },
    checkDomain: () => Promise.reject(new Error('nothing is due')),
    postWebhook: () => Promise.reject(new Error('nothing is due')),
    fetchFeed: () => Promise.reject(new Error('nothing is due')),
    openImportStore: () => assert.fail('nothing is due'),
    kept: KEPT_DAYS,
    tellsFigures: false,
    consoleUrl: 'http://console.test',
  })
  await sleep(1_000)
  await user.end()
  await until(async () => ((await metrics.auditFinished.get()).values[0]?.value ?? 0) > 0, 15_000)
  worker.stop()
  assert.deepEqual(
    lines.filter((line) => line.includes('"level":"error"')),
    [],
  )
  assert.equal((await metrics.holdsSwept.get()).values[0]?.value, calls.length)
  await world.close()
})

const RECORDING = {
  digestKeys: { keyFor: () => Buffer.alloc(32, 1) },
  work: createWork({ accountPercent: 100 }),
}

test('whether a conversation was deleted is not guessed: while the store cannot say it, calls of conversations are refused', async (t) => {
  const away = openStore({ url: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'store trouble test' })
  t.after(() => away.close())
  const log = createLog('silent')
  const { check } = createConversations({
    db: away.db,
    ...RECORDING,
    log,
    metrics: createMetrics(),
  })
  const caller = { projectId: uuidv7() } as Call['caller']
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] })
  await assert.rejects(check({ caller, conversationId: 'talk' }, request), { code: 'store_unavailable' })
  await check({ caller, conversationId: undefined }, request)
})

test('half of the 500 turns that wait are for all others, stopping waits for every one, and the next finds room', async (t) => {
  const { id: projectId } = await addProject(site.store, site.secrets)
  // However slowly the machine writes them, none is given up for want of a connection.
  const url = String(site.env.DATABASE_URL)
  const patient = openStore({ url, applicationName: 'store trouble test', poolWaitMs: 60_000 })
  t.after(() => patient.close())
  // Not in the queue of those who write: it sees what is stored at once.
  const aside = new Client({ connectionString: site.env.DATABASE_URL })
  await aside.connect()
  t.after(() => aside.end())
  const metrics = createMetrics()
  const conversations = createConversations({
    db: patient.db,
    ...RECORDING,
    log: createLog('silent'),
    metrics,
  })
  const request = { model: 'm', messages: [{ role: 'user', content: 'tea' }] } as ChatRequest
  const record = (conversationId: string, publisherId = 'greedy') => {
    const caller = { publisherId, projectId, keyPairId: publisherId, contentRetentionDays: 0 }
    const call = { id: uuidv7(), conversationId, caller, bodyBytes: 100, progress: {} }
    conversations.record(call as unknown as Call, request, true, undefined)
  }
  const kept = async () => {
    await conversations.idle()
    const { values } = await metrics.conversationsDropped.get()
    const { rows } = await aside.query('select from messages where project_id = $1', [projectId])
    return { kept: rows.length, dropped: values[0]?.value }
  }
  // None of them can have been stored before the last is there. Two are being written.
  for (let n = 0; n < 500; n++) record(`talk-${n}`)
  for (let n = 0; n < 100; n++) record(`other-${n}`, 'modest')
  assert.deepEqual(await kept(), { kept: 352, dropped: 248 })
  record('later')
  assert.deepEqual(await kept(), { kept: 353, dropped: 248 })
})
