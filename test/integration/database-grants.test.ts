import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import type { Store } from '../../src/store/database.ts'
import { ensurePartitions } from '../../src/store/partitions.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'

/**
 * The rights of each role on each table and function. Something new is in neither list and fails here: decide who needs it,
 * say so in its migration or its file in functions/ (`grant …`), and write it down below. Letters: s select, i insert,
 * u update, d delete; capital ones are for all columns, small ones for those in COLUMNS.
 */
const TABLES: Record<string, Partial<Record<string, string>>> = {
  accounts: { tenant: 'Si', worker: 'S' },
  advertiser_days: { advertiser: 'S', worker: 'SIUD' },
  advertiser_days_progress: { advertiser: 'S', worker: 'SU' },
  advertiser_members: { advertiser: 'SIuD', console: 'SID' },
  advertiser_offer_months: { advertiser: 'S', worker: 'SIUD' },
  advertiser_payments: { advertiser: 'Si', console: 'Su' },
  advertiser_people: { advertiser: 'S' },
  advertiser_wallets: { advertiser: 'S', console: 'S', worker: 'S', matcher: 'S' },
  advertisers: { advertiser: 'Su', console: 'Si', gateway: 's', matcher: 'S', tenant: 's', worker: 's' },
  alert_rules: { tenant: 'SIUD', worker: 'S' },
  alerts: { tenant: 'SIuD', worker: 'SD' },
  applied_functions: {},
  audit_checkpoint: { worker: 'SIUD' },
  audit_log: { advertiser: 'SI', console: 'SI', tenant: 'SI', worker: 'SI' },
  audit_sums: { worker: 'SIUD' },
  auto_top_ups: { console: 'Su', tenant: 'SIUD', worker: 'Su' },
  availability_days: { console: 'S', worker: 'SIUD' },
  availability_slots: { console: 'S', worker: 'SIUD' },
  browser_sessions: { gateway: 'S', tenant: 'su', worker: 's' },
  call_metadata: { gateway: 'I', tenant: 'SD', worker: 'sD' },
  calls: { gateway: 'S', tenant: 'S', worker: 'S' },
  campaign_chances: { advertiser: 'S', worker: 'SD', matcher: 'SIU' },
  campaign_days: { advertiser: 'S', gateway: 'S', worker: 'S', matcher: 'S' },
  campaign_totals: { advertiser: 'S', gateway: 'S', worker: 'S', matcher: 'S' },
  campaigns: { advertiser: 'Siu', console: 'S', gateway: 'S', matcher: 'S', worker: 's' },
  catalogue_version: { console: 'S', gateway: 'S' },
  charges: { gateway: 'S', tenant: 'S', worker: 'S' },
  click_days: { tenant: 'S' },
  click_salts: { gateway: 'S', worker: 'sD' },
  clicks: { gateway: 'S', tenant: 's', worker: 'S' },
  conversation_restraints: { gateway: 'SIU', worker: 'SuD' },
  conversation_sums: { tenant: 'SD', worker: 'SIUD' },
  conversations: { gateway: 'SIU', tenant: 'SUD', worker: 'SuD' },
  conversions: { worker: 'sD' },
  credentials: { console: 'SIUD' },
  deployments: { console: 'S', gateway: 'S', tenant: 's', worker: 's' },
  domains: { console: 's', gateway: 's', tenant: 'SIU', worker: 'Su' },
  earnings: { console: 's', tenant: 'S', worker: 'S' },
  encoders: { matcher: 'SIU', worker: 'S' },
  end_user_days: { tenant: 'SD', worker: 'SIUD' },
  end_user_erasures: { gateway: 'S', tenant: 'SIU', worker: 'SD' },
  end_users: { gateway: 'SIu', tenant: 'SD', worker: 'SD' },
  feed_runs: { advertiser: 'S', worker: 'SIUD' },
  feed_uploads: { advertiser: 'siuD', worker: 'SUD' },
  feeds: { advertiser: 'Siu', console: 'S', matcher: 'S', worker: 'SiU' },
  gateways: { gateway: 'SIUD', worker: 'SD' },
  holds: { gateway: 'S', tenant: 'S', worker: 'S' },
  idempotency_keys: { gateway: 'sD', tenant: 'sD', worker: 'SD' },
  ignored_fields: { gateway: 'SIu', tenant: 'S', worker: 'sD' },
  invitations: { advertiser: 'SIuD', console: 'SD', tenant: 'SIuD', worker: 'sD' },
  journal: { tenant: 'S' },
  key_pairs: { console: 'su', gateway: 'Su', tenant: 'SIU', worker: 's' },
  limit_counts: { gateway: 'S', tenant: 'S', worker: 'S' },
  limit_states: { gateway: 'S', tenant: 'S', worker: 'S' },
  limits: { gateway: 'S', tenant: 'S', worker: 'S' },
  mails: { advertiser: 'I', console: 'I', tenant: 'I', worker: 'SuD' },
  matchers: { matcher: 'SIUD', tenant: 's' },
  members: { tenant: 'S' },
  memberships: { console: 'SIuD', tenant: 'SIuD' },
  message_words: {},
  messages: { gateway: 'sI', tenant: 'SUD', worker: 'suD' },
  migrations: { console: 'S', gateway: 'S', matcher: 'S', worker: 'S' },
  models: { console: 'S', gateway: 'S', tenant: 'S' },
  monetization: { console: 's', gateway: 'S', tenant: 'SIU' },
  offer_stops: { advertiser: 's', gateway: 'S', tenant: 'S' },
  offers: { advertiser: 's', console: 'S', gateway: 's', matcher: 'S', tenant: 's', worker: 'SIUD' },
  passkeys: { console: 'SIUD' },
  payment_returns: { console: 'SIu' },
  payments: { console: 'SIu', tenant: 'Si', worker: 'SIu' },
  price_versions: { console: 'S', gateway: 'S', tenant: 'S', worker: 'S' },
  projects: { console: 'S', gateway: 'S', tenant: 'Siu', worker: 'S' },
  provider_keys: { console: 's', gateway: 'Su' },
  providers: { console: 's', gateway: 'S', tenant: 's', worker: 's' },
  public_figures: { console: 'S', worker: 'SIU' },
  publishers: { console: 'SIu', gateway: 's', tenant: 'Su', worker: 'S' },
  recommendation_days: { tenant: 'S' },
  recommendation_outcomes: { gateway: 'SIU', tenant: 'S', worker: 'sD' },
  recommendation_reports: { tenant: 's', worker: 'sD' },
  recommendation_switch: { matcher: 'S', tenant: 'S' },
  recommendations: { console: 's', gateway: 'SIu', tenant: 'S', worker: 'su' },
  refused_requests: { gateway: 'SIu', tenant: 'S', worker: 'sD' },
  retention_cuts: { tenant: 'SIUD', worker: 'SuD' },
  saved_prompts: { tenant: 'SIuD' },
  sealed_days: { worker: 'S' },
  sealed_sums: { worker: 'S' },
  secret_versions: { console: 'SI', gateway: 'SI', matcher: 'SI', worker: 'SI' },
  sessions: { console: 'SIUD', worker: 'sD' },
  tenant_key: { console: 'S', worker: 'S' },
  text_vectors: { matcher: 'SI', worker: 'sD' },
  throttles: { console: 'SIUD', worker: 'sD' },
  transfers: { console: 'S', gateway: 'S', tenant: 'S', worker: 'S' },
  trial_claims: {},
  two_factors: { console: 'SIUD' },
  usage_anomalies: { worker: 'SD' },
  usage_days: { tenant: 'S', worker: 'SIU' },
  usage_hours: { tenant: 'S', worker: 'SIUD' },
  usage_progress: { console: 'S', tenant: 'S', worker: 'SU' },
  users: { console: 'SIUD' },
  verifications: { console: 'SIUD', worker: 'sD' },
  wallet_alerts: { console: 's', tenant: 'SIUD', worker: 'Su' },
  wallet_cards: { console: 'SIu', tenant: 'Su', worker: 'SD' },
  wallets: { console: 's', gateway: 's', tenant: 'Si', worker: 'S' },
  webhook_deliveries: { console: 'sI', tenant: 'SIu', worker: 'SIu' },
  webhook_endpoints: { console: 's', tenant: 'SIUD', worker: 'Su' },
  webhook_events: { console: 'I', tenant: 'SID', worker: 'SID' },
}

/** The columns that a small letter stands for. */
const COLUMNS: Record<string, Record<string, string>> = {
  accounts: { 'tenant insert': 'id kind project_id' },
  advertiser_members: { 'advertiser update': 'role' },
  advertiser_payments: {
    'advertiser insert': 'advertiser_id amount_nanos currency session_id',
    'console update': 'paid_at payment_intent problem state tax_nanos',
  },
  advertisers: {
    'advertiser update': 'domain_proven_by domain_verified_at',
    'console insert': 'domain id legal_name name',
    'gateway select': 'adds_click_id domain id legal_name name status tracking_template',
    'tenant select': 'domain id name status',
    'worker select': 'domain domain_verified_at id name status',
  },
  alerts: { 'tenant update': 'closed_at mailed_at' },
  auto_top_ups: {
    'console update': 'declines next_try_at paused_at',
    'worker update': 'declines next_try_at paused_at untold_failure',
  },
  browser_sessions: {
    'tenant select':
      'calls_made calls_max created_at end_user_id expires_at id key_pair_id max_tokens models origins project_id secret_last4',
    'tenant update': 'expires_at',
    'worker select': 'expires_at project_id',
  },
  call_metadata: { 'worker select': 'call_id expires_at key project_id' },
  campaigns: {
    'advertiser insert':
      'advertiser_id bid_nanos context_hints daily_budget_nanos ends_at id name negative_hints pacing starts_at status total_budget_nanos',
    'advertiser update':
      'bid_nanos context_hints daily_budget_nanos ends_at negative_hints pacing starts_at status total_budget_nanos',
    'worker select': 'context_hints id name negative_hints',
  },
  click_salts: { 'worker select': 'day' },
  clicks: {
    'tenant select':
      'advertiser_id campaign_id id offer_id price_nanos project_id recommendation_id share_nanos state verdict',
  },
  conversation_restraints: { 'worker update': 'expires_at' },
  conversations: { 'worker update': 'last_call_at' },
  conversions: {
    'worker select': 'advertiser_id campaign_id click_id created_at id offer_id verdict',
  },
  deployments: { 'tenant select': 'enabled id model_id provider_id', 'worker select': 'enabled model_id provider_id' },
  domains: {
    'console select': 'name project_id verified_at',
    'gateway select': 'name project_id verified_at',
    'worker update': 'next_check_at',
  },
  earnings: { 'console select': 'pending_nanos project_id' },
  end_users: { 'gateway update': 'label last_seen_at' },
  feed_uploads: {
    'advertiser select':
      'advertiser_id campaign_id created_at currency due_at feed file_name id is_removal_confirmed problem report state',
    'advertiser insert': 'advertiser_id campaign_id currency feed file file_name id',
    'advertiser update': 'due_at is_removal_confirmed state',
  },
  feeds: {
    'advertiser insert': 'advertiser_id campaign_id id name',
    // Until when its offers may be recommended, only an import says.
    'advertiser update':
      'campaign_id currency etag failures fetch_every is_paused is_removal_confirmed last_error last_modified next_fetch_at removed_at source_url',
    'worker insert': 'advertiser_id campaign_id id name',
  },
  idempotency_keys: {
    'gateway select': 'call_id created_at gateway_id project_id result',
    'tenant select': 'conversation_id project_id',
  },
  ignored_fields: { 'gateway update': 'last_at times', 'worker select': 'day name project_id' },
  invitations: {
    'advertiser update': 'expires_at invited_by inviter_id role',
    'tenant update': 'expires_at invited_by inviter_id role',
    'worker select': 'expires_at id',
  },
  key_pairs: {
    'console select': 'active created_by deleted_at project_id',
    'console update': 'active deleted_at',
    'gateway update': 'last_used_at',
    'worker select': 'deleted_at id name',
  },
  mails: { 'worker update': 'attempts given_up_at next_attempt_at sealed_body sent_at' },
  matchers: { 'tenant select': 'beat_at offers state' },
  memberships: { 'console update': 'role', 'tenant update': 'role' },
  messages: {
    'gateway select': 'digest occurrence',
    'worker select': 'content content_expires_at conversation_id created_at digest occurrence project_id',
    'worker update': 'content content_expires_at',
  },
  monetization: { 'console select': 'is_library_public project_id' },
  offer_stops: { 'advertiser select': 'offer_id' },
  offers: {
    'advertiser select':
      'advertiser_id availability benefit brand campaign_id category created_at currency feed_id headline id image_link item_id link price removed_at review review_reason reviewed_at title',
    'gateway select': 'advertiser_id category headline id link removed_at review',
    'tenant select': 'advertiser_id benefit category headline id link',
  },
  payment_returns: { 'console update': 'amount_nanos reinstated stage told_at' },
  payments: {
    'console update': 'paid_at payment_intent problem saves_card state tax_nanos',
    'tenant insert': 'amount_nanos currency project_id saves_card session_id',
    'worker update': 'failure paid_at payment_intent problem state tax_nanos',
  },
  projects: {
    'tenant insert': 'id name publisher_id',
    'tenant update': 'allowed_models archived_at content_retention_days name onboarding_dismissed_at',
  },
  provider_keys: { 'console select': 'enabled provider_id', 'gateway update': 'rejected_at rejected_status' },
  providers: {
    'console select': 'enabled id kind name unsupported_fields',
    'tenant select': 'enabled id kind name',
    'worker select': 'id name',
  },
  publishers: {
    'console update': 'activated_at confirmation_awaited_from email name trial_credit_nanos',
    'gateway select': 'activated_at id',
    'tenant update': 'name',
  },
  recommendation_outcomes: { 'worker select': 'hour outcome project_id' },
  recommendation_reports: {
    'tenant select': 'created_at offer_id project_id reason recommendation_id resolved_at',
    'worker select': 'created_at recommendation_id',
  },
  recommendations: {
    'console select': 'advertiser_id headline id label project_id state',
    'gateway update': 'state',
    'worker select': 'advertiser_id campaign_id created_at headline hint id offer_id state',
    'worker update': 'headline',
  },
  refused_requests: { 'gateway update': 'last_at times', 'worker select': 'id project_id' },
  retention_cuts: { 'worker update': 'due_at is_last reached' },
  saved_prompts: { 'tenant update': 'content model name saved_at saved_by' },
  sessions: { 'worker select': 'expires_at id' },
  text_vectors: { 'worker select': 'digest model' },
  throttles: { 'worker select': 'started_at subject' },
  verifications: { 'worker select': 'expires_at id' },
  wallet_alerts: { 'console select': 'project_id threshold_nanos', 'worker update': 'told_at' },
  wallet_cards: { 'console update': 'removed_at', 'tenant update': 'removed_at' },
  wallets: {
    'console select': 'balance_nanos held_nanos owed_nanos project_id',
    'gateway select': 'balance_nanos held_nanos minute_requests minute_started_at minute_tokens open_holds project_id',
    'tenant insert': 'has_limits project_id',
  },
  webhook_deliveries: {
    'console select': 'endpoint_id state',
    'tenant update': 'attempts gives_up_at leased_until next_attempt_at seq state',
    'worker update': 'attempts last_attempt_at last_error last_status leased_until next_attempt_at state',
  },
  webhook_endpoints: {
    'console select': 'enabled event_types id project_id',
    'worker update': 'failing_since old_sealed_secret old_secret_ends_at',
  },
}

const FUNCTIONS: Record<string, string[]> = {
  add_counts: ['console', 'gateway', 'tenant', 'worker'],
  add_missing_words: ['worker'],
  advertiser_account: [],
  advertiser_forget: ['console'],
  advertiser_movements: ['advertiser'],
  audit_log_chain: [],
  audit_log_digest: ['advertiser', 'console', 'gateway', 'tenant', 'worker'],
  browser_session_begin: ['gateway'],
  browser_sessions_forget: ['worker'],
  bump_catalogue_version: [],
  click_reverse: [],
  click_salt: ['gateway'],
  clicks_apply: ['gateway'],
  clicks_before: [],
  clicks_charge: [],
  clicks_sum: [],
  conversion_record: ['gateway'],
  create_sandbox: ['console'],
  earnings_account: [],
  earnings_release: ['worker'],
  ensure_partitions: ['gateway', 'worker'],
  erase_conversation_leftovers: ['worker'],
  find_shown: ['gateway'],
  first_id_of: ['console', 'gateway', 'tenant', 'worker'],
  forbid_change: [],
  grant_trial_credit: ['tenant', 'worker'],
  idempotency_claim: ['gateway'],
  keep_message_words: [],
  ledger_apply: ['gateway'],
  ledger_collect: [],
  ledger_cover: [],
  ledger_credit_advertiser: ['console'],
  ledger_credit_payment: ['console', 'worker'],
  ledger_effect: [],
  ledger_extend: [],
  ledger_free_wallets: ['gateway'],
  ledger_give_back: [],
  ledger_hold: [],
  ledger_refund_call: [],
  ledger_refund_owing: [],
  ledger_reverse: [],
  ledger_reverse_owing: [],
  ledger_settle: [],
  ledger_settle_advertiser_returns: ['console'],
  ledger_settle_late: [],
  ledger_settle_returns: ['console', 'worker'],
  ledger_sweep: ['worker'],
  ledger_take_back: [],
  ledger_take_owing: [],
  ledger_transfer: [],
  limits_adopt: [],
  limits_check: [],
  limits_erase: ['tenant'],
  limits_forget: ['worker'],
  limits_hold: [],
  limits_left: [],
  limits_note: [],
  limits_set: ['tenant'],
  limits_settle: [],
  limits_spend: [],
  limits_states_of: [],
  make_partition: ['gateway', 'worker'],
  may_be_advertised: ['gateway'],
  message_text: [],
  message_word_keys: [],
  note_change: [],
  open_transactions: ['worker'],
  rates_tightest: [],
  recommendation_report: ['gateway'],
  search_messages: ['tenant'],
  shown_count: [],
  tenant_advertiser: ['advertiser'],
  tenant_context: ['advertiser', 'tenant'],
  tenant_project: ['tenant'],
  tenant_publisher: ['tenant'],
  time_of_id: ['console', 'gateway', 'tenant', 'worker'],
}

/** Run with the owner's rights. `create or replace` forgets that unless it is said again. */
const DEFINERS = [
  'add_missing_words',
  'advertiser_forget',
  'advertiser_movements',
  'browser_session_begin',
  'browser_sessions_forget',
  'click_salt',
  'clicks_apply',
  'conversion_record',
  'create_sandbox',
  'earnings_release',
  'ensure_partitions',
  'erase_conversation_leftovers',
  'grant_trial_credit',
  'idempotency_claim',
  'keep_message_words',
  'ledger_apply',
  'ledger_credit_advertiser',
  'ledger_credit_payment',
  'ledger_free_wallets',
  'ledger_settle_advertiser_returns',
  'ledger_settle_returns',
  'ledger_sweep',
  'limits_erase',
  'limits_forget',
  'limits_set',
  'make_partition',
  'open_transactions',
  'recommendation_report',
  'search_messages',
  'shown_count',
  'tenant_context',
]

const ROLES = ['advertiser', 'console', 'gateway', 'matcher', 'tenant', 'worker']

let database: TestDatabase
let workerStore: Store
let client: Client

before(async () => {
  database = await createTestDatabase()
  workerStore = openTestStore({ url: loginUrl(database.url, 'worker'), applicationName: 'grants test worker' })
  client = new Client({ connectionString: database.url })
  await client.connect()
})
after(async () => {
  await client.end()
  await workerStore.close()
  await database.drop()
})

test('of every table and its columns it was decided who may do what, and nobody may do more', async () => {
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
  const names = new Set(rows.map(({ name }) => name))
  assert.deepEqual([...names], Object.keys(TABLES))
  const columns = await grantedColumns()
  assert.deepEqual([...columns.keys()], Object.keys(COLUMNS))
  for (const table of names) {
    const found = rows.filter(({ name, rights }) => name === table && rights !== '')
    assert.deepEqual(Object.fromEntries(found.map(({ role, rights }) => [role, rights])), TABLES[table], table)
    assert.deepEqual(Object.fromEntries(columns.get(table) ?? []), COLUMNS[table] ?? {}, table)
  }
})

/** The columns of each table on which a role has a right that it does not have on the whole table. */
async function grantedColumns(): Promise<Map<string, [right: string, columns: string][]>> {
  const { rows } = await client.query<{ name: string; right: string; columns: string }>(
    `select c.relname as name, r.role || ' ' || p.act as right, string_agg(a.attname, ' ' order by a.attname) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped,
       unnest($1::text[]) as r (role), unnest(array['select', 'insert', 'update']) as p (act)
     where c.relkind in ('r', 'p', 'v') and not c.relispartition and c.relnamespace = 'public'::regnamespace
       and not has_table_privilege('parley_' || r.role, c.oid, p.act)
       and has_column_privilege('parley_' || r.role, c.oid, a.attnum, p.act)
     group by 1, 2 order by 1, 2`,
    [ROLES],
  )
  const byTable = Map.groupBy(rows, ({ name }) => name)
  return new Map([...byTable].map(([name, found]) => [name, found.map(({ right, columns }) => [right, columns])]))
}

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
  assert.deepEqual(
    rows.map(({ name }) => name),
    Object.keys(FUNCTIONS),
  )
  for (const { name, roles } of rows) assert.deepEqual(roles, FUNCTIONS[name], name)
  assert.deepEqual(
    rows.filter(({ is_definer }) => is_definer).map(({ name }) => name),
    DEFINERS,
  )
  assert.deepEqual(
    rows.filter(({ is_public, is_fixed }) => is_public || !is_fixed),
    [],
  )
})

/** Tables in which advertisers see or change their own rows: all on which their role has a right, except the two named here. */
const ADVERTISERS = new Set(
  Object.keys(TABLES).filter((name) => TABLES[name]?.advertiser && !['advertiser_people', 'mails'].includes(name)),
)

test('row security narrows tenants and no plane: each table that has it has a policy for both', async () => {
  const { rows } = await client.query<{ name: string; policies: string[] }>(
    `select c.relname as name, array(select p.polname || ': ' || array_to_string(array(
         select r.rolname::text from pg_roles r where r.oid = any (p.polroles) order by 1), ' ')
       from pg_policy p where p.polrelid = c.oid order by 1) as policies
     from pg_class c where c.relrowsecurity and c.relnamespace = 'public'::regnamespace`,
  )
  assert.ok(rows.length > 20)
  for (const { name, policies: found } of rows) {
    const policies = [
      ...(ADVERTISERS.has(name) ? ['advertiser: parley_advertiser'] : []),
      'planes: parley_console parley_gateway parley_matcher parley_worker',
      ...(ADVERTISERS.has(name) && !TABLES[name]?.tenant ? [] : ['tenant: parley_tenant']),
    ]
    assert.deepEqual(found, policies, name)
    assert.ok(policies.length > 1, name)
  }
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
