/** A whole Parley as an operator runs it: each role a process of its own, PostgreSQL, and a simulated provider. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import type { Store } from '../../src/store/database.ts'
import { startReaper, type Reaper } from '../chaos/reaper.ts'
import { createService, type Service } from '../chaos/service.ts'
import { parley, ROOT } from '../support/commands.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { databaseEnv } from '../support/logins.ts'
import { until, untilReady } from '../support/world.ts'
import { addOffers, addTenants, type Tenants } from './tenants.ts'

export interface System {
  consoleUrl: string
  databaseUrl: string
  tenants: Tenants
  console: Service
  matcher: Service
  reaper: Reaper
  /** A new gateway for each attack: none begins with what the one before has left behind. */
  startGateway(env: Record<string, string>): Promise<Gateway>
  close(): Promise<void>
}

export interface Gateway {
  url: string
  service: Service
}

const READY_WITHIN_MS = 60_000
/** The number of offers that tenants.ts adds. */
const OFFERS = 2n

export async function startSystem(): Promise<System> {
  const dir = await mkdtemp(join(tmpdir(), 'parley-neighbours-'))
  await chmod(dir, 0o711)
  const reaper = startReaper(dir)
  const services: Service[] = []
  const end = async () => {
    // First, or what the reaper ends would be taken for a crash.
    for (const service of services) service.kill()
    await reaper.finish()
  }
  try {
    return await startIn(dir, { reaper, services, end })
  } catch (error) {
    await end()
    throw error
  }
}

interface Run {
  reaper: Reaper
  /** All that were started. */
  services: Service[]
  end(): Promise<void>
}

async function startIn(dir: string, { reaper, services, end }: Run): Promise<System> {
  const logDir = join(dir, 'logs')
  await mkdir(logDir)
  const database = await createTestDatabase()
  const [consolePort, matcherPort] = [await freePort(), await freePort()]
  const consoleUrl = `http://127.0.0.1:${consolePort}`
  const env = {
    ...databaseEnv(database.url),
    PARLEY_SECRET: randomBytes(32).toString('base64'),
    PARLEY_PORT: '0',
    PARLEY_OPS_PORT: '0',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_CONSOLE_PORT: String(consolePort),
    PARLEY_CONSOLE_URL: consoleUrl,
    PARLEY_MATCHER_PORT: String(matcherPort),
    PARLEY_MATCHER_URL: `http://127.0.0.1:${matcherPort}`,
    PARLEY_MATCHER_DIR: join(dir, 'matcher'),
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(dir, 'compile-cache'),
  }
  const setting = { env, logDir, reaper, services }
  const store = openTestStore({ url: database.url, applicationName: 'neighbours' })
  const simulator = await startSimulator(setting)
  const secrets = createSecrets(readConfig(env).PARLEY_SECRET)
  await Promise.all([addOffers(store), parley(['matcher', 'prepare', '--into', env.PARLEY_MATCHER_DIR])])
  const [console, matcher] = await Promise.all(['console', 'matcher', 'worker'].map((role) => startRole(role, setting)))
  const tenants = await addTenants({ store, secrets, consoleUrl, databaseUrl: database.url, upstream: simulator.url })
  await untilMatching(store)

  return {
    consoleUrl,
    databaseUrl: database.url,
    tenants,
    console: console!.service,
    matcher: matcher!.service,
    reaper,
    startGateway: (more) => startRole('gateway', { ...setting, env: { ...env, ...more } }),
    async close() {
      for (const service of services) service.kill()
      await store.close()
      await database.drop()
      await end()
    },
  }
}

interface Setting {
  env: Record<string, string>
  logDir: string
  reaper: Reaper
  services: Service[]
}

let started = 0

/** With where it answers; for roles that gateways and browsers do not ask, where it tells of itself. */
async function startRole(role: string, { env, logDir, reaper, services }: Setting): Promise<Gateway> {
  let [url, opsUrl] = ['', '']
  const service = createService({
    name: `${role}-${(started += 1)}`,
    command: join(ROOT, 'bin/parley'),
    args: ['serve', role],
    env,
    logDir,
    listening: role === 'gateway' ? /"url":"([^"]+)".*"msg":"listening"/ : /"opsUrl":"([^"]+)".*"msg":"listening"/,
    onListening: ({ origin }) => (url = origin),
    reaper,
  })
  services.push(service)
  await service.start()
  if (role === 'gateway') {
    const log = readFileSync(join(logDir, `${service.name}.1.log`), 'utf8')
    opsUrl = /"opsUrl":"([^"]+)"/.exec(log)?.[1] ?? ''
    await untilReady(opsUrl)
  }
  return { url, service }
}

async function startSimulator({ logDir, reaper, services }: Setting): Promise<Gateway> {
  let url = ''
  const service = createService({
    name: 'simulator',
    command: process.execPath,
    args: [join(ROOT, 'simulator/main.ts'), '--port', '0'],
    env: {},
    logDir,
    listening: /simulator listening on (\S+)/,
    onListening: ({ origin }) => (url = origin),
    reaper,
  })
  services.push(service)
  await service.start()
  return { url, service }
}

async function untilMatching({ db }: Store): Promise<void> {
  await until(async () => {
    const beats = await db.selectFrom('matchers').select(['state', 'offers', 'problem']).execute()
    const off = beats.find(({ state }) => state === 'switched_off')
    if (off) throw new Error(`the matcher is switched off: ${off.problem}`)
    return beats.some(({ state, offers }) => state === 'ready' && offers === OFFERS)
  }, READY_WITHIN_MS)
}

/** The most memory that the process has had since it began, in bytes. */
export function peakMemoryOf({ pid }: Service): number {
  if (pid === undefined) return NaN
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) * 1_024
}
