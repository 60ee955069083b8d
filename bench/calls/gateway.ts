/**
 * Parley as it is installed: `bin/parley serve gateway`, with a PostgreSQL of its own, set up through its own command line.
 * Commands are kept compatible, so the same steps set up a version of months ago.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { findOrStartPostgres } from '../../scripts/postgres.ts'
import { freePort } from '../../test/support/free-port.ts'
import { CACHE_DIR } from './cache.ts'
import { CHAT_MODEL, EMBEDDING_MODEL } from './cases.ts'
import { runProgram, startServer } from './processes.ts'
import type { Running, Subject, SubjectName, Surroundings } from './subject.ts'

/** Shared by all processes of one installation. */
interface Installation {
  root: string
  env: Record<string, string>
  headers: Record<string, string>
  postgres: NonNullable<Running['postgres']>
}

type Parley = (...args: string[]) => Promise<Record<string, unknown>>

/** All of the load is one project's, from one address. A version that does not know one of these does not look at it. */
export const ONE_CALLER = {
  PARLEY_PROJECT_CALLS_PERCENT: '100',
  PARLEY_KEY_PAIR_CALLS_PERCENT: '100',
  PARLEY_ACCOUNT_WORK_PERCENT: '100',
  PARLEY_ADDRESS_REQUESTS_PER_SECOND: '1000000',
  PARLEY_KEY_PAIR_REQUESTS_PER_SECOND: '1000000',
}
const ENDS_AT_ONCE = { PARLEY_DRAIN_DELAY_MS: '0', PARLEY_DRAIN_GRACE_MS: '1000' }
const CREDITS = '1000000'

interface Version {
  /** Names the folder of that version, installed. */
  checkout(): Promise<string>
  /** Fills its database before anything else is in it. */
  fill?(databaseUrl: string): Promise<void>
}

export function gateway(name: SubjectName, surroundings: Surroundings, { checkout, fill }: Version): Subject {
  const { ending, say } = surroundings
  let installing: Promise<Installation> | undefined
  return {
    name,
    async start() {
      const root = await checkout()
      if (!installing) say(`setting up ${name}`)
      installing ??= install(root, surroundings, fill)
      const { env, headers, postgres } = await installing
      const [port, opsPort] = [String(await freePort()), String(await freePort())]
      const { pid, stop } = await startServer(ending, [join(root, 'bin/parley'), 'serve', 'gateway'], {
        env: { ...env, ...ONE_CALLER, ...ENDS_AT_ONCE, PARLEY_PORT: port, PARLEY_OPS_PORT: opsPort },
        readyUrl: `http://127.0.0.1:${opsPort}/readyz`,
      })
      return { url: `http://127.0.0.1:${port}`, headers, pid, postgres, stop }
    },
  }
}

async function install(
  root: string,
  { ending, providerUrl }: Surroundings,
  fill: Version['fill'],
): Promise<Installation> {
  const { url, postgres } = await startPostgres(ending)
  const env = {
    DATABASE_URL: url,
    PARLEY_SECRET: randomBytes(32).toString('base64'),
    PROVIDER_KEY: 'bench-key',
    NODE_COMPILE_CACHE: join(CACHE_DIR, 'compiled'),
  }
  const command = join(root, 'bin/parley')
  await runProgram(ending, [command, 'migrate'], { env })
  await fill?.(url)
  const parley: Parley = async (...args) =>
    JSON.parse(await runProgram(ending, [command, ...args, '--json'], { env })) as Record<string, unknown>
  const logins = await newer(parley('database', 'logins'))
  await addModels(parley, providerUrl)
  const headers = await addProject(parley)
  return { root, env: { ...env, ...(logins?.variables as Record<string, string> | undefined) }, headers, postgres }
}

/** Something that older versions do not have: they are measured without it. */
async function newer<T>(command: Promise<T>): Promise<T | undefined> {
  return command.catch((error: unknown) => {
    if (/Unknown command|Required option|unknown option/i.test(String(error))) return undefined
    throw error
  })
}

async function addModels(parley: Parley, providerUrl: string): Promise<void> {
  const provider = ['--base-url', `${providerUrl}/v1`, '--api-key-env', 'PROVIDER_KEY']
  await parley('provider', 'add', 'simulator', ...provider)
  const what = ['--owned-by', 'simulator', '--context-window', '128000', '--input', '1']
  const route = ['--provider', 'simulator', '--upstream-model']
  await parley('model', 'add', CHAT_MODEL, ...what, '--output', '4', '--max-output-tokens', '4096')
  await parley('model', 'route', CHAT_MODEL, ...route, CHAT_MODEL)
  if (await newer(parley('model', 'add', EMBEDDING_MODEL, ...what, '--kind', 'embedding')))
    await parley('model', 'route', EMBEDDING_MODEL, ...route, EMBEDDING_MODEL)
}

async function addProject(parley: Parley): Promise<Record<string, string>> {
  const publisher = await parley('publisher', 'create', 'Benchmark', '--activate')
  const place = ['--publisher', String(publisher.id), '--domain', 'example.com']
  const project = String((await parley('project', 'create', 'Benchmark', ...place)).id)
  await parley('domain', 'verify', project)
  await parley('wallet', 'topup', project, CREDITS)
  const pair = await parley('key', 'create', project)
  return { 'x-publishable-key': String(pair.publishable_key), 'x-secret-key': String(pair.secret_key) }
}

/** With PostgreSQL's own settings: a commit waits for the disk, as it does where money is kept. */
async function startPostgres(ending: AsyncDisposableStack) {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-postgres-'))
  const starting = findOrStartPostgres({ dataDir, alwaysPrivate: true })
  // Said before anything is waited for: an interruption also ends a server that is about to start.
  ending.defer(async () => {
    await starting.then(
      (server) => server.stop(),
      () => undefined,
    )
    await rm(dataDir, { recursive: true, force: true })
  })
  const server = await starting
  const pid = Number((await readFile(join(dataDir, 'postmaster.pid'), 'utf8')).split('\n')[0])
  const client = new Client({ connectionString: server.url })
  await client.connect()
  const { rows } = await client.query<{ server_version: string }>('show server_version')
  await client.query('create database parley')
  await client.end()
  const url = new URL(server.url)
  url.pathname = '/parley'
  return { url: url.href, postgres: { pid, version: rows[0]?.server_version ?? '' } }
}
