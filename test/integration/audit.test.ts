import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { Client } from 'pg'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { billFor, type CallOutcome } from '../../src/rules/billing/charging.ts'
import { INVARIANTS, type Invariant } from '../../src/rules/billing/invariants.ts'
import type { Price } from '../../src/rules/billing/pricing.ts'
import { NO_USAGE, type Usage } from '../../src/rules/billing/usage.ts'
import { checkLedger, type LedgerCheck } from '../../src/store/billing/ledger-check/ledger-check.ts'
import type { Db, Store } from '../../src/store/database.ts'
import { beat } from '../../src/store/billing/gateways.ts'
import type { Ledger } from '../../src/store/billing/ledger/ledger.ts'
import { sweepHolds } from '../../src/store/billing/wallets.ts'
import { reportLedgerCheck } from '../../src/worker/check-ledger.ts'
import { parley } from '../support/commands.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { createTestLedger, settlementOf } from '../support/ledger.ts'
import { here } from '../support/operator.ts'
import { addModel, addProject, addProvider, credit, PRICE } from '../support/world.ts'

const LEASE_MS = 60_000
const secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }])
const gatewayId = uuidv7()

/** A ledger with one of everything. */
interface Books {
  project: string
  keyPairId: string
  /** Calls by how they ended; 'running' has only a hold. */
  calls: Record<'completed' | 'overran' | 'estimated' | 'hung_up' | 'failed' | 'swept' | 'running', string>
}
let database: TestDatabase
let store: Store
let workerStore: Store
let books: Books

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'audit test' })
  workerStore = openTestStore({ url: loginUrl(database.url, 'worker'), applicationName: 'audit test worker' })
  await addProvider(store, secrets, 'none', 'http://127.0.0.1:9')
  await addModel(store, { id: 'm', provider: 'none' })
  await addModel(store, { id: 'other', provider: 'none' })
  const { id } = await addProject(store, secrets, { credits: '10' })
  await addProject(store, secrets, { credits: '0' })
  const key = await store.db.selectFrom('key_pairs').select('id').where('project_id', '=', id).executeTakeFirstOrThrow()
  books = { project: id, keyPairId: key.id, calls: await callsOfEveryKind(store, id, key.id) }
  for (const table of TABLES) await sql`create table ${saved(table)} as table ${sql.table(table)}`.execute(store.db)
  for (const [table, constraint] of GUARDS) {
    await sql`alter table ${sql.table(table)} drop constraint ${sql.ref(constraint)}`.execute(store.db)
  }
})
after(async () => {
  await workerStore.close()
  await store.close()
  await database.drop()
})

const TABLES = ['charges', 'calls', 'transfers', 'wallets', 'holds', 'gateways']
const saved = (table: string) => sql.table(`saved_${table}`)
/** Constraints that refuse some of what is tried here: the audit must not rely on them. */
const GUARDS: [table: string, constraint: string][] = [
  ['charges', 'never_more_than_used'],
  ['charges', 'only_these_outcomes_are_charged'],
  ['charges', 'charges_held_nanos_check'],
  ['wallets', 'no_overdraft'],
]

/** Restores the tables, so that no test finds what the one before it has broken. */
beforeEach(async () => {
  await unguarded(async (tx) => {
    for (const table of TABLES) {
      await sql`delete from ${sql.table(table)}`.execute(tx)
      await sql`insert into ${sql.table(table)} select * from ${saved(table)}`.execute(tx)
    }
    await sql`update gateways set beat_at = now()`.execute(tx)
    await tx.deleteFrom('audit_checkpoint').execute()
    await tx.deleteFrom('audit_sums').execute()
  })
})

/** Past every trigger, as no statement of ours could. */
async function unguarded(work: (tx: Db) => Promise<void>): Promise<void> {
  await store.db.transaction().execute(async (tx) => {
    await sql`set local session_replication_role = replica`.execute(tx)
    await work(tx)
  })
}

async function tamper(statement: string): Promise<void> {
  await unguarded(async (tx) => {
    await sql.raw(statement).execute(tx)
  })
}

async function callsOfEveryKind(store: Store, project: string, keyPairId: string): Promise<Books['calls']> {
  const ledger = createTestLedger(store.ledgerPool, gatewayId)
  const caller = { ledger, project, keyPairId }
  const swept = uuidv7()
  await createTestLedger(store.ledgerPool).hold(holdOf(caller, swept, 9_000_000n))
  await beat(store.db, gatewayId, [1])
  await sweepHolds(store.db, LEASE_MS, 3_600_000, 10)
  const running = uuidv7()
  await ledger.hold(holdOf(caller, running, 5_000_000n))
  const calls = {
    completed: await complete(caller, {
      reported: { ...NO_USAGE, input: 700, cachedInput: 50, output: 333, reasoning: 9 },
    }),
    // More tokens than eight-byte arithmetic is trusted with.
    overran: await complete(caller, { reported: { ...NO_USAGE, input: 150_001, output: 1 }, held: 1_000_000n }),
    estimated: await complete(caller, { held: 500_000n }),
    hung_up: await complete(caller, { outcome: 'hung_up', held: 1_000_000n }),
    failed: await complete(caller, { outcome: 'upstream_failed' }),
    swept,
    running,
  }
  // Its gateway was only paused: it is collected late.
  await ledger.settle(settlementOf(swept, project, 2_000_000n))
  return calls
}

interface Caller {
  ledger: Ledger
  project: string
  keyPairId: string
}

function holdOf({ project, keyPairId }: Caller, callId: string, want: bigint) {
  return {
    callId,
    projectId: project,
    keyPairId,
    modelId: 'm',
    priceVersion: 1n,
    want,
    min: want,
    hasIdempotencyKey: false,
  }
}

async function complete(
  caller: Caller,
  options: { reported?: Usage; outcome?: CallOutcome; held?: bigint } = {},
): Promise<string> {
  const { reported, outcome = 'completed', held = 10_000_000n } = options
  const callId = uuidv7()
  await caller.ledger.hold(holdOf(caller, callId, held))
  const price: Price = { version: 1n, ...PRICE }
  const counted = { usage: { ...NO_USAGE, input: 900, output: 400 }, source: 'estimated' as const }
  const used = reported ? { usage: reported, source: 'reported' as const } : counted
  const bill = billFor({ outcome, used, held }, price)
  await caller.ledger.settle(
    settlementOf(callId, caller.project, bill.charge, {
      worth: bill.worth,
      usage: bill.usage,
      usageSource: bill.source,
      outcome,
    }),
  )
  return callId
}

/** Without margin, everything that is there now is checkpointed. */
async function check(pass: 'full' | 'incremental'): Promise<LedgerCheck> {
  const result = await checkLedger(workerStore.db, { isFull: pass === 'full', leaseMs: LEASE_MS, marginMs: 0 })
  assert.equal(result.isFull, pass === 'full')
  return result
}

/** The invariants that are broken, each with the ids that break it. */
function brokenOf({ verdicts }: LedgerCheck): Partial<Record<Invariant, string[]>> {
  return Object.fromEntries(
    verdicts
      .filter(({ violations }) => violations > 0)
      .map(({ invariant, examples }) => [invariant, [...new Set(examples.map(({ id }) => id))]]),
  )
}

function chargesReadBy({ verdicts }: LedgerCheck): number | undefined {
  return verdicts.find(({ of }) => of === 'charges')?.checked
}

interface Breach {
  statement: string
  expected: Partial<Record<Invariant, string[]>>
}

const chargeIs = (id: string, change: string) => `update charges set ${change} where id = '${id}';`
const walletIs = (project: string, change: string) => `update wallets set ${change} where project_id = '${project}';`
/** Keeps the balance right, so that only the charge itself tells. */
const paid = (project: string, nanos: number) => walletIs(project, `balance_nanos = balance_nanos - ${nanos}`)

/** Faults in one charge or call: read once, and then only by a full pass. */
const ROWS: Record<string, (books: Books) => Breach> = {
  'tokens that are worth more than the charge says': ({ calls: { completed } }) => ({
    statement: chargeIs(completed, 'output_tokens = output_tokens + 1'),
    expected: { I4: [completed] },
  }),
  'many tokens that are worth less than the charge says': ({ calls: { overran } }) => ({
    statement: chargeIs(overran, 'input_tokens = input_tokens - 1'),
    expected: { I4: [overran] },
  }),
  'the price of another model': ({ calls: { completed } }) => ({
    statement: chargeIs(completed, 'price_version_id = 2'),
    expected: { I4: [completed] },
  }),
  'a price that does not exist': ({ calls: { completed } }) => ({
    statement: chargeIs(completed, 'price_version_id = 99'),
    expected: { I4: [completed] },
  }),
  'a reported usage that was not charged in full': ({ project, calls: { completed } }) => ({
    statement: chargeIs(completed, 'charged_nanos = charged_nanos - 1') + paid(project, -1),
    expected: { I4: [completed] },
  }),
  'an estimated answer that was free': ({ project, calls: { estimated } }) => ({
    statement: chargeIs(estimated, 'charged_nanos = 0') + paid(project, -500_000),
    expected: { I4: [estimated] },
  }),
  'a completed call without any usage': ({ project, calls: { estimated } }) => ({
    statement:
      chargeIs(
        estimated,
        `usage_source = 'none', usage_nanos = 0, input_tokens = 0, output_tokens = 0, charged_nanos = 0`,
      ) + paid(project, -500_000),
    expected: { I4: [estimated] },
  }),
  'a call without a charge': ({ project, calls: { estimated } }) => ({
    statement: `delete from charges where id = '${estimated}'; ${paid(project, -500_000)}`,
    expected: { I4: [estimated] },
  }),
  'a call that ended otherwise than its charge': ({ calls: { failed } }) => ({
    statement: `update calls set outcome = 'completed' where id = '${failed}'`,
    expected: { I4: [failed] },
  }),
  'a charge above its usage': ({ project, calls: { completed } }) => ({
    statement: chargeIs(completed, 'charged_nanos = usage_nanos + 1') + paid(project, 1),
    expected: { I5: [completed] },
  }),
  'a failure that was charged': ({ project, calls: { failed } }) => ({
    statement: chargeIs(failed, 'charged_nanos = 1') + paid(project, 1),
    expected: { I5: [failed] },
  }),
  'an estimate above its hold': ({ project, calls: { estimated } }) => ({
    statement: chargeIs(estimated, 'charged_nanos = held_nanos + 1') + paid(project, 1),
    expected: { I5: [estimated] },
  }),
  'a charge without a hold': ({ calls: { completed } }) => ({
    statement: chargeIs(completed, 'held_nanos = 0'),
    expected: { I6: [completed] },
  }),
  'a hold after its charge': ({ calls: { completed } }) => ({
    statement: chargeIs(completed, `held_at = settled_at + interval '1 ms'`),
    expected: { I6: [completed] },
  }),
  'a charge without a call': ({ calls: { completed } }) => ({
    statement: `delete from calls where id = '${completed}'`,
    expected: { I6: [completed] },
  }),
}

const LATE_ID = '01990000-0000-7000-8000-000000000001'
const lateCharge = (project: string, call: string, reference: string) =>
  `insert into transfers (id, debit_account, credit_account, amount_nanos, kind, reference, corrects) values
    ('${LATE_ID}', '${project}', '00000000-0000-0000-0000-000000000001', 1, 'late_charge', '${reference}', '${call}');
  ${paid(project, 1)}`

/** Faults in the present state, which every pass reads, and in new rows. */
const STATE: Record<string, (books: Books) => Breach> = {
  'a balance that its entries do not sum to': ({ project }) => ({
    statement: paid(project, 1),
    expected: { I1: [project], journal: ['journal'] },
  }),
  'entries without a wallet': ({ project }) => ({
    statement: `delete from wallets where project_id = '${project}'; delete from holds`,
    expected: { I1: [project], journal: ['journal'] },
  }),
  'more held than its open holds': ({ project }) => ({
    statement: walletIs(project, 'held_nanos = held_nanos + 1'),
    expected: { I2: [project] },
  }),
  'an open hold that is not counted': ({ project }) => ({
    statement: walletIs(project, 'open_holds = 0'),
    expected: { I2: [project] },
  }),
  'a hold without a wallet': ({ project, calls: { running } }) => ({
    statement: `update holds set project_id = '${running}'`,
    expected: { I2: [project, running].toSorted() },
  }),
  'more held than the balance': ({ project }) => ({
    statement: `update holds set amount_nanos = 90000000000; ${walletIs(project, 'held_nanos = 90000000000')}`,
    expected: { I2: [project] },
  }),
  'a call that is held and charged': ({ calls: { completed } }) => ({
    statement: `update holds set id = '${completed}', held_at = now() - interval '125 seconds'`,
    expected: { I3: [completed] },
  }),
  'a late charge of a call that was not swept': ({ project, calls: { completed } }) => ({
    statement: lateCharge(project, completed, `late:${completed}`),
    expected: { I3: [LATE_ID] },
  }),
  'a second late charge of a call': ({ project, calls: { swept } }) => ({
    statement: lateCharge(project, swept, `again:${swept}`),
    expected: { I3: [LATE_ID] },
  }),
  'a hold whose gateway is silent': ({ calls: { running } }) => ({
    statement: `update gateways set beat_at = now() - interval '125 seconds'`,
    expected: { I7: [running] },
  }),
  'a hold older than any call can be': ({ calls: { running } }) => ({
    statement: `update holds set held_at = now() - interval '3 hours'`,
    expected: { I7: [running] },
  }),
}

test('a sound ledger has no violation, in a full pass and in those that go on from it', async () => {
  const first = await check('full')
  assert.deepEqual(brokenOf(first), {})
  assert.deepEqual(
    first.verdicts.map(({ invariant, checked }) => [invariant, checked]),
    Object.keys(INVARIANTS).map((name) => [
      name,
      { I1: 2, I2: 2, I7: 1, I8: 2, I10: 0, I11: 0, I12: 0, journal: 2 }[name] ?? 6,
    ]),
  )
  const second = await check('incremental')
  assert.deepEqual(brokenOf(second), {})
  assert.equal(chargesReadBy(second), 0)
  assert.equal(second.chargesBefore, 6n)
})

test('a pass goes on from the last one: it reads what was settled since, and nothing else', async () => {
  await check('full')
  const ledger = createTestLedger(store.ledgerPool, gatewayId)
  for (let round = 1; round <= 3; round++) {
    await complete({ ledger, project: books.project, keyPairId: books.keyPairId })
    await credit(store, books.project, 5n)
    const pass = await check('incremental')
    assert.deepEqual(brokenOf(pass), {})
    assert.equal(chargesReadBy(pass), 1, `round ${round}`)
  }
  const full = await check('full')
  assert.deepEqual(brokenOf(full), {})
  assert.equal(chargesReadBy(full), 9)
})

for (const [what, breachOf] of Object.entries(ROWS)) {
  test(`${what}: reported at once`, async () => {
    const { statement, expected } = breachOf(books)
    await tamper(statement)
    // Nothing is older than the margin yet, so both read everything minute by minute.
    for (const isFull of [true, false]) {
      assert.deepEqual(brokenOf(await checkLedger(workerStore.db, { isFull, leaseMs: LEASE_MS })), expected)
    }
  })
  test(`${what}, in what was read before: reported by the next full pass, and from then on`, async () => {
    const { statement, expected } = breachOf(books)
    await check('full')
    await tamper(statement)
    const unread = brokenOf(await check('incremental'))
    assert.deepEqual(
      Object.keys(unread).filter((invariant) => !['I1', 'journal'].includes(invariant)),
      [],
    )
    assert.deepEqual(brokenOf(await check('full')), expected)
    assert.deepEqual(brokenOf(await check('incremental')), expected)
  })
}

for (const [what, breachOf] of Object.entries(STATE)) {
  test(`${what}: reported by every pass`, async () => {
    const { statement, expected } = breachOf(books)
    await check('full')
    await tamper(statement)
    for (const pass of ['incremental', 'incremental', 'full'] as const) {
      assert.deepEqual(brokenOf(await check(pass)), expected)
    }
  })
}

test('keys that could let a call be charged twice are reported when they are gone', async () => {
  await sql`alter table charges drop constraint charges_pkey`.execute(store.db)
  await sql`alter table transfers drop constraint transfers_reference_key`.execute(store.db)
  const { verdicts } = await check('full')
  const { rows } = await sql<{ days: number }>`
    select count(*)::int as days from pg_inherits where inhparent = 'charges'::regclass`.execute(store.db)
  await sql`alter table charges add primary key (id)`.execute(store.db)
  await sql`alter table transfers add constraint transfers_reference_key unique (reference)`.execute(store.db)
  const { violations, examples } = verdicts.find(({ invariant }) => invariant === 'I3')!
  assert.equal(violations, 2 + rows[0]!.days, 'both tables and each day')
  assert.equal(examples[0]?.id, 'charges')
})

test('what was mended is no longer reported after a full pass', async () => {
  const { completed } = books.calls
  await tamper(chargeIs(completed, 'output_tokens = output_tokens + 1'))
  await check('full')
  await tamper(chargeIs(completed, 'output_tokens = output_tokens - 1'))
  assert.deepEqual(brokenOf(await check('incremental')), { I4: [completed] })
  assert.deepEqual(brokenOf(await check('full')), {})
  assert.deepEqual(brokenOf(await check('incremental')), {})
})

test('a wrong checkpoint is noticed, and a full pass puts it right', async () => {
  await check('full')
  await sql`update audit_sums set entries_nanos = entries_nanos + 1 where account_id = ${books.project}`.execute(
    store.db,
  )
  assert.deepEqual(brokenOf(await check('incremental')), { I1: [books.project] })
  assert.deepEqual(brokenOf(await check('full')), {})
  assert.deepEqual(brokenOf(await check('incremental')), {})
})

test('a day after the last full pass, and when the clock was set back, everything is read again unasked', async () => {
  await check('full')
  await sql`update audit_checkpoint set full_at = now() - interval '1 day' + interval '1 minute'`.execute(store.db)
  assert.equal((await checkLedger(workerStore.db, { isFull: false, leaseMs: LEASE_MS, marginMs: 0 })).isFull, false)
  await sql`update audit_checkpoint set full_at = now() - interval '1 day'`.execute(store.db)
  assert.equal((await checkLedger(workerStore.db, { isFull: false, leaseMs: LEASE_MS, marginMs: 0 })).isFull, true)
  await check('incremental')
  await sql`update audit_checkpoint set through = now() + interval '1 minute'`.execute(store.db)
  assert.equal((await checkLedger(workerStore.db, { isFull: false, leaseMs: LEASE_MS, marginMs: 0 })).isFull, true)
  await check('incremental')
})

test('what commits after a checkpoint that was made while it ran is read by the next pass', async (t) => {
  const slow = new Client({ connectionString: database.url })
  await slow.connect()
  t.after(() => slow.end())
  await slow.query('begin')
  await slow.query(
    `select ledger_transfer($1, '00000000-0000-0000-0000-000000000002', $2, 7, 'topup', 'slow', null, null)`,
    [uuidv7(), books.project],
  )
  const { rows } = await slow.query<{ now: Date }>('select now()')
  await sleep(5)
  // Its row on the wallet is locked all the while, which must not make the audit wait either.
  const { through } = await check('full')
  assert.ok(through <= rows[0]!.now, 'the checkpoint ends before the running transaction began')
  assert.deepEqual(brokenOf(await check('incremental')), {})
  await slow.query('commit')
  const pass = await check('incremental')
  assert.deepEqual(brokenOf(pass), {})
  assert.ok(pass.through > rows[0]!.now)
})

test('passes that run at the same time leave a checkpoint that is right', async () => {
  const ledger = createTestLedger(store.ledgerPool, gatewayId)
  for (let round = 0; round < 3; round++) {
    await complete({ ledger, project: books.project, keyPairId: books.keyPairId })
    const passes = [false, false, true, false].map((isFull) => {
      return checkLedger(workerStore.db, { isFull, leaseMs: LEASE_MS, marginMs: 0 })
    })
    for (const pass of await Promise.all(passes)) assert.deepEqual(brokenOf(pass), {})
  }
  assert.deepEqual(brokenOf(await check('incremental')), {})
})

test('a pass that is aborted ends at its next statement and leaves no checkpoint', async () => {
  const signal = AbortSignal.abort()
  await assert.rejects(checkLedger(workerStore.db, { isFull: true, leaseMs: LEASE_MS, signal }), { name: 'AbortError' })
  assert.equal(await store.db.selectFrom('audit_checkpoint').selectAll().executeTakeFirst(), undefined)
})

test('parley audit prints every invariant with its figure, and exits 1 when one is broken', async () => {
  const env = { DATABASE_URL: database.url, PARLEY_SECRET: randomBytes(32).toString('base64') }
  const sound = await parley(['audit'], { env })
  assert.equal(sound.code, 0, sound.stdout + sound.stderr)
  for (const [invariant, means] of Object.entries(INVARIANTS)) {
    assert.match(
      sound.stdout,
      new RegExp(
        `^${invariant} +\\d+ (wallets|charges|open holds|advertisers|projects with earnings|campaigns) +0 +${means}$`,
        'm',
      ),
    )
  }
  assert.match(sound.stdout, /^Everything was read\. \d+\.\d s\. No violations\.$/m)

  const { completed } = books.calls
  await tamper(chargeIs(completed, 'output_tokens = output_tokens + 1'))
  const broken = await here(['audit'], { env })
  assert.equal(broken.code, 1)
  assert.match(
    broken.stdout,
    new RegExp(`^I4 +${completed} +usage of \\d+, but its tokens at its price are worth \\d+$`, 'm'),
  )
  assert.match(broken.stdout, /^Read everything settled since .*1 invariant is broken\.$/m)

  const { code, stdout } = await here(['audit', '--full', '--json'], { env })
  assert.equal(code, 1)
  const document = JSON.parse(stdout) as { ok: boolean; pass: string; invariants: { invariant: string }[] }
  assert.partialDeepStrictEqual(document, { ok: false, pass: 'full' })
  assert.partialDeepStrictEqual(
    document.invariants.find(({ invariant }) => invariant === 'I4'),
    { checked: 6, of: 'charges', violations: 1, examples: [{ id: completed }] },
  )
})

test('the worker’s audit is in the metrics, and what it finds is in the log', async () => {
  const metrics = createMetrics()
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  const job = { db: workerStore.db, log, metrics, leaseMs: LEASE_MS, signal: new AbortController().signal }
  await reportLedgerCheck(job)
  const sound = await metrics.registry.metrics()
  for (const invariant of Object.keys(INVARIANTS)) {
    assert.match(sound, new RegExp(`^parley_audit_violations{invariant="${invariant}"} 0$`, 'm'))
  }
  assert.match(sound, /^parley_audit_seconds{pass="full"} \d/m)
  const finished = /^parley_audit_finished_timestamp_seconds (\d+)/m.exec(sound)?.[1]
  assert.ok(Math.abs(Number(finished) - Date.now() / 1000) < 60)
  assert.deepEqual(lines, [])

  await tamper(paid(books.project, 1))
  await reportLedgerCheck(job)
  const broken = await metrics.registry.metrics()
  assert.match(broken, /^parley_audit_violations{invariant="I1"} 1$/m)
  assert.match(broken, /^parley_audit_violations{invariant="I2"} 0$/m)
  assert.match(broken, /^parley_audit_seconds{pass="incremental"} \d/m)
  assert.match(lines.join(''), new RegExp(`"invariant":"I1","violations":1,.*${books.project}`))
})
