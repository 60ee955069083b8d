import { Kysely, PostgresDialect, type PostgresPool, type PostgresPoolClient, type Transaction } from 'kysely'
import { DatabaseError, Pool, types as standardTypes, type CustomTypesConfig } from 'pg'
import { LaneFull, LaneTimeout } from '../platform/batch.ts'
import { storeUnavailable } from '../rules/errors.ts'
import { connectPatiently } from './connecting.ts'
import { listen, type Channel, type Listening } from './notifications.ts'
import type { Database as Schema } from './schema.gen.ts'
import { createTenants, type Tenants } from './tenancy.ts'

export type Db = Kysely<Schema>
/** A transaction. What must not happen without its neighbours asks for one, so that it cannot be called without. */
export type Tx = Transaction<Schema>

export interface Store {
  db: Db
  /** For the transactions of tenants. */
  tenants: Tenants
  /** The ledger's own connection: its statements never queue behind anything else. */
  ledgerPool: Pool
  /** For statements on wallets that somebody else has locked: they may wait. */
  ledgerSidePool: Pool
  /** Tells of changes as they happen, over a connection of its own. */
  listen(channel: Channel, onNotice: () => void): Listening
  close(): Promise<void>
}

/** Joins the transaction that runs, or opens one: so that a function that needs one can be part of a larger one. */
export function inTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return isTransaction(db) ? work(db) : db.transaction().execute(work)
}

function isTransaction(db: Db): db is Tx {
  return db.isTransaction
}

/** Money is a bigint from end to end: a number would lose nanos above 9,007,199 credits. */
const types: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === standardTypes.builtins.INT8 && format !== 'binary'
      ? (value: string) => BigInt(value)
      : standardTypes.getTypeParser(oid, format),
}

/**
 * The planner once flipped to a sequential scan on fresh, un-analysed partitions and made holds seven times slower. The
 * ledger's few statements all go by primary key, so the alternatives are simply switched off for its connection.
 */
const LEDGER_SETTINGS = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
]
/** Longer than another gateway's statement takes, and short for everybody who waits behind this one. */
const LEDGER_LOCK_WAIT = 'lock_timeout=15'
/** Then others whose wallets are locked get their turn. */
const LEDGER_SIDE_LOCK_WAIT = 'lock_timeout=500'
const LEDGER_SIDE_CONNECTIONS = 4

const SETTINGS = ['idle_in_transaction_session_timeout=5000', 'lock_timeout=2000']

const STATEMENT_TIMEOUT_MS = 5_000
const IDLE_TIMEOUT_MS = 30_000
/** How much longer than the server's own limit we wait for it to say that a statement took too long. */
const FROZEN_AFTER_MS = 3_000
const POOL_WAIT_MS = 1_000

export interface StoreOptions {
  url: string
  /** The login that may do nothing but act for tenants. Without it, `url` does that too, and can do more. */
  tenantUrl?: string | undefined
  /** The variables that gave them, so that the log can name the one whose login is refused. */
  urlFrom?: string | undefined
  tenantUrlFrom?: string | undefined
  applicationName: string
  poolMax?: number
  /**
   * How long a statement waits for a connection. Where it is said, also while the server has none left; otherwise that fails at
   * once, because a plane that asked again for every call would keep such a server busy with refusing.
   */
  poolWaitMs?: number | undefined
  statementTimeoutMs?: number
  /** Told of broken idle connections, which the pool replaces by itself. */
  onConnectionError?: (error: Error) => void
}

export function openStore(options: StoreOptions): Store {
  const { poolMax = 10, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const limits = { max: poolMax, statementTimeoutMs, settings: SETTINGS }
  const pool = openPool(options, limits)
  const tenantPool =
    options.tenantUrl === undefined ? undefined : openPool({ ...options, url: options.tenantUrl }, limits)
  // Kept while nothing is called: a connection that is open outlives a change of its login's password.
  const ledgerPool = openPool(options, {
    max: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    settings: [...LEDGER_SETTINGS, LEDGER_LOCK_WAIT],
    idleTimeoutMs: 0,
  })
  const ledgerSidePool = openPool(options, {
    max: LEDGER_SIDE_CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    settings: [...LEDGER_SETTINGS, LEDGER_SIDE_LOCK_WAIT],
  })
  const db = kyselyOf(pool, options)
  return {
    db,
    tenants: createTenants(tenantPool ? kyselyOf(tenantPool, { ...options, urlFrom: options.tenantUrlFrom }) : db, db),
    ledgerPool,
    ledgerSidePool,
    listen: (channel, onNotice) =>
      listen({ url: options.url, applicationName: options.applicationName, channel, onNotice }),
    async close() {
      await Promise.all([pool.end(), tenantPool?.end(), ledgerPool.end(), ledgerSidePool.end()])
    },
  }
}

function kyselyOf(pool: Pool, options: PoolOrigin): Db {
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool: discardingBroken(pool, options) }) })
}

type PoolOrigin = Pick<StoreOptions, 'urlFrom' | 'poolWaitMs'>

interface PoolLimits {
  max: number
  statementTimeoutMs: number
  settings: readonly string[]
  /** 0: never closed for being idle. */
  idleTimeoutMs?: number
}

function openPool(options: StoreOptions, { max, statementTimeoutMs, settings, idleTimeoutMs }: PoolLimits): Pool {
  const pool = new Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max,
    connectionTimeoutMillis: options.poolWaitMs ?? POOL_WAIT_MS,
    statement_timeout: statementTimeoutMs,
    // A frozen server answers nothing and closes nothing; only a timer of our own notices.
    query_timeout: statementTimeoutMs + FROZEN_AFTER_MS,
    idleTimeoutMillis: idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    keepAlive: true,
    types,
    options: settings.map((setting) => `-c ${setting}`).join(' '),
  })
  // Without a listener, a connection that breaks would end the process: while idle (the pool tells), and while a statement
  // runs (that statement fails, and the client tells once more).
  pool.on('error', (error) => options.onConnectionError?.(error))
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/**
 * Kysely puts a connection back whatever became of its statement. One whose server did not answer in time would be the
 * first to be handed out again, with the old statement still in front of the new one.
 */
function discardingBroken(pool: Pool, { urlFrom, poolWaitMs = 0 }: PoolOrigin): PostgresPool {
  return {
    options: {},
    async connect() {
      const client = await connectPatiently(() => pool.connect(), poolWaitMs).catch((error: Error) => {
        throw Object.assign(error, { urlFrom })
      })
      let isBroken = false
      return {
        async query(text: string, values: unknown[]) {
          // A lost connection has taken its transaction with it, and what lost it is the error to tell of.
          if (isBroken && text === 'rollback') return { command: 'ROLLBACK', rowCount: null, rows: [] }
          try {
            return await client.query(text, values)
          } catch (error) {
            // An error that the server itself reports leaves the connection usable, unless it is fatal.
            isBroken ||= !(error instanceof DatabaseError) || error.severity === 'FATAL'
            throw error
          }
        },
        release: (destroy?: boolean) => client.release(destroy || isBroken),
      } as unknown as PostgresPoolClient
    },
    end: () => pool.end(),
  }
}

/**
 * SQLSTATEs that say "not now" rather than "not like this": shutdown, too many connections, lost races, read-only. A refused
 * login is one of them: while passwords are replaced, a delivered answer waits to be charged instead of being given away.
 */
const TRANSIENT_STATES = /^(08|57P|53|40001|40P01|55P03|57014|25006|28)/

/** Is the store unreachable or busy, as opposed to having refused a wrong statement? */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, severity } = error as { code?: unknown; severity?: unknown }
  if (typeof code === 'string') {
    return TRANSIENT_STATES.test(code) || code.startsWith('E') || isRefusedConnection(code, severity)
  }
  // node-postgres reports lost connections and its own timeouts by text alone.
  return /connection|timeout|terminated|closed/i.test(error.message)
}

/** A function that it calls is missing: another version is replacing the functions. The same statement works a moment later. */
export function isFunctionMissing(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === '42883'
}

/** It was ended by the limit of time for a statement. */
export function isTooSlow(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === '57014'
}

/**
 * The database takes no connections (55000: it is being restored or was set aside) or is not there (3D000). As answers to a
 * statement these are refusals of that statement; a connection that is turned away ends, which is what FATAL says.
 */
function isRefusedConnection(code: string, severity: unknown): boolean {
  return severity === 'FATAL' && /^(55000|3D000)$/.test(code)
}

/** No connection was made, the login was refused, there was no connection left, or the server is read-only. */
const NOTHING_DONE_STATES = /^(28|53300|25006|57P03|55000|3D000)/

/** May what was sent have been done all the same? Not where the store has answered that it did nothing. */
export function mayBeDone(error: unknown): boolean {
  return isUnavailable(error) && !NOTHING_DONE_STATES.test(String((error as { code?: unknown }).code))
}

/** Returns the store's answer to a caller that waits for it; throws the error for such a caller while the store is away. */
export async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const isAway = error instanceof LaneFull || error instanceof LaneTimeout || isUnavailable(error)
    throw isAway ? storeUnavailable() : error
  }
}
