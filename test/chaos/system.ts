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
import { ROOT, start } from '../support/commands.ts'
import { createFaultProxy, type FaultProxy } from '../support/fault-proxy.ts'
import { databaseEnv, ensureTestLogins } from '../support/logins.ts'
import { addModel, addProvider } from '../support/world.ts'
import { createClock, fakeTimeLibrary, type Clock } from './clock.ts'
import { startPostgres, type KillablePostgres } from './postgres.ts'
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
  /** Is told of every process that must not outlive the run. */
  reaper: Reaper
  /** Ends everything, whatever state it is in. */
  close(): Promise<void>
}

export interface SystemOptions {
  leaseMs: number
  gateways: number
}

export const MODEL = 'chaos'
/** For calls that the provider answers 429: a gateway then leaves the model alone for as long as it was told. */
export const LIMITED_MODEL = 'chaos-limited'
export const EMBEDDING_MODEL = 'chaos-vectors'
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
  const postgres = await startPostgres(join(dir, 'postgres'), reaper)
  const databaseUrl = await createDatabase(postgres.adminUrl)
  const env = {
    ...databaseEnv(databaseUrl),
    PARLEY_SECRET: randomBytes(32).toString('base64'),
    PARLEY_PORT: '0',
    PARLEY_OPS_PORT: '0',
    PARLEY_CONSOLE_PORT: '0',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_LEASE_MS: String(options.leaseMs),
    PARLEY_DRAIN_DELAY_MS: '0',
    // All callers of a run have one address, and stand for people everywhere.
    PARLEY_ADDRESS_REQUESTS_PER_SECOND: '1000000',
    // Readers say where they are.
    PARLEY_TRUSTED_PROXIES: '127.0.0.1',
    NODE_COMPILE_CACHE: join(dir, 'compile-cache'),
  }
  await warmUp(env, reaper)
  const secrets = createSecrets(readConfig(env).PARLEY_SECRET)
  const store = openStore({ url: databaseUrl, applicationName: 'chaos observer', onConnectionError: () => undefined })
  const library = fakeTimeLibrary()
  const setting = { env, logDir, reaper, postgresPort: postgres.port }

  const simulator = await createSimulator(logDir, reaper)
  await addProvider(store, secrets, 'simulator', `http://127.0.0.1:${simulator.proxy.port}/v1`)
  for (const id of [MODEL, LIMITED_MODEL, EMBEDDING_MODEL]) {
    const kind = id === EMBEDDING_MODEL ? 'embedding' : 'chat'
    const price = { effectiveFrom: PRICE_FROM }
    await addModel(store, { id, kind, provider: 'simulator', price, deployment: TIMERS })
  }
  const gateways = await Promise.all(
    Array.from({ length: options.gateways }, (_, n) =>
      createGateway(`gateway-${n + 1}`, createClock(library, join(dir, `clock-${n + 1}`)), setting),
    ),
  )
  const worker = await createParley('worker', 'worker', setting, () => undefined)
  const all = [simulator, worker, ...gateways]
  await Promise.all(all.map(({ service }) => service.start()))

  return {
    postgres,
    gateways,
    worker,
    simulator,
    store,
    secrets,
    hasFakeTime: library !== undefined,
    logDir,
    reaper,
    async close() {
      for (const { service } of all) service.kill()
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

interface Setting {
  env: { DATABASE_URL: string } & Record<string, string>
  logDir: string
  reaper: Reaper
  postgresPort: number
}

async function createGateway(name: string, clock: Clock, setting: Setting): Promise<GatewayProcess> {
  const front = await createFaultProxy()
  const env = { ...setting.env, ...clock.env }
  const process = await createParley(name, 'gateway', { ...setting, env }, (url) => (front.target = targetOf(url)))
  return { ...process, front, clock }
}

/** A parley process with its own way to PostgreSQL. */
async function createParley(name: string, role: string, setting: Setting, onListening: (url: URL) => void) {
  const database = await createFaultProxy({ host: '127.0.0.1', port: setting.postgresPort })
  const service = createService({
    name,
    command: join(ROOT, 'bin/parley'),
    args: ['serve', role],
    env: { ...setting.env, ...databaseEnv(withPort(setting.env.DATABASE_URL, database.port)) },
    logDir: setting.logDir,
    listening: /"(?:url|opsUrl)":"([^"]+)".*"msg":"listening"/,
    onListening,
    reaper: setting.reaper,
  })
  return { service, database }
}

async function createSimulator(logDir: string, reaper: Reaper) {
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

/** A process that is killed never writes what it compiled; one that ends in order does, and halves all later starts. */
async function warmUp(env: Record<string, string>, reaper: Reaper): Promise<void> {
  const served = start(join(ROOT, 'bin/parley'), ['serve'], { env })
  if (served.child.pid !== undefined) reaper.watch(served.child.pid)
  await served.untilPrinted(/"msg":"listening"/, 30_000)
  await served.end('SIGTERM', 10_000)
}

async function createDatabase(adminUrl: string): Promise<string> {
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  await client.query(`create database chaos template template0 encoding 'UTF8'`)
  await client.end()
  const url = new URL(adminUrl)
  url.pathname = '/chaos'
  await migrate(url.href)
  await ensureTestLogins(url.href)
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
