import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { LimitScope } from '../../src/rules/billing/limits.ts'
import type { Ledger } from '../../src/store/billing/ledger/ledger.ts'
import { NO_LIMITS, replaceLimits, type LimitValues } from '../../src/store/billing/limits.ts'
import type { Store } from '../../src/store/database.ts'
import { insertProject } from '../../src/store/projects/projects.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { createTestLedger, settlementOf } from '../support/ledger.ts'
import { loginUrl } from '../support/logins.ts'
import { addProject, credit, walletOf } from '../support/world.ts'

/** Limits and budgets at the ledger itself: as hard as the wallet, whoever asks and from wherever. */

let database: TestDatabase
let store: Store
let gatewayStore: Store
let secrets: Secrets
let ledger: Ledger
before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'limits test' })
  secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }])
  gatewayStore = openTestStore({ url: loginUrl(database.url, 'gateway'), applicationName: 'limits test gateway' })
  ledger = createTestLedger(gatewayStore.ledgerPool)
})
after(async () => {
  await gatewayStore.close()
  await store.close()
  await database.drop()
})

interface Asking {
  endUserId?: string
  keyPairId?: string
  min?: bigint
  through?: Ledger
}

async function createSite(nanos = 1_000_000n) {
  const project = await addProject(store, secrets, { credits: '0' })
  await credit(store, project.id, nanos)
  const { id: keyPairId, publisher_id: publisherId } = await store.db
    .selectFrom('key_pairs as k')
    .innerJoin('projects as p', 'p.id', 'k.project_id')
    .select(['k.id', 'p.publisher_id'])
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  const asking = { projectId: project.id, keyPairId, modelId: 'm', priceVersion: 1n, hasIdempotencyKey: false }
  const subjects: Record<string, string> = {
    publisher: publisherId,
    project: project.id,
    key_pair: keyPairId,
    end_users: project.id,
  }
  return {
    projectId: project.id,
    keyPairId,
    publisherId,
    limit: (scope: LimitScope, values: Partial<LimitValues>, subject = subjects[scope] ?? '') =>
      replaceLimits(
        store.db,
        { scope, subject, publisherId, projectId: scope === 'publisher' ? null : project.id },
        { ...NO_LIMITS, ...values },
      ),
    async hold(want: bigint, { min = want, through = ledger, ...who }: Asking = {}) {
      const callId = uuidv7()
      const grant = await through.hold({ ...asking, ...who, callId, want, min })
      return { callId, ...grant }
    },
    settle: (callId: string, charge: bigint, change = {}) =>
      ledger.settle(settlementOf(callId, project.id, charge, change)),
    extend: (callId: string, want: bigint, extension = 1) =>
      ledger.extend({ callId, projectId: project.id, extension, want, min: 1n }),
    wallet: () => walletOf(store, project.id),
    counted: async (scope: string) => {
      const rows = await store.db
        .selectFrom('limit_counts')
        .select(['held_nanos', 'open_holds', 'day_nanos', 'month_nanos', 'total_nanos'])
        .where('scope', '=', scope)
        .where(({ or, eb }) => or([eb('project_id', '=', project.id), eb('subject', '=', publisherId)]))
        .execute()
      return rows
    },
  }
}

test('what a budget leaves is granted and not a nano more, also to hundreds of calls at once through two gateways', async () => {
  const site = await createSite()
  await site.limit('key_pair', { month_nanos: 1_000n })
  const second = createTestLedger(store.ledgerPool)
  const asked = Array.from({ length: 400 }, (_, n) => site.hold(7n, { through: n % 2 === 0 ? ledger : second }))
  const results = await Promise.allSettled(asked)
  const granted = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  assert.equal(granted.length, 142, '142 times 7 is 994')
  await Promise.all(granted.map(({ callId }) => site.settle(callId, 7n)))
  assert.deepEqual(await site.counted('key_pair'), [
    { held_nanos: 0n, open_holds: 0, day_nanos: 994n, month_nanos: 994n, total_nanos: 994n },
  ])
  assert.equal((await site.hold(100n, { min: 1n })).amount, 6n, 'the rest is granted in part')
  await assert.rejects(site.hold(1n), { code: 'budget_held', status: 403 })
})

test('a used up budget is told apart from one that is held, and both sentences name it', async () => {
  const site = await createSite()
  await site.limit('project', { day_nanos: 100n })
  const { callId } = await site.hold(100n)
  await assert.rejects(site.hold(1n), (error: Error & { code?: string; options?: { retryAfterSeconds?: number } }) => {
    assert.equal(error.code, 'budget_held')
    assert.match(error.message, /^The rest of the daily budget of the project is held by calls in flight\./)
    return error.options?.retryAfterSeconds === 2
  })
  await site.settle(callId, 100n)
  await assert.rejects(site.hold(1n), {
    code: 'budget_used_up',
    message: /^The daily budget of the project is used up\. It resets on \d+ \w+ \d{4} at 00:00 UTC\./,
  })
})

test('every end user has the budget that is set for all, and one may have another', async () => {
  const site = await createSite()
  const [ada, bob] = [uuidv7(), uuidv7()]
  await site.limit('end_users', { day_nanos: 100n, requests_per_minute: 5 })
  await site.limit('end_user', { day_nanos: 300n }, bob)
  await site.hold(100n, { endUserId: ada })
  await assert.rejects(site.hold(1n, { endUserId: ada }), /daily budget of this end user/)
  await site.hold(300n, { endUserId: bob })
  await assert.rejects(site.hold(1n, { endUserId: bob }), { code: 'budget_held' })
  await site.hold(500n, {})
  await site.limit('end_user', {}, bob)
  await assert.rejects(site.hold(1n, { endUserId: bob }), { code: 'budget_held' }, 'he is one of all again')
})

test('requests, tokens and calls at once hold for a key pair and for an end user, also within one batch', async () => {
  const site = await createSite()
  const endUserId = uuidv7()
  await site.limit('end_users', { requests_per_minute: 3 })
  const results = await Promise.allSettled(Array.from({ length: 5 }, () => site.hold(1n, { endUserId })))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 3)
  const refused = results.find(({ status }) => status === 'rejected')
  assert.match(
    String((refused as PromiseRejectedResult).reason),
    /This end user has reached its limit of requests per minute/,
  )

  const other = await createSite()
  await other.limit('key_pair', { concurrent_calls: 2 })
  const open = await other.hold(1n)
  await other.hold(1n)
  await assert.rejects(other.hold(1n), { code: 'concurrency_limited' })
  await other.settle(open.callId, 1n)
  await other.hold(1n)

  const third = await createSite()
  await third.limit('key_pair', { tokens_per_minute: 10n })
  const { callId } = await third.hold(1n)
  const usage = { input: 10, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }
  await third.settle(callId, 1n, { usage })
  await assert.rejects(third.hold(1n), { code: 'rate_limited', message: /tokens per minute/ })
})

test('a hold says what the tightest rate leaves', async () => {
  const site = await createSite()
  await store.db.updateTable('projects').set({ requests_per_minute: 100 }).where('id', '=', site.projectId).execute()
  assert.deepEqual((await site.hold(1n)).rates, { requests: { limit: 100, left: 99 }, tokens: undefined })
  await site.limit('key_pair', { requests_per_minute: 10, tokens_per_minute: 500n })
  const { rates } = await site.hold(1n)
  assert.deepEqual(rates, { requests: { limit: 10, left: 9 }, tokens: { limit: 500, left: 500 } })
  const free = await createSite()
  assert.equal((await free.hold(1n)).rates, undefined)
})

test('a budget resets with its day, and what is held counts for the new one', async () => {
  const site = await createSite()
  await site.limit('key_pair', { day_nanos: 100n, total_nanos: 150n })
  const first = await site.hold(60n)
  await site.settle(first.callId, 60n)
  const open = await site.hold(40n)
  await sql`update limit_counts set day_started_at = day_started_at - interval '1 day' where subject = ${site.keyPairId}`.execute(
    store.db,
  )
  assert.equal((await site.hold(100n, { min: 1n })).amount, 50n, 'of 90 in total, 40 are held')
  await site.settle(open.callId, 40n)
  const [counted] = await site.counted('key_pair')
  assert.deepEqual([counted?.day_nanos, counted?.total_nanos], [40n, 100n], 'it was settled today')
})

test('an answer grows no further than its budgets', async () => {
  const site = await createSite()
  await site.limit('key_pair', { month_nanos: 100n })
  const { callId } = await site.hold(60n)
  assert.equal(await site.extend(callId, 60n), 100n)
  assert.equal(await site.extend(callId, 60n, 2), 100n)
  assert.deepEqual(await site.wallet(), { balance: 1_000_000n, held: 100n, openHolds: 1 })
  assert.equal(await site.settle(callId, 100n), 100n)
})

test('usage beyond the hold is charged as far as the budget goes, and the rest is a loss', async () => {
  const site = await createSite()
  await site.limit('key_pair', { month_nanos: 100n })
  const [a, b] = [await site.hold(30n), await site.hold(30n)]
  assert.deepEqual(await Promise.all([site.settle(a.callId, 60n), site.settle(b.callId, 60n)]), [60n, 40n])
  assert.equal((await site.counted('key_pair'))[0]?.month_nanos, 100n)
  assert.deepEqual(await site.wallet(), { balance: 999_900n, held: 0n, openHolds: 0 })
})

test('what one call releases of a budget pays for what another in the same statement goes beyond its hold', async () => {
  const site = await createSite()
  await site.limit('key_pair', { month_nanos: 100n })
  const [over, under] = [await site.hold(50n), await site.hold(50n)]
  const settles = [site.settle(over.callId, 80n), site.settle(under.callId, 20n)]
  assert.deepEqual(await Promise.all(settles), [80n, 20n])
  assert.deepEqual(await site.counted('key_pair'), [
    { held_nanos: 0n, open_holds: 0, day_nanos: 100n, month_nanos: 100n, total_nanos: 100n },
  ])
})

test('a settle that is sent again counts once, and so does a hold', async () => {
  const site = await createSite()
  await site.limit('key_pair', { month_nanos: 1_000n })
  const { callId } = await site.hold(30n)
  await ledger.hold({
    callId,
    projectId: site.projectId,
    keyPairId: site.keyPairId,
    modelId: 'm',
    priceVersion: 1n,
    want: 30n,
    min: 30n,
    hasIdempotencyKey: false,
  })
  assert.equal((await site.counted('key_pair'))[0]?.held_nanos, 30n)
  await site.settle(callId, 20n)
  await site.settle(callId, 20n)
  assert.deepEqual(await site.counted('key_pair'), [
    { held_nanos: 0n, open_holds: 0, day_nanos: 20n, month_nanos: 20n, total_nanos: 20n },
  ])
})

test('what a dead gateway held is free again, and its late bill takes no more than the budget has', async () => {
  const site = await createSite()
  await site.limit('key_pair', { month_nanos: 100n })
  const { callId } = await site.hold(80n)
  await sql`select ledger_sweep(interval '0', interval '0', 1000)`.execute(store.db)
  assert.equal((await site.counted('key_pair'))[0]?.held_nanos, 0n)
  const next = await site.hold(70n)
  assert.equal(await site.settle(callId, 80n), 30n)
  await site.settle(next.callId, 70n)
  assert.deepEqual(await site.counted('key_pair'), [
    { held_nanos: 0n, open_holds: 0, day_nanos: 100n, month_nanos: 100n, total_nanos: 100n },
  ])
})

test('a budget that is set counts what was spent before in its month, and the calls that run', async () => {
  const site = await createSite()
  const early = await site.hold(50n)
  await site.settle(early.callId, 50n)
  const running = await site.hold(30n)
  await site.limit('key_pair', { month_nanos: 100n })
  assert.deepEqual(await site.counted('key_pair'), [
    { held_nanos: 30n, open_holds: 1, day_nanos: 50n, month_nanos: 50n, total_nanos: 50n },
  ])
  assert.equal((await site.hold(90n, { min: 1n })).amount, 20n)
  await site.settle(running.callId, 10n)
  await site.limit('key_pair', { month_nanos: 200n })
  const [counted] = await site.counted('key_pair')
  assert.deepEqual([counted?.held_nanos, counted?.month_nanos], [20n, 60n], 'raising it starts nothing anew')
})

test('a transaction that had to wait since yesterday neither begins a day again nor forgets what today has seen', async () => {
  const site = await createSite()
  await site.limit('key_pair', { day_nanos: 100n, week_nanos: 1_000n })
  const [first, second] = [await site.hold(60n), await site.hold(10n)]
  await site.settle(first.callId, 60n)
  // To everything that follows, what was counted is of tomorrow: as if its own time had been read yesterday.
  await sql`update limit_counts set day_started_at = day_started_at + interval '1 day',
    week_started_at = week_started_at + interval '7 days' where subject = ${site.keyPairId}`.execute(store.db)
  await site.settle(second.callId, 10n)
  assert.equal((await site.counted('key_pair'))[0]?.day_nanos, 70n)
  assert.equal((await site.hold(100n, { min: 1n })).amount, 30n)
})

test('calls that outlive the last limit are counted no more, pay what they come to, and are no burden to a new limit', async () => {
  const site = await createSite()
  const endUserId = uuidv7()
  await site.limit('end_users', { day_nanos: 100n })
  const { callId } = await site.hold(60n, { endUserId })
  await site.limit('end_users', {})
  assert.equal(await site.settle(callId, 80n), 80n, 'beyond its hold, and no budget is in the way')
  await site.limit('end_users', { day_nanos: 100n })
  assert.equal((await site.hold(100n, { endUserId })).amount, 100n)
})

test('the late bill of a rolled pair takes no more than the budget that it shares', async () => {
  const site = await createSite()
  await site.limit('key_pair', { month_nanos: 100n })
  const successor = uuidv7()
  await sql`insert into key_pairs (id, project_id, name, publishable_key, secret_digest, secret_version, secret_last4, counted_as)
    select ${successor}, project_id, 'k', ${`pk_${successor}`}, secret_digest, 1, '1234', id from key_pairs
    where id = ${site.keyPairId}`.execute(store.db)
  const { callId } = await site.hold(80n, { keyPairId: successor })
  await sql`select ledger_sweep(interval '0', interval '0', 1000)`.execute(store.db)
  await site.hold(70n)
  assert.equal(await site.settle(callId, 80n), 30n)
})

test('a budget that is set counts what was collected late before', async () => {
  const site = await createSite()
  const { callId } = await site.hold(80n)
  await sql`select ledger_sweep(interval '0', interval '0', 1000)`.execute(store.db)
  assert.equal(await site.settle(callId, 80n), 80n)
  for (const scope of ['key_pair', 'project', 'publisher'] as const) {
    await site.limit(scope, { month_nanos: 100n })
    assert.equal((await site.counted(scope))[0]?.month_nanos, 80n, scope)
  }
})

test('a publisher has one budget for all projects, also for one that is made later', async () => {
  const site = await createSite()
  const { publisherId } = site
  await site.limit('publisher', { month_nanos: 100n })
  const id = uuidv7()
  const made = {
    id,
    publisherId,
    name: 'Later',
    domain: 'later.example',
    verificationToken: 't',
    domainVerifiedAt: new Date(),
  }
  await insertProject(store.db, made)
  await credit(store, id, 1_000n)
  await site.hold(70n)
  const keyPairId = uuidv7()
  await sql`insert into key_pairs (id, project_id, name, publishable_key, secret_digest, secret_version, secret_last4)
    select ${keyPairId}, ${id}, 'k', ${`pk_${keyPairId}`}, secret_digest, 1, '1234' from key_pairs where id = ${site.keyPairId}`.execute(
    store.db,
  )
  const asked = { projectId: id, keyPairId, modelId: 'm', priceVersion: 1n, hasIdempotencyKey: false, callId: uuidv7() }
  assert.equal((await ledger.hold({ ...asked, want: 50n, min: 1n })).amount, 30n)
  assert.deepEqual(await site.counted('publisher'), [
    { held_nanos: 100n, open_holds: 2, day_nanos: 0n, month_nanos: 0n, total_nanos: 0n },
  ])
})

test('without limits nothing is counted, and limits that are removed end at once', async () => {
  const site = await createSite()
  await site.hold(1n, { endUserId: uuidv7() })
  assert.deepEqual([...(await site.counted('key_pair')), ...(await site.counted('end_user'))], [])
  await site.limit('key_pair', { day_nanos: 0n })
  await assert.rejects(site.hold(1n), { code: 'budget_used_up' })
  await site.limit('key_pair', {})
  const { callId } = await site.hold(1n)
  await site.settle(callId, 1n)
  assert.deepEqual(await site.counted('key_pair'), [])
})

test('a tenant sets limits of its own only', async () => {
  const [mine, theirs] = [await createSite(), await createSite()]
  const tenantStore = openTestStore({ url: loginUrl(database.url, 'tenant'), applicationName: 'tenant' })
  try {
    const of = {
      scope: 'project',
      subject: theirs.projectId,
      publisherId: theirs.publisherId,
      projectId: theirs.projectId,
    } as const
    await assert.rejects(replaceLimits(tenantStore.db, of, { ...NO_LIMITS, day_nanos: 0n }), /is not the tenant/)
  } finally {
    await tenantStore.close()
  }
  const mixed = {
    scope: 'key_pair',
    subject: theirs.keyPairId,
    publisherId: mine.publisherId,
    projectId: mine.projectId,
  } as const
  await assert.rejects(replaceLimits(store.db, mixed, { ...NO_LIMITS, day_nanos: 0n }), /there is no key_pair/)
  const endUser = uuidv7()
  await theirs.limit('end_user', { day_nanos: 5n }, endUser)
  const taken = { ...mixed, scope: 'end_user', subject: endUser } as const
  await assert.rejects(replaceLimits(store.db, taken, NO_LIMITS), /there is no end_user/)
  const account = {
    scope: 'publisher',
    subject: theirs.publisherId,
    publisherId: mine.publisherId,
    projectId: null,
  } as const
  await assert.rejects(replaceLimits(store.db, account, { ...NO_LIMITS, day_nanos: 0n }), /there is no publisher/)
})
