import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { createNetworkTags } from '../../src/gateway/recommendations/network-tags.ts'
import { createMint } from '../../src/gateway/sessions/mint.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { parseSessionRequest } from '../../src/rules/calls/session-request.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { applyWith } from '../../src/store/billing/ledger/ledger-batch.ts'
import type { Ledger } from '../../src/store/billing/ledger/ledger.ts'
import { NO_LIMITS, replaceLimits, type LimitValues } from '../../src/store/billing/limits.ts'
import type { Store } from '../../src/store/database.ts'
import { beginSession, forgetSessions, type NewSession } from '../../src/store/projects/browser-sessions.ts'
import { forgetBrowserSessionsJob } from '../../src/worker/retention/forget-browser-sessions.ts'
import { sessionOf } from '../support/browser-sessions.ts'
import { ROOT } from '../support/commands.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { createTestLedger, settlementOf } from '../support/ledger.ts'
import { loginUrl } from '../support/logins.ts'
import { addKeyPair, addProject, credit } from '../support/world.ts'

/** Browser sessions at the ledger itself: their money and their calls are as hard as the wallet, whoever asks and from wherever. */

let database: TestDatabase
let store: Store
let gatewayStore: Store
let workerStore: Store
let secrets: Secrets
let ledger: Ledger
before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'sessions test' })
  secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }])
  gatewayStore = openTestStore({ url: loginUrl(database.url, 'gateway'), applicationName: 'sessions test gateway' })
  workerStore = openTestStore({ url: loginUrl(database.url, 'worker'), applicationName: 'sessions test worker' })
  ledger = createTestLedger(gatewayStore.ledgerPool)
})
after(async () => {
  await workerStore.close()
  await gatewayStore.close()
  await store.close()
  await database.drop()
})

async function createSite(nanos = 1_000_000n) {
  const project = await addProject(store, secrets, { credits: '0' })
  await credit(store, project.id, nanos)
  const { id: keyPairId } = await store.db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  const asking = { projectId: project.id, keyPairId, modelId: 'm', priceVersion: 1n, hasIdempotencyKey: false }
  return {
    projectId: project.id,
    keyPairId,
    publishableKey: project.publishableKey,
    begin: (change: Partial<NewSession> = {}, aliveMax = 100) =>
      beginSession(gatewayStore.db, sessionOf(asking, { calls: 10_000, money: 1_000n, ...change }), aliveMax),
    async session(change: Partial<NewSession> = {}) {
      const id = uuidv7()
      assert.ok('endsAt' in (await this.begin({ id, ...change })))
      return id
    },
    async hold(want: bigint, sessionId?: string, { min = want, through = ledger, ...who } = {}) {
      const callId = uuidv7()
      return { callId, ...(await through.hold({ ...asking, ...who, sessionId, callId, want, min })) }
    },
    settle: (callId: string, charge: bigint, change = {}) =>
      ledger.settle(settlementOf(callId, project.id, charge, change)),
    limit(values: Partial<LimitValues>, scope: 'project' | 'publisher' = 'project') {
      const { id: projectId, publisherId } = project
      const of = scope === 'project' ? { subject: projectId, projectId } : { subject: publisherId, projectId: null }
      return replaceLimits(store.db, { scope, publisherId, ...of }, { ...NO_LIMITS, ...values })
    },
    wallet: () =>
      store.db
        .selectFrom('wallets')
        .select(['has_limits', 'held_nanos', 'open_holds'])
        .where('project_id', '=', project.id)
        .executeTakeFirstOrThrow(),
  }
}

const stateOf = (id: string) =>
  store.db
    .selectFrom('browser_sessions as s')
    .innerJoin('limit_states as l', 'l.subject', 's.id')
    .select(['s.calls_made', 'l.total_spent', 'l.held_nanos', 'l.open_holds', 'l.left_nanos'])
    .where('s.id', '=', id)
    .executeTakeFirstOrThrow()

const grantsIn = <T>(results: PromiseSettledResult<T>[]) =>
  results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))

test('of its money, not a nano more is granted to a thousand calls at once through two gateways, nor charged', async () => {
  const site = await createSite()
  const id = await site.session({ money: 1_000n })
  const second = createTestLedger(store.ledgerPool)
  const asked = Array.from({ length: 1_000 }, (_, n) => site.hold(7n, id, { through: n % 2 === 0 ? ledger : second }))
  const granted = grantsIn(await Promise.allSettled(asked))
  assert.equal(granted.length, 142, '142 times 7 is 994')
  // Each comes to more than it held: the rest of the budget pays for six nanos of that, and nobody for all else.
  await Promise.all(granted.map(({ callId }) => site.settle(callId, 70n)))
  const { rows } = await sql<{ charged: bigint }>`
    select sum(charged_nanos)::int8 as charged from charges where project_id = ${site.projectId}`.execute(store.db)
  assert.equal(rows[0]?.charged, 1_000n)
  const used = { calls_made: 142, total_spent: 1_000n, held_nanos: 0n, open_holds: 0, left_nanos: 0n }
  assert.deepEqual(await stateOf(id), used)
  await assert.rejects(site.hold(1n, id), {
    code: 'budget_used_up',
    message: /^This session's money is used up\./,
  })
  await site.hold(1n, await site.session())
})

test('of its calls, not one more is granted, in one batch or in many, and what is refused does not count', async () => {
  const site = await createSite()
  const id = await site.session({ calls: 5 })
  await assert.rejects(site.hold(2_000n, id), { code: 'budget_used_up', message: /session's money/ })
  const granted = grantsIn(await Promise.allSettled(Array.from({ length: 300 }, () => site.hold(1n, id))))
  assert.equal(granted.length, 5)
  for (const { callId } of granted) await site.settle(callId, 1n)
  await assert.rejects(site.hold(1n, id), {
    code: 'budget_used_up',
    message: /^This session has made all of its calls\./,
  })
  assert.equal((await stateOf(id)).calls_made, 5)
})

test('a hold that is asked for again counts once', async () => {
  const site = await createSite()
  const id = await site.session({ calls: 2 })
  const { projectId, keyPairId } = site
  const request = {
    projectId,
    keyPairId,
    sessionId: id,
    callId: uuidv7(),
    modelId: 'm',
    priceVersion: 1n,
    want: 5n,
    min: 5n,
  }
  for (let n = 0; n < 3; n++) await ledger.hold({ ...request, hasIdempotencyKey: false })
  assert.deepEqual((await stateOf(id)).calls_made, 1)
})

test('a session of another pair, one that is over, and one that never was are refused', async () => {
  const [site, other] = [await createSite(), await createSite()]
  const over = { code: 'session_over', status: 401 }
  await site.session()
  await assert.rejects(site.hold(1n, await other.session()), over)
  await addKeyPair(store, secrets, site.projectId)
  const second = await store.db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', site.projectId)
    .where('id', '<>', site.keyPairId)
    .executeTakeFirstOrThrow()
  await assert.rejects(site.hold(1n, await site.session({ keyPairId: second.id })), over)
  await assert.rejects(site.hold(1n, uuidv7()), over)
  const id = await site.session()
  await site.hold(1n, id)
  await store.db
    .updateTable('browser_sessions')
    .set({ expires_at: sql`now()` })
    .where('id', '=', id)
    .execute()
  await assert.rejects(site.hold(1n, id), over)
})

test('one whose budget the ledger cannot see is refused: nothing would bound it', async () => {
  const site = await createSite()
  const id = await site.session()
  await store.db.deleteFrom('limit_counts').where('subject', '=', id).execute()
  await assert.rejects(site.hold(1n, id), { code: 'session_over' })
  const unseen = await site.session()
  await store.db.updateTable('wallets').set({ has_limits: false }).where('project_id', '=', site.projectId).execute()
  await assert.rejects(site.hold(1n, unseen), { code: 'session_over' })
})

test('what a dead gateway held is free again, and its late bill takes no more than the session has', async () => {
  const site = await createSite()
  const id = await site.session({ money: 100n })
  const dead = createTestLedger(gatewayStore.ledgerPool, uuidv7())
  const { callId } = await site.hold(100n, id, { through: dead })
  await sql`select ledger_sweep(interval '0', interval '0', 1000)`.execute(store.db)
  const again = await site.hold(80n, id)
  await site.settle(again.callId, 80n)
  assert.equal(await site.settle(callId, 100n), 20n)
  assert.deepEqual((await stateOf(id)).total_spent, 100n)
})

test('of one key pair, so many are alive and no more, also when all begin at once; one that ended makes room', async () => {
  const site = await createSite()
  const begun = await Promise.all(Array.from({ length: 20 }, () => site.begin({}, 7)))
  assert.equal(begun.filter((each) => 'endsAt' in each).length, 7)
  assert.deepEqual(
    begun.find((each) => 'refusal' in each),
    { refusal: 'too_many_sessions' },
  )
  await sql`update browser_sessions set expires_at = now() where id = (
    select id from browser_sessions where key_pair_id = ${site.keyPairId} limit 1)`.execute(store.db)
  assert.ok('endsAt' in (await site.begin({}, 7)))
  assert.ok('refusal' in (await site.begin({}, 7)))
})

test('it ends when its pair does, and begins only while the pair, the account and the domain are as they must be', async () => {
  const site = await createSite()
  const endsAt = new Date(Date.now() + 60_000)
  const pair = store.db.updateTable('key_pairs').where('id', '=', site.keyPairId)
  await pair.set({ expires_at: endsAt }).execute()
  assert.deepEqual(await site.begin(), { endsAt })
  await pair.set({ expires_at: null, active: false }).execute()
  assert.deepEqual(await site.begin(), { refusal: 'key_inactive' })
  await pair.set({ active: true }).execute()
  await store.db.updateTable('domains').set({ verified_at: null }).where('project_id', '=', site.projectId).execute()
  assert.deepEqual(await site.begin(), { refusal: 'domain_not_verified' })
  await sql`update publishers set activated_at = null where id = (
    select publisher_id from projects where id = ${site.projectId})`.execute(store.db)
  assert.deepEqual(await site.begin(), { refusal: 'account_not_activated' })
  assert.deepEqual(await site.begin({ keyPairId: uuidv7() }), { refusal: 'key_inactive' })
})

test('a limit that is taken away while a session begins waits for it, and leaves it its budget', async () => {
  const site = await createSite()
  for (const scope of ['project', 'publisher'] as const) {
    await site.limit({ month_nanos: 1_000_000n }, scope)
    let taken: Promise<unknown> = Promise.resolve()
    const id = uuidv7()
    await gatewayStore.db.transaction().execute(async (tx) => {
      await beginSession(tx, sessionOf(site, { id, money: 5n }), 100)
      taken = site.limit({}, scope)
      await sleep(300)
      assert.equal(await forgetSessions(workerStore.db, site.projectId, 0, 1_000), undefined)
      await site.hold(1n)
    })
    await taken
    assert.equal((await site.wallet()).has_limits, true)
    await assert.rejects(site.hold(6n, id), { code: 'budget_used_up' })
    await site.hold(5n, id)
  }
})

test('what ended a day ago is forgotten with its budget, and the wallet has no limits any more when the last is gone', async () => {
  const site = await createSite()
  const [old, recent] = [await site.session(), await site.session()]
  const endedBefore = (id: string, ms: number) =>
    sql`update browser_sessions set created_at = ended.at, expires_at = ended.at
      from (select now() - ${ms} * interval '1 ms' as at) ended where id = ${id}`.execute(store.db)
  await endedBefore(old, DAY_MS + 1_000)
  await endedBefore(recent, DAY_MS - 60_000)
  const rowsOf = async (table: 'limits' | 'limit_counts') =>
    (await store.db.selectFrom(table).select('subject').where('project_id', '=', site.projectId).execute()).map(
      ({ subject }) => subject,
    )
  assert.equal(await forgetSessions(workerStore.db, site.projectId, DAY_MS, 1_000), 1)
  assert.deepEqual([await rowsOf('limits'), await rowsOf('limit_counts')], [[recent], [recent]])
  assert.equal((await site.wallet()).has_limits, true)
  await endedBefore(recent, DAY_MS + 1_000)
  assert.equal(await forgetSessions(workerStore.db, site.projectId, DAY_MS, 1_000), 1)
  assert.deepEqual([await rowsOf('limits'), await rowsOf('limit_counts')], [[], []])
  assert.equal((await site.wallet()).has_limits, false)
  await site.session()
  await site.limit({ month_nanos: 10n })
  await site.limit({})
  assert.equal((await site.wallet()).has_limits, true, 'the session’s own is left')
})

test('a function of a version without sessions, which somebody has gone back to, grants nothing to a session: 503', async () => {
  const site = await createSite()
  const id = await site.session({ money: 10n, calls: 1 })
  const text = readFileSync(join(ROOT, 'functions/ledger_hold.sql'), 'utf8')
  const before = '\nbegin\n  for a in'
  const forgets = `asked := (select json_agg(e::jsonb - 'session_id' - 'session_want_nanos') from json_array_elements(asked) e);`
  assert.ok(text.includes(before))
  await sql.raw(text.replace(before, before.replace('begin', `begin\n  ${forgets}`))).execute(store.db)
  try {
    for (const want of [5n, 500_000n])
      await assert.rejects(site.hold(want, id, { min: 0n }), {
        code: 'store_unavailable',
        options: { retryAfterSeconds: 2, details: { ledger: 'session_ignored' } },
      })
    assert.partialDeepStrictEqual(await site.wallet(), { held_nanos: 0n, open_holds: 0 })
    await site.hold(5n)
  } finally {
    await sql.raw(text).execute(store.db)
  }
  const { callId } = await site.hold(5n, id)
  await site.settle(callId, 5n)
  await assert.rejects(site.hold(1n, id), { code: 'budget_used_up' })
})

test('a batch with calls of sessions that is sent again is answered as the first time', async () => {
  const site = await createSite()
  const apply = applyWith({ pool: gatewayStore.ledgerPool, gatewayId: uuidv7() })
  const request = { callId: uuidv7(), projectId: site.projectId, keyPairId: site.keyPairId, modelId: 'm' }
  const more = { sessionId: await site.session(), priceVersion: 1n, want: 5n, min: 1n, hasIdempotencyKey: false }
  const items = [{ part: 'hold' as const, request: { ...request, ...more } }]
  const first = await apply(items)
  assert.partialDeepStrictEqual(first, [{ amount_nanos: 5n, refusal: null }])
  assert.partialDeepStrictEqual(await apply(items), [{ amount_nanos: 5n, refusal: null }])
})

test('a wallet that is locked for a while keeps the job waiting, and nothing is taken for “none left”', async () => {
  const site = await createSite()
  const id = await site.session()
  await sql`update browser_sessions set created_at = now() - interval '2 days', expires_at = now() - interval '2 days'
    where id = ${id}`.execute(store.db)
  const job = forgetBrowserSessionsJob({ db: workerStore.db, metrics: createMetrics() })
  const left = () => store.db.selectFrom('browser_sessions').select('id').where('id', '=', id).execute()
  let run: Promise<unknown> = Promise.resolve()
  await store.db.transaction().execute(async (tx) => {
    await sql`select from wallets where project_id = ${site.projectId} for no key update`.execute(tx)
    run = job.run()
    await sleep(500)
    assert.equal((await left()).length, 1)
  })
  await run
  assert.equal((await left()).length, 0)
})

test('while the store cannot say what a network is tagged with, a session is 503 and not an error of ours', async () => {
  const away = () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
  const mint = createMint(gatewayStore.db, secrets, away)
  const from = { endUserId: undefined, address: '203.0.113.7' }
  await assert.rejects(mint.begin(await createSite(), parseSessionRequest({}), from), { code: 'store_unavailable' })
})

test('a locked wallet keeps its own sessions from beginning, 503 soon, and nobody else from the gateway’s connections', async (t) => {
  const [site, other] = [await createSite(), await createSite()]
  const mint = createMint(gatewayStore.db, secrets, createNetworkTags(gatewayStore.db).tagOf)
  const from = { endUserId: undefined, address: '203.0.113.7' }
  const begin = (of: typeof site) => mint.begin(of, parseSessionRequest({}), from)
  const asked = Array.from({ length: 20 }, () => begin(site))
  await Promise.allSettled(asked) // Every connection of the pool is open now.
  await store.db.transaction().execute(async (tx) => {
    await sql`select from wallets where project_id = ${site.projectId} for update`.execute(tx)
    const beganMs = performance.now()
    const refused = Array.from({ length: 20 }, () =>
      assert.rejects(begin(site), { code: 'store_unavailable', options: { retryAfterSeconds: 2 } }),
    )
    await begin(other)
    const waitedMs = performance.now() - beganMs
    t.diagnostic(`the neighbour waited ${Math.round(waitedMs)} ms`)
    assert.ok(waitedMs < 1_600, 'two seconds are what the pool waits for any other lock')
    await Promise.all(refused)
  })
  await begin(site)
})

test('nobody but the function that begins it makes the budget of a session', async () => {
  const site = await createSite()
  const id = await site.session()
  const { publisher_id } = await store.db
    .selectFrom('projects')
    .select('publisher_id')
    .where('id', '=', site.projectId)
    .executeTakeFirstOrThrow()
  const wanted = { scope: 'session', publisher_id, project_id: site.projectId, total_nanos: '1000000' }
  for (const subject of [id, site.projectId])
    await assert.rejects(
      sql`select limits_set(json_populate_record(null::limits, ${JSON.stringify({ ...wanted, subject })}::json))`.execute(
        store.db,
      ),
      /there is no session/,
    )
})
