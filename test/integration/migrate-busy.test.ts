import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { STORE_WAIT_MS } from '../../src/rules/limits.ts'
import {
  migrate,
  MigrationBusy,
  pendingMigrations,
  sentenceOfWait,
  type MigrationWait,
} from '../../src/store/migrate.ts'
import { listMigrations } from '../../src/store/migrations.ts'
import { ROOT, start } from '../support/commands.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/world.ts'

/** Migrations while others use the database: a dump, a report, the ledger. */

/** It takes exclusive locks on the wallets and many more. */
const LAST = '0020'

let database: TestDatabase | undefined
const open: Client[] = []

beforeEach(async () => {
  await closeAll()
  database = await createTestDatabase()
  const client = await connect('setup')
  await client.query('drop schema public cascade; create schema public')
  await client.query(
    'create table migrations (name text primary key, checksum text not null, applied_at timestamptz default now())',
  )
  for (const { name, sql, checksum } of await listMigrations()) {
    if (name >= LAST) break
    await client.query(sql)
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum])
  }
})
after(closeAll)

async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((client) => client.end()))
  await database?.drop()
  database = undefined
}

function url(): string {
  return database?.url ?? ''
}

async function connect(application_name: string): Promise<Client> {
  const client = new Client({ connectionString: url(), application_name })
  client.on('error', () => {})
  await client.connect()
  open.push(client)
  return client
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

async function readLong(): Promise<{ pid: number; end(): Promise<unknown> }> {
  const reader = await connect('pg_dump')
  await reader.query('begin; select count(*) from wallets')
  return { pid: await pidOf(reader), end: () => reader.query('commit') }
}

/** Locks wallets as calls do, one after the other, and measures the longest wait. */
async function callMeanwhile() {
  const caller = await connect('parley gateway')
  let longestMs = 0
  let isOver = false
  const done = (async () => {
    while (!isOver) {
      const startedMs = performance.now()
      await caller.query('select from wallets for no key update')
      longestMs = Math.max(longestMs, performance.now() - startedMs)
      await sleep(5)
    }
  })()
  return async () => {
    isOver = true
    await done
    return longestMs
  }
}

test('one long reader delays a migration and no call, and the operator is told at once who it is', async () => {
  const reader = await readLong()
  const longest = await callMeanwhile()
  const waits: MigrationWait[] = []
  const applied: string[] = []
  const startedMs = performance.now()
  let toldAfterMs = 0
  const migrating = migrate(
    url(),
    {
      onApplied: (name) => applied.push(name),
      onWait(wait) {
        toldAfterMs ||= performance.now() - startedMs
        waits.push(wait)
      },
    },
    { pauseMs: 200, giveUpAfterMs: 60_000 },
  )
  await until(() => waits.length >= 3, 20_000)
  assert.equal(applied.length, 0)
  await reader.end()
  const report = await migrating
  assert.ok((await longest()) < STORE_WAIT_MS, `a call waited for ${await longest()} ms`)
  assert.ok(toldAfterMs < 3_000, `told after ${toldAfterMs} ms`)
  assert.deepEqual(applied, report.applied)
  assert.ok(applied[0]?.startsWith(LAST))
  const [first] = waits
  assert.equal(first?.code, '55P03')
  assert.match(
    sentenceOfWait({ ...first, againInMs: 5_000 }),
    new RegExp(
      `^0020 waits for a lock that process ${reader.pid} \\(pg_dump, since \\d\\d:\\d\\d UTC\\) holds; ` +
        'trying again in 5 s\\. Calls go on meanwhile\\.$',
    ),
  )
})

test('a reader that does not end is given up on, and nothing was changed', async () => {
  const reader = await readLong()
  const given = migrate(url(), {}, { pauseMs: 50, giveUpAfterMs: 800 })
  await assert.rejects(given, (error) => error instanceof MigrationBusy && error.migration.startsWith(LAST))
  assert.equal((await pendingMigrations(url()))[0]?.slice(0, 4), LAST)
  await reader.end()
  await migrate(url())
  assert.deepEqual(await pendingMigrations(url()), [])
})

test('a deadlock with somebody else is tried again', async () => {
  const other = await connect('parley console')
  // The migration notices it, before its lock times out, and the other does not.
  await other.query(`alter database "${new URL(url()).pathname.slice(1)}" set deadlock_timeout = '400ms'`)
  await other.query(`set deadlock_timeout = '1min'`)
  await other.query('begin; select count(*) from projects')
  const waits: MigrationWait[] = []
  const migrating = migrate(url(), { onWait: (wait) => waits.push(wait) }, { pauseMs: 300, giveUpAfterMs: 60_000 })
  const watcher = await connect('watcher')
  await until(async () => {
    const { rowCount } = await watcher.query(
      `select from pg_stat_activity where application_name = 'parley migrate' and wait_event_type = 'Lock'
       and datname = current_database()`,
    )
    return rowCount === 1
  }, 10_000)
  // The migration has this one, and waits for the other.
  await other.query('select count(*) from wallets')
  await other.query('commit')
  await migrating
  const [first] = waits
  assert.equal(first?.code, '40P01')
  assert.match(
    sentenceOfWait(first),
    /^0020 got into a deadlock with process \d+ \(parley console, .*; trying again in /,
  )
  assert.deepEqual(await pendingMigrations(url()), [])
})

/** Ends the connection that migrates, as soon as it is in that state. */
async function terminateWhile(condition: string): Promise<void> {
  const admin = await connect('admin')
  await until(async () => {
    const { rowCount } = await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'parley migrate' and datname = current_database() and ${condition}`,
    )
    return rowCount === 1
  }, 10_000)
}

const ENDED: [when: string, condition: string][] = [
  ['that waits for its lock', `wait_event_type = 'Lock'`],
  ['that rests before it tries again', `state = 'idle' and query = 'rollback'`],
]
for (const [when, condition] of ENDED) {
  test(`a migration ${when} and is ended by an administrator has changed nothing, and says so`, async () => {
    const reader = await readLong()
    const migrating = migrate(url(), {}, { pauseMs: 1_000, giveUpAfterMs: 60_000 })
    const isEnded = assert.rejects(
      migrating,
      (error) => error instanceof MigrationBusy && error.code === '57P01' && error.migration.startsWith(LAST),
    )
    await terminateWhile(condition)
    await isEnded
    assert.equal((await pendingMigrations(url()))[0]?.slice(0, 4), LAST)
    await reader.end()
  })
}

test('the command tells of it while it waits, and of what it applies as it happens', async () => {
  const reader = await readLong()
  const env = { DATABASE_URL: url(), PARLEY_SECRET: randomBytes(32).toString('base64') }
  const command = start(join(ROOT, 'bin/parley'), ['migrate'], { env })
  await command.untilPrinted(
    new RegExp(`^0020 waits for a lock that process ${reader.pid} \\(pg_dump, .*trying again in 5 s`, 'm'),
    20_000,
  )
  await reader.end()
  await command.untilPrinted(/^applied 0020_/m, 20_000)
  assert.equal(await command.end(undefined, 10_000), 0, command.output)
  assert.match(command.output, /The database has all \d+ migrations\.\n$/)
})

test('what serves says in its log who is in the way', async () => {
  const reader = await readLong()
  const env = {
    DATABASE_URL: url(),
    PARLEY_SECRET: randomBytes(32).toString('base64'),
    PARLEY_PORT: '0',
    PARLEY_OPS_PORT: '0',
    PARLEY_DRAIN_DELAY_MS: '0',
  }
  const served = start(join(ROOT, 'bin/parley'), ['serve', 'gateway'], { env })
  await served.untilPrinted(
    new RegExp(`"level":"warn".*"msg":"0020 waits for a lock that process ${reader.pid} `),
    20_000,
  )
  await reader.end()
  await served.untilPrinted(/"migration":"0020_.*"msg":"migrated"[^]*"msg":"listening"/, 20_000)
  assert.equal(await served.end('SIGTERM', 10_000), 0, served.output)
})

test('a command that is killed while it waits leaves nobody waiting', async () => {
  const holder = await connect('holder')
  // Another process migrates: waiting for that has no limit.
  await holder.query('select pg_advisory_lock(7253941)')
  const env = { DATABASE_URL: url(), PARLEY_SECRET: randomBytes(32).toString('base64') }
  const command = start(join(ROOT, 'bin/parley'), ['migrate'], { env })
  await command.untilPrinted(/^Another process is migrating this database/m, 20_000)
  await command.end('SIGKILL', 5_000)
  await until(async () => {
    const { rowCount } = await holder.query(
      `select from pg_stat_activity where application_name = 'parley migrate' and datname = current_database()`,
    )
    return rowCount === 0
  }, 5_000)
})
