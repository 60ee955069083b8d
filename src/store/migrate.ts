import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { MINUTE_MS } from '../rules/durations.ts'
import { connectClient, lossOf } from './connecting.ts'
import { isLostRace, LOST_RACE, nameOfHolder, watchLocks, type LockHolder } from './lock-waits.ts'
import {
  appliedMigrations,
  listMigrations,
  MIGRATIONS_TABLE,
  newerOf,
  numberOf,
  pendingOf,
  type Migration,
} from './migrations.ts'
import {
  applyFunctions,
  findDropped,
  findFunctionStates,
  FUNCTIONS_TABLE,
  type FunctionStates,
} from './sql-functions.ts'

/** Any number, as long as every Parley process uses the same. */
const LOCK = 7_253_941

export interface MigrationReport {
  applied: string[]
  /** Migrations that only a newer version has. This one works on their tables. */
  newer: string[]
  total: number
  /** The names of functions that were applied. */
  functions: string[]
  /** Functions that another version has replaced since this one applied its own. They were left as they are. */
  newerFunctions: string[]
  /** Functions that were edited by hand. They were left as they are, too. */
  editedFunctions: string[]
}

/** A migration that could not get its locks, or lost them to others. It is rolled back as a whole. */
export interface MigrationWait {
  /** Its name; or, while functions are applied, `function ledger_apply`. */
  migration: string
  /** PostgreSQL's code for why. */
  code: string
  /** The processes in the way, as far as they could be seen. */
  holders: readonly LockHolder[]
  againInMs: number
}

/** Told as it happens. */
export interface MigrationProgress {
  onApplied?(name: string): void
  onFunctionApplied?(name: string): void
  onWait?(wait: MigrationWait): void
  /** Another process migrates: this one begins when that one has ended. */
  onQueue?(): void
}

/** How long it tries to get its locks. */
export interface MigrationPatience {
  pauseMs: number
  giveUpAfterMs: number
}

/** Things to apply besides the migrations that are missing. */
export interface MigrationScope {
  /** Every function, and not only those whose text is new: whatever the database has of them is replaced. */
  allFunctions?: boolean
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

/** Tells the operator who is in the way. */
export function sentenceOfWait({ migration, code, holders, againInMs }: MigrationWait): string {
  const number = numberOf(migration)
  const who = holders.length > 0 ? holders.map(nameOfHolder).join(', ') : 'another process'
  let what = `${number} waits for a lock that ${who} ${holders.length > 1 ? 'hold' : 'holds'}`
  if (code === DEADLOCK) what = `${number} got into a deadlock with ${who}`
  if (code === LOST_RACE) what = `${number} was changed by ${who} at the same moment`
  return `${what}; trying again in ${Math.ceil(againInMs / 1_000)} s. Calls go on meanwhile.`
}

const DEADLOCK = '40P01'
const LOCK_TIMEOUT = '55P03'
/** Its statement, or all of the connection: by an administrator, or by a limit that the operator has set. */
const ENDED = new Set(['57014', '57P01'])
/**
 * A request for an exclusive lock stops all others that come after it, even those that would only read. So this is shorter than
 * a new call waits for the store (STORE_WAIT_MS): no call is refused because a migration waits.
 */
const LOCK_TIMEOUT_MS = 500
const PATIENCE: MigrationPatience = { pauseMs: 5_000, giveUpAfterMs: 5 * MINUTE_MS }

/**
 * Applies what is missing, in order, each migration in its own transaction, one process at a time. One that cannot get its
 * locks is rolled back and tried again later, so that one long reader does not stop everybody else. Functions whose text is
 * new, and those that are gone, come with the last migration, so that nobody meets its tables with the functions of the version before.
 */
export async function migrate(
  databaseUrl: string,
  progress: MigrationProgress = {},
  patience: MigrationPatience = PATIENCE,
  { allFunctions = false }: MigrationScope = {},
): Promise<MigrationReport> {
  const client = await connectClient({ connectionString: databaseUrl, application_name: 'parley migrate' })
  try {
    await noticeLostClients(client)
    await takeTurn(client, progress)
    await client.query(MIGRATIONS_TABLE)
    await client.query(FUNCTIONS_TABLE)
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`)
    const migrations = await listMigrations()
    const before = await appliedMigrations(client)
    const newer = newerOf(migrations, before)
    const pending = pendingOf(migrations, before)
    const scope = { isFromNewer: newer.length > 0, isAll: allFunctions }
    const states = await findFunctionStates(client, scope)
    const functions: string[] = []
    for (const step of stepsOf(pending, states)) {
      const applied = await applyPatiently({ client, databaseUrl, step, progress, patience })
      if (step.migration) progress.onApplied?.(step.migration.name)
      for (const name of applied) progress.onFunctionApplied?.(name)
      functions.push(...applied)
    }
    return {
      applied: pending.map(({ name }) => name),
      newer,
      total: migrations.length,
      functions,
      newerFunctions: states.replaced.map(({ name }) => name),
      editedFunctions: states.edited.map(({ name }) => name).filter((name) => !functions.includes(name)),
    }
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

/** The migration and the functions that one transaction applies. */
interface Step {
  migration?: Migration
  functions?: FunctionStates
}

function stepsOf(pending: readonly Migration[], functions: FunctionStates): Step[] {
  const last = pending.at(-1)
  const before = pending.slice(0, -1).map((migration) => ({ migration }))
  if (last) return [...before, { migration: last, functions }]
  return functions.pending.length > 0 ? [{ functions }] : []
}

interface Applying {
  client: Client
  databaseUrl: string
  step: Step
  progress: MigrationProgress
  patience: MigrationPatience
}

/** Returns the names of the functions that were applied. */
async function applyPatiently({ client, databaseUrl, step, progress, patience }: Applying): Promise<string[]> {
  let part = ''
  const giveUpAtMs = performance.now() + patience.giveUpAfterMs
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  for (;;) {
    const watch = watchLocks(databaseUrl, rows[0]?.pid ?? 0)
    try {
      return await applyOnce(client, step, (name) => (part = name))
    } catch (error) {
      const code = codeOf(error) ?? codeOf(lossOf(client)) ?? ''
      if (ENDED.has(code)) throw new MigrationBusy(part, code, error)
      if (code !== LOCK_TIMEOUT && code !== DEADLOCK && !isLostRace(error)) throw error
      await client.query('rollback')
      const againInMs = patience.pauseMs
      if (performance.now() + againInMs > giveUpAtMs) throw new MigrationBusy(part, code, error)
      progress.onWait?.({ migration: part, code, holders: watch.holders, againInMs })
    } finally {
      await watch.stop()
    }
    await sleep(patience.pauseMs)
  }
}

function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

async function applyOnce(client: Client, step: Step, onPart: (name: string) => void): Promise<string[]> {
  const { migration, functions } = step
  await client.query('begin')
  if (migration) {
    const { name, sql, checksum, oldestProgram } = migration
    onPart(name)
    await client.query(sql)
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum])
    // The column is there before the first migration that says so.
    if (oldestProgram !== undefined) {
      await client.query('update migrations set oldest_program = $2 where name = $1', [name, oldestProgram])
    }
  }
  const dropped = migration && functions ? await findDropped(client, functions.current) : []
  const unsure = migration && functions ? functions.unsure : []
  const applied = [...(functions?.pending ?? []), ...dropped, ...unsure]
  await applyFunctions(client, applied, (name) => onPart(`function ${name}`))
  await client.query('commit')
  return applied.map(({ name }) => name)
}

/**
 * Lists what the database still lacks: names of migrations, and functions as `function ledger_apply`. Throws when an applied
 * migration was edited afterwards, or when the database is too new for this version.
 */
export async function pendingMigrations(databaseUrl: string): Promise<string[]> {
  return (await migrationState(databaseUrl)).pending
}

export interface MigrationState extends Pick<MigrationReport, 'newer' | 'newerFunctions' | 'editedFunctions'> {
  pending: string[]
}

export async function migrationState(databaseUrl: string): Promise<MigrationState> {
  const client = await connectClient({
    connectionString: databaseUrl,
    application_name: 'parley migrations',
    connectionTimeoutMillis: 2_000,
  })
  try {
    const { rows } = await client.query<{ migrations: boolean; functions: boolean }>(
      `select to_regclass('migrations') is not null as migrations, to_regclass('applied_functions') is not null as functions`,
    )
    const applied = rows[0]?.migrations ? await appliedMigrations(client) : []
    const migrations = await listMigrations()
    const newer = newerOf(migrations, applied)
    const isAll = !rows[0]?.functions
    const states = await findFunctionStates(client, { isFromNewer: newer.length > 0, isAll })
    const functions = states.pending
    return {
      newer,
      pending: [
        ...pendingOf(migrations, applied).map(({ name }) => name),
        ...functions.map(({ name }) => `function ${name}`),
      ],
      newerFunctions: states.replaced.map(({ name }) => name),
      editedFunctions: states.edited.map(({ name }) => name),
    }
  } finally {
    await client.end()
  }
}
