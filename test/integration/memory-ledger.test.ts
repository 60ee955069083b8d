import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type { PoolClient } from 'pg'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { IDEMPOTENCY_KEPT_MS, LEASE_MS, LONGEST_CALL_MS } from '../../src/rules/limits.ts'
import type { Store } from '../../src/store/database.ts'
import { beat } from '../../src/store/billing/gateways.ts'
import { claimKey, giveUpKey } from '../../src/store/calls/idempotency.ts'
import { applyWith } from '../../src/store/billing/ledger/ledger-batch.ts'
import type { HoldRequest, LedgerItem } from '../../src/store/billing/ledger/ledger-items.ts'
import { creditWallet, findWallet } from '../../src/store/billing/wallets.ts'
import { NO_LIMITS, replaceLimits } from '../../src/store/billing/limits.ts'
import { DAY_MS, MINUTE_MS } from '../../src/rules/durations.ts'
import * as memoryKeys from '../simulation/memory-keys.ts'
import { setLimit } from '../simulation/memory-limits.ts'
import { STATEMENT, applyBatch, sweep } from '../simulation/memory-ledger.ts'
import {
  addWallet,
  createTables,
  firstTopUpOf,
  transferOf,
  type Tables,
  type WalletLimits,
} from '../simulation/memory-tables.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'
import { auditOf, settlementOf } from '../support/ledger.ts'
import { createRandom, type Random } from '../support/random.ts'
import { addProject, credit, walletOf } from '../support/world.ts'

/** The simulation runs on tables in memory. What it finds is worth as much as they are like PostgreSQL. */

let database: Awaited<ReturnType<typeof createTestDatabase>>
let store: Store
let secrets: Secrets

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'memory ledger test' })
  secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }])
})
after(async () => {
  await store.close()
  await database.drop()
})

test('random batches, sweeps and claims give the same answers and the same books in memory as in PostgreSQL', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = createRandom(seed)
    const pair = await createPair(random)
    for (let step = 0; step < 25; step++) await takeStep(random, pair, `seed ${seed}, step ${step}`)
    // A sweep takes whatever it finds: nothing may be left for that of the next seed.
    for (const gatewayId of pair.gatewayIds) await silence(pair, gatewayId)
    await compareSweep(pair, `seed ${seed}, last sweep`)
    assert.deepEqual(await chargesOf(pair), memoryChargesOf(pair), `seed ${seed}: charges`)
    assert.deepEqual(await transfersOf(pair), memoryTransfersOf(pair), `seed ${seed}: transfers`)
  }
})

test('budgets of key pairs and end users refuse, end and are renewed in memory as in PostgreSQL', async () => {
  const refusals = new Set<string>()
  for (let seed = 101; seed <= 115; seed++) {
    const random = createRandom(seed)
    const pair = await createPair(random, [100_000n, 100_000n], {})
    for (const project of pair.projects) await limit(random, pair, project)
    for (let step = 0; step < 25; step++)
      for (const refusal of await takeStep(random, pair, `seed ${seed}, step ${step}`)) refusals.add(refusal)
    for (const gatewayId of pair.gatewayIds) await silence(pair, gatewayId)
    await compareSweep(pair, `seed ${seed}, last sweep`)
    assert.deepEqual(await chargesOf(pair), memoryChargesOf(pair), `seed ${seed}: charges`)
    assert.deepEqual(await transfersOf(pair), memoryTransfersOf(pair), `seed ${seed}: transfers`)
  }
  const expected = ['budget_held', 'budget_used_up', 'concurrency_limited', 'rate_limited']
  assert.deepEqual(
    expected.filter((refusal) => !refusals.has(refusal)),
    [],
  )
})

test('credit that a delayed request holds again for a call that is over is given back when that call is settled', async () => {
  const pair = await createPair(createRandom(1), [1_000n], {})
  const [gatewayId] = pair.gatewayIds
  const hold = newHold(pair.projects[0]!, 300n, 1n)
  const settle = settleItem(hold.request, 100n)
  await compare(pair, gatewayId!, [hold])
  await compare(pair, gatewayId!, [settle])
  const [answer] = await compare(pair, gatewayId!, [hold])
  assert.equal(answer?.amount_nanos, 300n)
  // Beside others, so that it must neither fail them nor be charged with them.
  const neighbour = newHold(pair.projects[0]!, 200n, 1n)
  await compare(pair, gatewayId!, [neighbour])
  const answers = await compare(pair, gatewayId!, [settle, settleItem(neighbour.request, 150n)])
  assert.deepEqual(
    answers.map(({ amount_nanos }) => amount_nanos),
    [100n, 150n],
  )
  assert.deepEqual(await walletOf(store, pair.projects[0]!.id), { balance: 750n, held: 0n, openHolds: 0 })
  assert.deepEqual(await auditOf(store), [])
})

test('a call whose idempotency key was taken over is not granted a hold', async () => {
  const pair = await createPair(createRandom(2), [1_000n], {})
  const [gatewayId] = pair.gatewayIds
  const project = pair.projects[0]!
  const first = newHold(project, 300n, 1n, true)
  const second = newHold(project, 300n, 1n, true)
  await claim(pair, gatewayId!, first.request.callId, project, 'key')
  await silence(pair, gatewayId!)
  await claim(pair, gatewayId!, second.request.callId, project, 'key')
  const [refused, granted] = await compare(pair, gatewayId!, [first, second])
  assert.equal(refused?.refusal, 'idempotency_running')
  assert.equal(granted?.amount_nanos, 300n)
})

interface Project {
  id: string
  publisherId: string
  keyPairId: string
  endUserIds: string[]
}

interface Pair {
  projects: Project[]
  gatewayIds: string[]
  tables: Tables
  /** Every hold that was asked for, granted or not. */
  asked: HoldRequest[]
  extensions: Map<string, number>
}

/** The same wallets in PostgreSQL and in memory. */
async function createPair(random: Random, nanos = drawBalances(random), limits = drawLimits(random)): Promise<Pair> {
  const tables = createTables()
  const projects: Project[] = []
  for (const balance of nanos) {
    const { id, publisherId } = await addProject(store, secrets, { credits: '0' })
    if (balance > 0n) await credit(store, id, balance)
    await sql`update projects set requests_per_minute = ${limits.requestsPerMinute ?? null},
      tokens_per_minute = ${limits.tokensPerMinute ?? null}, concurrent_calls = ${limits.concurrentCalls ?? null}
      where id = ${id}`.execute(store.db)
    const key = await store.db.selectFrom('key_pairs').select('id').where('project_id', '=', id).executeTakeFirst()
    projects.push({ id, publisherId, keyPairId: String(key?.id), endUserIds: [uuidv7(), uuidv7()] })
    addWallet(tables, id, balance, limits)
  }
  const pair = { projects, gatewayIds: [uuidv7(), uuidv7()], tables, asked: [], extensions: new Map<string, number>() }
  for (const gatewayId of pair.gatewayIds) await revive(pair, gatewayId)
  return pair
}

function drawBalances(random: Random): bigint[] {
  return [0, 1].map(() => BigInt(random.int(3_000)))
}

function drawLimits(random: Random): Partial<WalletLimits> {
  return random.pick([{}, {}, { concurrentCalls: 3 }, { requestsPerMinute: 12 }, { tokensPerMinute: 200 }])
}

/** The same limits in both: of the pair, of every end user, of one. */
async function limit(random: Random, { tables }: Pair, { id: projectId, publisherId, ...who }: Project): Promise<void> {
  const subjects = { key_pair: who.keyPairId, end_users: projectId, end_user: who.endUserIds[0]! }
  const nanos = (most: number) => (random.next() < 0.4 ? BigInt(random.int(most)) : null)
  for (const scope of ['key_pair', 'end_users', 'end_user'] as const) {
    const subject = subjects[scope]
    const row = {
      requestsPerMinute: random.next() < 0.2 ? 1 + random.int(6) : null,
      tokensPerMinute: random.next() < 0.2 ? 1 + random.int(90) : null,
      concurrentCalls: random.next() < 0.2 ? 1 + random.int(3) : null,
      dayNanos: nanos(2_500),
      totalNanos: nanos(5_000),
    }
    const { requestsPerMinute, tokensPerMinute, concurrentCalls, dayNanos, totalNanos } = row
    await replaceLimits(
      store.db,
      { scope, subject, publisherId, projectId },
      {
        ...NO_LIMITS,
        requests_per_minute: requestsPerMinute,
        tokens_per_minute: tokensPerMinute === null ? null : BigInt(tokensPerMinute),
        concurrent_calls: concurrentCalls,
        day_nanos: dayNanos,
        total_nanos: totalNanos,
      },
    )
    if (Object.values(row).some((value) => value !== null)) setLimit(tables, { scope, subject, projectId, ...row })
  }
}

/** Returns why holds were refused. */
async function takeStep(random: Random, pair: Pair, where: string): Promise<string[]> {
  const gatewayId = random.pick(pair.gatewayIds)
  const chance = random.next()
  if (chance >= 0.4) {
    const answers = await compare(pair, gatewayId, await drawBatch(random, pair, gatewayId), where)
    return answers.flatMap(({ refusal }) => refusal ?? [])
  }
  if (chance < 0.1) await silence(pair, gatewayId)
  else if (chance < 0.2) await compareSweep(pair, where)
  else if (chance < 0.25) await revive(pair, gatewayId)
  else if (chance < 0.28) await passAMinute(pair)
  else if (chance < 0.3) await passADay(pair)
  else if (chance < 0.32) await compareCredit(pair, random.pick(pair.projects), BigInt(1 + random.int(500)), where)
  else await compareTakeBack(pair, random.pick(pair.projects), BigInt(1 + random.int(1_500)), where)
  return []
}

async function drawBatch(random: Random, pair: Pair, gatewayId: string): Promise<LedgerItem[]> {
  const items = new Map<string, LedgerItem>()
  for (let n = 0; n <= random.int(6); n++) {
    const item = await drawItem(random, pair, gatewayId)
    if (item) items.set(`${item.part} ${(item.part === 'settle' ? item.settlement : item.request).callId}`, item)
  }
  return [...items.values()]
}

/** Also what comes late: anything may be asked of any call, held, settled, swept or never granted. */
async function drawItem(random: Random, pair: Pair, gatewayId: string): Promise<LedgerItem | undefined> {
  const known = pair.asked.length > 0 ? random.pick(pair.asked.slice(-8)) : undefined
  const chance = random.next()
  if (!known || chance < 0.4) {
    const want = BigInt(1 + random.int(900))
    const project = random.pick(pair.projects)
    const endUserId = random.pick([undefined, ...project.endUserIds])
    const hold = newHold(project, want, BigInt(1 + random.int(Number(want))), random.next() < 0.4, endUserId)
    pair.asked.push(hold.request)
    const { callId, hasIdempotencyKey } = hold.request
    if (hasIdempotencyKey) await claim(pair, gatewayId, callId, project, `key ${random.int(3)}`)
    if (random.next() < 0.1) await giveUp(pair, callId)
    return hold
  }
  const { callId, projectId } = known
  if (chance < 0.5) return { part: 'hold', request: known }
  if (chance < 0.65) {
    const extension = random.next() < 0.7 ? (pair.extensions.get(callId) ?? 0) + 1 : 1
    pair.extensions.set(callId, extension)
    const want = BigInt(1 + random.int(400))
    return {
      part: 'extend',
      request: { callId, projectId, extension, want, min: BigInt(1 + random.int(Number(want))) },
    }
  }
  const isPaid = random.next() < 0.7
  return settleItem(known, isPaid ? BigInt(random.int(1_200)) : 0n, {
    outcome: isPaid ? random.pick(['completed', 'hung_up', 'hold_used_up']) : 'upstream_failed',
    result: known.hasIdempotencyKey && isPaid ? `result of ${callId}` : undefined,
  })
}

function newHold(
  { id: projectId, keyPairId }: Project,
  want: bigint,
  min: bigint,
  hasIdempotencyKey = false,
  endUserId?: string,
) {
  const request = {
    callId: uuidv7(),
    projectId,
    keyPairId,
    endUserId,
    modelId: 'm',
    priceVersion: 1n,
    want,
    min,
    hasIdempotencyKey,
  }
  return { part: 'hold' as const, request }
}

function settleItem({ callId, projectId, hasIdempotencyKey }: HoldRequest, charge: bigint, change = {}): LedgerItem {
  return { part: 'settle', settlement: settlementOf(callId, projectId, charge, { hasIdempotencyKey, ...change }) }
}

/** Sends a batch to both, compares answers and wallets, and returns the answers. */
async function compare(pair: Pair, gatewayId: string, items: LedgerItem[], where = '') {
  if (items.length === 0) return []
  const { result: answers, nowMs } = await atOneMoment((client) => applyWith({ pool: client, gatewayId })(items))
  const expected = applyBatch(STATEMENT, pair.tables, gatewayId, items, nowMs)
  assert.deepEqual(answers.map(plain), expected.map(plain), `${where}: answers`)
  await compareWallets(pair, where)
  return answers
}

/** In a transaction, because its time stands still: limits count per minute, and memory must be in the same one. */
async function atOneMoment<T>(work: (client: PoolClient) => Promise<T>): Promise<{ result: T; nowMs: number }> {
  const client = await store.ledgerPool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<{ ms: string }>('select floor(extract(epoch from now()) * 1000) as ms')
    const result = await work(client)
    await client.query('commit')
    return { result, nowMs: Number(rows[0]?.ms) }
  } finally {
    client.release()
  }
}

/** Moves the current minute back by one, so that its use belongs to the minute before. */
async function passAMinute({ projects, tables }: Pair): Promise<void> {
  const ids = projects.map(({ id }) => id)
  await sql`update wallets set minute_started_at = minute_started_at - interval '1 minute'
    where project_id = any (${ids}::uuid[])`.execute(store.db)
  for (const id of ids) tables.wallets.get(id)!.minuteStartedMs -= MINUTE_MS
  await sql`update limit_counts set minute_started_at = minute_started_at - interval '1 minute'
    where project_id = any (${ids}::uuid[])`.execute(store.db)
  for (const row of tables.counts) row.minuteStartedMs -= MINUTE_MS
}

/** Moves today's spending to yesterday. */
async function passADay({ projects, tables }: Pair): Promise<void> {
  await sql`update limit_counts set day_started_at = day_started_at - interval '1 day'
    where project_id = any (${projects.map(({ id }) => id)}::uuid[])`.execute(store.db)
  for (const row of tables.counts) row.dayStartedMs -= DAY_MS
}

function plain({
  id,
  part,
  amount_nanos,
  refusal,
}: {
  id: string
  part: string
  amount_nanos: bigint | null
  refusal: string | null
}) {
  return { id, part, amount_nanos, refusal }
}

async function compareWallets({ projects, tables }: Pair, where: string): Promise<void> {
  for (const { id } of projects) {
    const { balance, held, owed, openHolds, minuteRequests, minuteTokens } = tables.wallets.get(id)!
    const row = await findWallet(store.db, id)
    const used = { minuteRequests: row?.minute_requests, minuteTokens: Number(row?.minute_tokens) }
    const wallet = { ...(await walletOf(store, id)), owed: row?.owed_nanos, ...used }
    assert.deepEqual(wallet, { balance, held, owed, openHolds, minuteRequests, minuteTokens }, `${where}: wallet`)
  }
  await compareCounts({ projects, tables }, where)
}

async function compareCounts({ projects, tables }: Pick<Pair, 'projects' | 'tables'>, where: string): Promise<void> {
  const { rows } = await sql<Record<string, unknown>>`
    select subject, held_nanos, open_holds, minute_requests, minute_tokens, day_nanos, total_nanos from limit_counts
    where project_id = any (${projects.map(({ id }) => id)}::uuid[]) order by subject`.execute(store.db)
  const counted = tables.counts
    .toSorted((a, b) => (a.subject < b.subject ? -1 : 1))
    .map((row) => ({
      subject: row.subject,
      held_nanos: row.held,
      open_holds: row.openHolds,
      minute_requests: row.minuteRequests,
      minute_tokens: BigInt(row.minuteTokens),
      day_nanos: row.dayNanos,
      total_nanos: row.totalNanos,
    }))
  assert.deepEqual(rows, counted, `${where}: counts`)
}

async function compareCredit(pair: Pair, { id: projectId }: Project, amount: bigint, where: string): Promise<void> {
  const reference = `test:${uuidv7()}`
  await creditWallet(store.db, { id: uuidv7(), projectId, amount, kind: 'topup', reference, reason: null })
  STATEMENT.credit(pair.tables, projectId, amount, reference)
  await compareWallets(pair, `${where}: credit`)
}

/** Takes back part of the first top-up, with which the wallet began. */
async function compareTakeBack(pair: Pair, { id: projectId }: Project, amount: bigint, where: string): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from transfers where credit_account = ${projectId} and kind = 'topup' order by id limit 1`.execute(
    store.db,
  )
  const [first] = rows
  if (!first || !transferOf(pair.tables, firstTopUpOf(projectId))) return
  const reference = `test:${uuidv7()}`
  await sql`select ledger_take_owing(${projectId}, ${first.id}, ${amount}, 'chargeback', ${reference}, null)`.execute(
    store.db,
  )
  STATEMENT.takeBack(pair.tables, projectId, amount, reference)
  await compareWallets(pair, `${where}: take back`)
}

async function compareSweep(pair: Pair, where: string): Promise<void> {
  const { result, nowMs } = await atOneMoment((client) =>
    client.query<{ swept: number }>(`select ledger_sweep($1 * interval '1 ms', $2 * interval '1 ms', 1000) as swept`, [
      LEASE_MS,
      LONGEST_CALL_MS,
    ]),
  )
  const expected = sweep(STATEMENT, pair.tables, LEASE_MS, LONGEST_CALL_MS, nowMs)
  assert.equal(result.rows[0]?.swept, expected.length, `${where}: swept`)
  await compareWallets(pair, where)
}

async function claim(pair: Pair, gatewayId: string, callId: string, project: Project, key: string): Promise<void> {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const { id: projectId, keyPairId } = project
  const wanted = { projectId, keyPairId, keyDigest: digest(key), bodyDigest: digest('body'), callId, gatewayId }
  const asked = { ...wanted, conversationId: undefined }
  const answer = await claimKey(store.db, asked, LEASE_MS, IDEMPOTENCY_KEPT_MS)
  assert.deepEqual(answer, memoryKeys.claimKey(pair.tables, asked, LEASE_MS, IDEMPOTENCY_KEPT_MS, Date.now()), 'claim')
}

async function giveUp(pair: Pair, callId: string): Promise<void> {
  await giveUpKey(store.db, callId)
  memoryKeys.giveUpKey(pair.tables, callId)
}

/** The gateway has not been heard of for longer than the lease. */
async function silence(pair: Pair, gatewayId: string): Promise<void> {
  await sql`update gateways set beat_at = now() - interval '2 minutes' where id = ${gatewayId}`.execute(store.db)
  pair.tables.beats.set(gatewayId, Date.now() - 120_000)
}

async function revive(pair: Pair, gatewayId: string): Promise<void> {
  await beat(store.db, gatewayId, [1])
  pair.tables.beats.set(gatewayId, Date.now())
}

async function chargesOf({ projects }: Pair) {
  const { rows } = await sql<Record<string, unknown>>`
    select id, project_id, held_nanos, usage_nanos, charged_nanos, outcome from charges
    where project_id = any (${projects.map(({ id }) => id)}::uuid[]) order by id`.execute(store.db)
  return rows
}

function memoryChargesOf({ tables }: Pair) {
  return tables.charges
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, projectId, held, worth, charged, outcome }) => {
      return { id, project_id: projectId, held_nanos: held, usage_nanos: worth, charged_nanos: charged, outcome }
    })
}

async function transfersOf({ asked }: Pair) {
  const { rows } = await sql<Record<string, unknown>>`
    select kind, amount_nanos, reference from transfers where corrects = any (${asked.map(({ callId }) => callId)}::uuid[])
    order by reference`.execute(store.db)
  return rows
}

function memoryTransfersOf({ tables }: Pair) {
  return tables.transfers
    .filter(({ reference }) => reference.startsWith('late:') || /^absorbed:[0-9a-f]/.test(reference))
    .toSorted((a, b) => (a.reference < b.reference ? -1 : 1))
    .map(({ kind, amount, reference }) => ({ kind, amount_nanos: amount, reference }))
}
