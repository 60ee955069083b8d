import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { run as runCommand } from '../../src/cli/program.ts'
import { LOGIN_VARIABLES, readConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { serve } from '../../src/serve.ts'
import { loginNameOf, LOGINS, type Login } from '../../src/store/database-logins.ts'
import { until } from '../support/world.ts'
import { parley, run, type Finished } from '../support/commands.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { here } from '../support/operator.ts'
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
  assert.match(
    stdout,
    /shown once.*\n.*PARLEY_TENANT_DATABASE_URL.*\n.*set -a; \. \.\/\.env; set \+a.*\nRestart every Parley process/,
  )
})

/** Returns the password verifier that PostgreSQL stores for the login. */
async function kept(login: Login): Promise<unknown> {
  const name = loginNameOf(PREFIX, login)
  const [row] = await query(database.url, `select rolpassword as kept from pg_authid where rolname = '${name}'`)
  return row?.kept
}

function logins(...args: string[]): Promise<Finished> {
  return here(['database', 'logins', '--prefix', PREFIX, ...args], { env, cwd: folder })
}

test('logins that are there keep their passwords unless new ones are asked for, and the command says who uses them', async () => {
  const before = await kept('gateway')
  const { code, stderr } = await logins('--env-file', '.env')
  assert.equal(code, 1)
  assert.match(
    stderr,
    new RegExp(`${PREFIX}_gateway_login, .* already exist and may be in use \\(no connections\\)\\. `),
  )
  assert.match(stderr, /--prefix \S+ makes a second set without a gap; --new-passwords gives these new passwords/)
  const { stdout } = await logins('--new-passwords')
  const [, url = ''] = /^PARLEY_GATEWAY_DATABASE_URL=(\S+)$/m.exec(stdout) ?? []
  assert.notEqual(await kept('gateway'), before)
  const client = new Client({ connectionString: url })
  await client.connect()
  const inUse = await logins()
  await client.end()
  const { pathname } = new URL(database.url)
  assert.match(inUse.stderr, new RegExp(`\\(1 connection, database ${pathname.slice(1)}\\)`))
  assert.deepEqual(await readdir(folder), [], 'no draft is left')
})

test('a file that cannot be written changes no password', async () => {
  const before = await kept('worker')
  for (const path of ['nowhere/.env', '.', 'dangling']) {
    if (path === 'dangling') await symlink('gone', join(folder, path))
    const { code, stderr } = await logins('--new-passwords', '--env-file', path)
    assert.equal(code, 1)
    assert.match(stderr, /no password was changed\.$/m)
  }
  await rm(join(folder, 'dangling'))
  assert.equal(await kept('worker'), before)
  const unreachable = new URL(database.url)
  unreachable.port = '1'
  const away = await here(['database', 'logins', '--env-file', '.env'], {
    env: { ...env, DATABASE_URL: unreachable.href },
    cwd: folder,
  })
  assert.match(away.stderr, /cannot be reached.* No password was changed\.$/m)
  assert.deepEqual(await readdir(folder), [], 'no draft is left')
})

test('if nobody knows whether the passwords were changed, those that may be in force are kept', async (t) => {
  const send = Client.prototype.query as (this: Client, ...args: unknown[]) => Promise<unknown>
  t.mock.method(Client.prototype, 'query', async function (this: Client, ...args: unknown[]) {
    const answer = await send.apply(this, args)
    if (args[0] === 'commit') throw new Error('Connection terminated unexpectedly')
    return answer
  })
  const said = t.mock.method(console, 'error', () => {})
  Object.assign(process.env, env)
  const path = join(folder, '.env')
  const args = ['database', 'logins', '--prefix', PREFIX, '--new-passwords', '--env-file', path]
  const notHere = () => Promise.reject(new Error('not here'))
  const planes = { roles: ['gateway'] as const, usualRoles: [], serve: notHere }
  assert.equal(await runCommand(['node', 'parley', ...args], planes), 1)
  const [, draft = ''] =
    /may or may not have changed.* are in (\S+)\. /.exec(String(said.mock.calls[0]?.arguments[0])) ?? []
  assert.match(await readFile(draft, 'utf8'), /^PARLEY_TENANT_DATABASE_URL=postgres:/m)
  await assert.rejects(stat(path), { code: 'ENOENT' })
  await rm(draft)
})

test('a link to the file stays, and no other way of setting the same variables is left', async () => {
  const lines = [
    'A=1',
    ' export PARLEY_GATEWAY_DATABASE_URL = postgres://old',
    'PARLEY_CONSOLE_DATABASE_URL_FILE=/run/old',
    'PARLEY_TENANT_DATABASE_URL_SPARE=x',
    '',
  ]
  await writeFile(join(folder, 'real'), lines.join('\n'))
  await symlink('real', join(folder, 'link'))
  const { code, stdout, stderr } = await logins('--new-passwords', '--env-file', 'link')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /"set -a; \. \.\/link; set \+a", systemd with EnvironmentFile=/)
  assert.ok((await lstat(join(folder, 'link'))).isSymbolicLink())
  const names = (await readFile(join(folder, 'real'), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => line.split('=')[0])
  assert.deepEqual(names, ['A', 'PARLEY_TENANT_DATABASE_URL_SPARE', ...LOGINS.map((login) => LOGIN_VARIABLES[login])])
  // As the next steps say, with an address that means something to a shell.
  const spiced = { ...env, DATABASE_URL: `${database.url}?application_name=a&keepalives=1` }
  await here(['database', 'logins', '--prefix', PREFIX, '--new-passwords', '--env-file', 'link'], {
    env: spiced,
    cwd: folder,
  })
  const sourced = await run('sh', ['-c', 'set -a; . ./link; set +a; printenv PARLEY_WORKER_DATABASE_URL'], {
    cwd: folder,
  })
  assert.match(sourced.stdout, /^postgres:\S+_worker_login:\S+\?application_name=a&keepalives=1$/m)
  for (const name of ['link', 'real']) await rm(join(folder, name))
})

test('with a file, the variables are in it and nowhere else: other lines stay, and nobody else can read it', async () => {
  // Node itself would insist that the file is there, and read it.
  const absent = await logins('--new-passwords', '--env-file', '.env')
  assert.equal(absent.code, 0, absent.stderr)
  const path = join(folder, '.env')
  await writeFile(path, 'PARLEY_PORT=8080\nPARLEY_GATEWAY_DATABASE_URL=postgres://old\n', { mode: 0o644 })
  const { code, stdout, stderr } = await logins('--new-passwords', '--env-file', path)
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
    here(['database', 'logins', '--from-env'], { env: { ...env, ...change } })
  const { code, stdout, stderr } = await fromEnv({ PARLEY_WORKER_DATABASE_URL: chosen.href })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /gave \S+_worker_login the password in its variable/)
  assert.match((await fromEnv({})).stderr, /None of the variables is set/)
  const bare = new URL(database.url)
  bare.password = 'x'
  const owner = await fromEnv({ PARLEY_WORKER_DATABASE_URL: bare.href })
  assert.match(owner.stderr, /PARLEY_WORKER_DATABASE_URL needs a user of its own/)
  const wrong = await here(['database', 'logins', '--prefix', 'No; drop'], { env })
  assert.match(wrong.stderr, /cannot begin a login's name/)
})

test('the password is sent as a verifier, which the server keeps as it is', async () => {
  assert.match(String(await kept('gateway')), /^SCRAM-SHA-256\$4096:/)
})

test('the doctor names the command only when there is no login yet', async () => {
  const name = new URL(database.url).pathname.slice(1)
  const doctor = async () => (await here(['doctor', '--offline'], { env })).stdout
  assert.match(
    await doctor(),
    /^hint +logins +not set here: .* This is fine if they are set where those planes run\.$/m,
  )
  // Logins that may not connect are those of another installation on the same server.
  await query(database.url, `revoke connect on database ${name} from public`)
  assert.match(await doctor(), /^hint +logins +.* create them with "parley database logins"\.$/m)
  const own = await here(['doctor', '--offline'], { env: { ...env, ...databaseEnv(database.url) } })
  assert.match(
    own.stdout,
    /^problem +login of worker +permission denied for database .*logins --from-env", which gives/m,
  )
  await query(database.url, `grant connect on database ${name} to public`)
})

async function warnedOf(change: Record<string, string>, plane: 'console' | 'gateway' = 'console', jobs: string[] = []) {
  const lines: Record<string, string>[] = []
  const log = createLog('warn', { write: (line) => lines.push(JSON.parse(line) as Record<string, string>) })
  const ports = { PARLEY_PORT: '0', PARLEY_CONSOLE_PORT: '0', PARLEY_OPS_PORT: '0', PARLEY_AUTO_MIGRATE: 'false' }
  const delays = { PARLEY_DRAIN_DELAY_MS: '0', PARLEY_DRAIN_GRACE_MS: '0' }
  const config = readConfig({ ...env, ...ports, ...delays, ...change }, [plane])
  const running = await serve(config, [plane], log, { webRoot: folder, poolWaitMs: 10_000 })
  await until(() => jobs.every((each) => lines.some(({ job }) => job === each)))
  await running.stop()
  return lines
}

test('a process warns of each plane that runs with a login that owns the tables, and of no other', async () => {
  const mighty = async (change: Record<string, string>) =>
    (await warnedOf(change)).filter(({ msg }) => msg?.includes('could do anything')).map(({ plane }) => plane)
  assert.deepEqual(await mighty({}), ['console', 'tenant'])
  const { PARLEY_CONSOLE_DATABASE_URL = '' } = databaseEnv(database.url)
  assert.deepEqual(await mighty({ PARLEY_CONSOLE_DATABASE_URL }), ['tenant'])
  assert.deepEqual(await mighty(databaseEnv(database.url)), [])
})

test('a process warns of swapped logins, and says which variable names a login that is refused', async () => {
  const own = databaseEnv(database.url)
  const swapped = await warnedOf(
    { ...own, PARLEY_GATEWAY_DATABASE_URL: own.PARLEY_CONSOLE_DATABASE_URL ?? '' },
    'gateway',
  )
  const warning = swapped.find(({ msg }) => msg === 'a plane has a login that is not its own')
  assert.match(String(warning?.problem), /_console_login is not the gateway's login: the variables may be swapped$/)
  const wrong = new URL(own.PARLEY_GATEWAY_DATABASE_URL ?? '')
  wrong.username = `${PREFIX}_nobody`
  const refused = await warnedOf({ ...own, PARLEY_GATEWAY_DATABASE_URL: wrong.href }, 'gateway', ['lease', 'catalogue'])
  for (const job of ['lease', 'catalogue', undefined]) {
    const line = refused.find((found) => found.job === job && found.problem !== undefined)
    assert.equal(line?.problem, 'the database refuses the login in PARLEY_GATEWAY_DATABASE_URL', job)
  }
})

test('a process needs the owner only for planes that have no login, and then says so', () => {
  const { DATABASE_URL: _, ...logins } = databaseEnv(database.url)
  const secret = { PARLEY_SECRET: String(env.PARLEY_SECRET) }
  const own = readConfig({ ...secret, ...logins }, ['gateway', 'console'])
  assert.equal(own.PARLEY_AUTO_MIGRATE, false)
  assert.throws(() => readConfig({ ...secret, ...logins }), /DATABASE_URL is required/)
  const { PARLEY_TENANT_DATABASE_URL: __, ...without } = logins
  assert.throws(
    () => readConfig({ ...secret, ...without }, ['worker']),
    /- PARLEY_TENANT_DATABASE_URL is required beside PARLEY_WORKER_DATABASE_URL, as there is no DATABASE_URL$/,
  )
  assert.throws(() => readConfig(secret, ['worker']), /- DATABASE_URL is required/)
})
