/**
 * How long a reader waits for a redirect, which waits for its click to be stored and paid for: 500 clicks a second at one gateway
 * that writes 200 answers meanwhile. A simulator, the gateway, PostgreSQL and both kinds of callers, all on this machine: what is
 * printed includes all of them fighting for the same cores, so it also says what the gateway itself had used of one.
 *
 *   npm run bench:redirects -- [--clicks-per-second 500] [--streams 200] [--seconds 20]
 */
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { createSecretKey } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { loadavg } from 'node:os'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createSecrets } from '../src/platform/secrets.ts'
import { tokenOf } from '../src/rules/recommendations/link-token.ts'
import { openStore } from '../src/store/database.ts'
import { fund, show } from '../test/support/clicks.ts'
import { createTestDatabase } from '../test/support/database.ts'
import { addOffer } from '../test/support/fixed-matcher.ts'
import { freePort } from '../test/support/free-port.ts'
import { databaseEnv } from '../test/support/logins.ts'
import { addModel, addProject, addProvider, untilReady, type TestProject } from '../test/support/world.ts'
import { ONE_CALLER } from './calls/gateway.ts'
import { cpuMsOf } from './calls/processes.ts'
import type { Callers, StreamsSoFar } from './streams-client.ts'

const P99_MS_MAX = 20
const EVERY_MS = 1_000
const ANSWER_MS = 600_000
const TICK_MS = 10
/** Until Node has compiled what it runs, and each session of the database has its plans. Told apart. */
const WARM_UP_CLICKS = 2_000
const SHOWN_AT_ONCE = 1_000
const READY_TRIES_MAX = 240
const HEADERS = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0',
  accept: 'text/html',
  'accept-language': 'en',
}

const { values } = parseArgs({
  options: {
    'clicks-per-second': { type: 'string', default: '500' },
    streams: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '20' },
  },
})
const perSecond = Number(values['clicks-per-second'])
const streams = Number(values.streams)
const seconds = Number(values.seconds)
const secret = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7))
const secrets = createSecrets([{ version: 1, bytes: secret }])

const database = await createTestDatabase()
const store = openStore({ url: database.url, applicationName: 'parley bench' })
const children: ChildProcess[] = []
try {
  await addProvider(store, secrets, 'simulator', `${await startSimulator()}/v1`)
  const upstreamModel = `sim?tokens=${ANSWER_MS / EVERY_MS}&gap=${EVERY_MS}`
  for (const id of ['active', 'idle']) await addModel(store, { id, provider: 'simulator', upstreamModel })
  const project = await addProject(store, secrets)
  const tokens = await shownTokens(project, perSecond * seconds + WARM_UP_CLICKS)
  const gateway = await startGateway()
  await openStreams(gateway.url, project.headers)
  const first = await followAll(gateway.url, tokens.splice(0, WARM_UP_CLICKS))
  console.log(`the first ${WARM_UP_CLICKS} clicks of a gateway that has just started: ${sharesOf(first.times)}`)
  const cpuBefore = cpuMsOf(gateway.pid)
  const { times, failed } = await followAll(gateway.url, tokens)
  const cpu = (cpuMsOf(gateway.pid) - cpuBefore) / (10 * seconds)
  const { clicks } = await store.db
    .selectFrom('clicks')
    .select(({ fn }) => fn.countAll<bigint>().as('clicks'))
    .where('verdict', '=', 'valid')
    .executeTakeFirstOrThrow()
  report(times, failed, cpu, Number(clicks))
} finally {
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(children.map(async (child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')))
  await store.close()
  await database.drop()
}

function report(times: readonly number[], failed: number, cpuPercent: number, paid: number): void {
  const p99 = atShare(times, 0.99)
  console.log(`${perSecond} clicks/s beside ${streams} streams for ${seconds} s: ${sharesOf(times)}`)
  console.log(`${paid} clicks paid for, ${failed} failed; the gateway used ${cpuPercent.toFixed(0)} % of a core`)
  console.log(`load of the machine: ${loadavg()[0]?.toFixed(1)}`)
  const isReached = p99 < P99_MS_MAX && failed === 0
  console.log(`p99 under ${P99_MS_MAX} ms: ${isReached ? 'ok' : 'falls short'}`)
  if (!isReached) process.exitCode = 1
}

function sharesOf(times: readonly number[]): string {
  return `${[0.5, 0.9, 0.99, 0.999].map((share) => `p${share * 100} ${atShare(times, share).toFixed(1)}`).join(', ')} ms`
}

function atShare(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Infinity
}

async function shownTokens(project: TestProject, count: number): Promise<string[]> {
  const signing = { version: secrets.version, key: createSecretKey(secrets.keyFor('recommendations')) }
  const tokens: string[] = []
  while (tokens.length < count) {
    const match = await addOffer(store.db)
    await fund(store.db, match.advertiserId, BigInt(match.priceNanos) * BigInt(SHOWN_AT_ONCE))
    const ids = await show(store.db, match, project.id, SHOWN_AT_ONCE)
    const line = { projectId: project.id, words: match.headline }
    tokens.push(...ids.map((id) => tokenOf(id, line, signing)))
  }
  await store.db
    .updateTable('recommendations')
    .set({ created_at: new Date(Date.now() - 60_000) })
    .execute()
  return tokens.slice(0, count)
}

/** At a steady pace, whether or not those before were answered. */
async function followAll(url: string, tokens: readonly string[]): Promise<{ times: number[]; failed: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const times: number[] = []
  let failed = 0
  const following: Promise<void>[] = []
  const startedMs = performance.now()
  for (let n = 0; n < tokens.length;) {
    const due = Math.min(tokens.length, Math.floor(((performance.now() - startedMs) * perSecond) / 1_000))
    for (; n < due; n++) {
      const address = `20.${(n >> 8) & 255}.${n & 255}.${following.length & 127}`
      following.push(
        follow(agent, `${url}/r/${tokens[n]}`, address).then(
          (ms) => void times.push(ms),
          () => void (failed += 1),
        ),
      )
    }
    await sleep(TICK_MS)
  }
  await Promise.all(following)
  agent.destroy()
  return { times, failed }
}

function follow(agent: Agent, url: string, address: string): Promise<number> {
  const startedMs = performance.now()
  return new Promise((resolve, reject) => {
    request(url, { agent, headers: { ...HEADERS, 'x-forwarded-for': address } }, (response) => {
      response.resume()
      if (response.statusCode === 302) resolve(performance.now() - startedMs)
      else reject(new Error(`answered with ${response.statusCode}`))
    })
      .on('error', reject)
      .end()
  })
}

async function openStreams(url: string, headers: Record<string, string>): Promise<void> {
  const callers: Callers = { urls: [url], headers, activePercent: 100, models: ['active', 'idle'] }
  const client = fork(new URL('streams-client.ts', import.meta.url), [JSON.stringify(callers)])
  children.push(client)
  client.send(streams)
  const [{ open }] = (await once(client, 'message')) as [StreamsSoFar]
  if (open !== streams) throw new Error(`${open} of ${streams} streams run`)
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

async function startGateway(): Promise<{ pid: number; url: string }> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const env = {
    ...process.env,
    ...databaseEnv(database.url),
    ...ONE_CALLER,
    PARLEY_SECRET: secret.toString('base64'),
    PARLEY_PORT: String(port),
    PARLEY_OPS_PORT: String(opsPort),
    PARLEY_TRUSTED_PROXIES: '127.0.0.1',
    PARLEY_LOG_LEVEL: 'warn',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_DRAIN_DELAY_MS: '0',
    PARLEY_DRAIN_GRACE_MS: '1000',
  }
  const child = spawn('bin/parley', ['serve', 'gateway'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  children.push(child)
  for (let n = 0; n < READY_TRIES_MAX; n++) {
    const isReady = await untilReady(`http://127.0.0.1:${opsPort}`).then(
      () => true,
      () => false,
    )
    if (isReady) return { pid: child.pid ?? 0, url: `http://127.0.0.1:${port}` }
    await sleep(250)
  }
  throw new Error('the gateway did not become ready')
}
