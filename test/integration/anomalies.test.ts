import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { createMetrics } from '../../src/metrics.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Anomaly } from '../../src/rules/billing/reported-usage.ts'
import { completionIdOf } from '../../src/rules/billing/receipts.ts'
import { expireAnomalies } from '../../src/store/billing/usage-anomalies.ts'
import { createAnomalyAlert } from '../../src/worker/report-anomalies.ts'
import { HOUR_MS } from '../../src/rules/durations.ts'
import { here } from '../support/operator.ts'
import { createWorld, type World } from '../support/world.ts'

/** How the operator learns that a provider reports what cannot be right, and whose calls those were. */

let world: World
const suspect = uuidv7()

before(async () => {
  world = await createWorld()
})
after(() => world.close())

async function add(provider: string, projectId: string, anomalies: Anomaly[], agoMs = 0): Promise<string> {
  const call_id = uuidv7()
  const created_at = new Date(Date.now() - agoMs)
  const row = { call_id, project_id: projectId, model_id: 'sim-small', provider, anomalies, created_at }
  await world.store.db
    .insertInto('usage_anomalies')
    .values({ ...row, reported: JSON.stringify({ input: 9_000_000 }) })
    .execute()
  return call_id
}

async function command(...args: string[]): Promise<string> {
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  const { stdout, stderr } = await here(args, { env: { DATABASE_URL, PARLEY_SECRET } })
  return stdout + stderr
}

test('without any, the commands say so', async () => {
  assert.match(await command('anomalies'), /In the last 24 hours no provider reported anything odd\./)
  assert.match(await command('doctor'), /^ok +usage reports +none was odd in the last 24 hours$/m)
})

test('the command names providers, the project with most of them, and the calls; the doctor points to it', async () => {
  await add('generous', suspect, ['prompt_too_large'])
  await add('generous', suspect, ['prompt_too_large', 'zero'])
  const other = await add('generous', world.project.id, ['prompt_too_large'])
  await add('silent', world.project.id, ['missing'])
  await add('generous', suspect, ['falling'], 25 * HOUR_MS)

  const all = await command('anomalies')
  assert.match(all, new RegExp(`^generous +prompt_too_large +3 +2 +${suspect} \\(2\\)$`, 'm'))
  assert.match(all, new RegExp(`^generous +zero +1 +1 +${suspect} \\(1\\)$`, 'm'))
  assert.match(all, new RegExp(`^silent +missing +1 +1 +${world.project.id} \\(1\\)$`, 'm'))
  assert.doesNotMatch(all, /falling/, 'that was yesterday')
  assert.match(await command('anomalies', '--hours', '26'), /falling/)

  const { calls } = JSON.parse(
    await command('anomalies', '--provider', 'generous', '--project', world.project.id, '--json'),
  ) as { calls: { call_id: string; reported: unknown }[] }
  assert.deepEqual(
    calls.map(({ call_id, reported }) => [call_id, reported]),
    [[other, { input: 9_000_000 }]],
  )
  assert.ok(all.includes(completionIdOf(other, 'chat')))
  assert.doesNotMatch(await command('anomalies', '--provider', 'silent'), /generous/)
  assert.match(
    await command('anomalies', '--provider', 'generous', '--project', world.project.id),
    new RegExp(`^generous +prompt_too_large +1 +1 +${world.project.id} \\(1\\)$`, 'm'),
  )
  assert.match(
    await command('anomalies', '--provider', 'nosuch'),
    /^In .* no provider reported anything odd that matches\.$/m,
  )
  assert.match(await command('anomalies', '--project', 'x'), /not the id of a project/)

  const doctor = await command('doctor')
  assert.match(
    doctor,
    /^hint +usage of generous +prompt too large: 3 calls of 2 projects in the last 24 hours\. Run: parley anomalies --provider generous$/m,
  )
  assert.match(doctor, /^hint +usage of generous +zero: 1 call of 1 project in/m)
})

test('the worker tells of each once, and again when there are ten times as many; metrics always', async () => {
  const lines: Record<string, unknown>[] = []
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) })
  const metrics = createMetrics()
  const look = createAnomalyAlert({ db: world.store.db, log, metrics })
  const told = () => lines.splice(0).map(({ provider, kind, calls, project }) => ({ provider, kind, calls, project }))

  await look()
  assert.deepEqual(told()[0], { provider: 'generous', kind: 'prompt_too_large', calls: 3, project: suspect })
  await look()
  assert.deepEqual(told(), [])
  await Promise.all(Array.from({ length: 26 }, () => add('generous', suspect, ['prompt_too_large'])))
  await look()
  assert.deepEqual(told(), [], '29 are not ten times 3')
  await add('generous', suspect, ['prompt_too_large'])
  await look()
  assert.deepEqual(told(), [{ provider: 'generous', kind: 'prompt_too_large', calls: 30, project: suspect }])
  const text = await metrics.registry.metrics()
  assert.match(text, /anomalous_calls\{provider="generous",kind="prompt_too_large"\} 30/)
  assert.match(text, /anomalous_projects\{provider="generous",kind="prompt_too_large"\} 2/)
})

test('a few odd reports are a hint to the doctor, ten of one provider and kind a problem, missing ones never', async () => {
  for (let n = 0; n < 10; n += 1) {
    if (n < 9) await add('nine', suspect, ['falling'])
    await add('ten', suspect, ['falling'])
    await add('mute', suspect, ['missing'])
  }
  const doctor = await command('doctor', '--offline')
  assert.match(doctor, /^hint +usage of nine +falling: 9 calls/m)
  assert.match(doctor, /^problem +usage of ten +falling: 10 calls/m)
  assert.match(doctor, /^hint +usage of mute +missing: 10 calls/m, 'our own count is charged: nothing is broken')
})

test('what is older than it is kept is removed, a few at a time', async () => {
  await add('old', suspect, ['zero'], 50 * HOUR_MS)
  await add('old', suspect, ['zero'], 51 * HOUR_MS)
  assert.equal(await expireAnomalies(world.store.db, 49 * HOUR_MS, 1), 1)
  assert.equal(await expireAnomalies(world.store.db, 49 * HOUR_MS, 100), 1)
  assert.equal(await expireAnomalies(world.store.db, 49 * HOUR_MS, 100), 0)
})
