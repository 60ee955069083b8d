import { Client } from 'pg'

/** A process that holds a lock that another waits for, and since when; what the database does not tell is undefined. */
export interface LockHolder {
  pid: number
  name: string | undefined
  since: Date | undefined
}

export interface LockWatch {
  /** The processes that were last seen in the way. */
  readonly holders: readonly LockHolder[]
  stop(): Promise<void>
}

const LOOK_EVERY_MS = 100
const CONNECT_MS = 2_000

/**
 * Looks, over a connection of its own, for who is in the way of another connection: that one can only wait, and once it has
 * given up, PostgreSQL no longer knows. Where it cannot look, it says nothing.
 */
export function watchLocks(databaseUrl: string, pidOfWaiting: number): LockWatch {
  let holders: LockHolder[] = []
  let isStopped = false
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'parley lock watch',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
  })
  client.on('error', () => {})

  async function look(): Promise<void> {
    const { rows } = await client.query<{ pid: number; name: string | null; since: Date | null }>(
      `select p.pid, coalesce(nullif(a.application_name, ''), nullif(a.backend_type, 'client backend'), a.usename) as name,
         a.xact_start as since
       from (select distinct pid from unnest(pg_blocking_pids($1)) as pid) p
         left join pg_stat_activity a on a.pid = p.pid
       order by a.xact_start, p.pid`,
      [pidOfWaiting],
    )
    if (rows.length > 0) {
      holders = rows.map(({ pid, name, since }) => ({ pid, name: name ?? undefined, since: since ?? undefined }))
    }
    if (!isStopped) timer = setTimeout(() => void (looking = look().catch(() => {})), LOOK_EVERY_MS)
  }
  // Not at once: most migrations wait for nobody, and need no second connection.
  let looking = Promise.resolve()
  let timer = setTimeout(() => {
    looking = client
      .connect()
      .then(look)
      .catch(() => {})
  }, LOOK_EVERY_MS)

  return {
    get holders() {
      return holders
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await looking
      await client.end().catch(() => {})
    },
  }
}

/** `process 4711 (pg_dump, since 02:10 UTC)` */
export function nameOfHolder({ pid, name, since }: LockHolder): string {
  // PostgreSQL's number for what was prepared and never committed.
  if (pid === 0) return 'a prepared transaction'
  const facts = [name, since && `since ${since.toISOString().slice(11, 16)} UTC`].filter((fact) => fact !== undefined)
  return facts.length > 0 ? `process ${pid} (${facts.join(', ')})` : `process ${pid}`
}

/**
 * Somebody else has changed the same function, or its rights, and committed meanwhile. PostgreSQL calls that an internal error
 * and has no code for it.
 */
export function isLostRace(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return code === LOST_RACE && /^tuple concurrently (updated|deleted)/.test(String(message))
}

export const LOST_RACE = 'XX000'
