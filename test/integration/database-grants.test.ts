import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { reportLedgerCheck } from '../../src/worker/check-ledger.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createLog } from '../../src/platform/log.ts'
import { expireContent } from '../../src/store/calls/conversations.ts'
import type { Store } from '../../src/store/database.ts'
import { forgetDeadGateways } from '../../src/store/billing/gateways.ts'
import { expireKeys } from '../../src/store/calls/idempotency.ts'
import { expireRestraints } from '../../src/store/recommendations/records.ts'
import { cutSome } from '../../src/store/calls/retention-cuts.ts'
import { expireThrottles } from '../../src/store/accounts/throttles.ts'
import { grantDueTrialCredits } from '../../src/store/billing/trial-credit.ts'
import { expireAnomalies, sumAnomalies } from '../../src/store/billing/usage-anomalies.ts'
import { expireProofs } from '../../src/store/accounts/users.ts'
import { ensurePartitions, sweepHolds } from '../../src/store/billing/wallets.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { addProject, type TestProject } from '../support/world.ts'
import { createSecrets } from '../../src/platform/secrets.ts'

/**
 * Who may do what with each table and function. Something new is in neither list and fails here: decide who needs it, say
 * so in its migration or its file in functions/ (`grant …`), and write it down below. Letters: s select, i insert, u update, d delete; small ones are
 * for some columns only, capital ones for all.
 */
const TABLES: Record<string, Partial<Record<string, string>>> = {
  accounts: { tenant: 'Si', worker: 'S' },
  advertisers: { console: 'S', gateway: 's', matcher: 'S', tenant: 's' },
  applied_functions: {},
  audit_checkpoint: { worker: 'SIUD' },
  audit_log: { console: 'SI', tenant: 'SI' },
  audit_sums: { worker: 'SIUD' },
  calls: { gateway: 'S', tenant: 'S', worker: 'S' },
  campaigns: { console: 'S', gateway: 'S', matcher: 'S' },
  catalogue_version: { console: 'S', gateway: 'S' },
  charges: { gateway: 'S', tenant: 'S', worker: 'S' },
  conversation_restraints: { gateway: 'SIU', worker: 'SuD' },
  conversation_sums: { tenant: 'SD', worker: 'SIU' },
  conversations: { gateway: 'SIU', tenant: 'SUD', worker: 'S' },
  credentials: { console: 'SIUD' },
  deployments: { console: 'S', gateway: 'S', tenant: 's' },
  domains: { console: 's', gateway: 's', tenant: 'SIU', worker: 'Su' },
  feed_runs: {},
  feeds: { console: 'S', matcher: 'S' },
  gateways: { gateway: 'SIUD', worker: 'SD' },
  holds: { gateway: 'S', tenant: 'S', worker: 'S' },
  idempotency_keys: { gateway: 'sD', tenant: 'sD', worker: 'SD' },
  invitations: { console: 'SD', tenant: 'SIuD' },
  journal: { tenant: 'S' },
  key_pairs: { console: 'su', gateway: 'Su', tenant: 'SIU' },
  mails: { console: 'I', tenant: 'I', worker: 'Su' },
  matchers: { matcher: 'SIUD', tenant: 's' },
  members: { tenant: 'S' },
  memberships: { console: 'SIuD', tenant: 'SIuD' },
  messages: { gateway: 'I', tenant: 'SUD', worker: 'su' },
  migrations: {},
  models: { console: 'S', gateway: 'S', tenant: 'S' },
  monetization: { gateway: 'S', tenant: 'SIU' },
  offers: { console: 'S', gateway: 's', matcher: 'S', tenant: 's' },
  passkeys: { console: 'SIUD' },
  payment_returns: { console: 'SIu' },
  payments: { console: 'SIu', tenant: 'SI' },
  price_versions: { console: 'S', gateway: 'S', tenant: 'S', worker: 'S' },
  projects: { console: 'S', gateway: 'S', tenant: 'Siu', worker: 'S' },
  provider_keys: { console: 's', gateway: 'Su' },
  providers: { console: 's', gateway: 'S', tenant: 's' },
  publishers: { console: 'SIu', gateway: 's', tenant: 'Su', worker: 'S' },
  recommendation_outcomes: { gateway: 'SIU', tenant: 'S' },
  recommendation_switch: { matcher: 'S', tenant: 'S' },
  recommendations: { gateway: 'SIu', tenant: 'S' },
  retention_cuts: { tenant: 'SIUD', worker: 'SuD' },
  sessions: { console: 'SIUD', worker: 'sD' },
  tenant_key: { console: 'S', worker: 'S' },
  text_vectors: { matcher: 'SI' },
  throttles: { console: 'SIUD', worker: 'sD' },
  transfers: { console: 'S', gateway: 'S', tenant: 'S', worker: 'S' },
  trial_claims: {},
  two_factors: { console: 'SIUD' },
  usage_anomalies: { worker: 'SD' },
  usage_days: { tenant: 'S', worker: 'SIU' },
  usage_hours: { tenant: 'S', worker: 'SIU' },
  usage_progress: { tenant: 'S', worker: 'SU' },
  users: { console: 'SIUD' },
  verifications: { console: 'SIUD', worker: 'sD' },
  wallet_alerts: { console: 's', tenant: 'SIUD', worker: 'Su' },
  wallets: { console: 's', tenant: 'Si', worker: 'S' },
}

const FUNCTIONS: Record<string, string[]> = {
  add_counts: ['console', 'gateway', 'tenant', 'worker'],
  audit_log_chain: [],
  audit_log_digest: ['console', 'gateway', 'tenant', 'worker'],
  bump_catalogue_version: [],
  ensure_partitions: ['gateway', 'worker'],
  first_id_of: ['console', 'gateway', 'tenant', 'worker'],
  forbid_change: [],
  grant_trial_credit: ['tenant', 'worker'],
  idempotency_claim: ['gateway'],
  ledger_apply: ['gateway'],
  ledger_collect: [],
  ledger_cover: [],
  ledger_credit_payment: ['console'],
  ledger_effect: [],
  ledger_extend: [],
  ledger_give_back: [],
  ledger_hold: [],
  ledger_refund_call: [],
  ledger_refund_owing: [],
  ledger_reverse: [],
  ledger_reverse_owing: [],
  ledger_settle: [],
  ledger_settle_late: [],
  ledger_settle_returns: ['console'],
  ledger_sweep: ['worker'],
  ledger_take_back: [],
  ledger_take_owing: [],
  ledger_transfer: [],
  note_change: [],
  open_transactions: ['worker'],
  tenant_context: ['tenant'],
  tenant_project: ['tenant'],
  tenant_publisher: ['tenant'],
  time_of_id: ['console', 'gateway', 'tenant', 'worker'],
}

/** Run with the owner's rights. `create or replace` forgets that unless it is said again. */
const DEFINERS = [
  'ensure_partitions',
  'grant_trial_credit',
  'idempotency_claim',
  'ledger_apply',
  'ledger_credit_payment',
  'ledger_settle_returns',
  'ledger_sweep',
  'open_transactions',
  'tenant_context',
]

const ROLES = ['console', 'gateway', 'matcher', 'tenant', 'worker']

let database: TestDatabase
let store: Store
let workerStore: Store
let client: Client
let project: TestProject

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'grants test' })
  workerStore = openTestStore({ url: loginUrl(database.url, 'worker'), applicationName: 'grants test worker' })
  client = new Client({ connectionString: database.url })
  await client.connect()
  project = await addProject(store, createSecrets([{ version: 1, bytes: Buffer.alloc(32, 3) }]))
})
after(async () => {
  await client.end()
  await workerStore.close()
  await store.close()
  await database.drop()
})

test('of every table it was decided who may do what, and nobody may do more', async () => {
  const { rows } = await client.query<{ name: string; role: string; rights: string }>(
    `select c.relname as name, r.role, (select string_agg(case
        when has_table_privilege('parley_' || r.role, c.oid, p.act) then upper(left(p.act, 1))
        when p.act <> 'delete' and has_any_column_privilege('parley_' || r.role, c.oid, p.act) then left(p.act, 1)
        else '' end, '' order by p.n)
      from unnest(array['select', 'insert', 'update', 'delete']) with ordinality as p (act, n)) as rights
     from pg_class c, unnest($1::text[]) as r (role)
     where c.relkind in ('r', 'p', 'v') and not c.relispartition and c.relnamespace = 'public'::regnamespace
     order by 1, 2`,
    [ROLES],
  )
  const found: typeof TABLES = {}
  for (const { name, role, rights } of rows) {
    found[name] ??= {}
    if (rights !== '') found[name][role] = rights
  }
  assert.deepEqual(found, TABLES)
})

test('of every function it was decided who may call it, nobody else may, and those with more rights have a fixed path', async () => {
  const { rows } = await client.query<{
    name: string
    roles: string[]
    is_public: boolean
    is_definer: boolean
    is_fixed: boolean
  }>(
    // Where several have the same name, their arguments tell them apart.
    `select case when count(*) over (partition by p.proname) > 1 then p.oid::regprocedure::text else p.proname end as name,
       array(select r.role from unnest($1::text[]) as r (role) where has_function_privilege('parley_' || r.role, p.oid, 'execute')
         order by 1) as roles,
       p.proacl is null or exists (select from aclexplode(p.proacl) a where a.grantee = 0) as is_public,
       p.prosecdef as is_definer, not p.prosecdef or coalesce(p.proconfig @> array['search_path=public, pg_temp'], false) as is_fixed
     from pg_proc p where p.pronamespace = 'public'::regnamespace order by 1`,
    [ROLES],
  )
  assert.deepEqual(Object.fromEntries(rows.map(({ name, roles }) => [name, roles])), FUNCTIONS)
  assert.deepEqual(
    rows.filter(({ is_definer }) => is_definer).map(({ name }) => name),
    DEFINERS,
  )
  assert.deepEqual(
    rows.filter(({ is_public, is_fixed }) => is_public || !is_fixed),
    [],
  )
})

test('row security narrows tenants and no plane: each table that has it has a policy for both', async () => {
  const { rows } = await client.query<{ name: string; policies: string[] }>(
    `select c.relname as name, array(select p.polname || ': ' || array_to_string(array(
         select r.rolname::text from pg_roles r where r.oid = any (p.polroles) order by 1), ' ')
       from pg_policy p where p.polrelid = c.oid order by 1) as policies
     from pg_class c where c.relrowsecurity and c.relnamespace = 'public'::regnamespace`,
  )
  const policies = ['planes: parley_console parley_gateway parley_matcher parley_worker', 'tenant: parley_tenant']
  assert.ok(rows.length > 20)
  for (const { name, policies: found } of rows) assert.deepEqual(found, policies, name)
})

test('nobody has rights on partitions, except that the worker reads them, also those that it made itself', async () => {
  await client.query(`do $$ begin
    execute 'drop table calls_' || to_char((now() at time zone 'utc')::date + 9, 'YYYYMMDD');
  end $$`)
  await ensurePartitions(workerStore.db)
  const { rows } = await client.query<{ roles: string[]; partitions: string }>(
    `select array(select r.role || ' ' || p.act from unnest($1::text[]) as r (role),
         unnest(array['select', 'insert', 'update', 'delete', 'truncate']) as p (act)
         where has_table_privilege('parley_' || r.role, c.oid, p.act)) as roles, count(*) as partitions
     from pg_class c where c.relispartition and c.relkind = 'r' group by 1`,
    [ROLES],
  )
  assert.deepEqual(rows, [{ roles: ['worker select'], partitions: String(3 * 17) }])
})

test('the worker may do everything that its jobs do', async () => {
  const { db } = workerStore
  const before = "now() - interval '1 year'"
  await client.query(`insert into conversations (project_id, id) values ('${project.id}', 'old')`)
  await client.query(`insert into messages (project_id, conversation_id, digest, occurrence, role, content, call_id, content_expires_at)
    values ('${project.id}', 'old', decode(md5('x'), 'hex'), 1, 'user', '{}', gen_random_uuid(), now() + interval '1 day')`)
  await client.query(`insert into retention_cuts (project_id, days) values ('${project.id}', 0)`)
  await client.query(`insert into idempotency_keys (project_id, key_digest, body_digest, call_id, gateway_id, created_at)
    values ('${project.id}', sha256(''), sha256(''), gen_random_uuid(), gen_random_uuid(), ${before})`)
  await client.query(`insert into throttles (subject, started_at) values (sha256(''), ${before})`)
  await client.query(`insert into gateways (id, beat_at) values (gen_random_uuid(), ${before})`)
  await client.query(
    `insert into conversation_restraints (project_id, digest, expires_at) values ('${project.id}', sha256(''), ${before})`,
  )
  await client.query(`insert into usage_anomalies (call_id, project_id, model_id, provider, anomalies, created_at)
    values (gen_random_uuid(), '${project.id}', 'm', 'p', '{missing}', ${before})`)
  await client.query(
    `insert into verifications (id, identifier, value, expires_at) values (gen_random_uuid(), 'x', 'x', ${before})`,
  )
  await client.query(`insert into holds (id, project_id, key_pair_id, model_id, price_version_id, gateway_id, amount_nanos)
    values ('${uuidv7()}', '${project.id}', gen_random_uuid(), 'm', 1, gen_random_uuid(), 1)`)
  await client.query(
    `update wallets set held_nanos = held_nanos + 1, open_holds = open_holds + 1 where project_id = '${project.id}'`,
  )
  assert.equal(await sweepHolds(db, 1_000, 1_000, 10), 1)
  assert.ok(await cutSome(db, 0))
  assert.ok(await cutSome(db, 0))
  assert.equal(await expireContent(db, 10), 1)
  assert.equal(await expireKeys(db, 1_000, 10), 1)
  assert.equal(await expireThrottles(db, 1_000, 10), 1)
  assert.equal(await expireRestraints(db, 10), 1)
  assert.equal(await expireAnomalies(db, 1_000, 10), 1)
  assert.equal(await expireProofs(db, 10), 1)
  assert.equal(await grantDueTrialCredits(db, 10), 0)
  assert.deepEqual(await sumAnomalies(db, { sinceMs: 1_000 }), [])
  await forgetDeadGateways(db, 1_000)
  assert.equal((await client.query('select from gateways')).rowCount, 0)
  const job = { db, log: createLog('silent'), metrics: createMetrics(), leaseMs: 1_000 }
  await reportLedgerCheck({ ...job, signal: new AbortController().signal })
  assert.equal((await client.query('select from audit_checkpoint')).rowCount, 1)
})
