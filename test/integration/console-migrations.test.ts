import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { migrate } from '../../src/store/migrate.ts'
import { listMigrations } from '../../src/store/migrations.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

/** Accounts and invitations from before 0017 and 0019, after them. */

const FIRST_NEW = '0017'
const id = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
const [STRANGER, CAREFUL, OWNER, ADMIN, REMOVED] = [id(1), id(2), id(3), id(4), id(5)]
const PUBLISHER = id(10)

let database: TestDatabase
let client: Client

before(async () => {
  database = await createTestDatabase()
  client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.query(
    'create table migrations (name text primary key, checksum text not null, applied_at timestamptz default now())',
  )
  for (const { name, sql, checksum } of await listMigrations()) {
    if (name >= FIRST_NEW) break
    await client.query(sql)
    await client.query('insert into migrations (name, checksum) values ($1, $2)', [name, checksum])
  }
  await client.query(OLD_ROWS)
  await migrate(database.url)
})
after(async () => {
  await client.end()
  await database.drop()
})

const invited = (n: number, email: string, role: string) =>
  `('${id(n)}', '${PUBLISHER}', '${email}', '${role}', 'Somebody', now() + interval '1 day')`
const noted = (actor: string, email: string) =>
  `insert into audit_log (publisher_id, actor_id, actor, action, subject)
   values ('${PUBLISHER}', '${actor}', 'Somebody', 'member.invited', '${email}');`

const OLD_ROWS = `
  insert into users (id, name, email, email_verified, two_factor_enabled) values
    ('${STRANGER}', 'Stranger', 'victim@example.com', false, true), ('${CAREFUL}', 'Careful', 'careful@example.com', true, true),
    ('${OWNER}', 'Owner', 'owner@example.com', true, false), ('${ADMIN}', 'Admin', 'admin@example.com', true, false),
    ('${REMOVED}', 'Removed', 'removed@example.com', true, false);
  insert into two_factors (id, user_id, secret, backup_codes, verified) values
    ('${id(20)}', '${STRANGER}', 'x', 'x', true), ('${id(21)}', '${CAREFUL}', 'x', 'x', true);
  insert into sessions (id, user_id, token, expires_at, created_at) values
    ('${id(30)}', '${OWNER}', 'x', now() + interval '1 day', now() - interval '3 days');
  insert into publishers (id, name) values ('${PUBLISHER}', 'Publisher');
  insert into memberships (publisher_id, user_id, role) values
    ('${PUBLISHER}', '${OWNER}', 'owner'), ('${PUBLISHER}', '${ADMIN}', 'admin');
  insert into invitations (id, publisher_id, email, role, invited_by, expires_at) values
    ${invited(40, 'by-admin@example.com', 'admin')}, ${invited(41, 'too-high@example.com', 'owner')},
    ${invited(42, 'by-removed@example.com', 'viewer')}, ${invited(43, 'by-nobody@example.com', 'viewer')},
    ${invited(44, 'twice@example.com', 'viewer')};
  ${noted(ADMIN, 'by-admin@example.com')} ${noted(ADMIN, 'too-high@example.com')}
  ${noted(REMOVED, 'by-removed@example.com')} ${noted(REMOVED, 'twice@example.com')} ${noted(OWNER, 'twice@example.com')}
  insert into trial_addresses (digest) values (sha256(convert_to('granted@example.com', 'UTF8')));`

async function valuesOf(query: string): Promise<unknown[]> {
  const { rows } = await client.query<{ v: unknown }>(query)
  return rows.map(({ v }) => v)
}

test('a second factor that a stranger left on an address that nobody confirmed is gone, and others stay', async () => {
  assert.deepEqual(await valuesOf('select user_id as v from two_factors'), [CAREFUL])
  assert.deepEqual(await valuesOf('select id as v from users where two_factor_enabled'), [CAREFUL])
})

test('an invitation is given to whoever sent it last, or withdrawn when they may not send it any more', async () => {
  const { rows } = await client.query('select email, inviter_id from invitations order by email')
  assert.deepEqual(rows, [
    { email: 'by-admin@example.com', inviter_id: ADMIN },
    { email: 'twice@example.com', inviter_id: OWNER },
  ])
})

test('who was granted trial credit before is remembered', async () => {
  const query = `select count(*)::int as v from trial_claims where digest = sha256(convert_to('granted@example.com', 'UTF8'))`
  assert.deepEqual(await valuesOf(query), [1])
})

test('an old session proves nothing by having been there', async () => {
  assert.deepEqual(await valuesOf(`select proven_at < now() - interval '2 days' as v from sessions`), [true])
})
