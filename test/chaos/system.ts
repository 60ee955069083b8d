/** A whole Parley as real processes: PostgreSQL, two gateways, a worker, a provider, and a fault proxy on every wire. */
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { readConfig } from '../../src/config.ts'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { openStore, type Store } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { ROOT } from '../support/commands.ts'
import { createFaultProxy, type FaultProxy } from '../support/fault-proxy.ts'
import { addModel, addProvider } from '../support/world.ts'
import { createClock, fakeTimeLibrary, type Clock } from './clock.ts'
import { createPostgres, type KillablePostgres } from './postgres.ts'
import { startReaper, type Reaper } from './reaper.ts'
import { createService, type Service } from './service.ts'

export interface GatewayProcess {
  service: Service
  /** Between callers and the gateway. */
  front: FaultProxy
  /** Between the gateway and PostgreSQL. */
  database: FaultProxy
  clock: Clock
}

export interface ChaosSystem {
  postgres: KillablePostgres
  gateways: GatewayProcess[]
  worker: { service: Service; database: FaultProxy }
  simulator: { service: Service; proxy: FaultProxy }
  /** The observer's own connections, past every proxy. */
  store: Store
  secrets: Secrets
  hasFakeTime: boolean
  logDir: string
  /** Ends everything, whatever state it is in. */
  close(): Promise<void>
}

export interface SystemOptions {
  leaseMs: number
  gateways: number
}

export const MODEL = 'chaos'
const PRICE_FROM = new Date('2020-01-01')
/** A provider that is silent must fail within a run, not after half a minute. */
const TIMERS = { connectTimeoutMs: 2_000, firstTokenTimeoutMs: 5_000, idleTimeoutMs: 4_000, totalTimeoutMs: 60_000 }

export async function startSystem(options: SystemOptions): Promise<ChaosSystem> {
  const dir = await mkdtemp(join(tmpdir(), 'parley-chaos-'))
  // PostgreSQL does not run as root, and must reach its own folder in this one.
  await chmod(dir, 0o711)
  const reaper = startReaper(dir)
  try {
    return await startIn(dir, reaper, options)
  } catch (error) {
    await reaper.finish()
    throw error
  }
}

async function startIn(dir: string, reaper: Reaper, options: SystemOptions): Promise<ChaosSystem> {
  const logDir = join(dir, 'logs')
  await mkdir(logDir)
  const postgres = await createPostgres(join(dir, 'postgres'), reaper)
  await postgres.start()
  const databaseUrl = await createDatabase(postgres.adminUrl)
  const library = fakeTimeLibrary()
  const env = {
    PARLEY_SECRET: randomBytes(32).toString('base64'),
    PARLEY_PORT: '0',
    PARLEY_OPS_PORT: '0',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_LEASE_MS: String(options.leaseMs),
  }
  const secrets = createSecrets(readConfig({ DATABASE_URL: databaseUrl, ...env }).PARLEY_SECRET)
  const store = openStore({ url: databaseUrl, applicationName: 'chaos observer', onConnectionError: () => undefined })

  /** A parley process with its own way to PostgreSQL. */
  async function parley(name: string, role: string, more: Record<string, string>, onListening: (url: URL) => void) {
    const database = await createFaultProxy({ host: '127.0.0.1', port: postgres.port })
    const service = createService({
      name,
      command: join(ROOT, 'bin/parley'),
      args: ['serve', role],
      env: { ...env, ...more, DATABASE_URL: withPort(databaseUrl, database.port) },
      logDir,
      listening: /"(?:url|opsUrl)":"([^"]+)".*"msg":"listening"/,
      onListening,
      reaper,
    })
    return { service, database }
  }

  async function gateway(n: number): Promise<GatewayProcess> {
    const front = await createFaultProxy()
    const clock = createClock(library, join(dir, `clock-${n}`))
    const started = await parley(`gateway-${n}`, 'gateway', clock.env, (url) => (front.target = targetOf(url)))
    return { ...started, front, clock }
  }

  const simulator = await simulatorBehindProxy(logDir, reaper)
  await addProvider(store, secrets, 'simulator', `http://127.0.0.1:${simulator.proxy.port}/v1`)
  await addModel(store, {
    id: MODEL,
    provider: 'simulator',
    price: { effectiveFrom: PRICE_FROM },
    deployment: TIMERS,
  })
  const gateways = await Promise.all(Array.from({ length: options.gateways }, (_, n) => gateway(n + 1)))
  const worker = await parley('worker', 'worker', {}, () => undefined)
  await Promise.all([simulator, worker, ...gateways].map(({ service }) => service.start()))

  return {
    postgres,
    gateways,
    worker,
    simulator,
    store,
    secrets,
    hasFakeTime: library !== undefined,
    logDir,
    async close() {
      for (const { service } of [simulator, worker, ...gateways]) service.kill()
      await postgres.kill()
      await store.close().catch(() => undefined)
      const proxies = [
        simulator.proxy,
        worker.database,
        ...gateways.flatMap(({ front, database }) => [front, database]),
      ]
      await Promise.all(proxies.map((proxy) => proxy.close()))
      await reaper.finish()
    },
  }
}

async function simulatorBehindProxy(logDir: string, reaper: Reaper) {
  const proxy = await createFaultProxy()
  const service = createService({
    name: 'simulator',
    command: process.execPath,
    args: [join(ROOT, 'simulator/main.ts'), '--port', '0'],
    env: {},
    logDir,
    listening: /simulator listening on (\S+)/,
    onListening: (url) => (proxy.target = targetOf(url)),
    reaper,
  })
  return { service, proxy }
}

async function createDatabase(adminUrl: string): Promise<string> {
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  await client.query(`create database chaos template template0 encoding 'UTF8'`)
  await client.end()
  const url = new URL(adminUrl)
  url.pathname = '/chaos'
  await migrate(url.href)
  return url.href
}

function withPort(url: string, port: number): string {
  const changed = new URL(url)
  changed.port = String(port)
  return changed.href
}

function targetOf(url: URL) {
  return { host: url.hostname, port: Number(url.port) }
}
