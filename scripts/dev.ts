/**
 * `npm run dev`: a whole Parley on this machine, without Docker, an account or a setting. Finds or starts PostgreSQL,
 * migrates and fills a database of its own, starts a simulated provider, a mailbox, the gateway, the worker, the console
 * and the matcher, and says what to paste.
 */
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { dirname, join, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { Client } from 'pg'
import { createSimulator } from '../simulator/server.ts'
import { curlFor } from '../src/cli/curl.ts'
import { LOGIN_VARIABLES, readConfig, type Config } from '../src/config.ts'
import { createLog } from '../src/platform/log.ts'
import { createSecrets } from '../src/platform/secrets.ts'
import { keysFor } from '../src/rules/calls/snippets.ts'
import { serve, type Running } from '../src/serve.ts'
import { openStore } from '../src/store/database.ts'
import { createLogins, loginNameOf, LOGINS, newPassword, urlWith } from '../src/store/database-logins.ts'
import { migrate, sentenceOfWait } from '../src/store/migrate.ts'
import { openMailbox } from './mailbox.ts'
import { findOrStartPostgres } from './postgres.ts'
import { DEMO_USER, seedDemo, seedDemoUser, type Demo } from './seed.ts'
import { seedOffers } from './seed-offers.ts'

const GATEWAY_PORT = 8080
const CONSOLE_PORT = 8081
const MATCHER_PORT = 8082
const OPS_PORT = 9090
const SIMULATOR_PORT = 9100
const PORTS_TRIED = 100
/** Ports that nobody else is to take. */
const reserved: Server[] = []
const READY_WITHIN_MS = 15_000
/** Ctrl-C under npm arrives twice: from the terminal, and once more from npm. */
const ECHO_MS = 250

const { values: flags } = parseArgs({
  options: {
    'state-dir': { type: 'string', default: join(import.meta.dirname, '../.parley') },
    database: { type: 'string', default: 'parley_dev' },
  },
})
const stateDir = resolve(flags['state-dir'])

/** Functions that stop everything that was started, newest last: called in reverse order. */
const started: (() => Promise<unknown>)[] = []

onSignals()
try {
  const { running, demo } = await start()
  console.log(instructions(running, demo))
} catch (error) {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
  console.error(`\nThis did not work: ${error instanceof Error ? error.message : String(error)}${cause}`)
  await stopAll()
  process.exit(1)
}

async function start(): Promise<{ running: Running; demo: Demo }> {
  // Others may enter it, because PostgreSQL runs as another user when this is run by root; the secrets in it are 0600.
  await mkdir(stateDir, { recursive: true, mode: 0o755 })
  const adminUrl = await serverAskedFor()
  const postgres = await findOrStartPostgres({ dataDir: await postgresDir(), adminUrl, log: say }).catch(
    (error: Error) => {
      if (adminUrl === undefined) throw error
      throw new Error(`${error.message}. Correct DATABASE_URL, or unset it and dev finds or starts one.`)
    },
  )
  started.push(() => postgres.stop())
  const databaseUrl = await createDatabase(postgres.url, flags.database)
  await migrateDatabase(databaseUrl)

  const simulatorPort = await reservePort(SIMULATOR_PORT)
  await releasePorts()
  const simulator = await createSimulator({ port: simulatorPort })
  started.push(() => simulator.close())
  say(`simulated provider on ${simulator.url}`)

  const mailbox = await openMailbox(say)
  started.push(() => mailbox.close())
  const gatewayPort = await reservePort(GATEWAY_PORT)
  // Beside the gateway's, should that one have moved.
  const consolePort = await reservePort(Math.max(CONSOLE_PORT, gatewayPort + 1))
  const matcherPort = await reservePort(Math.max(MATCHER_PORT, consolePort + 1))
  const env = {
    DATABASE_URL: databaseUrl,
    ...(await planeUrls(databaseUrl)),
    PARLEY_SECRET: await ownSecret(),
    PARLEY_PORT: String(gatewayPort),
    PARLEY_PUBLIC_URL: `http://127.0.0.1:${gatewayPort}`,
    PARLEY_CONSOLE_PORT: String(consolePort),
    PARLEY_CONSOLE_URL: `http://127.0.0.1:${consolePort}`,
    PARLEY_MATCHER_PORT: String(matcherPort),
    PARLEY_MATCHER_URL: `http://127.0.0.1:${matcherPort}`,
    PARLEY_MATCHER_DIR: join(stateDir, 'matcher'),
    PARLEY_SMTP_URL: mailbox.url,
    PARLEY_SANDBOX_DOMAIN: 'sandbox.parley.test',
    PARLEY_OPS_PORT: String(await reservePort(OPS_PORT)),
  }
  const config = readConfig({
    PARLEY_LOG_LEVEL: process.env.PARLEY_LOG_LEVEL ?? 'warn',
    PARLEY_AUTO_MIGRATE: 'false',
    PARLEY_DRAIN_DELAY_MS: '0',
    PARLEY_DRAIN_GRACE_MS: '2000',
    PARLEY_TRIAL_CREDIT: '1',
    PARLEY_PUBLIC_FIGURES: 'true',
    PARLEY_STATUS_PAGE: 'true',
    PARLEY_STATUS_PROVIDERS: 'true',
    ...env,
  })
  const demo = await seed(config, databaseUrl, simulator.url)
  await buildWebApp()
  const log = createLog(config.PARLEY_LOG_LEVEL)
  await releasePorts()
  const running = await serve(config, ['gateway', 'worker', 'console', 'matcher'], log)
  started.push(async () => {
    await running.stop()
    // Connections that are just being closed would report that PostgreSQL goes away, which is what was asked for.
    log.level = 'silent'
  })
  await untilReady(running.opsUrl)
  say(`gateway and worker on ${running.url}`)
  say(`console on ${running.consoleUrl}`)
  const lines = Object.entries(env).map(([name, value]) => `${name}='${value}'\n`)
  await writeFile(join(stateDir, 'env'), lines.join(''), { mode: 0o600 })
  return { running, demo }
}

async function migrateDatabase(databaseUrl: string): Promise<void> {
  const done = await migrate(databaseUrl, { onWait: (wait) => say(sentenceOfWait(wait)) })
  const now = `${done.applied.length} of ${done.total} migrations and ${done.functions.length} functions applied now`
  say(`database ${flags.database}: ${now}`)
  for (const name of done.newerFunctions) say(`left function ${name}: another version has applied another one`)
}

async function seed(config: Config, databaseUrl: string, simulatorUrl: string): Promise<Demo> {
  const store = openStore({ url: databaseUrl, applicationName: 'parley dev', poolMax: 2 })
  const demo = await seedDemo(store, createSecrets(config.PARLEY_SECRET), `${simulatorUrl}/v1`)
  await seedDemoUser(store.db, demo.publisherId)
  await seedOffers(store.db, demo.projectId)
  await store.close()
  say('seeded: models, two advertisers with offers, and a project with $10.00')
  return demo
}

/** Once: whoever works on the web app runs `npm run dev:dashboard` beside this. */
async function buildWebApp(): Promise<void> {
  const root = join(import.meta.dirname, '..')
  const isBuilt = await stat(join(root, 'dashboard/dist/index.html')).catch(() => undefined)
  if (isBuilt) return
  say('building the web app of the console, this first time')
  await promisify(execFile)('npm', ['run', 'build'], { cwd: root })
}

function instructions(running: Running, demo: Demo): string {
  const url = String(running.url)
  const call = { url, publishableKey: demo.publishableKey, secretKey: demo.secretKey, model: demo.models[0] ?? '' }
  const keys = `-H 'x-publishable-key: ${demo.publishableKey}' \\\n  -H 'x-secret-key: ${demo.secretKey}'`
  const env = relative(process.cwd(), join(stateDir, 'env'))
  return `
Parley runs. Ask it something:

${curlFor(call)}

The same as a stream:

${curlFor({ ...call, stream: true })}

Its models:

curl -sS ${url}/v1/models \\
  ${keys}

A reply that ends with a recommendation (the matcher is ready after some seconds):

${curlFor({ ...call, model: demo.guide, question: 'Which headphones are good for long flights?' })}

The keys for a shell of your own, in which the examples of README.md and ${running.consoleUrl}/docs run:

${keysFor(demo)}

Its console, where the playground and the quick start of the same project are:

${running.consoleUrl}
sign in as ${DEMO_USER.email} with the password ${DEMO_USER.password}
(or sign up: mails are not sent, their links are printed here; you land in a sandbox that answers without any DNS)

Operate it, in another terminal and this folder:

set -a; . ${env.startsWith('..') ? join(stateDir, 'env') : `./${env}`}; set +a
npm run parley -- doctor
npm run parley -- wallet show ${demo.projectId}
npm run parley -- --help

Metrics: ${running.opsUrl}/metrics
Ctrl-C stops everything.`
}

function say(line: string): void {
  console.log(`- ${line}`)
}

/** The server in DATABASE_URL, but never the database: demo data must not end up in one that somebody cares for. */
async function serverAskedFor(): Promise<string | undefined> {
  const asked = process.env.DATABASE_URL || undefined
  // A shell that sourced the file of an earlier run still names a server that may be gone; nobody asked for that.
  const written = await readFile(join(stateDir, 'env'), 'utf8').catch(() => '')
  return asked === undefined || written.includes(`'${asked}'`) ? undefined : asked
}

/** PostgreSQL refuses to run as root and then runs as a user who may not enter the likes of /root. */
async function postgresDir(): Promise<string> {
  const inState = join(stateDir, 'postgres')
  if (process.getuid?.() !== 0) return inState
  for (let dir = stateDir; dir !== dirname(dir); dir = dirname(dir)) {
    const { mode } = await stat(dir)
    const name = createHash('sha256').update(stateDir).digest('hex').slice(0, 12)
    if ((mode & 0o001) === 0) return join('/var/tmp', `parley-postgres-${name}`)
  }
  return inState
}

async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new Client({ connectionString: serverUrl, connectionTimeoutMillis: 5_000 })
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount === 0)
      await client.query(`create database ${client.escapeIdentifier(name)} template template0 encoding 'UTF8'`)
  } finally {
    await client.end()
  }
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

/** A login for each plane, as in production. New passwords at each start: nobody has to keep them. */
async function planeUrls(databaseUrl: string): Promise<Record<string, string>> {
  const logins = LOGINS.map((login) => {
    return { login, name: loginNameOf(flags.database, login), password: newPassword() }
  })
  await createLogins(databaseUrl, Object.fromEntries(logins.map(({ login, ...made }) => [login, made])))
  return Object.fromEntries(logins.map(({ login, ...made }) => [LOGIN_VARIABLES[login], urlWith(databaseUrl, made)]))
}

/** Made once: under another one, nothing that was sealed or digested before could be read. */
async function ownSecret(): Promise<string> {
  const path = join(stateDir, 'secret')
  try {
    await writeFile(path, randomBytes(32).toString('base64'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EEXIST') throw error
  }
  return (await readFile(path, 'utf8')).trim()
}

/** Until it is released: seeding takes seconds, and another dev that starts meanwhile would find the same port free. */
async function reservePort(from: number): Promise<number> {
  for (let port = from; port < from + PORTS_TRIED; port++) {
    const server = createServer()
    const isFree = await new Promise<boolean>((done) => {
      server.once('error', () => done(false))
      server.listen(port, '127.0.0.1', () => done(true))
    })
    if (!isFree) continue
    reserved.push(server.unref())
    if (port !== from) say(`port ${from} is taken, using ${port}`)
    return port
  }
  throw new Error(`The ports ${from} to ${from + PORTS_TRIED - 1} are all taken. Stop what uses them.`)
}

async function releasePorts(): Promise<void> {
  for (const server of reserved.splice(0)) {
    server.close()
    await once(server, 'close')
  }
}

async function untilReady(opsUrl: string): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS
  while (Date.now() < deadline) {
    const response = await fetch(`${opsUrl}/readyz`)
    if (response.ok) return
    await sleep(50)
  }
  throw new Error(`The gateway was not ready within ${READY_WITHIN_MS / 1000} s. See the lines above.`)
}

async function stopAll(): Promise<void> {
  for (const stop of started.splice(0).toReversed()) await stop().catch(() => undefined)
}

function onSignals(): void {
  let stoppingSinceMs: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stoppingSinceMs === undefined) {
        stoppingSinceMs = performance.now()
        console.log('\nStopping.')
        void stopAll().then(() => process.exit(0))
      } else if (performance.now() - stoppingSinceMs > ECHO_MS) {
        process.exit(1)
      }
    })
  }
}
