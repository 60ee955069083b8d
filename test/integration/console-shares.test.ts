import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import { Client } from 'pg'
import {
  createConsoleWorld,
  newPerson,
  newProject,
  openBrowser,
  PASSWORD,
  type Answer,
  type ConsoleWorld,
} from '../support/console.ts'
import { until } from '../support/world.ts'

/** Many requests at once, of one person or from one address: they wait for themselves, and nobody else does. */

const RUNNING = { user: 3, network: 4 }
const WAITING = { user: 32, network: 128 }

let world: ConsoleWorld
/** Requests that the gateway has not answered yet. */
const chats: ServerResponse[] = []
const gateway = createServer((_request, response) => void chats.push(response))

before(async () => {
  await once(gateway.listen(0, '127.0.0.1'), 'listening')
  const gatewayUrl = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`
  world = await createConsoleWorld({ roles: ['console', 'worker'], env: { PARLEY_GATEWAY_INTERNAL_URL: gatewayUrl } })
})
after(async () => {
  gateway.closeAllConnections()
  gateway.close()
  await world.close()
})

/** Makes all reads and writes of the table wait until it is unlocked, at most two seconds. */
async function lock(t: TestContext, table: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: world.env.DATABASE_URL })
  await client.connect()
  t.after(() => client.end())
  await client.query(`begin; lock table ${table} in access exclusive mode`)
  return async () => void (await client.query('rollback'))
}

async function waitingForLocks(): Promise<number> {
  const { rows } = await sql<{ n: bigint }>`
    select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
    world.store.db,
  )
  return Number(rows[0]?.n)
}

function counted(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const name = status === 200 ? '200' : `${status} ${body?.code}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

async function metricOf(name: string): Promise<number> {
  const text = await (await fetch(`${world.opsUrl}/metrics`)).text()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1] ?? 0,
  )
}

test('of one person’s reads a few run, some wait, the rest are told when to come back, and others are served', async (t) => {
  const [greedy, quiet] = [await newPerson(world), await newPerson(world)]
  const project = await newProject(greedy)
  const before = await metricOf('parley_console_declined_total{share="user"}')
  const unlock = await lock(t, 'calls')
  const asked = Array.from({ length: 64 }, () => greedy.send(`GET /api/projects/${project}/calls`))
  const refused: Answer[] = []
  for (const one of asked) void one.then((answer) => void (answer.status === 429 && refused.push(answer)))
  await until(() => refused.length === 64 - RUNNING.user - WAITING.user)
  // The rest is refused at the door, which may be before the first have reached the store.
  await until(async () => (await waitingForLocks()) >= RUNNING.user)
  assert.equal(await waitingForLocks(), RUNNING.user, 'no more than its share is at the store')
  assert.equal(refused[0]?.headers.get('retry-after'), '1')
  for (let n = 0; n < 5; n++) assert.equal((await quiet.send('GET /api/me')).status, 200)
  await unlock()
  const answers = await Promise.all(asked)
  assert.deepEqual(counted(answers), {
    200: RUNNING.user + WAITING.user,
    '429 too_many_at_once': 64 - RUNNING.user - WAITING.user,
  })
  assert.equal(await metricOf('parley_console_declined_total{share="user"}'), before + refused.length)
  assert.equal((await greedy.send(`GET /api/projects/${project}/calls`)).status, 200, 'and then it has its share again')
})

test('before sign-in it is the network that has a share', async (t) => {
  const quiet = await newPerson(world)
  const unlock = await lock(t, 'throttles')
  const many = openBrowser(world, '2001:db8:0:7::1')
  const sameNetwork = openBrowser(world, '2001:db8:0:7:ffff::2')
  const body = { email: 'nobody@example.com', password: PASSWORD }
  const asked = Array.from({ length: RUNNING.network + WAITING.network }, () =>
    many.send('POST /api/auth/sign-in/email', { body }),
  )
  await until(async () => (await waitingForLocks()) === RUNNING.network)
  await until(async () => (await metricOf('parley_console_waiting{share="network"}')) >= WAITING.network)
  const { status, headers } = await sameNetwork.send('POST /api/auth/sign-in/email', { body })
  assert.deepEqual([status, headers.get('retry-after')], [429, '1'])
  assert.equal((await quiet.send('GET /api/me')).status, 200)
  await unlock()
  const answers = await Promise.all(asked)
  assert.ok(!answers.some((answer) => answer.body?.code === 'too_many_at_once'))
})

test('what is one too many at once is refused before anything is looked up', async (t) => {
  const [greedy, quiet] = [await newPerson(world), await newPerson(world)]
  // The sessions themselves cannot be read now: who is refused was not looked up.
  const unlock = await lock(t, 'sessions')
  const asked = Array.from({ length: RUNNING.user + WAITING.user }, () => greedy.send('GET /api/me'))
  await until(async () => (await waitingForLocks()) === RUNNING.network)
  const before = await metricOf('parley_console_declined_total{share="user"}')
  const startedMs = performance.now()
  const { status, body } = await greedy.send('GET /api/me')
  assert.deepEqual([status, body.code], [429, 'too_many_at_once'])
  assert.ok(performance.now() - startedMs > 450, 'not at once: a loop of such requests would cost as much as a page')
  // Not by the network's, whose line has room.
  assert.equal(await metricOf('parley_console_declined_total{share="user"}'), before + 1)
  await unlock()
  await Promise.all(asked)
  assert.equal((await greedy.send('GET /api/me')).status, 200, 'all have left')
  assert.equal((await quiet.send('GET /api/me')).status, 200)
})

test('thirty requests at once, as of several pages, are all answered', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  const pages = ['home', 'usage', 'costs', 'calls', 'wallet', 'ledger', 'keys', 'conversations', 'settings', 'domain']
  const asked = [...pages, ...pages, ...pages].map((page) => person.send(`GET /api/projects/${project}/${page}`))
  assert.deepEqual(counted(await Promise.all(asked)), { 200: 30 })
})

test('of what takes long, such as chats, ten run for one person at once, and pages are read beside them', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  const body = { model: 'sim-small', messages: [{ role: 'user', content: 'Hello' }] }
  const chat = () => person.send(`POST /api/projects/${project}/playground`, { body })
  const asked = Array.from({ length: 12 }, chat)
  const refused: Answer[] = []
  for (const one of asked) void one.then((answer) => void (answer.status === 429 && refused.push(answer)))
  await until(() => refused.length === 2 && chats.length === 10)
  assert.equal((await person.send(`GET /api/projects/${project}/home`)).status, 200)
  for (const response of chats.splice(0)) response.writeHead(500).end('{}')
  assert.deepEqual(counted(await Promise.all(asked)), { 200: 10, '429 too_many_at_once': 2 })
  const again = chat()
  await until(() => chats.length === 1)
  chats[0]?.writeHead(500).end('{}')
  assert.equal((await again).status, 200, 'those before have left')
})

test('a session that cannot be looked up because the store is busy is 503, also when the store answers again by then', async (t) => {
  const person = await newPerson(world)
  const unlock = await lock(t, 'sessions')
  const { status, body, headers } = await person.send('GET /api/me')
  assert.deepEqual([status, body.code, headers.get('retry-after')], [503, 'store_unavailable', '2'])
  await unlock()
  assert.equal((await person.send('GET /api/me')).status, 200, 'and is still signed in')
})
