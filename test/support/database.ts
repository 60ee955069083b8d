/**
 * Real PostgreSQL for tests. Migrating takes longer than most test files, so a template is migrated once for each day
 * and state of migrations/ and functions/, and every test file works on its own copy.
 */
import { createHash, randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import { LOCAL_ADMIN_URL, findOrStartPostgres, type PostgresServer } from '../../scripts/postgres.ts'
import { openStore, type Store, type StoreOptions } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { ensureTestLogins, hasTestLogins } from './logins.ts'

export interface TestDatabase {
  url: string
  /** Also ends the connections that a test left open. */
  drop(): Promise<void>
}

const ROOT = join(import.meta.dirname, '../..')
/** The folders that a template is made of, and the files that make it. */
const FOLDERS = ['migrations', 'functions']
const MAKERS = ['src/store/migrate.ts', 'src/store/migrations.ts', 'src/store/sql-functions.ts']
/** One number that all test processes know, so that only one of them builds a template at a time. */
const BUILD_LOCK = 7_275_391
const ADMIN_TIMEOUT_MS = 60_000
const CONNECT_TIMEOUT_MS = 5_000
/** Nothing fails because the machine was busy for a second. */
export const POOL_WAIT_MS = 10_000
export const STORE_WAIT_MS = 10_000
const ATTEMPTS_MAX = 10
const RETRY_AFTER_MS = 100
const LEFTOVER_AFTER_SECONDS = 24 * 60 * 60
/** Nothing in a test cluster outlives the run, so it waits for no disk and keeps no log for anybody to recover from. */
const PRIVATE_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '1GB',
  checkpoint_timeout: '1h',
  shared_buffers: '256MB',
  max_connections: '200',
}

const MEMORY_FOLDER = '/dev/shm'
const MEMORY_BYTES_MIN = 12 * 1024 ** 3

const OBJECT_IN_USE = '55006'
const UNKNOWN_DATABASE = '3D000'

export async function createTestDatabase(adminUrl = knownAdminUrl() ?? LOCAL_ADMIN_URL): Promise<TestDatabase> {
  const name = `parley_test_${nowSeconds()}_${randomBytes(6).toString('hex')}`
  // A run on other migrations may remove our template between finding and copying it; the next attempt builds it anew.
  await retry([OBJECT_IN_USE, UNKNOWN_DATABASE], async () => {
    const template = await buildTemplate(adminUrl)
    await administer(adminUrl, (admin) => admin.query(`create database ${name} template ${template}`))
  })
  return {
    url: urlOf(adminUrl, name),
    drop: () => administer(adminUrl, (admin) => dropDatabase(admin, name)),
  }
}

/** A store that waits for a connection as long as a busy machine needs. */
export function openTestStore(options: StoreOptions): Store {
  return openStore({ poolWaitMs: POOL_WAIT_MS, ...options })
}

/** Makes sure that the template for the present migrations exists, and says its name. */
export async function buildTemplate(adminUrl: string): Promise<string> {
  const template = `parley_template_${await hashOfMigrations()}`
  await administer(adminUrl, async (admin) => {
    if ((await exists(admin, template)) && (await hasTestLogins(admin))) return
    // Held until this connection ends, so also a killed process lets the next one build.
    await admin.query('select pg_advisory_lock($1)', [BUILD_LOCK])
    if (await exists(admin, template)) return ensureTestLogins(urlOf(adminUrl, template))
    await dropLeftovers(admin)
    // Renamed only when complete: a run that dies while migrating must not leave half a schema for all later runs.
    const draft = `${template}_draft`
    await admin.query(`create database ${draft} template template0 encoding 'UTF8'`)
    await migrate(urlOf(adminUrl, draft))
    await ensureTestLogins(urlOf(adminUrl, draft))
    await admin.query(`comment on database ${draft} is '${nowSeconds()}'`)
    await retry([OBJECT_IN_USE], () => admin.query(`alter database ${draft} rename to ${template}`))
  })
  return template
}

/** The server that a whole run shares: the one in PARLEY_TEST_POSTGRES_URL, or a private throw-away one. */
export async function openTestPostgres(): Promise<PostgresServer> {
  const dataDir = await mkdtemp(join(await findFolder(), 'parley-postgres-'))
  const remove = () => rm(dataDir, { recursive: true, force: true })
  // A run that is interrupted stops its server on exit and waits for nothing.
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }))
  try {
    const known = { adminUrl: knownAdminUrl(), alwaysPrivate: true }
    const server = await findOrStartPostgres({ dataDir, ...known, settings: PRIVATE_SETTINGS })
    return {
      ...server,
      async stop() {
        await server.stop()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/**
 * In memory, where there is enough of it: each test file has a database of a thousand files, and a disk that others
 * keep busy lets a statement wait for seconds.
 */
async function findFolder(): Promise<string> {
  const shared = await statfs(MEMORY_FOLDER).catch(() => undefined)
  const room = shared ? Math.min(shared.bavail * shared.bsize, process.availableMemory()) : 0
  return room >= MEMORY_BYTES_MIN ? MEMORY_FOLDER : tmpdir()
}

function knownAdminUrl(): string | undefined {
  return process.env.PARLEY_TEST_POSTGRES_URL || undefined
}

/** Removes what was made a day ago or never completed. Runs on other migrations may be under way: theirs stay. Names of
 * other shapes are not ours. */
async function dropLeftovers(admin: Client): Promise<void> {
  const { rows } = await admin.query<{ name: string; made: string | null }>(
    `select datname as name, coalesce(substring(datname from '^parley_test_(\\d+)_[0-9a-f]{12}$'),
       shobj_description(oid, 'pg_database')) as made
     from pg_database where datname ~ '^parley_(test_\\d+|template)_[0-9a-f]{12}(_draft)?$'`,
  )
  for (const { name, made } of rows)
    if (nowSeconds() - Number(made ?? 0) > LEFTOVER_AFTER_SECONDS) await dropDatabase(admin, name)
}

async function dropDatabase(admin: Client, name: string): Promise<void> {
  await admin.query(`drop database if exists ${admin.escapeIdentifier(name)} with (force)`)
}

async function exists(admin: Client, database: string): Promise<boolean> {
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [database])
  return rowCount === 1
}

async function administer<T>(adminUrl: string, work: (admin: Client) => Promise<T>): Promise<T> {
  const admin = new Client({
    connectionString: adminUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: ADMIN_TIMEOUT_MS,
  })
  // Without a listener a lost connection would end the test process before the query that notices it can say why.
  admin.on('error', () => undefined)
  try {
    await admin.connect()
  } catch (error) {
    const { host } = new URL(adminUrl)
    const mend = 'run the tests with "npm test", which starts one, or set PARLEY_TEST_POSTGRES_URL'
    throw new Error(`These tests need PostgreSQL and cannot use the one at ${host}: ${mend}`, { cause: error })
  }
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}

async function retry(sqlStates: string[], work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work()
      return
    } catch (error) {
      const passing = error instanceof DatabaseError && sqlStates.includes(error.code ?? '')
      if (!passing || attempt === ATTEMPTS_MAX) throw error
    }
    await sleep(RETRY_AFTER_MS)
  }
}

/**
 * The hash of everything that shapes a template: the migrations and functions, the code that applies them, and the day, because
 * migrations create the partitions around today and a template of last week would lack today's.
 */
async function hashOfMigrations(): Promise<string> {
  const hash = createHash('sha256').update(new Date().toISOString().slice(0, 10))
  const folders = await Promise.all(
    FOLDERS.map(async (folder) => (await readdir(join(ROOT, folder))).toSorted().map((name) => join(folder, name))),
  )
  for (const path of [...MAKERS, ...folders.flat()]) {
    hash
      .update(`${path}\0`)
      .update(await readFile(join(ROOT, path)))
      .update('\0')
  }
  return hash.digest('hex').slice(0, 12)
}

function urlOf(adminUrl: string, database: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${database}`
  return url.href
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}
