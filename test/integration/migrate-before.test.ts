import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Client } from 'pg'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Store } from '../../src/store/database.ts'
import { listMigrations, MIGRATIONS_TABLE, type Migration } from '../../src/store/migrations.ts'
import { FUNCTIONS_TABLE, listFunctions } from '../../src/store/sql-functions.ts'
import { ROOT } from '../support/commands.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { addProject } from '../support/world.ts'

/**
 * Between two migrations, and for as long as the last one waits for its locks, the version before works on new tables with its
 * own functions. Those that have changed since are in test/fixtures/functions-before, as that version had them.
 */
const FUNCTIONS_BEFORE = join(ROOT, 'test/fixtures/functions-before')
/** The newest migration of that version. */
const NEWEST_BEFORE = '0033_extra_body.sql'
/** Made since. */
const NEW_FUNCTIONS = new Set([
  'add_missing_words',
  'advertiser_account',
  'browser_session_begin',
  'browser_sessions_forget',
  'click_reverse',
  'click_salt',
  'clicks_apply',
  'clicks_before',
  'clicks_charge',
  'clicks_sum',
  'create_sandbox',
  'earnings_account',
  'earnings_release',
  'keep_message_words',
  'limits_note',
  'message_text',
  'message_word_keys',
  'search_messages',
  'shown_count',
])

let database: TestDatabase
let client: Client
let store: Store | undefined
let pending: Migration[]
let known: { project: string; pair: string; price: string }

before(async () => {
  database = await createTestDatabase()
  client = new Client({ connectionString: database.url })
  await client.connect()
  await client.query('drop schema public cascade; create schema public')
  await client.query(`${MIGRATIONS_TABLE}; ${FUNCTIONS_TABLE}`)
  const migrations = await listMigrations()
  for (const { name, sql } of migrations) if (name <= NEWEST_BEFORE) await client.query(sql)
  pending = migrations.filter(({ name }) => name > NEWEST_BEFORE)
  await client.query('set check_function_bodies = off')
  for (const text of await functionsBefore()) await client.query(text)
  store = openTestStore({ url: database.url, applicationName: 'migrate before test' })
  known = await seed(store)
})
after(async () => {
  await store?.close()
  await client.end()
  await database.drop()
})

async function functionsBefore(): Promise<string[]> {
  const changed = new Map(
    readdirSync(FUNCTIONS_BEFORE).map((file) => [file, readFileSync(join(FUNCTIONS_BEFORE, file), 'utf8')]),
  )
  const then = (await listFunctions()).filter(({ name }) => !NEW_FUNCTIONS.has(name))
  return then.map(({ name, sql }) => changed.get(`${name}.sql`) ?? sql)
}

/** A project with limits: they are where most of a hold is. */
async function seed(store: Store) {
  const secrets = createSecrets([{ version: 1, bytes: randomBytes(32) }])
  const { id: project } = await addProject(store, secrets)
  await client.query(`insert into models (id, owned_by) values ('sim-small', 'simulator')`)
  const { rows: prices } = await client.query<{ id: string }>(
    `insert into price_versions (model_id, input, cached_input, cache_write,
       output, reasoning, effective_from) values ('sim-small', 1, 1, 1, 1, 1, now())
     returning id::text`,
  )
  const { rows: pairs } = await client.query<{ id: string }>('select id from key_pairs')
  await client.query('update wallets set has_limits = true')
  return { project, pair: pairs[0]?.id ?? '', price: prices[0]?.id ?? '' }
}

/** As the version before asks. */
async function apply(parts: { settles?: object; holds?: object }): Promise<unknown[]> {
  const jsonOf = (row: object | undefined) => row && JSON.stringify([{ n: 1, project_id: known.project, ...row }])
  const { rows } = await client.query<{ part: string; amount_nanos: string; refusal: string | null }>(
    'select * from ledger_apply($1, $2, $3, $4, $5)',
    [uuidv7(), [known.project], jsonOf(parts.settles), undefined, jsonOf(parts.holds)],
  )
  return rows.map(({ part, amount_nanos, refusal }) => [part, amount_nanos, refusal])
}

async function callOnce(): Promise<unknown[]> {
  const id = uuidv7()
  const asked = { key_pair_id: known.pair, model_id: 'sim-small', price_version_id: known.price, has_key: false }
  const tokens = { cached_input_tokens: 0, cache_write_tokens: 0, output_tokens: 5, reasoning_tokens: 0 }
  const told = { usage_source: 'reported', outcome: 'completed', request_id: 'test', streamed: false, status: 200 }
  const bill = { bill_nanos: '700', usage_nanos: '700', input_tokens: 10, ...tokens }
  return [
    ...(await apply({ holds: { id, want_nanos: '1000', min_nanos: '10', ...asked } })),
    ...(await apply({ settles: { id, ...bill, ...told, duration_ms: 2, attempts: [], has_key: false } })),
  ]
}

test('after each migration but the last, the version before holds credit and charges with its own functions', async () => {
  const answers = [
    ['hold', '1000', null],
    ['settle', '700', null],
  ]
  assert.deepEqual(await callOnce(), answers)
  for (const { name, sql } of pending.slice(0, -1)) {
    await client.query(sql)
    assert.deepEqual(await callOnce(), answers, name)
  }
})
