import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { Client } from 'pg'
import { createTenants, enterProject, withTenant } from '../../src/store/tenancy.ts'
import { insertInvitation, ownedTables, rowsAs, type Rows } from '../support/tenancy.ts'
import { addProject, createWorld, type TestProject, type World } from '../support/world.ts'

let world: World
let mine: TestProject
let theirs: TestProject
let client: Client

before(async () => {
  world = await createWorld()
  mine = world.project
  theirs = await addProject(world.store, world.secrets)
  client = new Client({ connectionString: world.env.DATABASE_URL })
  await client.connect()
})
after(async () => {
  await client.end()
  await world.close()
})

/** Tables that all publishers may read, as they say nothing about any of them. */
const SHARED = ['models', 'price_versions', 'recommendation_switch', 'usage_progress']

test('every table that belongs to a publisher or a project has row security and a policy', async () => {
  const tables = await ownedTables(world.store.db)
  assert.ok(tables.length >= 16, `${tables.length}`)
  assert.deepEqual(
    tables.filter(({ isWalled, hasPolicy }) => !isWalled || !hasPolicy),
    [],
  )
})

test('the tenant role can be nobody, pass by no policy, and reads no table of the sign-in library nor of providers', async () => {
  const { rows: roles } = await client.query(
    "select rolcanlogin, rolbypassrls, rolsuper from pg_roles where rolname = 'parley_tenant'",
  )
  assert.deepEqual(roles, [{ rolcanlogin: false, rolbypassrls: false, rolsuper: false }])
  const { rows: readable } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relkind in ('r', 'p', 'v') and relnamespace = 'public'::regnamespace
     and has_table_privilege('parley_tenant', oid, 'select')`,
  )
  const names = readable.map(({ name }) => name)
  for (const secret of [
    'users',
    'sessions',
    'credentials',
    'verifications',
    'two_factors',
    'throttles',
    'mails',
    'provider_keys',
    'providers',
    'deployments',
  ])
    assert.ok(!names.includes(secret), secret)
  assert.deepEqual(
    names.filter((name) => /_\d{8}$/.test(name)),
    [],
    'no partition is read past the policy of its table',
  )
  const { rows: unwalled } = await client.query<{ name: string }>(
    `select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
     and has_table_privilege('parley_tenant', oid, 'select') and not relrowsecurity order by 1`,
  )
  assert.deepEqual(
    unwalled.map(({ name }) => name),
    SHARED,
  )
})

test("a tenant's transaction sees its own rows only, also when the statement has no where", async () => {
  const { tenants } = world.store
  const own: Rows = {}
  for (const { name, isReadable } of await ownedTables(world.store.db)) {
    if (!isReadable) continue
    const rows = await rowsAs(tenants, { publisherId: mine.publisherId, projectId: mine.id }, name)
    const text = JSON.stringify(rows)
    assert.ok(!text.includes(theirs.id) && !text.includes(theirs.publisherId), name)
    own[name] = rows
  }
  for (const name of ['publishers', 'projects', 'domains', 'key_pairs', 'wallets', 'accounts', 'transfers'])
    assert.equal(own[name]?.length, 1, name)
  const journal = JSON.stringify(
    await rowsAs(tenants, { publisherId: mine.publisherId, projectId: mine.id }, 'journal'),
  )
  assert.ok(journal.includes(mine.id) && !journal.includes(theirs.id))
})

test('a tenant that names somebody else, or nobody, sees nothing', async () => {
  const { tenants } = world.store
  const mixed = { publisherId: mine.publisherId, projectId: theirs.id }
  for (const name of ['projects', 'domains', 'key_pairs', 'wallets', 'accounts', 'payments'])
    assert.deepEqual(await rowsAs(tenants, mixed, name), [], name)
  await client.query('begin')
  await client.query('set local role parley_tenant')
  for (const name of ['publishers', 'projects', 'domains', 'key_pairs', 'wallets', 'charges', 'transfers', 'members'])
    assert.equal((await client.query(`select * from ${name}`)).rowCount, 0, name)
  await client.query('rollback')
})

test('a tenant writes into nobody else, moves no money and changes no log', async () => {
  const { tenants } = world.store
  const tenant = { publisherId: mine.publisherId, projectId: mine.id }
  const refused = (work: Parameters<typeof withTenant>[2], code: string) =>
    assert.rejects(withTenant(tenants, tenant, work), (error: { code?: string }) => error.code === code)
  const other = { id: '0190b3a0-0000-7000-8000-000000000001', publisherId: theirs.publisherId }
  await refused((tx) => insertInvitation(tx, other), '42501')
  await refused(
    (tx) => tx.insertInto('projects').values({ id: other.id, publisher_id: theirs.publisherId, name: 'x' }).execute(),
    '42501',
  )
  await refused((tx) => tx.updateTable('wallets').set({ balance_nanos: 1n }).execute(), '42501')
  await refused((tx) => tx.updateTable('publishers').set({ activated_at: new Date() }).execute(), '42501')
  await refused((tx) => tx.updateTable('audit_log').set({ actor: 'x' }).execute(), '42501')
  await refused((tx) => tx.deleteFrom('charges').execute(), '42501')
  await refused((tx) => tx.selectFrom('users').selectAll().execute(), '42501')
  const taken = await withTenant(tenants, tenant, (tx) =>
    tx.updateTable('key_pairs').set({ active: false }).where('project_id', '=', theirs.id).executeTakeFirst(),
  )
  assert.equal(taken.numUpdatedRows, 0n)
})

test('a connection that goes back to the pool carries neither the role nor the names of the last tenant', async () => {
  const { tenants } = world.store
  const tenant = { publisherId: mine.publisherId, projectId: mine.id }
  await withTenant(tenants, { publisherId: mine.publisherId }, (tx) => enterProject(tenants, tx, tenant))
  await assert.rejects(
    withTenant(tenants, { publisherId: mine.publisherId }, () => Promise.reject(new Error('midway'))),
  )
  // The owner's connections, which serve tenants too where tenants have no login of their own.
  const { db } = world.store
  const shared = createTenants(db, db)
  await withTenant(shared, { publisherId: mine.publisherId }, (tx) => tx.selectFrom('projects').selectAll().execute())
  const everyConnection = <T>(from: typeof db, look: (tx: typeof db) => Promise<T>) =>
    Promise.all(Array.from({ length: 10 }, () => from.transaction().execute(look)))
  const count = async (tx: typeof db) => (await tx.selectFrom('projects').select('id').execute()).length
  assert.deepEqual(await everyConnection(db, count), Array<number>(10).fill(2))
  assert.deepEqual(await everyConnection(tenants.db, count), Array<number>(10).fill(0))
  // A session that takes the role and does not say for whom must not continue as the last tenant.
  const countAsTenant = async (tx: typeof db) => {
    await sql`set local role parley_tenant`.execute(tx)
    return count(tx)
  }
  assert.deepEqual(await everyConnection(db, countAsTenant), Array<number>(10).fill(0))
  assert.deepEqual(await everyConnection(tenants.db, countAsTenant), Array<number>(10).fill(0))
})
