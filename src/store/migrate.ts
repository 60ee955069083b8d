import { readFile, readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { MINUTE_MS } from '../rules/durations.ts'
import { textDigestOf } from '../rules/text-digest.ts'
import { nameOfHolder, watchLocks, type LockHolder } from './lock-waits.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)
/** Any number, as long as every Parley process uses the same. */
const LOCK = 7_253_941

export interface Migration {
  name: string
  sql: string
  checksum: string
}

export interface MigrationReport {
  applied: string[]
  total: number
}

export async function listMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, FOLDER), 'utf8')
      return { name, sql, checksum: textDigestOf(sql).toString('hex') }
    }),
  )
}

/** A migration that could not get its locks, or lost them to others. It is rolled back as a whole. */
export interface MigrationWait {
  migration: string
  /** PostgreSQL's code for why. */
  code: string
  /** Who was in the way, as far as it could be seen. */
  holders: readonly LockHolder[]
  againInMs: number
}

/** Told as it happens. */
export interface MigrationProgress {
  onApplied?(name: string): void
  onWait?(wait: MigrationWait): void
  /** Another process migrates: this one begins when that one has ended. */
  onQueue?(): void
}

/** How long it tries to get its locks. */
export interface MigrationPatience {
  pauseMs: number
  giveUpAfterMs: number
}

/** Others were in the way for too long, or it was cancelled: nothing of that migration was changed. */
export class MigrationBusy extends Error {
  readonly code: string
  readonly migration: string
  constructor(migration: string, code: string, cause: unknown) {
    super(`${migration} did not get its locks`, { cause })
    this.code = code
    this.migration = migration
  }
}

/** `0016` */
export function numberOf(migration: string): string {
  return /^\d+/.exec(migration)?.[0] ?? migration
}

/** Who is in the way, for the operator. */
export function sentenceOfWait({ migration, code, holders, againInMs }: MigrationWait): string {
  const number = numberOf(migration)
  const who = holders.length > 0 ? holders.map(nameOfHolder).join(', ') : 'another process'
  const what =
    code === DEADLOCK
      ? `${number} got into a deadlock with ${who}`
      : `${number} waits for a lock that ${who} ${holders.length > 1 ? 'hold' : 'holds'}`
  return `${what}; trying again in ${Math.ceil(againInMs / 1_000)} s. Calls go on meanwhile.`
}

const DEADLOCK = '40P01'
const LOCK_TIMEOUT = '55P03'
/** By an administrator, or by a limit that the operator has set. */
const CANCELLED = '57014'
/**
 * Whoever waits for an exclusive lock stops all others who come after it, also those who would only read. So this is
 * shorter than a new call waits for the store (STORE_WAIT_MS): nobody is refused because a migration waits.
 */
const LOCK_TIMEOUT_MS = 500
const PATIENCE: MigrationPatience = { pauseMs: 5_000, giveUpAfterMs: 5 * MINUTE_MS }

/**
 * Applies what is missing, in order, each in its own transaction, one process at a time. One that cannot get its locks is
 * rolled back and tried again later, so that one long reader does not stop everybody else.
 */
export async function migrate(
  databaseUrl: string,
  progress: MigrationProgress = {},
  patience: MigrationPatience = PATIENCE,
): Promise<MigrationReport> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'parley migrate' })
  // The statement that runs fails too, and says why.
  client.on('error', () => {})
  await client.connect()
  try {
    await noticeLostClients(client)
    await takeTurn(client, progress)
    await client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    )
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`)
    const migrations = await listMigrations()
    const pending = pendingOf(migrations, await appliedMigrations(client))
    for (const migration of pending) {
      await applyPatiently({ client, databaseUrl, migration, progress, patience })
      progress.onApplied?.(migration.name)
    }
    return { applied: pending.map((migration) => migration.name), total: migrations.length }
  } finally {
    // Ends the transaction and the lock too, whatever happened.
    await client.end()
  }
}

/** Otherwise the server notices that a waiting client was killed only when its turn has come. Not every server can. */
async function noticeLostClients(client: Client): Promise<void> {
  await client
    .query(`select set_config(name, '1000', false) from pg_settings where name = 'client_connection_check_interval'`)
    .catch(() => {})
}

async function takeTurn(client: Client, progress: MigrationProgress): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [LOCK])
  if (rows[0]?.taken) return
  progress.onQueue?.()
  await client.query('select pg_advisory_lock($1)', [LOCK])
}

interface Applying {
  client: Client
  databaseUrl: string
  migration: Migration
  progress: MigrationProgress
  patience: MigrationPatience
}

async function applyPatiently({ client, databaseUrl, migration, progress, patience }: Applying): Promise<void> {
  const giveUpAtMs = performance.now() + patience.giveUpAfterMs
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  for (;;) {
    const watch = watchLocks(databaseUrl, rows[0]?.pid ?? 0)
    try {
      await applyOnce(client, migration)
      return
    } catch (error) {
      const code = String((error as { code?: unknown }).code)
      if (code === CANCELLED) throw new MigrationBusy(migration.name, code, error)
      if (code !== LOCK_TIMEOUT && code !== DEADLOCK) throw error
      await client.query('rollback')
      const againInMs = patience.pauseMs
      if (performance.now() + againInMs > giveUpAtMs) throw new MigrationBusy(migration.name, code, error)
      progress.onWait?.({ migration: migration.name, code, holders: watch.holders, againInMs })
    } finally {
      await watch.stop()
    }
    await sleep(patience.pauseMs)
  }
}

async function applyOnce(client: Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('begin')
  await client.query(sql)
  await client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum])
  await client.query('commit')
}

/** The names of migrations that the database still lacks. Throws when an applied one was edited afterwards. */
export async function pendingMigrations(databaseUrl: string): Promise<string[]> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'parley migrations',
    connectionTimeoutMillis: 2_000,
  })
  await client.connect()
  try {
    const exists = await client.query<{ found: boolean }>("select to_regclass('migrations') is not null as found")
    const applied = exists.rows[0]?.found ? await appliedMigrations(client) : new Map<string, string>()
    return pendingOf(await listMigrations(), applied).map((migration) => migration.name)
  } finally {
    await client.end()
  }
}

async function appliedMigrations(client: Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string }>('select name, checksum from migrations')
  return new Map(rows.map((row) => [row.name, row.checksum]))
}

function pendingOf(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): Migration[] {
  for (const { name, checksum } of migrations) {
    const before = applied.get(name)
    if (before !== undefined && before !== checksum) {
      throw new Error(
        `Migration ${name} was changed after it had been applied. Restore the file and add a new migration instead.`,
      )
    }
  }
  return migrations.filter((migration) => !applied.has(migration.name))
}
