import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { after, before, test, type TestContext } from 'node:test'
import { createBlackHole, refusedPort, type BlackHole } from '../../simulator/unreachable.ts'
import {
  addDeployment,
  addModel,
  addProject,
  addProvider,
  addProviderKey,
  createWorld,
  eventsOf,
  until,
  walletOf,
  type TestProject,
  type World,
} from '../support/world.ts'

/**
 * Two routes in two groups, of which the first fails in every way there is before the first byte. The caller must not
 * notice: every answer is right, charged once, and late by no more than the timer that had to run out.
 */

const CALLERS = 200
const TIMER_MS = 300
/** Before the breaker opens, one call after the other. */
const CALLS_BEFORE = 5
/** After it has opened, in turn with calls to the healthy route alone. */
const CALLS_AFTER = 25
/** For the fastest call: the delay that the gateway adds is in every call, that of a busy machine is not. */
const ADDED_MS_MAX = 100
const ADDED_WHEN_OPEN_MS_MAX = 5
/** Measured again because a busy machine's delay is gone the next time; the gateway's is there every time. */
const MEASUREMENTS_MAX = 3
/** The simulator answers 401 to it. */
const REFUSED_KEY = 'bad-key-of-the-operator'

interface Mode {
  name: string
  /** The kind of error that its attempts fail with. */
  kind: string
  /** The provider's base URL; by default the simulator's. */
  baseUrl?: () => string
  /** How the simulator is told to misbehave. */
  upstreamModel?: string
  /** The timer that has to run out. */
  timer?: 'connectTimeoutMs' | 'firstTokenTimeoutMs'
  /** Milliseconds of computing that the failure itself may cost. */
  busyMs?: number
  /** At once; as many as of the others where one costs little. */
  callers?: number
}

let world: World
let hole: BlackHole
let closedPort: number
let resetting: Server

const MODES: Mode[] = [
  { name: 'a refused port', kind: 'refused', baseUrl: () => `http://127.0.0.1:${closedPort}/v1` },
  {
    name: 'a black hole',
    kind: 'connect_timeout',
    baseUrl: () => `http://127.0.0.1:${hole.port}/v1`,
    timer: 'connectTimeoutMs',
  },
  { name: 'a server without TLS', kind: 'tls', baseUrl: () => `${world.simulator.url.replace('http:', 'https:')}/v1` },
  { name: '429', kind: 'rate_limited', upstreamModel: 'sim?fault=U10-date' },
  { name: '500', kind: 'server_error', upstreamModel: 'sim?fault=U11-500' },
  { name: '503', kind: 'server_error', upstreamModel: 'sim?fault=U11-503' },
  { name: 'silence', kind: 'first_token_timeout', upstreamModel: 'sim?fault=U5', timer: 'firstTokenTimeoutMs' },
  { name: '200 with a JSON error', kind: 'error_in_200', upstreamModel: 'sim?fault=U12-json' },
  { name: 'an error as the first event', kind: 'error_in_200', upstreamModel: 'sim?fault=U12-sse' },
  { name: 'a redirect', kind: 'redirect', upstreamModel: 'sim?fault=U18' },
  { name: 'gzip', kind: 'encoding', upstreamModel: 'sim?fault=U16-gzip' },
  { name: 'a garbage status line', kind: 'protocol', upstreamModel: 'sim?fault=U17-status' },
  // 2,000 headers keep the simulator and the parser, both in this process, busy for 45 ms on an idle machine.
  { name: 'a flood of headers', kind: 'protocol', upstreamModel: 'sim?fault=U17-headers', busyMs: 200, callers: 50 },
  { name: '401', kind: 'key_rejected', upstreamModel: 'sim?status=401' },
  { name: 'a reset', kind: 'reset', baseUrl: () => `http://127.0.0.1:${portOf(resetting)}/v1` },
]

before(async () => {
  world = await createWorld()
  hole = await createBlackHole()
  closedPort = await refusedPort()
  resetting = createServer((socket) => socket.once('data', () => socket.resetAndDestroy())).listen(0, '127.0.0.1')
  await once(resetting, 'listening')
  await addModel(world.store, { id: 'healthy', provider: 'simulator' })
  for (const [n, mode] of MODES.entries()) {
    // A key that is refused is not used for other models either, so each has a provider of its own.
    for (const use of ['crowd', 'latency']) {
      await addProvider(world.store, world.secrets, `${use}-${n}`, mode.baseUrl?.() ?? `${world.simulator.url}/v1`)
      const id = `${use}-${n}`
      const timers = mode.timer ? { [mode.timer]: TIMER_MS } : {}
      await addModel(world.store, {
        id,
        provider: id,
        upstreamModel: mode.upstreamModel,
        deployment: { position: 0, ...timers },
      })
      await addDeployment(world.store, { id, provider: 'simulator', deployment: { position: 1 } })
    }
  }
  await until(async () => {
    const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes(`"latency-${MODES.length - 1}"`)
  })
})
after(async () => {
  await world.close()
  await hole.close()
  resetting.close()
})

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

interface Answer {
  status: number
  text: string
  isDone: boolean
  firstTokenMs: number
}

async function ask(project: TestProject, model: string, expected: string): Promise<Answer> {
  const startedMs = performance.now()
  const response = await fetch(`${world.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...project.headers },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: `[[sim text=${expected}]]` }] }),
  })
  // Headers leave with the first chunk.
  const firstTokenMs = performance.now() - startedMs
  const events = eventsOf(await response.text())
  const text = events
    .filter((event) => event.startsWith('{'))
    .map((event) => JSON.parse(event) as { choices?: { delta?: { content?: string } }[] })
    .map(({ choices }) => choices?.[0]?.delta?.content ?? '')
    .join('')
  return { status: response.status, text, isDone: events.at(-1) === '[DONE]', firstTokenMs }
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

async function callsOf(project: TestProject) {
  const calls = await world.store.db
    .selectFrom('calls as c')
    .innerJoin('charges as m', 'm.id', 'c.id')
    .select(['c.outcome', 'c.attempts', 'm.charged_nanos'])
    .where('m.project_id', '=', project.id)
    .orderBy('c.id')
    .execute()
  return calls.map((call) => ({ ...call, attempts: call.attempts as { failed?: string }[] }))
}

for (const [n, mode] of MODES.entries()) {
  const callers = mode.callers ?? CALLERS
  test(`${mode.name}: ${callers} callers at once all get the right answer from the second route, charged once`, async () => {
    const project = await addProject(world.store, world.secrets)
    // Callers and gateway share this process: behind 200 of them the first look at a new key could come too late.
    await fetch(`${world.url}/v1/models`, { headers: project.headers })
    const before = await walletOf(world.store, project.id)
    const expected = Array.from({ length: callers }, (_, i) => `answer-${1_000 + i}-of-${n}`)
    const answers = await Promise.all(expected.map((text) => ask(project, `crowd-${n}`, text)))
    assert.deepEqual(
      answers.map(({ status, text, isDone }) => ({ status, text, isDone })),
      expected.map((text) => ({ status: 200, text, isDone: true })),
    )
    const calls = await callsOf(project)
    assert.equal(calls.length, callers)
    assert.ok(calls.every(({ outcome, charged_nanos: charged }) => outcome === 'completed' && charged > 0n))
    const { balance, openHolds } = await walletOf(world.store, project.id)
    const charged = calls.reduce((sum, call) => sum + call.charged_nanos, 0n)
    assert.deepEqual([before.balance - balance, openHolds], [charged, 0])
    for (const { attempts } of calls) assert.equal(attempts.at(-1)?.failed, undefined)
    const failed = calls.flatMap(({ attempts }) => attempts.slice(0, -1).map((attempt) => attempt.failed))
    assert.deepEqual([...new Set(failed)], [mode.kind], 'the first route has failed, and in this way')
  })

  test(`${mode.name}: the answer is late by the timer that ran out, and not at all once the breaker is open`, async (t) => {
    const model = `latency-${n}`
    const firstTokenMs = async (asked: string) => {
      const { status, firstTokenMs: ms } = await ask(world.project, asked, 'latency')
      assert.equal(status, 200)
      return ms
    }
    const measure = async (calls: number, pick: (values: readonly number[]) => number) => {
      const times = { healthy: [] as number[], failing: [] as number[] }
      for (let i = 0; i < calls; i++) {
        times.healthy.push(await firstTokenMs('healthy'))
        times.failing.push(await firstTokenMs(model))
      }
      return { healthy: pick(times.healthy), failing: pick(times.failing) }
    }
    await firstTokenMs('healthy')
    const closed = await measure(CALLS_BEFORE, (values) => Math.min(...values))
    let open = await measure(CALLS_AFTER, medianOf)
    for (let n = 1; n < MEASUREMENTS_MAX && open.failing - open.healthy > ADDED_WHEN_OPEN_MS_MAX; n++)
      open = await measure(CALLS_AFTER, medianOf)
    const timerMs = mode.timer ? TIMER_MS : 0
    report(t, 'breaker closed', closed, timerMs)
    report(t, 'breaker open', open, 0)
    assert.ok(closed.failing - closed.healthy <= timerMs + ADDED_MS_MAX + (mode.busyMs ?? 0))
    assert.ok(open.failing - open.healthy <= ADDED_WHEN_OPEN_MS_MAX)
    const newest = await callsOf(world.project)
    assert.equal(newest.at(-1)?.attempts.length, 1, 'the failing route is not even asked')
  })
}

test('a refused key is noted for the operator, and its replacement is used at once', async () => {
  const providerId = await addProvider(world.store, world.secrets, 'locked', `${world.simulator.url}/v1`, {
    apiKey: REFUSED_KEY,
  })
  await addModel(world.store, { id: 'locked', provider: 'locked' })
  const statusOf = async () => (await ask(world.project, 'locked', 'open')).status
  await until(async () => (await statusOf()) === 502)
  const noted = () =>
    world.store.db
      .selectFrom('provider_keys')
      .select(['rejected_status', 'rejected_at'])
      .where('provider_id', '=', providerId)
      .executeTakeFirstOrThrow()
  await until(async () => (await noted()).rejected_status === 401)
  assert.ok((await noted()).rejected_at)
  const metrics = async () => (await fetch(`${world.opsUrl}/metrics`)).text()
  assert.match(await metrics(), /^parley_provider_key_disabled\{provider="locked",key="default"\} 1$/m)
  const asked = world.simulator.calls.length
  assert.equal(await statusOf(), 502)
  assert.equal(world.simulator.calls.length, asked, 'it is not tried again by every call')

  await addProviderKey(world.store, world.secrets, providerId, 'another-key')
  await until(async () => (await statusOf()) === 200)
  assert.ok(!(await metrics()).includes('parley_provider_key_disabled{provider="locked"'))
  assert.ok(!world.logs.join('').includes(REFUSED_KEY))
})

function report(t: TestContext, when: string, times: { healthy: number; failing: number }, timerMs: number): void {
  const [healthy, failing, added] = [times.healthy, times.failing, times.failing - times.healthy].map((ms) =>
    ms.toFixed(1),
  )
  t.diagnostic(`${when}: first token after ${failing} ms, alone ${healthy} ms, added ${added} ms (timer ${timerMs} ms)`)
}
