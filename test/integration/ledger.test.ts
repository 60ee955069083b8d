import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { NO_USAGE } from '../../src/rules/billing/usage.ts'
import type { Store } from '../../src/store/database.ts'
import type { Ledger } from '../../src/store/billing/ledger/ledger.ts'
import { beat } from '../../src/store/billing/gateways.ts'
import { claimKey } from '../../src/store/calls/idempotency.ts'
import { sweepHolds } from '../../src/store/billing/wallets.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { auditOf, createTestLedger, settlementOf } from '../support/ledger.ts'
import { createRandom } from '../support/random.ts'
import { addProject, credit, walletOf } from '../support/world.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let store: Store
let gatewayStore: Store
let secrets: Secrets
let ledger: Ledger
const gatewayId = uuidv7()

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'ledger test' })
  secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }])
  gatewayStore = openTestStore({ url: loginUrl(database.url, 'gateway'), applicationName: 'ledger test gateway' })
  ledger = createTestLedger(gatewayStore.ledgerPool, gatewayId)
})
after(async () => {
  await gatewayStore.close()
  await store.close()
  await database.drop()
})

async function wallet(nanos: bigint) {
  const project = await addProject(store, secrets, { credits: '0' })
  if (nanos > 0n) await credit(store, project.id, nanos)
  const key = await store.db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  const asking = { projectId: project.id, keyPairId: key.id, modelId: 'm', priceVersion: 1n, hasIdempotencyKey: false }
  const through = (its: Ledger) => ({
    hold: (want: bigint, min = want, callId = uuidv7()) =>
      its.hold({ ...asking, callId, want, min }).then(({ amount }) => ({ callId, amount })),
    settle: (callId: string, charge: bigint, change = {}) =>
      its.settle(settlementOf(callId, project.id, charge, change)),
  })
  return { project, keyPairId: key.id, through, ...through(ledger), state: () => walletOf(store, project.id) }
}

test('a hold sets credit aside and its settle charges the usage and releases the rest', async () => {
  const { hold, settle, state } = await wallet(1_000n)
  const { callId, amount } = await hold(600n)
  assert.equal(amount, 600n)
  assert.deepEqual(await state(), { balance: 1_000n, held: 600n, openHolds: 1 })
  assert.equal(await settle(callId, 250n), 250n)
  assert.deepEqual(await state(), { balance: 750n, held: 0n, openHolds: 0 })
})

test('a settle that is sent again charges nothing more and answers the same', async () => {
  const { hold, settle, state } = await wallet(1_000n)
  const { callId } = await hold(600n)
  assert.equal(await settle(callId, 250n), 250n)
  assert.equal(await settle(callId, 400n), 250n)
  assert.deepEqual(await state(), { balance: 750n, held: 0n, openHolds: 0 })
})

test('a hold that is sent again is granted once', async () => {
  const { hold, state } = await wallet(1_000n)
  const { callId } = await hold(600n)
  assert.equal((await hold(600n, 600n, callId)).amount, 600n)
  assert.deepEqual(await state(), { balance: 1_000n, held: 600n, openHolds: 1 })
})

test('a hold may be granted in part, but never below its minimum', async () => {
  const { hold, state } = await wallet(1_000n)
  await hold(900n)
  assert.equal((await hold(600n, 50n)).amount, 100n)
  await assert.rejects(hold(600n, 50n), { code: 'credit_held', status: 403 })
  assert.deepEqual(await state(), { balance: 1_000n, held: 1_000n, openHolds: 2 })
})

test('an empty wallet is told apart from one whose credit is held by running calls', async () => {
  const { hold } = await wallet(10n)
  await assert.rejects(hold(50n), { code: 'credit_insufficient' })
  await hold(10n)
  await assert.rejects(hold(5n), { code: 'credit_held' })
})

test('usage beyond the hold is paid from what is available, and what is not available is a loss, never a debt', async () => {
  const rich = await wallet(1_000n)
  const first = await rich.hold(100n)
  assert.equal(await rich.settle(first.callId, 300n), 300n)
  assert.deepEqual(await rich.state(), { balance: 700n, held: 0n, openHolds: 0 })

  const poor = await wallet(150n)
  const second = await poor.hold(100n)
  assert.equal(await poor.settle(second.callId, 300n), 150n)
  assert.deepEqual(await poor.state(), { balance: 0n, held: 0n, openHolds: 0 })
  const charge = await store.db
    .selectFrom('charges')
    .selectAll()
    .where('id', '=', second.callId)
    .executeTakeFirstOrThrow()
  assert.deepEqual([charge.usage_nanos, charge.charged_nanos], [300n, 150n])
})

test('two overruns in one batch share what is available and never take it twice', async () => {
  const { hold, settle, state } = await wallet(300n)
  const [a, b] = await Promise.all([hold(100n), hold(100n)])
  const charged = await Promise.all([settle(a.callId, 180n), settle(b.callId, 180n)])
  assert.deepEqual(charged, [180n, 120n])
  assert.deepEqual(await state(), { balance: 0n, held: 0n, openHolds: 0 })
})

test('an extension grows the hold while the wallet lasts, and sent again it grows it once', async () => {
  const { project, hold, state } = await wallet(1_000n)
  const { callId } = await hold(400n)
  const extend = (extension: number) => ledger.extend({ callId, projectId: project.id, extension, want: 500n, min: 1n })
  assert.equal(await extend(1), 900n)
  assert.equal(await extend(1), 900n)
  assert.equal(await extend(2), 1_000n)
  assert.equal(await extend(3), 1_000n)
  assert.deepEqual(await state(), { balance: 1_000n, held: 1_000n, openHolds: 1 })
})

test('an extension in the name of another project takes nothing of its wallet and gives the hold nothing', async () => {
  const [payer, other] = [await wallet(1_000n), await wallet(1_000n)]
  const { callId } = await payer.hold(400n)
  const asked = { callId, projectId: other.project.id, extension: 1, want: 500n, min: 1n }
  assert.equal(await ledger.extend(asked), 0n)
  assert.deepEqual(await payer.state(), { balance: 1_000n, held: 400n, openHolds: 1 })
  assert.deepEqual(await other.state(), { balance: 1_000n, held: 0n, openHolds: 0 })
  assert.equal(await payer.settle(callId, 400n), 400n)
  assert.deepEqual(await auditOf(store), [])
})

test('what a settle releases can be granted in the same batch', async () => {
  const { hold, settle } = await wallet(100n)
  const first = await hold(100n)
  const [, second] = await Promise.all([settle(first.callId, 40n), hold(60n)])
  assert.equal(second.amount, 60n)
})

test('key, account and domain are checked again when credit is held', async () => {
  const { project, hold } = await wallet(1_000n)
  const set = (
    table: 'publishers' | 'projects' | 'domains' | 'key_pairs',
    change: object,
    column: string,
    id: string,
  ) =>
    sql`update ${sql.table(table)} set ${sql.raw(
      Object.entries(change)
        .map(([k, v]) => `${k} = ${v}`)
        .join(','),
    )} where ${sql.ref(column)} = ${id}`.execute(store.db)
  await set('publishers', { activated_at: 'null' }, 'id', project.publisherId)
  await assert.rejects(hold(1n), { code: 'account_not_activated' })
  await set('publishers', { activated_at: 'now()' }, 'id', project.publisherId)
  await set('domains', { verified_at: 'null' }, 'project_id', project.id)
  await assert.rejects(hold(1n), { code: 'domain_not_verified' })
  await set('domains', { verified_at: 'now()' }, 'project_id', project.id)
  await set('projects', { archived_at: 'now()' }, 'id', project.id)
  await assert.rejects(hold(1n), { code: 'key_inactive', status: 401 })
  await set('projects', { archived_at: 'null' }, 'id', project.id)
  await set('key_pairs', { expires_at: 'now()' }, 'project_id', project.id)
  await assert.rejects(hold(1n), { code: 'key_inactive', status: 401 })
  await set('key_pairs', { expires_at: 'null', active: 'false' }, 'project_id', project.id)
  await assert.rejects(hold(1n), { code: 'key_inactive' })
})

/** For PostgreSQL no time passes in a transaction, so that no minute ends meanwhile. */
async function atOneMoment(work: (ledger: Ledger) => Promise<void>): Promise<void> {
  const client = await gatewayStore.ledgerPool.connect()
  try {
    await client.query('begin')
    await work(createTestLedger(client, gatewayId))
    await client.query('commit')
  } finally {
    client.release()
  }
}

type Limits = { requests_per_minute?: number; tokens_per_minute?: bigint; concurrent_calls?: number }

async function limitedWallet(limits: Limits) {
  const limited = await wallet(1_000n)
  await store.db.updateTable('projects').set(limits).where('id', '=', limited.project.id).execute()
  return limited
}

/** How many of these were granted; the others were refused with this code. */
async function grantedOf(holds: Promise<unknown>[], code: string): Promise<number> {
  const results = await Promise.allSettled(holds)
  for (const result of results) if (result.status === 'rejected') assert.equal(result.reason.code, code)
  return results.filter(({ status }) => status === 'fulfilled').length
}

test('limits of a project hold exactly, also within one batch', async () => {
  const limited = await limitedWallet({ concurrent_calls: 3 })
  const rated = await limitedWallet({ requests_per_minute: 4 })
  const metered = await limitedWallet({ tokens_per_minute: 16n })
  await atOneMoment(async (now) => {
    const { hold } = limited.through(now)
    assert.equal(await grantedOf([hold(9n), hold(9n), hold(9n), hold(9n), hold(9n)], 'concurrency_limited'), 3)
    await assert.rejects(hold(9n), { code: 'concurrency_limited', status: 429 })
  })
  await atOneMoment(async (now) => {
    const { hold } = rated.through(now)
    assert.equal(await grantedOf([hold(9n), hold(9n), hold(9n), hold(9n), hold(9n)], 'rate_limited'), 4)
    await assert.rejects(hold(9n), { code: 'rate_limited', status: 429 })
  })
  await atOneMoment(async (now) => {
    const { hold, settle } = metered.through(now)
    const [first, second] = [await hold(9n), await hold(9n)]
    await settle(first.callId, 5n) // 15 tokens
    await hold(9n)
    await settle(second.callId, 5n, { usage: { ...NO_USAGE, output: 1 } })
    await assert.rejects(hold(9n), { code: 'rate_limited', status: 429 })
  })
})

async function passAMinute({ project }: { project: { id: string } }): Promise<void> {
  await sql`update wallets set minute_started_at = minute_started_at - interval '1 minute'
    where project_id = ${project.id}`.execute(store.db)
}

test('tokens of every kind count towards the limit of a minute', async () => {
  for (const kind of Object.keys(NO_USAGE)) {
    const metered = await limitedWallet({ tokens_per_minute: 10n })
    await atOneMoment(async (now) => {
      const { hold, settle } = metered.through(now)
      const [first, second] = [await hold(9n), await hold(9n)]
      await settle(first.callId, 5n, { usage: { ...NO_USAGE, [kind]: 9 } })
      await hold(9n)
      await settle(second.callId, 5n, { usage: { ...NO_USAGE, [kind]: 1 } })
      await assert.rejects(hold(9n), { code: 'rate_limited' }, kind)
    })
  }
})

test('requests of one minute are none of the next, whether a call or the end of one begins it', async () => {
  const rated = await limitedWallet({ requests_per_minute: 2 })
  const running: string[] = []
  await atOneMoment(async (now) => {
    const { hold } = rated.through(now)
    for (let n = 0; n < 2; n++) running.push((await hold(9n)).callId)
    await assert.rejects(hold(9n), { code: 'rate_limited' })
  })
  await passAMinute(rated)
  await atOneMoment(async (now) => {
    const { hold, settle } = rated.through(now)
    await settle(String(running[0]), 5n)
    assert.equal(await grantedOf([hold(9n), hold(9n), hold(9n)], 'rate_limited'), 2)
  })
  await passAMinute(rated)
  await atOneMoment(async (now) => {
    const { hold, settle } = rated.through(now)
    await hold(9n)
    await settle(String(running[1]), 5n)
    assert.equal(await grantedOf([hold(9n), hold(9n)], 'rate_limited'), 1)
  })
})

test('tokens of one minute are none of the next, whether a call or the end of one begins it', async () => {
  const metered = await limitedWallet({ tokens_per_minute: 15n })
  const usage = { ...NO_USAGE, output: 14 }
  let running = ''
  await atOneMoment(async (now) => {
    const { hold, settle } = metered.through(now)
    const { callId } = await hold(9n)
    running = (await hold(9n)).callId
    await settle(callId, 5n) // 15 tokens
    await assert.rejects(hold(9n), { code: 'rate_limited' })
  })
  await passAMinute(metered)
  await atOneMoment(async (now) => {
    const { hold, settle } = metered.through(now)
    await settle(running, 5n, { usage })
    running = (await hold(9n)).callId
  })
  await passAMinute(metered)
  await atOneMoment(async (now) => {
    const { hold, settle } = metered.through(now)
    await hold(9n)
    await settle(running, 5n, { usage })
    await hold(9n)
  })
})

/** The ledger of a gateway that was never heard of, among others that live. */
async function deadLedger(): Promise<Ledger> {
  await beat(store.db, gatewayId, [1])
  return createTestLedger(gatewayStore.ledgerPool)
}

test('a dead gateway’s holds are swept once, and its late settle is collected from what is available', async () => {
  const { through, hold, settle, state } = await wallet(100n)
  const { callId } = await through(await deadLedger()).hold(80n)
  assert.equal(await sweepHolds(store.db, 60_000, 3_600_000, 100), 1)
  assert.deepEqual(await state(), { balance: 100n, held: 0n, openHolds: 0 })
  await hold(70n)
  assert.equal(await settle(callId, 80n), 30n, 'only what is available')
  assert.equal(await settle(callId, 80n), 30n, 'and only once')
  assert.deepEqual(await state(), { balance: 70n, held: 70n, openHolds: 1 })
  const absorbed = await store.db
    .selectFrom('transfers')
    .select('amount_nanos')
    .where('reference', '=', `absorbed:${callId}`)
    .execute()
  assert.deepEqual(absorbed, [{ amount_nanos: 50n }])
  assert.equal(await sweepHolds(store.db, 60_000, 3_600_000, 100), 0, 'a living gateway keeps its holds')
})

test('a late settle for which nothing is available is absorbed whole, and sent again it changes nothing', async () => {
  const { through, hold, settle, state } = await wallet(100n)
  const { callId } = await through(await deadLedger()).hold(80n)
  assert.equal(await sweepHolds(store.db, 60_000, 3_600_000, 100), 1)
  await hold(100n)
  assert.equal(await settle(callId, 80n), 0n)
  assert.equal(await settle(callId, 80n), 0n)
  assert.deepEqual(await state(), { balance: 100n, held: 100n, openHolds: 1 })
  const posted = store.db.selectFrom('transfers').select(['kind', 'amount_nanos']).where('corrects', '=', callId)
  assert.deepEqual(await posted.execute(), [{ kind: 'absorbed', amount_nanos: 80n }])
})

test('a sweep that began just before the hold it finds does not settle it in the past', async () => {
  const { hold } = (await wallet(100n)).through(await deadLedger())
  const callId = uuidv7()
  await store.db.transaction().execute(async (tx) => {
    await sql`select now()`.execute(tx) // The transaction's time is that of its first statement.
    await hold(40n, 40n, callId)
    assert.equal(await sweepHolds(tx, 60_000, 3_600_000, 100), 1)
  })
  const { held_at, settled_at } = await store.db
    .selectFrom('charges')
    .select(['held_at', 'settled_at'])
    .where('id', '=', callId)
    .executeTakeFirstOrThrow()
  assert.deepEqual(settled_at, held_at)
})

const LEASE_MS = 60_000

/** Claims of one and the same idempotency key. */
function claimsOf(projectId: string, keyPairId: string) {
  const key = { projectId, keyPairId, keyDigest: Buffer.alloc(32, 1), bodyDigest: Buffer.alloc(32, 2) }
  return (callId: string, claimant = uuidv7()) =>
    claimKey(store.db, { ...key, callId, gatewayId: claimant, conversationId: undefined }, LEASE_MS, 3_600_000)
}

test('the idempotency key of a gateway that fell silent is taken over when its lease is over, and not before', async () => {
  const { project, keyPairId } = await wallet(0n)
  const claim = claimsOf(project.id, keyPairId)
  const silent = uuidv7()
  const fallSilent = async (agoMs: number) => {
    await beat(store.db, silent, [1])
    await sql`update gateways set beat_at = now() - ${agoMs} * interval '1 ms' where id = ${silent}`.execute(store.db)
  }
  assert.equal((await claim(uuidv7(), silent)).state, 'claimed')
  await fallSilent(LEASE_MS - 10_000)
  assert.equal((await claim(uuidv7())).state, 'running')
  await fallSilent(LEASE_MS)
  assert.equal((await claim(uuidv7())).state, 'claimed')
})

test('a late settle whose idempotency key another call has taken over costs nothing: the other call pays', async () => {
  const { project, keyPairId, through, settle, state } = await wallet(100n)
  const { callId } = await through(await deadLedger()).hold(40n)
  const claim = claimsOf(project.id, keyPairId)
  assert.equal((await claim(callId)).state, 'claimed')
  assert.equal((await claim(uuidv7())).state, 'running', 'while the hold is open')
  assert.equal(await sweepHolds(store.db, 60_000, 3_600_000, 100), 1)
  assert.equal((await claim(uuidv7())).state, 'claimed')
  assert.equal(await settle(callId, 30n, { hasIdempotencyKey: true, result: 'late' }), 0n)
  assert.deepEqual(await state(), { balance: 100n, held: 0n, openHolds: 0 })
})

test('no statement can bring a wallet below zero, edit a charge or edit a transfer', async () => {
  const { project, hold, settle } = await wallet(100n)
  const { callId } = await hold(50n)
  await assert.rejects(sql`update wallets set balance_nanos = 20 where project_id = ${project.id}`.execute(store.db), {
    constraint: 'no_overdraft',
  })
  await settle(callId, 10n)
  await assert.rejects(sql`update charges set charged_nanos = 0`.execute(store.db), /append-only/)
  await assert.rejects(sql`delete from charges`.execute(store.db), /append-only/)
  await assert.rejects(sql`update transfers set amount_nanos = 1`.execute(store.db), /append-only/)
})

test('one bad item fails alone: its neighbours in the batch are answered', async () => {
  const { hold, settle } = await wallet(1_000n)
  const [a, b] = await Promise.all([hold(10n), hold(10n)])
  const results = await Promise.allSettled([settle(a.callId, 5n), settle(b.callId, 5n, { outcome: 'nonsense' })])
  assert.deepEqual(
    results.map((result) => result.status),
    ['fulfilled', 'rejected'],
  )
})

test('a batch reads the wallets that it is about, however many its publisher has', async () => {
  const { project, keyPairId } = await wallet(1_000n)
  const { db } = store
  await sql`with others as (
      insert into projects (id, publisher_id, name)
      select gen_random_uuid(), p.publisher_id, 'Other' from projects p, generate_series(1, 2000) where p.id = ${project.id}
      returning id)
    insert into wallets (project_id) select id from others`.execute(db)
  await sql`analyze projects, wallets`.execute(db)
  const hold = {
    n: 1,
    id: uuidv7(),
    project_id: project.id,
    key_pair_id: keyPairId,
    model_id: 'm',
    price_version_id: 1,
    want_nanos: 1,
    min_nanos: 1,
  }
  const read = await db.transaction().execute(async (tx) => {
    // Also of the connection's transactions before, which the server adds up now and then.
    const rowsRead = async () => {
      const { rows } = await sql<{ rows: number }>`
        select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'wallets'`.execute(
        tx,
      )
      return rows[0]?.rows ?? 0
    }
    // As it is done where wallets are many.
    for (const setting of ['enable_hashjoin', 'enable_mergejoin', 'enable_seqscan'])
      await sql`set local ${sql.ref(setting)} = off`.execute(tx)
    const readBefore = await rowsRead()
    const { rows } = await sql<{ refusal: string | null }>`
      select refusal from ledger_apply(${gatewayId}, ${[project.id]}, null, null, ${JSON.stringify([hold])})`.execute(
      tx,
    )
    assert.deepEqual(rows, [{ refusal: null }])
    return (await rowsRead()) - readBefore
  })
  assert.ok(read < 20, `it read ${read} wallets`)
})

test('random batches of holds, extensions, settles and repeats leave exactly what a plain model says', async () => {
  for (let seed = 1; seed <= 25; seed++) await runAgainstModel(seed)
  assert.deepEqual(await auditOf(store), [])
})

/** The same rules in ten lines of arithmetic, one wallet at a time and with no database. */
async function runAgainstModel(seed: number): Promise<void> {
  const random = createRandom(seed)
  const { hold, settle, state } = await wallet(2_000n)
  let balance = 2_000n
  const open = new Map<string, bigint>()
  const held = () => [...open.values()].reduce((sum, amount) => sum + amount, 0n)
  for (let step = 0; step < 12; step++) {
    const ending = [...open.keys()].filter(() => random.next() < 0.5)
    const bills = ending.map(() => BigInt(random.int(400)))
    const asked = Array.from({ length: random.int(4) }, () => ({
      callId: uuidv7(),
      want: BigInt(1 + random.int(500)),
      min: BigInt(1 + random.int(100)),
    }))
    const settled = ending.map((callId, i) => settle(callId, bills[i]!))
    const granted = asked.map(({ callId, want, min }) =>
      hold(want, min < want ? min : want, callId).then(
        ({ amount }) => amount,
        () => 0n,
      ),
    )
    const repeated = random.next() < 0.3 && ending[0] ? settle(ending[0], 1n) : undefined

    // All settles release before any overrun is paid; then holds are granted in order.
    let overrunFunds = balance - held()
    ending.forEach((callId, i) => (overrunFunds += open.get(callId)! - least(bills[i]!, open.get(callId)!)))
    const expectedCharges = ending.map((callId, i) => {
      const own = open.get(callId)!
      const overrun = least(most(bills[i]! - own, 0n), overrunFunds)
      overrunFunds -= overrun
      return least(bills[i]!, own) + overrun
    })
    ending.forEach((callId, i) => {
      balance -= expectedCharges[i]!
      open.delete(callId)
    })
    const expectedGrants = asked.map(({ callId, want, min }) => {
      const grant = least(want, balance - held())
      if (grant <= 0n || grant < least(min, want)) return 0n
      open.set(callId, grant)
      return grant
    })
    assert.deepEqual(await Promise.all(settled), expectedCharges, `seed ${seed}, step ${step}: charges`)
    assert.deepEqual(await Promise.all(granted), expectedGrants, `seed ${seed}, step ${step}: grants`)
    await repeated
    assert.deepEqual(
      await state(),
      { balance, held: held(), openHolds: open.size },
      `seed ${seed}, step ${step}: wallet`,
    )
  }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
