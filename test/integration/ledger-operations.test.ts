import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { createSecrets, type Secrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { ParleyError } from '../../src/rules/errors.ts'
import type { Store } from '../../src/store/database.ts'
import type { Ledger } from '../../src/store/billing/ledger/ledger.ts'
import {
  adjustWallet,
  creditWallet,
  effectOf,
  findWallet,
  listEntries,
  refundCall,
  refundWallet,
  movementRefusalOf,
  reverseTransfer,
  sweepHolds,
  type Movement,
} from '../../src/store/billing/wallets.ts'
import { createTestDatabase, openTestStore } from '../support/database.ts'
import { auditOf, createTestLedger, settlementOf } from '../support/ledger.ts'
import { addProject, credit, walletOf } from '../support/world.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let store: Store
let secrets: Secrets
let ledger: Ledger

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'ledger operations test' })
  secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }])
  ledger = createTestLedger(store.ledgerPool)
})
after(async () => {
  await store.close()
  await database.drop()
})
afterEach(async () => assert.deepEqual(await auditOf(store), []))

/** A project with this much credit, and the movements of its wallet. */
async function wallet(nanos: bigint) {
  const { id: projectId } = await addProject(store, secrets, { credits: '0' })
  if (nanos > 0n) await credit(store, projectId, nanos)
  const key = await store.db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow()
  const movement = (amount: bigint, reference = `test:${uuidv7()}`): Movement => {
    return { id: uuidv7(), projectId, amount, reference, reason: 'a test' }
  }
  const hold = async (amount: bigint) => {
    const callId = uuidv7()
    const asked = { callId, projectId, keyPairId: key.id, modelId: 'm', priceVersion: 1n, hasIdempotencyKey: false }
    await ledger.hold({ ...asked, want: amount, min: amount })
    return callId
  }
  const settle = (callId: string, charge: bigint) => ledger.settle(settlementOf(callId, projectId, charge))
  return {
    projectId,
    movement,
    hold,
    settle,
    call: async (charge: bigint) => {
      const callId = await hold(charge)
      await settle(callId, charge)
      return callId
    },
    balance: async () => (await walletOf(store, projectId)).balance,
    owed: async () => (await findWallet(store.db, projectId))?.owed_nanos,
    refund: (amount: bigint, reference?: string) => refundWallet(store.db, movement(amount, reference)),
    refundCall: (callId: string, amount: bigint, reference?: string) =>
      refundCall(store.db, callId, movement(amount, reference)),
    adjust: (amount: bigint, reference?: string) => adjustWallet(store.db, movement(amount, reference)),
    reverse: (transferId: string, reference?: string) => reverseTransfer(store.db, transferId, movement(1n, reference)),
    entries: () => listEntries(store.db, projectId, 100),
    /** The id of the newest movement of this kind. */
    newest: async (kind: string) =>
      String((await listEntries(store.db, projectId, 100)).find((entry) => entry.kind === kind)?.id),
  }
}

function isRefused(why: string): (error: unknown) => boolean {
  return (error) => {
    assert.equal(movementRefusalOf(error), why, String(error))
    return true
  }
}

function isCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof ParleyError && error.code === code
}

/** How many were posted, were posted before, and why the others were refused. */
async function tally(movements: Promise<boolean>[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const result of await Promise.allSettled(movements)) {
    const name =
      result.status === 'fulfilled'
        ? result.value
          ? 'posted'
          : 'replayed'
        : (movementRefusalOf(result.reason) ?? String(result.reason))
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

test('a cash refund takes what is available and nothing that running calls hold', async () => {
  const { hold, settle, refund, balance } = await wallet(1_000n)
  const callId = await hold(400n)
  await assert.rejects(refund(601n), isRefused('not_available'))
  assert.equal(await refund(600n), true)
  await assert.rejects(refund(1n), isRefused('not_available'))
  assert.equal(await settle(callId, 400n), 400n)
  assert.equal(await balance(), 0n)
})

test('refunds at the same time take together no more than there is', async () => {
  const { refund, balance } = await wallet(10n)
  assert.deepEqual(await tally(Array.from({ length: 30 }, () => refund(1n))), { posted: 10, not_available: 20 })
  assert.equal(await balance(), 0n)
})

test('the same reference moves money once, however often and however it is sent at the same time', async () => {
  const { projectId, refund, adjust, movement, balance } = await wallet(100n)
  assert.deepEqual(await tally(Array.from({ length: 20 }, () => refund(7n, 'same'))), { posted: 1, replayed: 19 })
  assert.deepEqual(await tally(Array.from({ length: 20 }, () => adjust(-3n, 'less'))), { posted: 1, replayed: 19 })
  const topup = { ...movement(1n, 'paid'), kind: 'topup' } as const
  const credits = Array.from({ length: 20 }, () => creditWallet(store.db, { ...topup, id: uuidv7() }))
  assert.deepEqual(await tally(credits), { posted: 1, replayed: 19 })
  assert.equal(await balance(), 91n)

  await assert.rejects(refund(8n, 'same'), isRefused('reference_taken'))
  await assert.rejects(adjust(7n, 'same'), isRefused('reference_taken'))
  await assert.rejects(adjust(3n, 'less'), isRefused('reference_taken'))
  const other = await wallet(100n)
  await assert.rejects(other.refund(7n, 'same'), isRefused('reference_taken'))
  assert.equal((await walletOf(store, projectId)).balance, 91n)
})

test('an adjustment adds or takes away, with its reason in the ledger', async () => {
  const { adjust, balance, entries } = await wallet(100n)
  await adjust(50n)
  await adjust(-150n)
  assert.equal(await balance(), 0n)
  await assert.rejects(adjust(-1n), isRefused('not_available'))
  const [taken, added] = await entries()
  assert.partialDeepStrictEqual(added, { kind: 'adjustment', delta_nanos: 50n, reason: 'a test' })
  assert.partialDeepStrictEqual(taken, { kind: 'adjustment', delta_nanos: -150n, corrects: null })
})

test('a call is refunded at most what it was charged, in however many parts', async () => {
  const { call, refundCall, balance, entries } = await wallet(100n)
  const callId = await call(10n)
  await assert.rejects(refundCall(callId, 11n), isRefused('corrected_before'))
  assert.equal(await refundCall(callId, 4n, 'part'), true)
  assert.equal(await refundCall(callId, 4n, 'part'), false)
  await assert.rejects(refundCall(callId, 7n), isRefused('corrected_before'))
  assert.equal(await refundCall(callId, 6n), true)
  await assert.rejects(refundCall(callId, 1n), isRefused('corrected_before'))
  assert.equal(await balance(), 100n)
  assert.partialDeepStrictEqual((await entries())[0], { kind: 'refund', delta_nanos: 6n, corrects: callId })
})

test('a reference that refunded one call does not refund another', async () => {
  const { call, refundCall } = await wallet(100n)
  const [first, second] = [await call(10n), await call(10n)]
  await refundCall(first, 5n, 'half')
  await assert.rejects(refundCall(second, 5n, 'half'), isRefused('reference_taken'))
})

test('refunds of one call at the same time give back together no more than it was charged', async () => {
  const { call, refundCall, balance } = await wallet(100n)
  const callId = await call(10n)
  const parts = Array.from({ length: 20 }, () => refundCall(callId, 3n))
  assert.deepEqual(await tally(parts), { posted: 3, corrected_before: 17 })
  assert.equal(await balance(), 99n)
})

test('only a settled call of the same project is refunded', async () => {
  const mine = await wallet(100n)
  const theirs = await wallet(100n)
  const callId = await theirs.call(10n)
  await assert.rejects(mine.refundCall(callId, 1n), isRefused('not_found'))
  await assert.rejects(mine.refundCall(uuidv7(), 1n), isRefused('not_found'))
  const open = await mine.hold(5n)
  await assert.rejects(mine.refundCall(open, 1n), isRefused('not_found'))
  await mine.settle(open, 0n)
  await assert.rejects(mine.refundCall(open, 1n), isRefused('corrected_before'))
})

test('a transfer is reversed once, and a reversal never', async () => {
  const { refund, reverse, newest, balance } = await wallet(100n)
  await refund(30n)
  const refunded = await newest('refund')
  assert.equal(await reverse(refunded, 'undo'), true)
  assert.equal(await reverse(refunded, 'undo'), false)
  await assert.rejects(reverse(refunded), isRefused('reversed_before'))
  await assert.rejects(reverse(await newest('reversal')), isRefused('is_reversal'))
  await assert.rejects(reverse(uuidv7()), isRefused('not_found'))
  assert.equal(await balance(), 100n)
})

test('of reversals at the same time one is posted', async () => {
  const { adjust, reverse, newest, balance } = await wallet(100n)
  await adjust(-30n)
  const taken = await newest('adjustment')
  const reversals = Array.from({ length: 20 }, () => reverse(taken))
  assert.deepEqual(await tally(reversals), { posted: 1, reversed_before: 19 })
  await adjust(-40n, 'second')
  const again = Array.from({ length: 20 }, (_, n) => reverse(taken, `again-${n}`))
  assert.deepEqual(await tally(again), { reversed_before: 20 })
  assert.equal(await balance(), 60n)
})

test('credit that was spent since cannot be taken away by reversing its top-up', async () => {
  const { call, reverse, newest, balance } = await wallet(100n)
  await call(1n)
  await assert.rejects(reverse(await newest('topup')), isRefused('not_available'))
  assert.equal(await balance(), 99n)
})

test('what a reversal undid can be done again', async () => {
  const { projectId, call, refundCall, reverse, newest, balance } = await wallet(100n)
  const callId = await call(10n)
  await refundCall(callId, 10n)
  await reverse(await newest('refund'))
  assert.equal(await effectOf(store.db, projectId, callId), -10n)
  assert.equal(await balance(), 90n)
  assert.equal(await refundCall(callId, 10n), true)
  await assert.rejects(refundCall(callId, 1n), isRefused('corrected_before'))
  assert.equal(await balance(), 100n)
})

test('a late charge that was refunded cannot be reversed as well: a call never earns its caller credit', async () => {
  const { hold, settle, refundCall, reverse, newest, balance } = await wallet(100n)
  const callId = await hold(10n)
  assert.equal(await sweepHolds(store.db, 0, 3_600_000, 10), 1)
  await settle(callId, 10n)
  assert.equal(await balance(), 90n)
  await refundCall(callId, 6n)
  await assert.rejects(reverse(await newest('late_charge')), isRefused('corrected_before'))
  await refundCall(callId, 4n)
  await assert.rejects(refundCall(callId, 1n), isRefused('corrected_before'))
  assert.equal(await balance(), 100n)
})

test('a top-up that was taken back in part cannot be reversed in full', async () => {
  const { projectId, reverse, newest, balance } = await wallet(1_000n)
  await credit(store, projectId, 1_000n)
  const topup = await newest('topup')
  assert.deepEqual(await takeBack(projectId, topup, 300n, 'back-1'), { owed: 0n, absorbed: 0n })
  await assert.rejects(reverse(topup), isRefused('corrected_before'))
  // Never more than is left of what was credited, although the wallet has more; the rest is the operator's loss.
  assert.deepEqual(await takeBack(projectId, topup, 750n, 'back-2'), { owed: 0n, absorbed: 50n })
  assert.equal(await balance(), 1_000n)
  const loss = store.db
    .selectFrom('transfers')
    .select(['amount_nanos', 'kind'])
    .where('reference', '=', 'absorbed:back-2')
  assert.deepEqual(await loss.executeTakeFirst(), { amount_nanos: 50n, kind: 'absorbed' })
})

async function takeBack(projectId: string, credited: string, amount: bigint, reference: string) {
  const { rows } = await sql<{ owed: bigint; absorbed: bigint }>`
    select * from ledger_take_owing(${projectId}, ${credited}, ${amount}, 'chargeback', ${reference}, null)`.execute(
    store.db,
  )
  return rows[0]
}

test('credit that is held when it is taken back is owed, and collected from whatever the calls release', async () => {
  const { projectId, hold, settle, newest, balance, owed } = await wallet(1_000n)
  const calls = await Promise.all([hold(400n), hold(600n)])
  assert.deepEqual(await takeBack(projectId, await newest('topup'), 1_000n, `back:${projectId}`), {
    owed: 1_000n,
    absorbed: 0n,
  })
  assert.deepEqual([await balance(), await owed()], [1_000n, 1_000n], 'what runs is still paid for')
  await settle(calls[0], 100n)
  assert.deepEqual([await balance(), await owed()], [600n, 700n])
  await settle(calls[1], 0n)
  assert.deepEqual([await balance(), await owed()], [0n, 100n], 'nothing is kept but what was used')
  assert.deepEqual(await auditOf(store), [])
})

test('what is owed is paid by the next credit before anything else, and until then no call is answered', async () => {
  const { projectId, hold, call, newest, balance, owed } = await wallet(1_000n)
  await call(700n)
  await takeBack(projectId, await newest('topup'), 1_000n, `back:${projectId}`)
  assert.deepEqual([await balance(), await owed()], [0n, 700n])
  await assert.rejects(hold(1n), isCode('credit_owed'))
  await credit(store, projectId, 500n)
  assert.deepEqual([await balance(), await owed()], [0n, 200n])
  await assert.rejects(hold(1n), isCode('credit_owed'))
  await credit(store, projectId, 500n)
  assert.deepEqual([await balance(), await owed()], [300n, 0n])
  await call(300n)
  assert.deepEqual(await auditOf(store), [])
})

test('who owes does not go on with another project; other publishers do', async () => {
  const debtor = await wallet(1_000n)
  const sibling = await wallet(1_000n)
  const stranger = await wallet(1_000n)
  const { publisher_id } = await store.db
    .selectFrom('projects')
    .select('publisher_id')
    .where('id', '=', debtor.projectId)
    .executeTakeFirstOrThrow()
  await store.db.updateTable('projects').set({ publisher_id }).where('id', '=', sibling.projectId).execute()
  const running = await sibling.hold(100n)
  await debtor.call(700n)
  await takeBack(debtor.projectId, await debtor.newest('topup'), 1_000n, `back:${debtor.projectId}`)
  // In one batch, so that what is found for one project is not taken for the next one's.
  const asked = await Promise.allSettled([debtor, sibling, stranger].map(({ hold }) => hold(1n)))
  assert.deepEqual(
    asked.map((answer) => (answer.status === 'rejected' ? (answer.reason as ParleyError).code : 'held')),
    ['credit_owed', 'credit_owed', 'held'],
  )
  await sibling.settle(running, 100n)
  assert.deepEqual(
    [await sibling.balance(), await debtor.owed()],
    [900n, 700n],
    'what ran goes on, its own wallet pays',
  )
  await credit(store, debtor.projectId, 700n)
  await sibling.call(900n)
  await stranger.settle((asked[2] as PromiseFulfilledResult<string>).value, 1n)
})

test('taken back twice under one reference is taken back once', async () => {
  const { projectId, call, newest, balance, owed } = await wallet(1_000n)
  await call(900n)
  const topup = await newest('topup')
  await Promise.all(Array.from({ length: 10 }, () => takeBack(projectId, topup, 1_000n, `back:${projectId}`)))
  assert.deepEqual([await balance(), await owed()], [0n, 900n])
})

test('a reversal of what took it back pays what is owed, to the nano', async () => {
  const { projectId, call, reverse, newest, balance, owed } = await wallet(1_000n)
  await call(600n)
  await takeBack(projectId, await newest('topup'), 1_000n, `back:${projectId}`)
  assert.deepEqual([await balance(), await owed()], [0n, 600n])
  await reverse(await newest('chargeback'))
  assert.deepEqual([await balance(), await owed()], [400n, 0n])
})

test('an operator who accepts it may refund or reverse what was spent: the rest is owed', async () => {
  const { projectId, call, newest, balance, owed } = await wallet(1_000n)
  await call(900n)
  const order = { id: uuidv7(), projectId, amount: 300n, reference: 'refund', reason: null }
  assert.equal(await refundWallet(store.db, order, true), true)
  assert.equal(await refundWallet(store.db, order, true), false, 'once')
  assert.deepEqual([await balance(), await owed()], [0n, 200n])
  const topup = await newest('topup')
  const reversal = { id: uuidv7(), reference: 'reversal', reason: null }
  assert.equal(await reverseTransfer(store.db, topup, reversal, true), true)
  assert.equal(await reverseTransfer(store.db, topup, reversal, true), false, 'once')
  assert.deepEqual([await balance(), await owed()], [0n, 1_200n])
  for (const kind of ['owed', 'collection'] as const) {
    if (kind === 'collection') await credit(store, projectId, 1n)
    await assert.rejects(reverseTransfer(store.db, await newest(kind), { ...reversal, reference: kind }), /reversal/)
  }
  assert.deepEqual(await auditOf(store), [])
})

test('taking back, crediting and calling at the same time, nothing is kept that was taken back', async () => {
  const { projectId, call, newest, balance, owed } = await wallet(10_000n)
  const topup = await newest('topup')
  const charged = async () => {
    const sum = sql<{ nanos: bigint }>`select coalesce(sum(charged_nanos), 0)::int8 as nanos from charges
      where project_id = ${projectId}`
    return (await sum.execute(store.db)).rows[0]!.nanos
  }
  const work = Array.from({ length: 20 }, (_, n) => [
    () => call(50n).catch(() => undefined),
    () => call(5n).catch(() => undefined),
    () => takeBack(projectId, topup, 400n, `back:${projectId}:${n}`),
    () => credit(store, projectId, 100n),
  ]).flat()
  await Promise.all(work.map((run) => run()))
  assert.equal((await balance()) - ((await owed()) ?? 0n), 10_000n - 20n * 400n + 20n * 100n - (await charged()))
  assert.deepEqual(await auditOf(store), [])
})

test('movements of all kinds among running calls wait for each other and never in a circle', async () => {
  const { projectId, call, refund, adjust, refundCall, reverse, balance } = await wallet(10_000n)
  const calls = await Promise.all(Array.from({ length: 10 }, () => call(10n)))
  const { id } = await store.db
    .selectFrom('transfers')
    .select('id')
    .where('credit_account', '=', projectId)
    .executeTakeFirstOrThrow()
  const work = calls.flatMap((callId, n) => [
    () => call(5n),
    () => refund(2n, `r-${n % 3}`),
    () => refundCall(callId, 10n, `c-${n % 5}`).catch(() => false),
    () => adjust(n % 2 === 0 ? 1n : -1n),
    () => reverse(id).catch((error: unknown) => assert.equal(movementRefusalOf(error), 'not_available')),
  ])
  await Promise.all(work.map((run) => run()))
  // 100 charged and 50 more; three refunds of 2; five calls refunded; adjustments cancel out.
  assert.equal(await balance(), 10_000n - 100n - 50n - 6n + 50n)
})

test('no movement can be edited or removed', async () => {
  const { newest } = await wallet(100n)
  const id = await newest('topup')
  await assert.rejects(sql`update transfers set amount_nanos = 1 where id = ${id}`.execute(store.db), /append-only/)
  await assert.rejects(sql`delete from transfers where id = ${id}`.execute(store.db), /append-only/)
})
