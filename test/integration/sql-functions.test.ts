import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, afterEach, beforeEach, test } from 'node:test'
import { Client } from 'pg'
import { checkMigrations } from '../../src/cli/doctor/checks.ts'
import { migrate, pendingMigrations, sentenceOfWait, type MigrationWait } from '../../src/store/migrate.ts'
import { listMigrations } from '../../src/store/migrations.ts'
import { listFunctions } from '../../src/store/sql-functions.ts'
import { parley, run } from '../support/commands.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { changed, makeOtherVersion, type OtherVersion } from '../support/other-version.ts'

/** The functions of the database when they are updated by a version of Parley that has other ones. */

/** The first migration after functions moved out of migrations: the versions before it kept their functions there. */
const FIRST_WITHOUT_FUNCTIONS = '0021'
const TIME_OF_ID = 'functions/time_of_id.sql'
const CHANGED = { [TIME_OF_ID]: changed(TIME_OF_ID, '/ 1000.0)', '/ 1000.0) -- changed') }
const BROKEN = changed('functions/note_change.sql', 'return new;', 'retrun new;')

let database: TestDatabase
let client: Client
const versions: OtherVersion[] = []

beforeEach(async () => {
  database = await createTestDatabase()
  client = await connect()
})
afterEach(async () => {
  await client.end()
  await database.drop()
})
after(() => Promise.all(versions.map((version) => version.remove())))

async function connect(): Promise<Client> {
  const connected = new Client({ connectionString: database.url })
  await connected.connect()
  return connected
}

async function otherVersion(files: Record<string, string>): Promise<OtherVersion> {
  const version = await makeOtherVersion(files)
  versions.push(version)
  return version
}

/** Everything about the functions that there are. `xmin` is the transaction that wrote one last. */
async function functionsOf(on: Client, withWriter = true): Promise<Record<string, unknown>> {
  const { rows } = await on.query<{ id: string; facts: unknown }>(
    `select oid::regprocedure::text as id, jsonb_build_array(pg_get_functiondef(oid), proacl::text, proowner,
       case when $1 then xmin::text end) as facts
     from pg_proc where pronamespace = 'public'::regnamespace order by 1`,
    [withWriter],
  )
  return Object.fromEntries(rows.map(({ id, facts }) => [id, facts]))
}

async function rightsOf(name: string): Promise<unknown> {
  const { rows } = await client.query<{ rights: string }>(
    'select proacl::text as rights from pg_proc where proname = $1',
    [name],
  )
  return rows.map(({ rights }) => rights)
}

test('the database has the functions of functions/ and no others', async () => {
  const { rows } = await client.query<{ name: string }>(
    `select proname as name from pg_proc where pronamespace = 'public'::regnamespace order by 1`,
  )
  assert.deepEqual(
    rows.map(({ name }) => name),
    (await listFunctions()).map(({ name }) => name),
  )
})

test('a function whose file has changed is applied again and named, with its rights, and no other is touched', async () => {
  const before = await functionsOf(client)
  const rights = await rightsOf('time_of_id')
  const env = { DATABASE_URL: database.url, PARLEY_SECRET: randomBytes(32).toString('base64') }
  const { command, store } = await otherVersion(CHANGED)
  assert.deepEqual(await store.pendingMigrations(database.url), ['function time_of_id'])
  const { code, stdout, stderr } = await run(command, ['migrate'], { env })
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^applied function time_of_id\nThe database has all \d+ migrations\.\n$/)
  const now = await functionsOf(client)
  assert.deepEqual(
    Object.keys(now).filter((id) => JSON.stringify(now[id]) !== JSON.stringify(before[id])),
    ['time_of_id(uuid)'],
  )
  assert.match(JSON.stringify(now['time_of_id(uuid)']), /-- changed/)
  assert.deepEqual(await rightsOf('time_of_id'), rights)
  assert.deepEqual(await store.pendingMigrations(database.url), [])
})

test('functions whose files are as before are not applied', async () => {
  const before = await functionsOf(client)
  const env = { DATABASE_URL: database.url, PARLEY_SECRET: randomBytes(32).toString('base64') }
  const { stdout } = await parley(['migrate', '--json'], { env })
  assert.partialDeepStrictEqual(JSON.parse(stdout), {
    applied: [],
    functions: [],
    newer_functions: [],
    edited_functions: [],
  })
  assert.deepEqual(await functionsOf(client), before)
})

test('two that migrate at once apply a function once', async () => {
  const { store } = await otherVersion(CHANGED)
  const reports = await Promise.all([store.migrate(database.url), store.migrate(database.url)])
  assert.deepEqual(
    reports.flatMap(({ functions }) => functions),
    ['time_of_id'],
  )
  const { rowCount } = await client.query(`select from applied_functions where name = 'time_of_id'`)
  assert.equal(rowCount, 2)
})

const REFUSED: [what: string, files: Record<string, string>, why: RegExp][] = [
  ['a body that cannot be read', { 'functions/note_change.sql': BROKEN }, /syntax error at or near "retrun"/],
  [
    'a body that names what is not there',
    { 'functions/ledger_effect.sql': changed('functions/ledger_effect.sql', 'select -charged_nanos', 'select -nanos') },
    /column "nanos" does not exist/,
  ],
  [
    'another result than its callers know',
    { 'functions/first_id_of.sql': changed('functions/first_id_of.sql', 'returns uuid', 'returns text') },
    /cannot change return type of existing function/,
  ],
  [
    'one more parameter, beside the function that lacks it',
    {
      'functions/ledger_collect.sql': changed(
        'functions/ledger_collect.sql',
        '(project uuid)',
        '(project uuid, most int8)',
      ),
    },
    /function name "ledger_collect" is not unique/,
  ],
]
for (const [what, files, why] of REFUSED) {
  test(`${what} fails the migrate, and everything is as it was: no function, no migration`, async () => {
    const before = [await functionsOf(client), await recorded()]
    const { store, command } = await otherVersion({
      ...CHANGED,
      ...files,
      'migrations/9999_next.sql': 'create table of_the_next_version ();',
    })
    const [path = ''] = Object.keys(files)
    await assert.rejects(
      store.migrate(database.url),
      ({ message }: Error) => why.test(message) && message.includes(path),
    )
    assert.deepEqual([await functionsOf(client), await recorded()], before)
    assert.equal((await client.query(`select from pg_class where relname = 'of_the_next_version'`)).rowCount, 0)
    if (path !== 'functions/note_change.sql') return
    const env = { DATABASE_URL: database.url, PARLEY_SECRET: randomBytes(32).toString('base64') }
    const { code, stdout, stderr } = await run(command, ['migrate'], { env })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(
      stderr,
      /^The database refuses functions\/note_change\.sql \(syntax error .*\)\. No function was changed, and a migration that came with it was rolled back\.\n$/,
    )
  })
}

async function recorded(): Promise<unknown> {
  const { rows } = await client.query(
    'select name, checksum from applied_functions union all select name, checksum from migrations order by 1, 2',
  )
  return rows
}

test('a migration drops the function that its file could not replace, and both come at once', async () => {
  const { store } = await otherVersion({
    'migrations/9999_next.sql': 'drop function ledger_collect(uuid);',
    'functions/ledger_collect.sql': changed(
      'functions/ledger_collect.sql',
      '(project uuid)',
      '(project uuid, most int8 default null)',
    ),
  })
  const report = await store.migrate(database.url)
  assert.deepEqual([report.applied, report.functions], [['9999_next.sql'], ['ledger_collect']])
  const { rows } = await client.query(
    `select m.xmin::text as migration, p.xmin::text as function from migrations m, pg_proc p
     where m.name = '9999_next.sql' and p.proname = 'ledger_collect'`,
  )
  assert.equal(rows.length, 1)
  assert.equal(rows[0].migration, rows[0].function)
})

test('a function that a migration has dropped is made again, although its file is as before', async () => {
  const before = await functionsOf(client, false)
  const { store } = await otherVersion({
    'migrations/9998_next.sql': `drop type idempotency_answer cascade;
      create type idempotency_answer as (state text, result text, call_id uuid);`,
    'migrations/9999_last.sql': 'create table of_the_next_version ();',
  })
  assert.deepEqual((await store.migrate(database.url)).functions, ['idempotency_claim'])
  assert.deepEqual(await functionsOf(client, false), before)
  assert.deepEqual(await store.migrate(database.url), {
    applied: [],
    newer: [],
    total: (await listMigrations()).length + 2,
    functions: [],
    newerFunctions: [],
    editedFunctions: [],
  })
})

test('new functions may call each other, whatever their names, and are for those alone whom their files name', async () => {
  const sql = (name: string, body: string, rest = '') =>
    `create or replace function ${name}() returns int language sql as $$ ${body} $$;\nrevoke execute on function ${name} from public;\n${rest}`
  const { store } = await otherVersion({
    'functions/a_first.sql': sql('a_first', 'select z_last()', 'grant execute on function a_first to parley_worker;\n'),
    'functions/z_last.sql': sql('z_last', 'select 17'),
  })
  assert.deepEqual((await store.migrate(database.url)).functions, ['a_first', 'z_last'])
  assert.deepEqual((await client.query('select a_first() as n')).rows, [{ n: 17 }])
  const may = `select has_function_privilege('parley_' || r, f::regproc, 'execute') as may
    from unnest(array['worker', 'gateway']) r, unnest(array['a_first', 'z_last']) f order by f, r desc`
  const { rows } = await client.query<{ may: boolean }>(may)
  assert.deepEqual(
    rows.map((row) => row.may),
    [true, false, false, false],
  )
})

test('a database that the version before has migrated gets all functions, and is then like a new one', async () => {
  const fresh = await functionsOf(client, false)
  await client.query('drop schema public cascade; create schema public')
  await client.query(
    'create table migrations (name text primary key, checksum text not null, applied_at timestamptz default now())',
  )
  for (const { name, sql, checksum } of await listMigrations()) {
    if (name >= FIRST_WITHOUT_FUNCTIONS) break
    await client.query(sql)
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum])
  }
  const names = (await listFunctions()).map(({ name }) => name)
  const pending = await pendingMigrations(database.url)
  assert.deepEqual(
    pending.filter((name) => name.startsWith('function ')),
    names.map((name) => `function ${name}`),
  )
  const [finding] = await checkMigrations(database.url)
  assert.equal(finding?.state, 'problem')
  assert.match(finding?.detail ?? '', /^missing: 0021_\S+, .*function ledger_apply,/)
  assert.deepEqual((await migrate(database.url)).functions, names)
  assert.deepEqual(await functionsOf(client, false), fresh)
  assert.deepEqual(await checkMigrations(database.url), [
    { check: 'migrations', state: 'ok', detail: 'all are applied' },
  ])
})

test('a process of the version before that starts again does not put its functions back', async () => {
  const { store: next } = await otherVersion(CHANGED)
  assert.deepEqual((await next.migrate(database.url)).functions, ['time_of_id'])
  const after = await functionsOf(client)
  assert.deepEqual(await pendingMigrations(database.url), [])
  const report = await migrate(database.url)
  assert.deepEqual([report.functions, report.newerFunctions], [[], ['time_of_id']])
  const env = { DATABASE_URL: database.url, PARLEY_SECRET: randomBytes(32).toString('base64') }
  const { code, stderr } = await parley(['migrate'], { env })
  assert.deepEqual(
    [code, stderr],
    [
      0,
      'left function time_of_id: another version has applied another one\nIf that version is gone for good, run: parley migrate --functions\n',
    ],
  )
  assert.deepEqual(await functionsOf(client), after)
  assert.deepEqual((await next.migrate(database.url)).newerFunctions, [])
})

test('a gateway that has prepared the statement of the ledger goes on, and with the new function as soon as it is there', async () => {
  const path = 'functions/ledger_extend.sql'
  const { store } = await otherVersion({ [path]: changed(path, `'unknown'`, `'unheard of'`) })
  const extension = [{ n: 1, id: randomUUID(), project_id: randomUUID(), extension: 1, want_nanos: 1, min_nanos: 1 }]
  const ask = async () => {
    const { rows } = await client.query<{ refusal: string }>({
      name: 'ledger_apply',
      text: 'select * from ledger_apply($1, $2, $3, $4, $5)',
      values: [null, [], null, JSON.stringify(extension), null],
    })
    return rows.map(({ refusal }) => refusal).join()
  }
  const answers = [await ask()]
  const migrating = store.migrate(database.url)
  let isOver = false
  void migrating.finally(() => (isOver = true)).catch(() => {})
  while (!isOver) answers.push(await ask())
  assert.deepEqual((await migrating).functions, ['ledger_extend'])
  answers.push(await ask())
  assert.deepEqual(
    answers.filter((answer, n) => answer !== answers[n - 1]),
    ['unknown', 'unheard of'],
  )
})

test('who is in the way of a function is told, and it is applied when they have ended', async () => {
  const other = await connect()
  const { store } = await otherVersion(CHANGED)
  await other.query('begin; revoke execute on function time_of_id from parley_worker')
  const waits: MigrationWait[] = []
  const onWait = (wait: MigrationWait) => {
    waits.push(wait)
    void other.query('rollback')
  }
  const report = await store.migrate(database.url, { onWait }, { pauseMs: 50, giveUpAfterMs: 60_000 })
  await other.end()
  assert.deepEqual(report.functions, ['time_of_id'])
  const [first] = waits
  assert.match(first ? sentenceOfWait(first) : '', /^function time_of_id waits for a lock that process \d+ /)
})
