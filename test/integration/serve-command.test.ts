import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { LOGIN_VARIABLES } from '../../src/config.ts'
import { LOGINS } from '../../src/store/database-logins.ts'
import { parley, ROOT, start, type Started } from '../support/commands.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'

let database: TestDatabase
let env: Record<string, string>
const running: Started[] = []

before(async () => {
  database = await createTestDatabase()
  env = {
    DATABASE_URL: database.url,
    PARLEY_SECRET: randomBytes(32).toString('base64'),
    PARLEY_PORT: '0',
    PARLEY_CONSOLE_PORT: '0',
    PARLEY_OPS_PORT: '0',
    PARLEY_DRAIN_DELAY_MS: '0',
  }
})
after(() => database.drop())
// A test that fails leaves its server behind, and this process would wait for it.
afterEach(() => Promise.all(running.splice(0).map((served) => served.end('SIGKILL', 5_000))))

async function serve(roles: string[], change: Record<string, string> = {}): Promise<Started> {
  const served = start(join(ROOT, 'bin/parley'), ['serve', ...roles], { env: { ...env, ...change } })
  running.push(served)
  await served.untilPrinted(/"msg":"listening"/, 15_000)
  return served
}

test('SIGTERM ends it in order, whichever roles it has', async () => {
  for (const roles of [[], ['worker']]) {
    const served = await serve(roles)
    assert.match(
      served.output,
      roles.length === 0
        ? /"roles":\["gateway","worker","console"\],"url":"http:\S+","consoleUrl":"http:/
        : /"roles":\["worker"\]/,
    )
    assert.equal(await served.end('SIGTERM', 10_000), 0, served.output)
  }
})

test('a second signal ends it at once, although it would drain for a minute', async () => {
  const served = await serve(['gateway'], { PARLEY_DRAIN_DELAY_MS: '60000' })
  served.child.kill('SIGTERM')
  await served.untilPrinted(/"msg":"draining"/, 5_000)
  assert.equal(await served.end('SIGTERM', 10_000), 1)
})

test('Ctrl-C that npm passes on a second time is still one Ctrl-C', async () => {
  const served = await serve(['gateway'], { PARLEY_DRAIN_DELAY_MS: '500' })
  served.child.kill('SIGINT')
  await served.untilPrinted(/"msg":"draining"/, 5_000)
  assert.equal(await served.end('SIGINT', 10_000), 0, served.output)
})

test('a defect drains and exits with 1, and the log has its place but not its text', async () => {
  const defect = `process.on('SIGUSR2', () => { throw new TypeError('what the user said') })`
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(defect)}`
  const served = await serve(['gateway'], { NODE_OPTIONS })
  assert.equal(await served.end('SIGUSR2', 15_000), 1)
  assert.match(served.output, /"level":"fatal".*"error":"TypeError","frames":\["at .*"msg":"crashed"/)
  assert.match(served.output, /"msg":"draining"/)
  assert.doesNotMatch(served.output, /what the user said/)
})

test('code that takes seconds to load keeps nothing from its connection to the database', async () => {
  const slow = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) {
      if (/\\/src\\/(console|matcher)\\/(server|matcher)\\.ts$/.test(url)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
      return next(url, context)
    } })`
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(slow)}`
  // As in production: with one login for all planes, one of them has a connection open by then.
  const logins = LOGINS.map((login) => [LOGIN_VARIABLES[login], loginUrl(database.url, login)])
  const served = start(join(ROOT, 'bin/parley'), ['serve', 'gateway', 'worker', 'console', 'matcher'], {
    env: {
      ...env,
      ...Object.fromEntries(logins),
      NODE_OPTIONS,
      PARLEY_MATCHER_PORT: '0',
      PARLEY_MATCHER_DIR: join(tmpdir(), 'parley-models'),
    },
  })
  running.push(served)
  await served.untilPrinted(/"msg":"listening"/, 30_000)
  await sleep(1_500)
  assert.doesNotMatch(served.output, /no connection to the database came free|the database could not be reached/)
  assert.equal(await served.end('SIGTERM', 20_000), 0, served.output)
})

test('a port that is taken is one sentence that names it', async () => {
  const served = await serve(['worker'])
  const port = /"opsUrl":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(served.output)?.[1] ?? ''
  // Without what it warns of before it listens.
  const quiet = { ...env, PARLEY_OPS_PORT: port, PARLEY_LOG_LEVEL: 'error' }
  const second = await parley(['serve', 'worker'], { env: quiet })
  assert.deepEqual([second.code, second.stdout], [1, ''])
  assert.match(
    second.stderr,
    new RegExp(`^Port ${port} of 127\\.0\\.0\\.1 is in use by another process.*set PARLEY_OPS_PORT\\.\n$`),
  )
  await served.end('SIGTERM', 10_000)
})

test('a database that is away is one sentence, not a crash', async () => {
  const { code, stderr } = await parley(['serve'], { env: { ...env, DATABASE_URL: 'postgres://u@127.0.0.1:1/x' } })
  assert.equal(code, 1)
  assert.match(stderr, /^The database at 127\.0\.0\.1:1 cannot be reached\. .*DATABASE_URL.*\n$/)
})
