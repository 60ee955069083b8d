import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { Client } from 'pg'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { appendAuditLog } from '../../src/store/accounts/audit-log.ts'
import { recordTurn } from '../../src/store/calls/conversations.ts'
import type { Db } from '../../src/store/database.ts'
import { loginNameOf, LOGINS, type Login } from '../../src/store/database-logins.ts'
import { withTenant } from '../../src/store/tenancy.ts'
import { addSettledCall } from '../support/ledger.ts'
import { loginUrl } from '../support/logins.ts'
import { said } from '../support/sites.ts'
import { addProject, createWorld, type TestProject, type World } from '../support/world.ts'

/** Attacks on the database from each login: what a hostile statement could try if one ever got into a plane. */

const NOT_ALLOWED = '42501'

let world: World
let mine: TestProject
let theirs: TestProject
const clients = new Map<Login, Client>()
let owner: Client

before(async () => {
  world = await createWorld()
  mine = world.project
  theirs = await addProject(world.store, world.secrets)
  await giveLoot()
  owner = await connect(world.env.DATABASE_URL ?? '')
  for (const login of LOGINS) clients.set(login, await connect(loginUrl(world.env.DATABASE_URL ?? '', login)))
})
after(async () => {
  for (const client of clients.values()) await client.end()
  await owner.end()
  await world.close()
})

async function connect(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString })
  await client.connect()
  return client
}

function as(login: Login): Client {
  const client = clients.get(login)
  if (!client) throw new Error(`${login} is not connected`)
  return client
}

async function refused(login: Login, statement: string, code = NOT_ALLOWED): Promise<void> {
  await assert.rejects(as(login).query(statement), (error: { code?: string; message: string }) => {
    assert.equal(error.code, code, `${login}: ${statement}: ${error.message}`)
    return true
  })
}

/** Tenants are publishers or advertisers, and each transaction takes the role of one of them. */
function rolesOf(login: Login): string[] {
  return login === 'tenant' ? ['parley_advertiser', 'parley_tenant'] : [`parley_${login}`]
}

test('each login is a member of its own role and of no other, and neither a superuser nor past row security', async () => {
  for (const login of LOGINS) {
    const { rows } = await owner.query(
      `select r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolcreatedb,
        array(select g.rolname::text from pg_roles g where g.oid <> r.oid and pg_has_role(r.oid, g.oid, 'member')
          and g.rolname ~ '^parley' order by g.rolname) as roles
       from pg_roles r where r.rolname = $1`,
      [loginNameOf('parley_test', login)],
    )
    const none = { rolsuper: false, rolbypassrls: false, rolcreaterole: false, rolcreatedb: false }
    assert.deepEqual(rows, [{ ...none, roles: rolesOf(login) }], login)
  }
})

test('nobody becomes the owner or another plane, makes a table or a function, or switches the wall off', async () => {
  const { rows } = await owner.query<{ name: string }>('select current_user as name')
  for (const login of LOGINS) {
    await refused(login, `set role ${owner.escapeIdentifier(rows[0]?.name ?? '')}`)
    await refused(login, `set session authorization ${owner.escapeIdentifier(rows[0]?.name ?? '')}`)
    for (const other of LOGINS) if (other !== login) await refused(login, `set role parley_${other}`)
    await refused(login, 'create table public.mine (a int)')
    await refused(login, "create function public.mine() returns int language sql as 'select 1'")
    await refused(login, 'create schema mine')
    await refused(login, 'alter table wallets disable row level security')
    await refused(login, 'drop policy tenant on wallets')
    await refused(
      login,
      'create or replace function tenant_publisher() returns uuid language sql as $$ select null::uuid $$',
    )
    await refused(login, 'alter table charges disable trigger charges_append_only')
  }
})

test('nobody but the gateway reads the keys of providers, and only console and worker the key that signs tenants', async () => {
  for (const login of LOGINS.filter((each) => each !== 'gateway'))
    await refused(login, 'select sealed_key from provider_keys')
  for (const login of ['gateway', 'matcher', 'tenant'] as const) await refused(login, 'select key from tenant_key')
  for (const login of LOGINS) await refused(login, "update tenant_key set key = sha256('')")
})

test('only the console reads people, passwords and sessions', async () => {
  for (const login of ['gateway', 'worker', 'matcher', 'tenant'] as const) {
    for (const table of ['users', 'sessions', 'credentials', 'passkeys', 'two_factors', 'verifications'])
      await refused(login, `select * from ${table}`)
  }
  await refused('worker', 'select token from sessions')
})

test('nobody writes the ledger but through its functions, and nobody calls one that is not theirs', async () => {
  const writes = [
    'update wallets set balance_nanos = 1000000000000',
    'delete from holds',
    'insert into charges select * from charges',
    'insert into calls select * from calls',
    "insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference) values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'topup', 'x')",
    'update transfers set amount_nanos = 1',
    'truncate charges',
    `select ledger_transfer(gen_random_uuid(), '00000000-0000-0000-0000-000000000002', '${mine.id}', 1, 'topup', 'x', null, null)`,
    `select ledger_collect('${mine.id}')`,
    "select ledger_settle('[]')",
    'update advertiser_wallets set balance_nanos = 1000000000000',
    'update earnings set pending_nanos = 1000000000000, share_bps = 10000',
    'update campaign_days set spent_nanos = 0',
    "update clicks set state = 'released'",
    `select click_reverse(gen_random_uuid(), 'x')`,
    `select ledger_cover('${mine.id}', 1, 'x')`,
    `select ledger_reverse(gen_random_uuid(), gen_random_uuid(), 'x', null)`,
    "select ledger_take_back(gen_random_uuid(), gen_random_uuid(), 1, 'refund', 'x', null)",
  ]
  for (const login of LOGINS) for (const statement of writes) await refused(login, statement)
  const notTheirs: Record<string, Login[]> = {
    "select ledger_apply(null, '{}', null, null, null)": ['console', 'worker', 'matcher', 'tenant'],
    "select ledger_sweep('1 s', '1 s', 1)": ['gateway', 'console', 'matcher', 'tenant'],
    "select ledger_credit_payment(gen_random_uuid(), 'x', null)": ['gateway', 'matcher', 'tenant'],
    "select ledger_settle_returns('x')": ['gateway', 'matcher', 'tenant'],
    "select clicks_apply('[]')": ['console', 'worker', 'matcher', 'tenant'],
    "select earnings_release(1, '7 days')": ['gateway', 'console', 'matcher', 'tenant'],
    'select ensure_partitions()': ['console', 'matcher', 'tenant'],
    'select make_partition()': ['console', 'matcher', 'tenant'],
    'select * from open_transactions()': ['gateway', 'console', 'matcher', 'tenant'],
  }
  for (const [statement, logins] of Object.entries(notTheirs))
    for (const login of logins) await refused(login, statement)
})

test('the console credits only a payment that was made, with the amount and the project of that payment', async () => {
  await refused('console', "select ledger_credit_payment(gen_random_uuid(), 'cs_unknown', null)", 'P0002')
  await owner.query(
    "insert into payments (session_id, project_id, amount_nanos, currency) values ('cs_open', $1, 10000000, 'usd')",
    [mine.id],
  )
  await refused('console', "select ledger_credit_payment(gen_random_uuid(), 'cs_open', null)", 'P0002')
})

/** Everything of another publisher's that an attacker would want. */
const LOOT = [
  'publishers',
  'projects',
  'domains',
  'key_pairs',
  'wallets',
  'transfers',
  'charges',
  'audit_log',
  'messages',
]

/** The other publisher has something of everything that is looked for. */
async function giveLoot(): Promise<void> {
  const { db } = world.store
  const keyPair = await db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', theirs.id)
    .executeTakeFirstOrThrow()
  const callId = uuidv7()
  await addSettledCall(db, { id: callId, projectId: theirs.id, keyPairId: keyPair.id })
  await recordTurn(db, {
    conversation: { projectId: theirs.id, id: 'theirs' },
    callId,
    messages: [said('user', 'A secret')],
    retentionDays: 30,
  })
  const nobody = { actorId: null, actor: 'operator', subject: null, projectId: null, ip: null, userAgent: null }
  await appendAuditLog(db, { publisherId: theirs.publisherId, action: 'project.created', details: {}, ...nobody })
  for (const table of LOOT) {
    const { rows } = await raw(db, `select to_json(t) from ${table} t`)
    assert.throws(() => assertNothingOfTheirs(rows), `${table} has nothing to steal`)
  }
}

function raw(tx: Db, statement: string) {
  return sql.raw(statement).execute(tx)
}

function assertNothingOfTheirs(rows: unknown): void {
  const text = JSON.stringify(rows ?? null)
  assert.ok(!text.includes(theirs.id) && !text.includes(theirs.publisherId), text)
}

test('leaving the role of the tenant gains nothing: whose login it is, is the same', async () => {
  await withTenant(world.store.tenants, { publisherId: mine.publisherId, projectId: mine.id }, async (tx) => {
    for (const leave of ['reset role', 'set role none', "select set_config('role', 'none', false)"]) {
      await raw(tx, leave)
      for (const table of LOOT) assertNothingOfTheirs((await raw(tx, `select to_json(t) from ${table} t`)).rows)
    }
    const { rows } = await raw(tx, 'select id from projects')
    assert.deepEqual(rows, [{ id: mine.id }], 'its own rows are still there')
  })
})

test('naming another tenant fails, whether in statements of its own or inside one expression', async () => {
  const forged = await forgedContexts()
  for (const context of forged) {
    for (const table of LOOT) {
      const hostile = `select (select set_config('parley.tenant', '${context}', true)) as c, (select json_agg(t) from ${table} t) as loot`
      await attempt(hostile)
      await attempt(`set parley.tenant = '${context}'; select json_agg(t) as loot from ${table} t`)
    }
  }
  // How versions before named a tenant; it counts for the owner's own sessions only.
  for (const table of LOOT) {
    await attempt(`set parley.tenant = ''; set parley.publisher = '${theirs.publisherId}';
      set parley.project = '${theirs.id}'; select json_agg(t) as loot from ${table} t`)
  }
})

/** Runs it where a handler's statements run. It fails, or brings nothing that is somebody else's. */
async function attempt(hostile: string): Promise<void> {
  const client = as('tenant')
  await client.query('begin')
  try {
    const context = await world.store.tenants.sign({ publisherId: mine.publisherId, projectId: mine.id })
    await client.query("select set_config('parley.tenant', $1, true)", [context])
    const found = await client.query(hostile).catch((error: { code?: string }) => {
      assert.equal(error.code, NOT_ALLOWED, hostile)
      return undefined
    })
    assertNothingOfTheirs([found].flat().map((result) => result?.rows))
  } finally {
    await client.query('rollback')
  }
}

async function forgedContexts(): Promise<string[]> {
  const { publisherId, id: projectId } = theirs
  const later = Math.floor(Date.now() / 1_000) + 3_000
  const own = await world.store.tenants.sign({ publisherId: mine.publisherId, projectId: mine.id })
  const signature = own.split('/')[3] ?? ''
  const told = `${publisherId}/${projectId}/${later}`
  const guessed = createHmac('sha256', Buffer.alloc(32)).update(told).digest('hex')
  const expired = `${publisherId}/${projectId}/1`
  const { rows } = await owner.query<{ key: Buffer }>('select key from tenant_key')
  const key = rows[0]?.key ?? Buffer.alloc(0)
  return [
    told,
    `${told}/`,
    `${told}/${signature}`,
    `${told}/${guessed}`,
    own.replace(mine.publisherId, publisherId),
    own.replace(mine.id, projectId),
    `${publisherId}//${later}/${signature}`,
    // Signed as it should be, but long ago.
    `${expired}/${createHmac('sha256', key).update(expired).digest('hex')}`,
  ]
}

test('a hostile statement in a transaction that the console opened reads and changes nothing of another publisher', async () => {
  const tenant = { publisherId: mine.publisherId, projectId: mine.id }
  const statements = [
    `update key_pairs set active = false where project_id = '${theirs.id}'`,
    `delete from messages where project_id = '${theirs.id}'`,
    `update publishers set name = 'taken' where id = '${theirs.publisherId}'`,
    `select count(*)::text from members where publisher_id = '${theirs.publisherId}'`,
    `select json_agg(p) from projects p where name = '' or true`,
    `select (select json_agg(k) from key_pairs k where project_id <> '${mine.id}')`,
  ]
  for (const statement of statements) {
    const { rows } = await withTenant(world.store.tenants, tenant, (tx) => raw(tx, statement))
    assertNothingOfTheirs(rows)
  }
  const { rows } = await owner.query('select active from key_pairs where project_id = $1', [theirs.id])
  assert.deepEqual(rows, [{ active: true }])
})

test("a tenant cannot use up the trial credit of another publisher's", async () => {
  const waiting = 'select trial_credit_nanos from publishers where id = $1'
  await owner.query('update publishers set trial_credit_nanos = 5 where id = $1', [theirs.publisherId])
  const hostile = `select grant_trial_credit('${theirs.publisherId}', '${theirs.id}', '{x}')`
  await refused('tenant', hostile)
  const tenant = { publisherId: mine.publisherId, projectId: mine.id }
  await assert.rejects(
    withTenant(world.store.tenants, tenant, (tx) => raw(tx, hostile)),
    { code: NOT_ALLOWED },
  )
  assert.deepEqual((await owner.query(waiting, [theirs.publisherId])).rows, [{ trial_credit_nanos: '5' }])
})

test('an old console, which signs nothing and runs as the owner, keeps working while new ones are started', async () => {
  await owner.query('begin')
  await owner.query(
    "select set_config('parley.publisher', $1, true), set_config('parley.project', $2, true), set_config('role', 'parley_tenant', true)",
    [mine.publisherId, mine.id],
  )
  const { rows } = await owner.query('select id from projects')
  assert.deepEqual(rows, [{ id: mine.id }])
  await owner.query('rollback')
})

test('an unknown publisher, signed as it should be, sees nothing', async () => {
  const { rows } = await withTenant(world.store.tenants, { publisherId: randomUUID() }, (tx) =>
    raw(tx, 'select id from projects'),
  )
  assert.deepEqual(rows, [])
})
