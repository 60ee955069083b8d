/** A dump that is restored on another server, which has none of Parley's roles. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { Client } from 'pg'
import { findOrStartPostgres, type PostgresServer } from '../../scripts/postgres.ts'
import { checkRoles } from '../../src/cli/doctor/role-checks.ts'
import type { Finding } from '../../src/cli/doctor/checks.ts'
import { createRoles, ROLES } from '../../src/store/database-roles.ts'
import { parley } from '../support/commands.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'

const run = promisify(execFile)

let folder: string
/** PostgreSQL’s, which runs as another user when this is run by root. */
let serverFolder: string
let dump: string
let origin: TestDatabase
let server: PostgresServer
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-restore-'))
  serverFolder = await mkdtemp(join(tmpdir(), 'parley-restore-server-'))
  dump = join(folder, 'parley.dump')
  origin = await createTestDatabase()
  await run('pg_dump', ['--format=custom', `--file=${dump}`, origin.url])
  server = await findOrStartPostgres({ dataDir: serverFolder, alwaysPrivate: true, settings: { fsync: 'off' } })
})
after(async () => {
  await server.stop()
  await origin.drop()
  for (const each of [folder, serverFolder]) await rm(each, { recursive: true, force: true })
})

/** Returns its address. */
async function restoreInto(name: string): Promise<string> {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href
  // It tells of what it could not restore, goes on, and ends with a failure.
  await run('pg_restore', [`--dbname=${url}`, dump]).catch(() => undefined)
  return url
}

async function examine(url: string): Promise<Finding[]> {
  const store = openTestStore({ url, applicationName: 'restore test' })
  try {
    return await checkRoles(store.db)
  } finally {
    await store.close()
  }
}

test('a server without the roles loses what is theirs, and doctor says so, also when they are made too late', async () => {
  const url = await restoreInto('without_roles')
  const found = await examine(url)
  assert.deepEqual(new Set(found.map(({ state }) => state)), new Set(['problem']))
  assert.ok(found.some(({ detail }) => detail === `the server has no ${ROLES.join(', ')}`))

  assert.deepEqual(await createRoles(url), [...ROLES])
  const late = await examine(url)
  assert.match(
    late.map(({ detail }) => detail).join('\n'),
    /nobody may read .*calls.*\nanybody may call .*tenant_context/,
  )
  assert.ok(late.every(({ mend }) => mend?.includes('restore once more into an empty database')))
})

test('a server that has the roles first is as it was before: publishers and advertisers are let in', async () => {
  const env = { DATABASE_URL: server.url, PARLEY_SECRET: randomBytes(32).toString('base64') }
  const { code, stdout, stderr } = await parley(['database', 'roles'], { env })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^(?:made parley_\w+\n)+$|The server has all roles\./)
  const url = await restoreInto('with_roles')
  assert.deepEqual(await examine(url), [
    { check: 'roles', state: 'ok', detail: 'all there, with what is theirs' },
  ] satisfies Finding[])
  assert.deepEqual(await createRoles(url), [])
  const store = openTestStore({ url, applicationName: 'restore test' })
  try {
    await store.db.transaction().execute(async (tx) => {
      await sql`set local role parley_tenant`.execute(tx)
      await sql`set local role parley_advertiser`.execute(tx)
      await sql`select id from campaigns`.execute(tx)
    })
  } finally {
    await store.close()
  }
})

test('a tenants’ role that has an advertiser’s rights all the time is noticed, and put right', async () => {
  const url = await restoreInto('inheriting')
  const store = openTestStore({ url, applicationName: 'restore test' })
  try {
    await createRoles(url)
    await sql`alter role parley_tenant inherit`.execute(store.db)
    const [found] = await checkRoles(store.db)
    assert.match(found?.detail ?? '', /always has its rights/)
    await createRoles(url)
    assert.equal((await checkRoles(store.db))[0]?.state, 'ok')
  } finally {
    await store.close()
  }
})
