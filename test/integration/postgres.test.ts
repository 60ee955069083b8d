import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { findOrStartPostgres } from '../../scripts/postgres.ts'
import { createTestDatabase } from '../support/database.ts'

let dataDir: string

before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-postgres-'))
})
after(() => rm(dataDir, { recursive: true, force: true }))

async function ask(url: string, query: string): Promise<unknown> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  try {
    await client.connect()
    return Object.values((await client.query<Record<string, unknown>>(query)).rows[0] ?? {})[0]
  } finally {
    await client.end()
  }
}

test('a private PostgreSQL starts from nothing, is found while it runs, ends with its starter and keeps its data', async () => {
  const options = { dataDir, alwaysPrivate: true, settings: { fsync: 'off', work_mem: '7MB' } }
  const first = await findOrStartPostgres(options)
  try {
    assert.equal(first.startedHere, true)
    assert.equal(await ask(first.url, 'show work_mem'), '7MB')
    assert.equal(await ask(first.url, 'show server_encoding'), 'UTF8')
    await ask(first.url, 'create database kept')

    const found = await findOrStartPostgres(options)
    assert.deepEqual([found.url, found.startedHere], [first.url, false])
    await found.stop()
    assert.equal(await ask(first.url, 'select 1'), 1, 'whoever found it must not stop it')
  } finally {
    await first.stop()
  }
  await assert.rejects(ask(first.url, 'select 1'), { code: 'ECONNREFUSED' })

  const second = await findOrStartPostgres(options)
  try {
    assert.equal(await ask(second.url, `select count(*)::int from pg_database where datname = 'kept'`), 1)
  } finally {
    await second.stop()
  }
})

test('a setting that PostgreSQL refuses is reported in its own words, at once', async () => {
  const startedMs = Date.now()
  await assert.rejects(
    findOrStartPostgres({ dataDir, alwaysPrivate: true, settings: { fsync: 'off', no_such_setting: '1' } }),
    /unrecognized configuration parameter "no_such_setting"/,
  )
  assert.ok(Date.now() - startedMs < 10_000)
})

test('a port that another server holds is an error, and that server is not taken for ours', async () => {
  const otherDir = await mkdtemp(join(tmpdir(), 'parley-postgres-'))
  const settings = { fsync: 'off' }
  const first = await findOrStartPostgres({ dataDir, alwaysPrivate: true, settings })
  try {
    const port = Number(new URL(first.url).port)
    await assert.rejects(
      findOrStartPostgres({ dataDir: otherDir, alwaysPrivate: true, port, settings }),
      /could not bind IPv4 address/,
    )
    assert.equal(await ask(first.url, 'select 1'), 1)
  } finally {
    await first.stop()
    await rm(otherDir, { recursive: true, force: true })
  }
})

test('an address that does not answer is an error, never a reason to use another server', async () => {
  await assert.rejects(
    findOrStartPostgres({ dataDir, adminUrl: 'postgres://postgres:hidden@127.0.0.1:1/postgres' }),
    (error: Error) => error.message.includes('127.0.0.1:1') && !error.message.includes('hidden'),
  )
})

test('test databases are migrated, do not see each other, and are dropped although a connection is still open', async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()])
  const forgotten = new Client({ connectionString: one.url })
  const cut = new Promise((resolve) => forgotten.on('error', resolve))
  try {
    assert.ok(Number(await ask(one.url, `select count(*) from pg_tables where schemaname = 'public'`)) > 1)
    await ask(one.url, 'create table only_here ()')
    assert.equal(await ask(other.url, `select to_regclass('only_here')`), null)
    await forgotten.connect()
  } finally {
    await Promise.all([one.drop(), other.drop()])
  }
  await cut
  await assert.rejects(ask(one.url, 'select 1'), { code: '3D000' })
})
