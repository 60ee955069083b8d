import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { Client } from 'pg'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { applyWith } from '../../src/store/billing/ledger/ledger-batch.ts'
import { insertPayment, markPaid } from '../../src/store/billing/payments.ts'
import { creditWallet } from '../../src/store/billing/wallets.ts'
import type { Store } from '../../src/store/database.ts'
import type { Login } from '../../src/store/database-logins.ts'
import { listFunctions } from '../../src/store/sql-functions.ts'
import { ROOT } from '../support/commands.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { click as clickOnce, fund, show } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { settlementOf } from '../support/ledger.ts'
import { loginUrl } from '../support/logins.ts'
import { readTree } from '../support/source-tree.ts'
import { addModel, addProject, addProvider } from '../support/world.ts'

/**
 * While a new version is rolled out, processes of the version before call its functions. What they send, word for word, is in
 * test/fixtures/version-before, in a file for each function, with what they read of the answer. A statement stays there for as
 * long as a version that sends it may still run.
 */
const FOLDER = join(ROOT, 'test/fixtures/version-before')

interface Fixture {
  /** The commit of the version that sends it; a statement of an older one says so itself. */
  release: string
  login: Login | 'owner'
  /** In order, in one transaction. */
  statements: Statement[]
}

interface Statement {
  release?: string
  /** Where it has several lines, a list of them. */
  text: string | string[]
  /** `{project}` and its like stand for what `seed` has made, `{"json": …}` for a text. */
  values: unknown[]
  /** The columns that the code reads, with their PostgreSQL types. Others do not matter. */
  columns: Record<string, string>
  /** Values that are always the same in the rows. */
  rows: Record<string, unknown>[]
}

const fixtures = readdirSync(FOLDER).map((file) => ({
  name: file.replace(/\.json$/, ''),
  fixture: JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Fixture,
}))
let database: TestDatabase
let store: Store
let known: Record<string, string>
let types: Map<number, string>

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'version before test' })
  known = await seed()
  const { rows } = await sql<{ id: number; name: string }>`select oid::int as id, typname as name from pg_type`.execute(
    store.db,
  )
  types = new Map(rows.map(({ id, name }) => [id, name]))
})
after(async () => {
  await store.close()
  await database.drop()
})

/** A project that was topped up, with a click that was paid for, a call that was settled, one whose gateway is dead, and a payment that was made. */
async function seed(): Promise<Record<string, string>> {
  const { db } = store
  const secrets = createSecrets([{ version: 1, bytes: randomBytes(32) }])
  await addProvider(store, secrets, 'simulator', 'http://127.0.0.1:9/v1')
  await addModel(store, { id: 'sim-small', provider: 'simulator' })
  const { id: project, publisherId: publisher } = await addProject(store, secrets)
  const { id: pair } = await db.selectFrom('key_pairs').select('id').executeTakeFirstOrThrow()
  const { id: price } = await db.selectFrom('price_versions').select('id').executeTakeFirstOrThrow()
  const [call, settled, gateway, topup] = [uuidv7(), uuidv7(), uuidv7(), uuidv7()]

  const client = await connect('owner')
  const apply = applyWith({ pool: client, gatewayId: uuidv7() })
  for (const callId of [settled, uuidv7()]) {
    const request = { callId, projectId: project, keyPairId: pair, modelId: 'sim-small', priceVersion: price }
    await apply([{ part: 'hold', request: { ...request, want: 700n, min: 1n, hasIdempotencyKey: false } }])
  }
  await apply([{ part: 'settle', settlement: settlementOf(settled, project, 700n) }])
  await client.end()

  await creditWallet(db, { id: topup, projectId: project, amount: 100n, kind: 'topup', reference: 'x', reason: null })
  await insertPayment(db, { sessionId: 'cs_1', projectId: project, amount: 10_000_000n, currency: 'usd' })
  await markPaid(db, 'cs_1', 'pi_1', 0n)
  await sql`insert into payment_returns (id, payment_intent, kind, amount_nanos)
    values ('re_1', 'pi_1', 'refund', 4000000)`.execute(db)
  await sql`update publishers set trial_credit_nanos = 5`.execute(db)
  await sql`insert into audit_log (publisher_id, actor, action) values (${publisher}, 'Ada', 'project.created')`.execute(
    db,
  )
  await sql`insert into idempotency_keys (project_id, key_digest, body_digest, call_id, gateway_id)
    values (${project}, decode(repeat('01', 32), 'hex'), decode(repeat('02', 32), 'hex'), ${call}, ${gateway})`.execute(
    db,
  )
  const match = await addOffer(db)
  await fund(db, match.advertiserId, 1_000_000_000n)
  await sql`insert into advertiser_payments (session_id, advertiser_id, amount_nanos, currency, state, payment_intent, paid_at)
    values ('cs_2', ${match.advertiserId}, 10000000, 'usd', 'paid', 'pi_2', now())`.execute(db)
  await sql`insert into payment_returns (id, payment_intent, kind, amount_nanos)
    values ('re_2', 'pi_2', 'refund', 4000000)`.execute(db)
  await sql`update advertisers set conversion_key_digest = decode(repeat('03', 32), 'hex')`.execute(db)
  const [recommendation = ''] = await show(db, match, project)
  const click = uuidv7()
  await clickOnce(db, recommendation, { id: click })
  const { key } = await db.selectFrom('tenant_key').select('key').executeTakeFirstOrThrow()
  const nowMs = Date.now()
  const expires = Math.floor(nowMs / 1_000) + 3_600
  return {
    publisher,
    project,
    pair,
    price: String(price),
    call,
    settled,
    gateway,
    topup,
    advertiser: match.advertiserId,
    recommendation,
    click,
    id: uuidv7(),
    now: new Date(nowMs + 1_000).toISOString(),
    yesterday: new Date(nowMs - 24 * 3_600_000).toISOString(),
    signed: signed(`${publisher}/${project}/${expires}`, key),
    signedAdvertiser: signed(`advertiser:${match.advertiserId}//${expires}`, key),
  }
}

/** As the version before signs a tenant. */
function signed(tenant: string, key: Buffer): string {
  return `${tenant}/${createHmac('sha256', key).update(tenant).digest('hex')}`
}

async function connect(login: Fixture['login']): Promise<Client> {
  const client = new Client({ connectionString: login === 'owner' ? database.url : loginUrl(database.url, login) })
  await client.connect()
  return client
}

function filledIn<T>(value: T): T {
  const text = JSON.stringify(value).replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? assert.fail(name))
  return JSON.parse(text) as T
}

function parameterOf(value: unknown): unknown {
  const isJson = typeof value === 'object' && value !== null && 'json' in value
  return isJson ? JSON.stringify(value.json) : value
}

for (const { name, fixture } of fixtures) {
  test(`what the version before asks of ${name} is answered as it expects`, async () => {
    const client = await connect(fixture.login)
    try {
      await client.query('begin')
      for (const statement of fixture.statements) {
        const { text, values, columns, rows } = filledIn(statement)
        const answer = await client.query({ text: [text].flat().join('\n'), values: values.map(parameterOf) })
        const found = Object.fromEntries(answer.fields.map((field) => [field.name, types.get(field.dataTypeID)]))
        assert.partialDeepStrictEqual(found, columns)
        assert.equal(answer.rows.length, rows.length)
        assert.partialDeepStrictEqual(answer.rows, rows)
      }
    } finally {
      await client.end()
    }
  })
}

test('each function that the store calls is asked as the version before does', async () => {
  const sources = readTree(ROOT, 'src/store').filter(({ path }) => !/\.(?:test|gen)\.ts$/.test(path))
  const text = sources.map((file) => file.text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')).join('\n')
  const called = (await listFunctions())
    .map(({ name }) => name)
    .filter((name) => new RegExp(`\\b${name}\\b`).test(text))
  assert.ok(called.includes('ledger_apply') && called.includes('ledger_reverse_owing'))
  const covered = new Set(fixtures.map(({ name }) => name))
  assert.deepEqual(
    called.filter((name) => !covered.has(name)),
    [],
  )
})
