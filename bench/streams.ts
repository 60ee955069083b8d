/**
 * How many streams gateways hold at once, what each costs, and whether any breaks. A simulator, N gateway processes and
 * one client process, all on this machine: what is printed includes all of them fighting for the same cores.
 */
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { createSecrets } from '../src/platform/secrets.ts'
import { openStore } from '../src/store/database.ts'
import { createTestDatabase } from '../test/support/database.ts'
import { databaseEnv } from '../test/support/logins.ts'
import { addModel, addProject, addProvider, untilReady, walletOf } from '../test/support/world.ts'
import { cpuMsOf, residentKbOf } from './calls/processes.ts'

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    processes: { type: 'string', default: '2' },
    tokens: { type: 'string', default: '20' },
    'gap-ms': { type: 'string', default: '1000' },
  },
})
const streams = Number(values.streams)
const processes = Number(values.processes)
const secret = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7)).toString('base64')

const database = await createTestDatabase()
const store = openStore({ url: database.url, applicationName: 'parley bench' })
const children: ChildProcess[] = []
try {
  const simulatorUrl = await startSimulator()
  const secrets = createSecrets([{ version: 1, bytes: Buffer.from(secret, 'base64') }])
  await addProvider(store, secrets, 'simulator', `${simulatorUrl}/v1`)
  await addModel(store, {
    id: 'bench',
    provider: 'simulator',
    upstreamModel: `sim?tokens=${values.tokens}&gap=${values['gap-ms']}`,
  })
  const project = await addProject(store, secrets)
  const gateways = await Promise.all(Array.from({ length: processes }, (_, i) => startGateway(18_080 + i, 19_090 + i)))

  console.log(
    `${streams} streams of ${values.tokens} chunks, one every ${values['gap-ms']} ms, over ${processes} gateways`,
  )
  const client = fork(new URL('streams-client.ts', import.meta.url), [
    JSON.stringify({ urls: gateways.map(({ url }) => url), headers: project.headers, streams }),
  ])
  const peak = watchMemory(gateways.map(({ child }) => child.pid ?? 0))
  const cpuBefore = gateways.map(({ child }) => cpuMsOf(child.pid ?? 0))
  const [report] = (await once(client, 'message')) as [Record<string, number>]
  const cpu = gateways.reduce((sum, { child }, i) => sum + cpuMsOf(child.pid ?? 0) - (cpuBefore[i] ?? 0), 0)
  const { held, openHolds } = await walletOf(store, project.id)
  console.log(
    `completed ${report.completed}, broken ${report.broken}, most at once ${report.most}, holds left ${openHolds} (${held} nanos)`,
  )
  console.log(
    `first token p50 ${report.p50} ms p99 ${report.p99} ms; gateway CPU ${((cpu * 1e3) / (streams * Number(values.tokens))).toFixed(0)} µs per chunk`,
  )
  console.log(
    `gateway memory at the peak ${peak()
      .map((mb) => `${mb} MB`)
      .join(' + ')}, ${((peak().reduce((a, b) => a + b, 0) * 1024) / streams).toFixed(0)} KB per stream`,
  )
} finally {
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(children.map(async (child) => child.exitCode ?? once(child, 'exit')))
  await store.close()
  await database.drop()
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

async function startGateway(port: number, opsPort: number) {
  const env = {
    ...process.env,
    ...databaseEnv(database.url),
    PARLEY_SECRET: secret,
    // All of the load is one project's, from one address.
    PARLEY_PROJECT_CALLS_PERCENT: '100',
    PARLEY_KEY_PAIR_CALLS_PERCENT: '100',
    PARLEY_ACCOUNT_WORK_PERCENT: '100',
    PARLEY_ADDRESS_REQUESTS_PER_SECOND: '1000000',
    PARLEY_KEY_PAIR_REQUESTS_PER_SECOND: '1000000',
    PARLEY_PORT: String(port),
    PARLEY_OPS_PORT: String(opsPort),
    PARLEY_LOG_LEVEL: 'warn',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_DRAIN_DELAY_MS: '0',
  }
  const child = spawn('bin/parley', ['serve', 'gateway'], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  children.push(child)
  const url = `http://127.0.0.1:${port}`
  for (let i = 0; ; i++) {
    const ready = await untilReady(`http://127.0.0.1:${opsPort}`).then(
      () => true,
      () => false,
    )
    if (ready) return { child, url }
    if (i > 20) throw new Error('a gateway did not become ready')
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

/** Samples the resident memory of processes; the returned function gives the highest values seen. */
function watchMemory(pids: number[]): () => number[] {
  const most = pids.map(() => 0)
  const sampling = setInterval(() => {
    pids.forEach((pid, i) => {
      most[i] = Math.max(most[i] ?? 0, Math.round(residentKbOf(pid) / 1024))
    })
  }, 250)
  return () => {
    clearInterval(sampling)
    return most
  }
}
