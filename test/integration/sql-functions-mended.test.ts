import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, afterEach, beforeEach, test } from 'node:test'
import { Client } from 'pg'
import { checkFunctions, checkMigrations } from '../../src/cli/doctor/checks.ts'
import { migrate, pendingMigrations, sentenceOfWait, type MigrationWait } from '../../src/store/migrate.ts'
import { listFunctions } from '../../src/store/sql-functions.ts'
import { parley, ROOT, run, start } from '../support/commands.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { changed, makeOtherVersion, type OtherVersion } from '../support/other-version.ts'
import { until } from '../support/world.ts'

/** Functions of the database that somebody dropped or edited, or that should not have been released. */

const TIME_OF_ID = 'functions/time_of_id.sql'
const CHANGED = { [TIME_OF_ID]: changed(TIME_OF_ID, '/ 1000.0)', '/ 1000.0) -- changed') }

let database: TestDatabase
let client: Client
let env: Record<string, string>
const versions: OtherVersion[] = []

beforeEach(async () => {
  database = await createTestDatabase()
  client = new Client({ connectionString: database.url })
  await client.connect()
  env = { DATABASE_URL: database.url, PARLEY_SECRET: randomBytes(32).toString('base64') }
})
afterEach(async () => {
  await client.end()
  await database.drop()
})
after(() => Promise.all(versions.map((version) => version.remove())))

async function otherVersion(files: Record<string, string>): Promise<OtherVersion> {
  const version = await makeOtherVersion(files)
  versions.push(version)
  return version
}

async function definitions(): Promise<unknown> {
  const { rows } = await client.query(
    `select pg_get_functiondef(oid), proacl::text from pg_proc where pronamespace = 'public'::regnamespace order by 1`,
  )
  return rows
}

test('a function that somebody dropped is missed, and put back with its rights', async () => {
  const before = await definitions()
  await client.query('drop function ledger_extend, ledger_sweep, ledger_transfer')
  const missing = ['function ledger_extend', 'function ledger_sweep', 'function ledger_transfer']
  assert.deepEqual(await pendingMigrations(database.url), missing)
  assert.deepEqual(await checkMigrations(database.url), [
    { check: 'migrations', state: 'problem', detail: `missing: ${missing.join(', ')}`, mend: 'Run: parley migrate' },
  ])
  const { code, stdout, stderr } = await parley(['migrate'], { env })
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(
    stdout,
    /^applied function ledger_extend\napplied function ledger_sweep\napplied function ledger_transfer\nThe database has all \d+ migrations\.\n$/,
  )
  assert.deepEqual(await definitions(), before)
  assert.deepEqual(await pendingMigrations(database.url), [])
})

test('a function that a newer version has no more is not put back by the version before', async () => {
  const { store: next } = await otherVersion({ 'migrations/9999_next.sql': 'drop function ledger_sweep' })
  // The file goes with the migration, which the copy cannot do: its function is dropped again.
  await next.migrate(database.url)
  await client.query('drop function ledger_sweep')
  assert.deepEqual(await pendingMigrations(database.url), [])
  assert.deepEqual((await migrate(database.url)).functions, [])
})

test('a process that migrates nothing says which functions the database lacks', async () => {
  await client.query('drop function ledger_extend')
  const ports = { PARLEY_PORT: '0', PARLEY_OPS_PORT: '0', PARLEY_DRAIN_DELAY_MS: '0' }
  const served = start(join(ROOT, 'bin/parley'), ['serve', 'gateway'], {
    env: { ...env, ...ports, PARLEY_AUTO_MIGRATE: 'false' },
  })
  await served.untilPrinted(
    /"level":"error".*"functions":\["ledger_extend"\].*"msg":"the database lacks functions of this version"/,
    20_000,
  )
  assert.equal(await served.end('SIGTERM', 10_000), 0, served.output)
})

test('migrate --functions puts the texts of this version in the place of those of one that was taken back', async () => {
  const before = await definitions()
  const bad = await otherVersion(CHANGED)
  assert.equal((await run(bad.command, ['migrate'], { env })).code, 0)
  assert.deepEqual((await migrate(database.url)).newerFunctions, ['time_of_id'])
  const { code, stdout, stderr } = await parley(['migrate', '--functions', '--json'], { env })
  assert.deepEqual([code, stderr], [0, ''])
  const names = (await listFunctions()).map(({ name }) => name)
  assert.partialDeepStrictEqual(JSON.parse(stdout), { applied: [], functions: names, newer_functions: [] })
  assert.deepEqual(await definitions(), before)
  assert.deepEqual((await migrate(database.url)).newerFunctions, [])
  const late = await bad.store.migrate(database.url)
  assert.deepEqual([late.functions, late.newerFunctions], [[], ['time_of_id']])
  assert.deepEqual(await definitions(), before)
})

const EDITED = [
  [
    'its body',
    `create or replace function first_id_of(moment timestamptz) returns uuid language sql immutable as $$ select null::uuid $$`,
  ],
  ['its search path', `alter function first_id_of set search_path = pg_temp`],
  ['whose rights it has', `alter function first_id_of security definer`],
  ['a second one of its name', `create function first_id_of() returns int language sql as $$ select 1 $$`],
] as const
test('a function that somebody edited by hand is noticed, and mended when asked to', async () => {
  const before = await definitions()
  assert.deepEqual(await checkFunctions(database.url), [])
  for (const [what, edit] of EDITED) {
    await client.query(edit)
    assert.deepEqual(
      await checkFunctions(database.url),
      [
        {
          check: 'function first_id_of',
          state: 'problem',
          detail: 'differs from what Parley applied',
          mend: 'Run: parley migrate --functions',
        },
      ],
      what,
    )
    if (what === 'a second one of its name') await client.query('drop function first_id_of()')
    else await migrate(database.url, {}, undefined, { allFunctions: true })
    assert.deepEqual(await checkFunctions(database.url), [], what)
  }
  assert.deepEqual(await definitions(), before)
  await client.query(EDITED[0][1])
  const { code, stderr } = await parley(['migrate'], { env })
  assert.deepEqual(
    [code, stderr],
    [0, 'function first_id_of differs from what Parley applied. Run: parley migrate --functions\n'],
  )
})

test('functions of another version are a hint of doctor, and no edit', async () => {
  const { store } = await otherVersion(CHANGED)
  await store.migrate(database.url)
  const [finding, ...others] = await checkFunctions(database.url)
  assert.deepEqual([finding?.state, others], ['hint', []])
  assert.equal(finding?.detail, 'another version has applied its own: time_of_id')
})

test('what the version before applied is applied again with the next migration, and is then known', async () => {
  await client.query('update applied_functions set definition_digest = null')
  await client.query(EDITED[0][1])
  assert.deepEqual(await checkFunctions(database.url), [])
  assert.deepEqual((await migrate(database.url)).functions, [])
  const { store } = await otherVersion({ 'migrations/9999_next.sql': 'create table of_the_next_version ();' })
  const names = (await listFunctions()).map(({ name }) => name)
  assert.deepEqual((await store.migrate(database.url)).functions, names)
  const { rows } = await client.query(`select first_id_of(now()) is not null as "isMended"`)
  assert.deepEqual(rows, [{ isMended: true }])
  const { rowCount } = await client.query('select from applied_functions where definition_digest is null')
  assert.equal(rowCount, 0)
})

test('a function that somebody changes at the same moment is tried again, and is not called broken', async () => {
  const { store } = await otherVersion(CHANGED)
  await client.query('begin; revoke execute on function time_of_id from parley_worker')
  const waits: MigrationWait[] = []
  const migrating = store.migrate(
    database.url,
    { onWait: (wait) => waits.push(wait) },
    { pauseMs: 50, giveUpAfterMs: 60_000 },
  )
  const watcher = new Client({ connectionString: database.url })
  await watcher.connect()
  await until(async () => {
    const { rowCount } = await watcher.query(
      `select from pg_stat_activity where application_name = 'parley migrate' and wait_event_type = 'Lock'
       and datname = current_database()`,
    )
    return rowCount === 1
  }, 10_000)
  await client.query('commit')
  await watcher.end()
  assert.deepEqual((await migrating).functions, ['time_of_id'])
  const last = waits.at(-1)
  assert.equal(last?.code, 'XX000')
  assert.match(
    sentenceOfWait({ ...last, holders: [], againInMs: 5_000 }),
    /^function time_of_id was changed by another process at the same moment; trying again in 5 s\. /,
  )
})
