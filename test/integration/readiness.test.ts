import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { healthOf } from '../../src/readiness.ts'
import type { MatcherHealth } from '../../src/matcher/matcher.ts'
import { createReachability, createSchemaCheck, functionsNeededBy } from '../../src/store/readiness.ts'
import { serve, type Role } from '../../src/serve.ts'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { loginUrl } from '../support/logins.ts'
import { openTestStore } from '../support/database.ts'
import { createWorld, until, type World } from '../support/world.ts'

/** The answers of /readyz for each role: correct, cheap and without flapping. */

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

interface Answer {
  code: number
  status: string
  missing: string[]
  warnings: string[]
}

async function readyz(opsUrl: string): Promise<Answer> {
  const response = await fetch(`${opsUrl}/readyz`)
  return { code: response.status, ...((await response.json()) as Omit<Answer, 'code'>) }
}

const READY = { code: 200, status: 'ready', missing: [], warnings: [] }

/** A process of its own: what it has asked the database before is not remembered. */
async function answerOf(roles: Role[]): Promise<Answer> {
  const ports = { PARLEY_CONSOLE_PORT: '0', PARLEY_MATCHER_PORT: '0' }
  const running = await serve(readConfig({ ...world.env, ...ports }), roles, createLog('silent'))
  try {
    let answer = await readyz(running.opsUrl)
    const isStarting = () => answer.missing.some((text) => /catalogue|lease/.test(text))
    await until(async () => {
      if (isStarting()) answer = await readyz(running.opsUrl)
      return !isStarting()
    })
    return answer
  } finally {
    await running.stop()
  }
}

function newGatewayStore() {
  return openTestStore({ url: loginUrl(String(world.env.DATABASE_URL), 'gateway'), applicationName: 'readiness test' })
}

test('each role is ready, alone and together, and says so with nothing missing', async () => {
  assert.deepEqual(await readyz(world.opsUrl), READY)
  for (const roles of [['console'], ['worker'], ['gateway', 'console', 'worker']] as Role[][])
    assert.deepEqual(await answerOf(roles), READY, roles.join())
})

test('a migration that is not applied is named, for every role that would need it', async () => {
  const { db } = world.store
  const [row] = await db.deleteFrom('migrations').where('name', '=', '0027_retention.sql').returningAll().execute()
  assert.ok(row)
  const sentence = 'The migration 0027_retention.sql is not applied. Run "parley migrate".'
  for (const role of ['gateway', 'console', 'worker'] as const) {
    const { code, status, missing } = await answerOf([role])
    assert.deepEqual([code, status, missing], [503, 'not ready', [sentence]], role)
  }
  await sql`revoke select (name) on migrations from parley_gateway`.execute(db)
  assert.deepEqual((await answerOf(['gateway'])).missing, [sentence], 'the right to see them is one of them')
  await sql`grant select (name) on migrations to parley_gateway`.execute(db)
  await db.insertInto('migrations').values(row).execute()
})

test('a function that calls need takes a gateway out, and no other role; one that only others need does not', async () => {
  const { db } = world.store
  const missing = async (role: Role) => (await answerOf([role])).missing
  await sql`alter function ledger_hold rename to ledger_hold_elsewhere`.execute(db)
  assert.deepEqual(await missing('gateway'), ['The database has no function ledger_hold. Run "parley migrate".'])
  assert.deepEqual(await missing('console'), [])
  await sql`alter function ledger_hold_elsewhere rename to ledger_hold`.execute(db)
  await sql`alter function ledger_sweep rename to ledger_sweep_elsewhere`.execute(db)
  assert.deepEqual(await missing('gateway'), [])
  assert.deepEqual(await missing('worker'), ['The database has no function ledger_sweep. Run "parley migrate".'])
  await sql`alter function ledger_sweep_elsewhere rename to ledger_sweep`.execute(db)
})

test('functions are needed with those that they call', async () => {
  const needed = await functionsNeededBy(['ledger_apply'])
  for (const name of ['ledger_apply', 'ledger_hold', 'ledger_settle', 'ledger_extend', 'ledger_collect'])
    assert.ok(needed.includes(name), name)
  for (const name of ['ledger_sweep', 'tenant_context', 'audit_log_chain']) assert.ok(!needed.includes(name), name)
})

test('a day without a partition takes gateways out when it is today, or tomorrow within ten minutes of it', async (t) => {
  const store = newGatewayStore()
  t.after(() => store.close())
  let wanted = 0
  const lookAfter = async (change: string) => {
    const [parent, day] = change.split(' ')
    const { rows } = await sql<{ name: string; day: string; minutesLeft: number }>`
      select ${parent} || to_char(d, '_YYYYMMDD') as name, d::text as day,
        (extract(epoch from ((now() at time zone 'utc')::date + 1) - (now() at time zone 'utc')) / 60)::float8 as "minutesLeft"
      from (select (now() at time zone 'utc')::date + ${day === 'today' ? 0 : 1}::int as d) day`.execute(world.store.db)
    const [found] = rows
    assert.ok(found)
    const elsewhere = sql.table(`elsewhere_${found.name}`)
    await sql`alter table ${sql.table(found.name)} rename to ${elsewhere}`.execute(world.store.db)
    const needs = { functions: [], writesCalls: true, onPartitionMissing: () => (wanted += 1) }
    const [gateway, worker] = [createSchemaCheck(store.db, needs), createSchemaCheck(store.db, { functions: [] })]
    const seen = { gateway: await gateway(), worker: await worker(), isNear: found.minutesLeft < 11 }
    await sql`alter table ${elsewhere} rename to ${sql.table(found.name)}`.execute(world.store.db)
    return { ...seen, told: [`There is no partition ${parent} of ${found.day}: nothing of that day can be written.`] }
  }
  for (const parent of ['charges', 'calls']) {
    const today = await lookAfter(`${parent} today`)
    assert.deepEqual(today.gateway, { missing: today.told, warnings: [] })
    assert.deepEqual(today.worker, { missing: [], warnings: today.told })
    const tomorrow = await lookAfter(`${parent} tomorrow`)
    if (!tomorrow.isNear) assert.deepEqual(tomorrow.gateway, { missing: [], warnings: tomorrow.told })
  }
  const recommendations = await lookAfter('recommendations today')
  assert.deepEqual(recommendations.gateway, { missing: [], warnings: recommendations.told }, 'calls go on without')
  assert.equal(wanted, 5, 'each time, the job that makes them was wanted')
})

test('however often it is asked, the database is asked once in 15 s, and a slow answer or none changes nothing', async (t) => {
  const store = newGatewayStore()
  let statements = 0
  const db = store.db.withPlugin({
    transformQuery: ({ node }) => ((statements += 1), node),
    transformResult: ({ result }) => Promise.resolve(result),
  })
  const [check, look] = [createSchemaCheck(db, { functions: ['ledger_apply'] }), createReachability(db)]
  const ready = { missing: [], warnings: [] }
  for (let n = 0; n < 50; n++) assert.deepEqual(await check(), ready)
  assert.equal(statements, 2)
  for (let n = 0; n < 50; n++) assert.equal(await look(), true)
  assert.ok(statements <= 4, String(statements))
  const { now } = performance
  let passedMs = 0
  t.mock.method(performance, 'now', () => now.call(performance) + passedMs)
  await store.close()
  passedMs = 2_000
  assert.equal(await look(), true, 'a moment ago it answered')
  passedMs = 20_000
  assert.equal(await look(), false)
  assert.deepEqual(await check(), ready, 'whether it answers is told elsewhere')
})

test('before the database has answered for the first time, nothing is ready', async () => {
  const nowhere = openTestStore({ url: 'postgres://nobody@127.0.0.1:1/none', applicationName: 'readiness test' })
  const { missing } = await createSchemaCheck(nowhere.db, { functions: [] })()
  assert.deepEqual(missing, ['The database has not answered yet.'])
  assert.equal(await createReachability(nowhere.db)(), false)
  await nowhere.close()
})

test('jobs that fail are warned of and take nothing out: of a gateway, and of a worker', async (t) => {
  const { db } = world.store
  await sql`alter table mails rename to mails_elsewhere`.execute(db)
  const running = await serve(readConfig(world.env), ['worker'], createLog('silent'))
  t.after(() => running.stop())
  let answer = READY as Answer
  await until(async () => {
    answer = await readyz(running.opsUrl)
    return answer.warnings.length > 0
  })
  await sql`alter table mails_elsewhere rename to mails`.execute(db)
  assert.deepEqual([answer.code, answer.status, answer.missing], [200, 'ready', []])
  assert.match(answer.warnings.join('\n'), /^The job "(send|forget) mails" has been failing for \d+ s\.$/m)
  await until(async () => (await readyz(running.opsUrl)).warnings.length === 0)

  const failures = ['The job "last used keys" has been failing for 3 s.']
  const health = healthOf({
    roles: ['gateway'],
    storeOf: () => world.store,
    gateway: { health: { readiness: () => Promise.resolve({ missing: [], warnings: failures }) } } as never,
    matcher: undefined,
    runningWorker: () => undefined,
  })
  assert.deepEqual(await health.readiness(), { missing: [], warnings: failures })
})

test('a matcher is ready with its index, and beside other roles it takes none of them out', async () => {
  const said = async (matcher: MatcherHealth, roles: string[], store = world.store) => {
    const planes = { roles, storeOf: () => store, runningWorker: () => undefined }
    const gateway = { health: { readiness: () => Promise.resolve({ missing: [], warnings: [] }) } } as never
    return healthOf({ ...planes, gateway, matcher: { health: matcher } as never }).readiness()
  }
  const ready = { state: 'ready' as const, problem: undefined, failures: [] }
  const off = { ...ready, state: 'switched_off' as const, problem: 'The gates are not proven.' }
  const starting = 'The index of offers is not loaded yet.'
  assert.deepEqual(await said(ready, ['matcher']), { missing: [], warnings: [] })
  assert.deepEqual(await said({ ...ready, state: 'starting' }, ['matcher']), { missing: [starting], warnings: [] })
  // It has the index, and does not answer from it while it hears nothing of the database.
  const away = openTestStore({ url: 'postgres://nobody@127.0.0.1:1/nowhere', applicationName: 'readiness test' })
  const unreached = { missing: ['The database does not answer.'], warnings: [] }
  assert.deepEqual(await said({ ...ready, state: 'starting' }, ['matcher'], away), unreached)
  await away.close()
  const why = 'It is switched off: The gates are not proven.'
  assert.deepEqual(await said(off, ['matcher']), { missing: [why], warnings: [] })
  assert.deepEqual(await said(off, ['gateway', 'matcher']), { missing: [], warnings: [`matcher: ${why}`] })
  const failing = { ...ready, failures: ['The job "follow offers" has been failing for 9 s.'] }
  assert.deepEqual(await said(failing, ['matcher']), { missing: [], warnings: failing.failures })
})
