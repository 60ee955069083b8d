import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { Client } from 'pg'
import { openStore } from '../../src/store/database.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { parley, ROOT, start } from '../support/commands.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { addProject } from '../support/world.ts'

/** A database that answers, and will not: it is read-only, or has no connections left. */

const LOGIN = `parley_test_full_${randomBytes(6).toString('hex')}`
let database: TestDatabase
let admin: Client
let project: string
let env: Record<string, string>

before(async () => {
  database = await createTestDatabase()
  admin = new Client({ connectionString: database.url })
  await admin.connect()
  await admin.query(`create role ${LOGIN} login password 'full' connection limit 1 in role pg_read_all_data`)
  env = { DATABASE_URL: database.url, PARLEY_SECRET: randomBytes(32).toString('base64') }
  const store = openTestStore({ url: database.url, applicationName: 'unwilling test' })
  project = (await addProject(store, createSecrets([{ version: 1, bytes: randomBytes(32) }]))).id
  await store.close()
})
after(async () => {
  await admin.query(`drop role ${LOGIN}`)
  await admin.end()
  await database.drop()
})

function limitedUrl(): string {
  const url = new URL(database.url)
  url.username = LOGIN
  url.password = 'full'
  return url.href
}

async function takeLast(): Promise<Client> {
  const client = new Client({ connectionString: limitedUrl() })
  await client.connect()
  return client
}

test('a database that takes no changes is called read-only, by every command and by doctor', async (t) => {
  const name = new URL(database.url).pathname.slice(1)
  await admin.query(`alter database "${name}" set default_transaction_read_only = on`)
  t.after(() => admin.query(`alter database "${name}" reset default_transaction_read_only`))
  for (const args of [['wallet', 'grant', project, '5'], ['migrate'], ['audit']]) {
    const { code, stderr } = await parley(args, { env })
    assert.equal(code, 1, args.join(' '))
    assert.match(stderr, /^The database at \S+ is read-only: nothing was changed\. [^\n]*\n$/, args.join(' '))
  }
  const { code, stdout } = await parley(['doctor', '--offline'], { env })
  assert.equal(code, 1)
  assert.match(stdout, /^problem +writing +the store is read-only and takes no changes\. Look for default_/m)
})

test('a command waits for a connection that a full database has not got yet', async () => {
  const last = await takeLast()
  const command = start(join(ROOT, 'bin/parley'), ['project', 'list'], { env: { ...env, DATABASE_URL: limitedUrl() } })
  await sleep(3_000)
  await last.end()
  assert.equal(await command.end(undefined, 15_000), 0, command.output)
})

test('a database that stays full is called full, after as long as was said; a plane does not ask again', async () => {
  const last = await takeLast()
  for (const [poolWaitMs, leastMs, mostMs] of [
    [1_500, 1_000, 5_000],
    [undefined, 0, 1_000],
  ] as const) {
    const store = openStore({ url: limitedUrl(), applicationName: 'unwilling test', poolWaitMs })
    const startedMs = performance.now()
    await assert.rejects(sql`select 1`.execute(store.db), { code: '53300' })
    const tookMs = performance.now() - startedMs
    assert.ok(tookMs >= leastMs && tookMs < mostMs, `${tookMs} ms`)
    await store.close()
  }
  const { code, stderr } = await parley(['migrate'], { env: { ...env, DATABASE_URL: limitedUrl() }, withinMs: 30_000 })
  assert.equal(code, 1)
  assert.match(stderr, /^The database at \S+ has no connections left: nothing was changed\. [^\n]*\n$/)
  await last.end()
})
