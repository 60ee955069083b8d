/**
 * How many streams gateways hold at once, what one more takes of their memory, and what happens when all callers hang up in the
 * same moment. A simulator, N gateway processes and one client process, all on this machine: what is printed includes all of
 * them fighting for the same cores.
 */
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createSecrets } from '../src/platform/secrets.ts'
import { openStore } from '../src/store/database.ts'
import { createTestDatabase } from '../test/support/database.ts'
import { databaseEnv } from '../test/support/logins.ts'
import { addModel, addProject, addProvider, untilReady, walletOf } from '../test/support/world.ts'
import { ONE_CALLER } from './calls/gateway.ts'
import { cpuMsOf, residentKbOf } from './calls/processes.ts'
import type { Callers, StreamsSoFar } from './streams-client.ts'

/** The limits that must be kept. */
const BARS = { kbPerStream: 50, goneWithinMs: 2_000, lagMs: 500 }
/** How often each model says something. Half a minute of silence would end an answer. */
const EVERY_MS = { active: 1_000, idle: 20_000 }
/** Longer than the whole run. The simulator writes an answer before it sends it: much longer ones would fill its memory. */
const ANSWER_MS = 600_000
const SETTLE_MS = 5_000
const POLL_MS = 100
const GONE_POLLS_MAX = 300

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    processes: { type: 'string', default: '2' },
    'active-percent': { type: 'string', default: '20' },
    seconds: { type: 'string', default: '30' },
  },
})
const streams = Number(values.streams)
const processes = Number(values.processes)
const activePercent = Number(values['active-percent'])
const seconds = Number(values.seconds)
const readOn = Object.keys(EVERY_MS).length * processes
const secret = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7)).toString('base64')

interface Gateway {
  pid: number
  url: string
  opsUrl: string
}

const database = await createTestDatabase()
const store = openStore({ url: database.url, applicationName: 'parley bench' })
const children: ChildProcess[] = []
try {
  const project = await setUp(await startSimulator())
  const gateways = await Promise.all(Array.from({ length: processes }, (_, i) => startGateway(18_080 + i, 19_090 + i)))
  console.log(`${streams} streams, ${activePercent} % of them active, over ${processes} gateways`)
  const client = startClient(gateways, project.headers)
  const isAllRight = [await hold(client, gateways), await hangUp(client, gateways)]
  const { held, openHolds } = await walletOf(store, project.id)
  isAllRight.push(tell(`${openHolds} holds left (${held} nanos), ${readOn} at most`, openHolds <= readOn))
  if (isAllRight.includes(false)) process.exitCode = 1
} finally {
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(children.map(async (child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  await store.close()
  await database.drop()
}

/** Opens half of them, then the other half, and keeps them open for a while. */
async function hold(client: ChildProcess, gateways: readonly Gateway[]): Promise<boolean> {
  await open(client, streams / 2)
  const half = await residentKb(gateways)
  const { p50, p99 } = await open(client, streams / 2)
  const kbPerStream = ((await residentKb(gateways)) - half) / (streams / 2)
  const cpu = () => gateways.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0)
  const cpuBefore = cpu()
  await sleep(seconds * 1_000)
  const chunks =
    streams *
    seconds *
    ((activePercent / 100) * (1_000 / EVERY_MS.active) + (1 - activePercent / 100) * (1_000 / EVERY_MS.idle))
  const cpuPerChunk = ((cpu() - cpuBefore) * 1_000) / chunks
  const { open: stillOpen, ended } = await open(client, 0)
  console.log(`first token p50 ${p50} ms, p99 ${p99} ms; gateway CPU ${cpuPerChunk.toFixed(0)} µs per chunk`)
  const isWhole = tell(`${stillOpen} held for ${seconds} s, ${ended} cut`, ended === 0 && stillOpen === streams)
  const isSmall = kbPerStream <= BARS.kbPerStream
  return (
    tell(`${kbPerStream.toFixed(0)} KB resident for one more stream, at most ${BARS.kbPerStream}`, isSmall) && isWhole
  )
}

/**
 * All callers are gone at once. A gateway reads on one answer of a model that callers leave, for up to a minute, to learn what such
 * answers come to: those are not waited for.
 */
async function hangUp(client: ChildProcess, gateways: readonly Gateway[]): Promise<boolean> {
  await Promise.all(gateways.map(stateOf))
  const startedMs = performance.now()
  client.kill('SIGKILL')
  let lagMs = 0
  let running = streams
  for (let n = 0; n < GONE_POLLS_MAX && running > readOn; n++) {
    const states = await Promise.all(gateways.map(stateOf))
    running = states.reduce((sum, state) => sum + state.running, 0)
    lagMs = Math.max(lagMs, ...states.map((state) => state.lagMs))
    if (running > readOn) await sleep(POLL_MS)
  }
  const goneMs = performance.now() - startedMs
  const isGone = running <= readOn && goneMs <= BARS.goneWithinMs
  return [
    tell(
      `${running} left ${(goneMs / 1_000).toFixed(1)} s after all hung up, at most ${BARS.goneWithinMs / 1_000} s`,
      isGone,
    ),
    tell(`event loop at most ${lagMs.toFixed(0)} ms late meanwhile, at most ${BARS.lagMs}`, lagMs <= BARS.lagMs),
  ].every(Boolean)
}

function tell(what: string, isReached: boolean): boolean {
  console.log(`${what}: ${isReached ? 'ok' : 'falls short'}`)
  return isReached
}

async function open(client: ChildProcess, count: number): Promise<StreamsSoFar> {
  client.send(count)
  const [soFar] = (await once(client, 'message')) as [StreamsSoFar]
  return soFar
}

async function residentKb(gateways: readonly Gateway[]): Promise<number> {
  await sleep(SETTLE_MS)
  return gateways.reduce((sum, { pid }) => sum + residentKbOf(pid), 0)
}

/** How many calls run, and how late the event loop was since this was last asked. */
async function stateOf({ opsUrl }: Gateway): Promise<{ running: number; lagMs: number }> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  const valueOf = (name: string) => Number(new RegExp(`^parley_${name} (\\S+)`, 'm').exec(text)?.[1])
  return { running: valueOf('calls_running'), lagMs: valueOf('nodejs_eventloop_lag_max_seconds') * 1_000 }
}

async function setUp(simulatorUrl: string) {
  const secrets = createSecrets([{ version: 1, bytes: Buffer.from(secret, 'base64') }])
  await addProvider(store, secrets, 'simulator', `${simulatorUrl}/v1`)
  for (const [id, gapMs] of Object.entries(EVERY_MS))
    await addModel(store, { id, provider: 'simulator', upstreamModel: `sim?tokens=${ANSWER_MS / gapMs}&gap=${gapMs}` })
  return addProject(store, secrets)
}

function startClient(gateways: readonly Gateway[], headers: Record<string, string>): ChildProcess {
  const callers: Callers = { urls: gateways.map(({ url }) => url), headers, activePercent, models: ['active', 'idle'] }
  const client = fork(new URL('streams-client.ts', import.meta.url), [JSON.stringify(callers)])
  children.push(client)
  return client
}

async function startSimulator(): Promise<string> {
  const child = spawn(process.execPath, ['simulator/main.ts', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\d.:]+/.exec(line)?.[0]
    if (url) return url
  }
  throw new Error('the simulator did not start')
}

async function startGateway(port: number, opsPort: number): Promise<Gateway> {
  const env = {
    ...process.env,
    ...databaseEnv(database.url),
    PARLEY_SECRET: secret,
    ...ONE_CALLER,
    PARLEY_PORT: String(port),
    PARLEY_OPS_PORT: String(opsPort),
    PARLEY_LOG_LEVEL: 'warn',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_DRAIN_DELAY_MS: '0',
  }
  const child = spawn('bin/parley', ['serve', 'gateway'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  children.push(child)
  const [url, opsUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${opsPort}`]
  for (let i = 0; ; i++) {
    const ready = await untilReady(opsUrl).then(
      () => true,
      () => false,
    )
    if (ready) return { pid: child.pid ?? 0, url, opsUrl }
    if (i > 20) throw new Error('a gateway did not become ready')
    await sleep(250)
  }
}
