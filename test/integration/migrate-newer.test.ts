import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { STORE_WAIT_MS } from '../../src/rules/limits.ts'
import type { MigrationWait } from '../../src/store/migrate.ts'
import { listMigrations, numberOf } from '../../src/store/migrations.ts'
import { parley, ROOT, start } from '../support/commands.ts'
import { makeOtherVersion, type OtherVersion } from '../support/other-version.ts'
import { startSteadyCalls } from '../support/steady-calls.ts'
import { createWorld, until, type World } from '../support/world.ts'

/** A newer version comes while this one serves. The tests are one story: each goes on with the database of the one before. */

/** As long as a report that somebody runs at night. */
const READER_MS = 12_000
const LATER = { 'migrations/9001_later.sql': 'alter table charges add column later text;' }

let world: World
let newest: string
const versions: OtherVersion[] = []

before(async () => {
  world = await createWorld({ storeWaitMs: STORE_WAIT_MS })
  newest = numberOf((await listMigrations()).at(-1)?.name ?? '')
})
after(async () => {
  await Promise.all(versions.map((version) => version.remove()))
  await world.close()
})

async function otherVersion(files: Record<string, string>): Promise<OtherVersion> {
  const version = await makeOtherVersion({ ...LATER, ...files })
  versions.push(version)
  return version
}

function ownerUrl(): string {
  return world.env.DATABASE_URL ?? ''
}

test('a table of the ledger is altered behind a reader of twelve seconds while calls go on: none fails', async (t) => {
  const { store } = await otherVersion({})
  const reader = new Client({ connectionString: ownerUrl(), application_name: 'report' })
  await reader.connect()
  await reader.query('begin; select count(*) from charges')
  const calls = await startSteadyCalls(world)
  const waits: MigrationWait[] = []
  const readUntilMs = performance.now() + READER_MS
  const migrating = store.migrate(ownerUrl(), { onWait: (wait) => waits.push(wait) })
  await until(() => performance.now() > readUntilMs, 2 * READER_MS)
  await reader.query('commit')
  const { applied } = await migrating
  const answered = calls.answered
  await until(() => calls.answered > answered + 10)
  const seen = await calls.stop()
  t.diagnostic(JSON.stringify({ ...seen, waits: waits.length }))
  await reader.end()
  assert.deepEqual(applied, ['9001_later.sql'])
  assert.ok(waits.length >= 2)
  assert.deepEqual(seen.failed, [])
  assert.ok(seen.longestLockWaitMs < STORE_WAIT_MS, `a call waited ${seen.longestLockWaitMs} ms for a table`)
})

test('this version serves on what a newer one has migrated, and says so at its start and to the doctor', async () => {
  const served = start(join(ROOT, 'bin/parley'), ['serve', 'worker'], { env: { ...world.env, PARLEY_OPS_PORT: '0' } })
  await served.untilPrinted(/"msg":"listening"/, 20_000)
  assert.equal(await served.end('SIGTERM', 10_000), 0, served.output)
  assert.match(
    served.output,
    /"level":"warn".*"migrations":\["9001_later\.sql"\].*"msg":"a newer version has migrated the database"/,
  )
  const { code, stdout } = await parley(['doctor', '--offline'], { env: world.env })
  assert.equal(code, 0, stdout)
  assert.match(stdout, /^ok +migrations +all are applied$/m)
  assert.match(
    stdout,
    /^hint +version +a newer version has migrated the database: 9001_later\.sql\. This version works/m,
  )
  const migrated = await parley(['migrate'], { env: world.env })
  assert.equal(migrated.code, 0)
  assert.match(migrated.stderr, /^a newer version has migrated the database: 9001_later\.sql$/m)
})

test('a migration that this version can still live with leaves it running', async () => {
  const name = 'migrations/9002_with_this_one.sql'
  const { store } = await otherVersion({ [name]: `-- Oldest program: ${newest}\nselect 1;` })
  await store.migrate(ownerUrl())
  const { code, stdout } = await parley(['doctor', '--offline'], { env: world.env })
  assert.equal(code, 0, stdout)
})

test('a program that a newer version leaves behind refuses to start, to migrate and to be well, and says what to do', async () => {
  const name = 'migrations/9003_without_it.sql'
  const { store, command } = await otherVersion({
    'migrations/9002_with_this_one.sql': `-- Oldest program: ${newest}\nselect 1;`,
    [name]: '-- Oldest program: 9001\nselect 1;',
  })
  await store.migrate(ownerUrl())
  const sentence = new RegExp(
    'The database was migrated by a newer version of Parley \\(9003_without_it\\.sql\\), and works with programs that have ' +
      `migration 9001 or a later one\\. This program ends with ${newest}\\. Install the newer version\\.`,
  )
  for (const autoMigrate of ['true', 'false']) {
    const env = { ...world.env, PARLEY_OPS_PORT: '0', PARLEY_AUTO_MIGRATE: autoMigrate }
    const served = start(join(ROOT, 'bin/parley'), ['serve', 'worker'], { env })
    assert.equal(await served.end(undefined, 20_000), 1, served.output)
    assert.match(served.output, sentence)
    assert.doesNotMatch(served.output, /listening/)
  }
  const migrated = await parley(['migrate'], { env: world.env })
  assert.equal(migrated.code, 1)
  assert.match(migrated.stderr, sentence)
  const doctor = await parley(['doctor', '--offline'], { env: world.env })
  assert.equal(doctor.code, 1)
  assert.match(doctor.stdout, new RegExp(`^problem +migrations +${sentence.source}`, 'm'))
  const newer = start(command, ['doctor', '--offline'], { env: world.env })
  assert.equal(await newer.end(undefined, 20_000), 0, newer.output)
})
