import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { LOCAL_ADMIN_URL } from '../../scripts/postgres.ts'
import type { Store } from '../../src/store/database.ts'
import { createLogins, loginNameOf, LOGINS, urlWith, type Login } from '../../src/store/database-logins.ts'
import { migrate } from '../../src/store/migrate.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import { findSettledBoundary } from '../../src/store/billing/usage-roll-up.ts'
import { ensurePartitions } from '../../src/store/partitions.ts'
import { openTestStore } from '../support/database.ts'

/** The owner of the tables is no superuser, as with hosted databases: it may make roles, and nothing more. */

const adminUrl = process.env.PARLEY_TEST_POSTGRES_URL || LOCAL_ADMIN_URL
const name = `parley_test_${Math.floor(Date.now() / 1_000)}_${randomBytes(6).toString('hex')}`
const prefix = `parley_test_${randomBytes(4).toString('hex')}`
const owner = { name: `${prefix}_owner`, password: randomBytes(12).toString('hex') }
const ownerUrl = withPath(urlWith(adminUrl, owner))
const logins = Object.fromEntries(
  LOGINS.map((login) => [login, { name: loginNameOf(prefix, login), password: randomBytes(12).toString('hex') }]),
) as Record<Login, { name: string; password: string }>
let admin: Client
let store: Store

before(async () => {
  admin = await connect(adminUrl)
  await admin.query(`create role ${owner.name} login createrole password '${owner.password}'`)
  // The roles of the planes were made by somebody else if other tests ran here before: as an administrator would do it.
  await admin.query(`create database ${name} template template0 owner ${owner.name} encoding 'UTF8'`)
  await shareRoles()
  await migrate(ownerUrl)
  await shareRoles()
  await createLogins(ownerUrl, logins)
  const tenantUrl = urlOf('tenant')
  store = openTestStore({ url: urlOf('worker'), tenantUrl, applicationName: 'owner test' })
})
after(async () => {
  await store?.close()
  await admin.query(`drop database if exists ${name} with (force)`)
  for (const login of LOGINS) await admin.query(`drop role if exists ${logins[login].name}`)
  await admin.query(`drop role if exists ${owner.name}`)
  await admin.end()
})

function withPath(url: string): string {
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
}

function urlOf(login: Login): string {
  return urlWith(ownerUrl, logins[login])
}

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString })
  await client.connect()
  return client
}

/** PostgreSQL 16 lets who may make roles grant only those that they made or administer. */
async function shareRoles(): Promise<void> {
  const { rows } = await admin.query<{ name: string }>(
    'select rolname as name from pg_roles where rolname = any ($1)',
    [LOGINS.map((login) => `parley_${login}`)],
  )
  for (const { name: role } of rows) await admin.query(`grant ${role} to ${owner.name} with admin option`)
}

test('an owner who is no superuser migrates, makes logins, and the planes work under them', async () => {
  await ensurePartitions(store.db)
  const publisher = randomUUID()
  const client = await connect(ownerUrl)
  await client.query("insert into publishers (id, name) values ($1, 'mine'), ($2, 'theirs')", [publisher, randomUUID()])
  await client.end()
  const seen = await withTenant(store.tenants, { publisherId: publisher }, (tx) =>
    tx.selectFrom('publishers').select('name').execute(),
  )
  assert.deepEqual(seen, [{ name: 'mine' }])
})

test('a new login is a member of its own role and of no other, and has no other right', async () => {
  for (const login of LOGINS) {
    const { rows } = await admin.query(
      `select r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb or r.rolreplication as has_more,
         array(select g.rolname::text from pg_roles g where g.oid <> r.oid and pg_has_role(r.oid, g.oid, 'member')
           order by g.rolname) as roles
       from pg_roles r where r.rolname = $1`,
      [logins[login].name],
    )
    const roles = login === 'tenant' ? ['parley_advertiser', 'parley_tenant'] : [`parley_${login}`]
    assert.deepEqual(rows, [{ has_more: false, roles }])
  }
})

test('the worker sees since when transactions of other logins run, so that it sums up nothing too early', async () => {
  const gateway = await connect(urlOf('gateway'))
  try {
    await gateway.query('begin')
    await gateway.query('insert into gateways (id) values (gen_random_uuid())')
    const { rows } = await gateway.query<{ began: Date }>('select now() as began')
    await new Promise((resolve) => setTimeout(resolve, 50))
    const boundary = await findSettledBoundary(store.db, 0)
    assert.ok(
      boundary <= (rows[0]?.began ?? new Date(0)),
      `${boundary.toISOString()} is later than ${rows[0]?.began.toISOString()}`,
    )
    assert.ok(boundary.getTime() > (rows[0]?.began.getTime() ?? 0) - 1_000, 'and it is not a guess')
  } finally {
    await gateway.end()
  }
})

test('what nobody lets the owner see is taken to be old enough', async () => {
  const stranger = await connect(withPath(adminUrl))
  try {
    await stranger.query('begin')
    await stranger.query("insert into publishers (id, name) values (gen_random_uuid(), 'late')")
    const boundary = await findSettledBoundary(store.db, 0)
    assert.ok(boundary.getTime() < Date.now() - 50_000, boundary.toISOString())
  } finally {
    await stranger.end()
  }
})

test('who may not make roles is told what an administrator has to run', async () => {
  const plain = { name: `${prefix}_plain`, password: randomBytes(12).toString('hex') }
  await admin.query(`create role ${plain.name} login password '${plain.password}'`)
  const client = await connect(withPath(urlWith(adminUrl, plain)))
  try {
    const file = join(import.meta.dirname, '../../migrations/0020_database_logins.sql')
    const [first = ''] = /^do \$\$[\s\S]*?^end \$\$;/m.exec(await readFile(file, 'utf8')) ?? []
    // Under names that nobody has made yet.
    const unknown = first.replaceAll(/'parley_(\w+)'/g, `'${prefix}_$1'`)
    assert.notEqual(unknown, first)
    await assert.rejects(
      client.query(unknown),
      /may not create roles: run "create role parley_gateway nologin".*administrator/,
    )
  } finally {
    await client.end()
    await admin.query(`drop role ${plain.name}`)
  }
})
