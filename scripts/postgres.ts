/**
 * Finds a PostgreSQL to work with, or starts a private one. Development, tests and benchmarks share this file, so that
 * "clone, npm ci, npm test" needs an installed PostgreSQL but no prepared server, role or password.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdir, open, readFile, readdir, realpath, stat } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'

export interface PostgresOptions {
  /** Where a private cluster lives. Untouched when another server is used. */
  dataDir: string
  /** The private cluster's port; a free one when absent. */
  port?: number
  /** A server that the caller knows of. It is used or the call fails: silently using another one would hide a typo. */
  adminUrl?: string | undefined
  /** Never looks at 127.0.0.1:5432. */
  alwaysPrivate?: boolean
  /** Extra settings of a private cluster, such as `{ fsync: 'off' }` where its data need not survive a crash. */
  settings?: Record<string, string>
  log?: (line: string) => void
}

export interface PostgresServer {
  /** Connects to the database `postgres` as a user who may create databases. */
  url: string
  startedHere: boolean
  /** Stops what was started here, and nothing else. */
  stop(): Promise<void>
}

interface Account {
  uid: number
  gid: number
}

export const LOCAL_ADMIN_URL = 'postgres://postgres@127.0.0.1:5432/postgres'

const MAJOR_MIN = 15
const PORT_TRIES = 3
const READY_WITHIN_MS = 20_000
const READY_POLL_MS = 50
const CONNECT_TIMEOUT_MS = 2_000
const FAST_STOP_WITHIN_MS = 10_000
const HARD_STOP_WITHIN_MS = 5_000
const LOG_TAIL_CHARS = 2_000
const HOW_TO_MEND = `Parley needs PostgreSQL ${MAJOR_MIN} or newer: apt-get install postgresql, brew install postgresql@17, or set DATABASE_URL`

const run = promisify(execFile)

export async function findOrStartPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const log = options.log ?? (() => undefined)
  if (options.adminUrl !== undefined) {
    await expectUsable(options.adminUrl)
    return borrowed(options.adminUrl)
  }
  if (options.alwaysPrivate !== true && (await isUsable(LOCAL_ADMIN_URL))) {
    log('using the PostgreSQL on 127.0.0.1:5432')
    return borrowed(LOCAL_ADMIN_URL)
  }
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 })
  const dataDir = await realpath(options.dataDir)
  const leftRunning = await runningIn(dataDir)
  if (leftRunning !== undefined) {
    log(`using the PostgreSQL that already runs on ${dataDir}`)
    return borrowed(leftRunning)
  }
  for (let tries = 1; ; tries++) {
    try {
      return await startPrivate(dataDir, options, log)
    } catch (error) {
      // Somebody else took the port that was free a moment ago.
      const wasTaken = options.port === undefined && /Address already in use/.test(String(error))
      if (!wasTaken || tries === PORT_TRIES) throw error
    }
  }
}

async function startPrivate(
  dataDir: string,
  options: PostgresOptions,
  log: (line: string) => void,
): Promise<PostgresServer> {
  const existingMajor = await majorOfData(dataDir)
  const binDir = await findBinaries(existingMajor, dataDir)
  const account = await accountFor(dataDir, existingMajor !== undefined)
  if (existingMajor === undefined) {
    log(`creating a PostgreSQL cluster in ${dataDir}`)
    const kind = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C']
    const sync = options.settings?.fsync === 'off' ? ['--no-sync'] : []
    await run(join(binDir, 'initdb'), [`--pgdata=${dataDir}`, ...kind, ...sync], { cwd: dataDir, ...account })
  }
  const port = options.port ?? (await freePort())
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const settings = {
    ...options.settings,
    listen_addresses: '127.0.0.1',
    port: String(port),
    // Relative to the data folder: an absolute path would pass the 107 bytes that a socket's path may have.
    unix_socket_directories: '.',
  }
  const logPath = join(dataDir, 'server.log')
  const logFile = await open(logPath, 'w')
  if (account !== undefined) await logFile.chown(account.uid, account.gid)
  const child = spawn(
    join(binDir, 'postgres'),
    ['-D', dataDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    // Its own process group: Ctrl-C in a terminal must not take the database away from a gateway that still settles.
    { cwd: dataDir, detached: true, stdio: ['ignore', logFile.fd, logFile.fd], ...account },
  )
  // Without a listener, a binary that cannot be run would end this process; untilReady reads the log instead.
  child.on('error', (error) => log(error.message))
  child.unref()
  await logFile.close()
  const stopOnExit = () => child.kill('SIGINT')
  process.once('exit', stopOnExit)
  const stop = async () => {
    process.removeListener('exit', stopOnExit)
    await stopServer(child)
  }
  try {
    await untilReady(child, dataDir, logPath)
  } catch (error) {
    await stop()
    throw error
  }
  log(`PostgreSQL runs on 127.0.0.1:${port}, data in ${dataDir}`)
  return { url, startedHere: true, stop }
}

async function untilReady(child: ChildProcess, dataDir: string, logPath: string): Promise<void> {
  const deadline = Date.now() + READY_WITHIN_MS
  while (Date.now() < deadline) {
    if (hasEnded(child)) break
    // Asks for the data folder: another server on a port that the caller chose also answers, and is not ours.
    if ((await runningIn(dataDir)) !== undefined) return
    await sleep(READY_POLL_MS)
  }
  const tail = (await readFile(logPath, 'utf8')).slice(-LOG_TAIL_CHARS)
  throw new Error(`PostgreSQL did not start. The end of ${logPath}:\n${tail}`)
}

async function stopServer(child: ChildProcess): Promise<void> {
  const waits = [
    ['SIGINT', FAST_STOP_WITHIN_MS],
    ['SIGQUIT', HARD_STOP_WITHIN_MS],
  ] as const
  for (const [signal, withinMs] of waits) {
    if (hasEnded(child)) return
    child.ref()
    const exit = once(child, 'exit', { signal: AbortSignal.timeout(withinMs) })
    child.kill(signal)
    await exit.catch(() => undefined)
  }
  if (!hasEnded(child)) throw new Error(`PostgreSQL (process ${child.pid}) does not stop`)
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

function borrowed(url: string): PostgresServer {
  return { url, startedHere: false, stop: async () => undefined }
}

/** A cluster whose starter was killed keeps running: its data folder says on which port. */
async function runningIn(dataDir: string): Promise<string | undefined> {
  const pidFile = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').catch(() => '')
  const port = Number(pidFile.split('\n')[3])
  if (!Number.isInteger(port) || port === 0) return undefined
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  // A stale file may name a port that another cluster has taken since.
  const servedDir = await ask(url, 'show data_directory').catch(() => undefined)
  return servedDir === dataDir ? url : undefined
}

async function isUsable(url: string): Promise<boolean> {
  return expectUsable(url).then(
    () => true,
    () => false,
  )
}

async function expectUsable(url: string): Promise<void> {
  const { host } = new URL(url)
  const version = await ask(url, 'show server_version_num').catch((error: unknown) => {
    throw new Error(`The PostgreSQL at ${host} cannot be used`, { cause: error })
  })
  if (Number(version) < MAJOR_MIN * 10_000) throw new Error(`The PostgreSQL at ${host} is too old. ${HOW_TO_MEND}`)
}

async function ask(url: string, show: string): Promise<string | undefined> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  })
  // A server that goes away while we ask emits an error that would otherwise end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<string[]>({ text: show, rowMode: 'array' })
    return rows[0]?.[0]
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function majorOfData(dataDir: string): Promise<number | undefined> {
  const version = await readFile(join(dataDir, 'PG_VERSION'), 'utf8').catch(() => undefined)
  return version === undefined ? undefined : Number.parseInt(version, 10)
}

/** The folder with a matching `postgres` and `initdb`. Data that exists can only be opened by the major that wrote it. */
async function findBinaries(existingMajor: number | undefined, dataDir: string): Promise<string> {
  const candidates = [
    ...(process.env.PATH ?? '').split(delimiter).filter((dir) => dir !== ''),
    ...(await newestFirst('/usr/lib/postgresql', /^(\d+)$/)),
    ...(await newestFirst('/usr', /^pgsql-(\d+)$/)),
    ...(await newestFirst('/opt/homebrew/opt', /^postgresql@(\d+)$/)),
    ...(await newestFirst('/usr/local/opt', /^postgresql@(\d+)$/)),
    ...(await newestFirst('/Applications/Postgres.app/Contents/Versions', /^(\d+)$/)),
    '/usr/local/pgsql/bin',
  ]
  for (const dir of candidates) {
    const major = await majorOfBinaries(dir)
    if (major === undefined) continue
    if (existingMajor === undefined ? major >= MAJOR_MIN : major === existingMajor) return dir
  }
  if (existingMajor === undefined) throw new Error(HOW_TO_MEND)
  throw new Error(
    `${dataDir} was written by PostgreSQL ${existingMajor}, which is not installed: install it, or remove that folder`,
  )
}

async function newestFirst(parent: string, name: RegExp): Promise<string[]> {
  const names = await readdir(parent).catch(() => [])
  const majorOf = (entry: string) => Number(name.exec(entry)?.[1])
  return names
    .filter((entry) => name.test(entry))
    .toSorted((a, b) => majorOf(b) - majorOf(a))
    .map((entry) => join(parent, entry, 'bin'))
}

async function majorOfBinaries(dir: string): Promise<number | undefined> {
  try {
    await stat(join(dir, 'initdb'))
    const { stdout } = await run(join(dir, 'postgres'), ['--version'])
    const major = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1]
    return major === undefined ? undefined : Number(major)
  } catch {
    return undefined
  }
}

/** PostgreSQL refuses to run as root, so root hands the data to the user `postgres`, or keeps the owner it already has. */
async function accountFor(dataDir: string, hasData: boolean): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined
  if (hasData) {
    const { uid, gid } = await stat(dataDir)
    return { uid, gid }
  }
  const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'postgres'])))
  const account = { uid: Number(uid?.stdout), gid: Number(gid?.stdout) }
  await chown(dataDir, account.uid, account.gid)
  return account
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
