import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { LOGIN_VARIABLES, readConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { serve } from '../../src/serve.ts'
import { loginNameOf, LOGINS } from '../../src/store/logins.ts'
import { parley } from '../support/commands.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { databaseEnv } from '../support/logins.ts'

/** Roles belong to the whole server: removed in the end, under a name that no other run has. */
const PREFIX = `parley_test_${randomBytes(4).toString('hex')}`
let database: TestDatabase
let env: Record<string, string>
let folder: string

before(async () => {
  database = await createTestDatabase()
  env = { DATABASE_URL: database.url, PARLEY_SECRET: randomBytes(32).toString('base64') }
  folder = await mkdtemp(join(tmpdir(), 'parley-logins-'))
})
after(async () => {
  await rm(folder, { recursive: true, force: true })
  for (const login of LOGINS) await query(database.url, `drop role if exists ${loginNameOf(PREFIX, login)}`)
  await database.drop()
})

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

test('the command makes a login for each plane, prints the lines for .env once, and says what to do next', async () => {
  const { code, stdout, stderr } = await parley(['database', 'logins', '--prefix', PREFIX], { env })
  assert.equal(code, 0, stderr)
  for (const login of LOGINS) {
    const [, url = ''] = new RegExp(`^${LOGIN_VARIABLES[login]}=(postgres://\\S+)$`, 'm').exec(stdout) ?? []
    const rows = await query(url, 'select session_user::text as name, current_database() as database')
    const { pathname } = new URL(database.url)
    assert.deepEqual(rows, [{ name: loginNameOf(PREFIX, login), database: pathname.slice(1) }])
  }
  assert.match(stdout, /shown once.*\n.*PARLEY_TENANT_DATABASE_URL.*\nRestart every Parley process/)
})

test('with a file, the variables are in it and nowhere else: other lines stay, and nobody else can read it', async () => {
  const path = join(folder, '.env')
  await writeFile(path, 'PARLEY_PORT=8080\nPARLEY_GATEWAY_DATABASE_URL=postgres://old\n', { mode: 0o644 })
  const { code, stdout, stderr } = await parley(['database', 'logins', '--prefix', PREFIX, '--env-file', path], { env })
  assert.equal(code, 0, stderr)
  assert.doesNotMatch(stdout, /postgres:/)
  assert.match(stdout, new RegExp(`gave ${PREFIX}_gateway_login a new password`))
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => line.split('=')[0]),
    ['PARLEY_PORT', ...LOGINS.map((login) => LOGIN_VARIABLES[login])],
  )
  assert.ok(!lines.includes('PARLEY_GATEWAY_DATABASE_URL=postgres://old'))
})

test('names and passwords can be chosen, but no login is the owner and none is a superuser', async () => {
  const chosen = new URL(database.url)
  chosen.username = loginNameOf(PREFIX, 'worker')
  chosen.password = 'chosen'
  const fromEnv = (change: Record<string, string>) =>
    parley(['database', 'logins', '--from-env'], { env: { ...env, ...change } })
  const { code, stdout, stderr } = await fromEnv({ PARLEY_WORKER_DATABASE_URL: chosen.href })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /gave \S+_worker_login the password in its variable/)
  assert.match((await fromEnv({})).stderr, /None of the variables is set/)
  const bare = new URL(database.url)
  bare.password = 'x'
  const owner = await fromEnv({ PARLEY_WORKER_DATABASE_URL: bare.href })
  assert.match(owner.stderr, /PARLEY_WORKER_DATABASE_URL needs a user of its own/)
  const wrong = await parley(['database', 'logins', '--prefix', 'No; drop'], { env })
  assert.match(wrong.stderr, /cannot begin a login's name/)
})

test('the password is sent as a verifier, which the server keeps as it is', async () => {
  const [row] = await query(
    database.url,
    `select rolpassword as kept from pg_authid where rolname = '${loginNameOf(PREFIX, 'gateway')}'`,
  )
  assert.match(String(row?.kept), /^SCRAM-SHA-256\$4096:/)
})

test('a process warns of each plane that runs with a login that owns the tables, and of no other', async () => {
  const warningsOf = async (change: Record<string, string>) => {
    const lines: string[] = []
    const log = createLog('warn', { write: (line) => lines.push(line) })
    const ports = { PARLEY_CONSOLE_PORT: '0', PARLEY_OPS_PORT: '0', PARLEY_AUTO_MIGRATE: 'false' }
    const config = readConfig({ ...env, ...ports, ...change }, ['console'])
    const running = await serve(config, ['console'], log)
    await new Promise((resolve) => setTimeout(resolve, 500))
    await running.stop()
    return lines.filter((line) => line.includes('could do anything')).map((line) => JSON.parse(line).plane)
  }
  assert.deepEqual(await warningsOf({}), ['console', 'tenant'])
  const { PARLEY_CONSOLE_DATABASE_URL = '' } = databaseEnv(database.url)
  assert.deepEqual(await warningsOf({ PARLEY_CONSOLE_DATABASE_URL }), ['tenant'])
  assert.deepEqual(await warningsOf(databaseEnv(database.url)), [])
})

test('a process needs the owner only for planes that have no login, and then says so', () => {
  const { DATABASE_URL: _, ...logins } = databaseEnv(database.url)
  const secret = { PARLEY_SECRET: String(env.PARLEY_SECRET) }
  const own = readConfig({ ...secret, ...logins }, ['gateway', 'console'])
  assert.equal(own.PARLEY_AUTO_MIGRATE, false)
  assert.throws(() => readConfig({ ...secret, ...logins }), /DATABASE_URL is required/)
  const { PARLEY_TENANT_DATABASE_URL: __, ...without } = logins
  assert.throws(() => readConfig({ ...secret, ...without }, ['console']), /DATABASE_URL is required/)
})
