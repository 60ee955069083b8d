import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { after, afterEach, before, describe, test } from 'node:test'
import { beginTopUp, finishTopUp } from '../../src/actions/billing/charge-cards.ts'
import { chargeCard } from '../../src/actions/billing/stripe-cards.ts'
import { applyPaymentEvent } from '../../src/actions/billing/payments.ts'
import { removeSavedCard, switchAutoTopUpOff } from '../../src/actions/billing/wallet-cards.ts'
import { PARLEY } from '../../src/actions/actor.ts'
import { nanosOfCents } from '../../src/rules/billing/payments.ts'
import {
  listDueTopUps,
  listPendingTopUps,
  setTax,
  type PendingTopUp,
} from '../../src/store/billing/top-ups/auto-top-ups.ts'
import { archiveProject } from '../../src/store/projects/projects.ts'
import { refundWallet } from '../../src/store/billing/wallets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Tx } from '../../src/store/database.ts'
import {
  addMember,
  createTopUpWorld,
  dollars,
  mailsTo,
  subscribe,
  type Subscriber,
  type TopUpWorld,
} from '../support/auto-top-ups.ts'
import { plantError } from '../support/planted-errors.ts'
import { auditOf } from '../support/ledger.ts'
import { eventOf } from '../support/stripe.ts'
import type { Intent } from '../support/stripe-objects.ts'

let world: TopUpWorld
before(async () => (world = await createTopUpWorld()))
after(() => world.close())
afterEach(async () => {
  world.stripe.objects.onCharged = () => false
  world.stripe.objects.declines.length = 0
  world.stripe.failures.length = 0
  // Automatic top-ups that one test has set up must not run in the next.
  await world.store.db.updateTable('auto_top_ups').set({ paused_at: new Date() }).execute()
  assert.deepEqual(await auditOf(world.store), [])
})

async function pendingOf({ id }: { id: string }): Promise<PendingTopUp> {
  const found = (await listPendingTopUps(world.workerDb, 100)).find(({ projectId }) => projectId === id)
  return found ?? assert.fail('nothing is pending')
}

test('below the threshold the card is charged once, and the credit is booked under the payment’s own id', async () => {
  const mine = await subscribe(world)
  await mine.spendTo(dollars(10))
  await world.work()
  assert.deepEqual(mine.charges(), [], 'at the threshold nothing is charged')
  await mine.spendTo(dollars(10) - 1n)
  await world.work()
  // A worker that had seen it due before it was topped up.
  assert.equal(await beginTopUp(world.workerDb, mine.id), false)
  await world.work()
  assert.equal(mine.charges().length, 1)
  assert.partialDeepStrictEqual(mine.charges()[0], { amount: 2_000, customer: (await mine.card())?.customer })
  assert.equal(await mine.balance(), dollars(30) - 1n)
  assert.deepEqual(await mine.credits(), [dollars(20), dollars(25)])
  const [topUp] = await mine.topUps()
  assert.partialDeepStrictEqual(topUp, { state: 'paid', payment_intent: mine.charges()[0]?.id, tax_nanos: 0n })
  const transfers = world.store.db.selectFrom('transfers').select('id')
  const booked = await transfers.where('reference', '=', `stripe:${mine.charges()[0]?.id}`).execute()
  assert.equal(booked.length, 1)
})

test('a worker that is killed before Stripe is asked leaves a payment that the next one finishes: one charge, one credit', async () => {
  const mine = await subscribe(world)
  await mine.spendTo(dollars(1))
  assert.equal(await beginTopUp(world.workerDb, mine.id), true)
  assert.deepEqual(mine.charges(), [])
  await world.work()
  assert.deepEqual([mine.paid().length, await mine.balance()], [1, dollars(21)])
})

test('a worker that is killed before it hears Stripe’s answer has charged once; whoever asks again gets that answer', async () => {
  const mine = await subscribe(world)
  await mine.spendTo(dollars(1))
  const heard = Promise.withResolvers<boolean>()
  const charged = Promise.withResolvers<Intent>()
  world.stripe.objects.onCharged = (intent) => {
    charged.resolve(intent)
    return heard.promise
  }
  const killed = world.work()
  await charged.promise
  assert.equal(await mine.balance(), dollars(1), 'the card is charged, and nobody here knows')
  await world.work()
  assert.deepEqual([mine.charges().length, await mine.balance()], [1, dollars(21)])
  // It was only slow, and comes with the same.
  heard.resolve(false)
  await killed
  assert.deepEqual([mine.charges().length, await mine.balance()], [1, dollars(21)])
})

test('an answer that is lost on the way is asked for again under the same key', async () => {
  const mine = await subscribe(world)
  await mine.spendTo(dollars(1))
  let lost = 0
  world.stripe.objects.onCharged = () => (lost += 1) === 1
  await world.work()
  assert.deepEqual([lost, mine.charges().length, await mine.balance()], [1, 1, dollars(21)])
})

test('the webhook may come before the worker’s own answer, twice and late: one credit', async () => {
  const mine = await subscribe(world)
  await mine.spendTo(dollars(1))
  const verdicts: (string | undefined)[] = []
  world.stripe.objects.onCharged = async (intent) => {
    for (const event of [mine.succeeded(intent), mine.succeeded(intent)]) verdicts.push(await world.told(event))
    return false
  }
  await world.work()
  verdicts.push(await world.told(mine.succeeded(mine.charges()[0])))
  assert.deepEqual(verdicts, ['credited', 'unchanged', 'unchanged'])
  assert.deepEqual([mine.charges().length, await mine.balance()], [1, dollars(21)])
  assert.deepEqual(await mine.credits(), [dollars(20), dollars(25)])
})

test('ten workers at once charge one card once', async () => {
  const mine = await subscribe(world)
  await mine.spendTo(dollars(1))
  // One that finds the key in use leaves the payment to the others, and says so.
  await Promise.allSettled(Array.from({ length: 10 }, () => world.work()))
  await world.work()
  assert.deepEqual([mine.charges().length, (await mine.topUps()).length], [1, 1])
  assert.equal(await mine.balance(), dollars(21))
})

test('a payment of which nobody knows is only looked for when Stripe may have forgotten its key, and never charged again', async () => {
  const mine = await subscribe(world)
  await mine.spendTo(dollars(1))
  assert.equal(await beginTopUp(world.workerDb, mine.id), true)
  const pending = await pendingOf(mine)
  // All workers are away from here on, for almost a day.
  assert.equal((await chargeCard(world.account, pending, undefined)).state, 'paid')
  world.stripe.objects.forgetKeys()
  await mine.age('21 hours')
  await world.work()
  assert.deepEqual([mine.charges().length, await mine.balance()], [1, dollars(21)])
})

test('a payment that Stripe was never asked for ends after a day without a charge, and the next one is made', async () => {
  const mine = await subscribe(world)
  await mine.spendTo(dollars(1))
  await beginTopUp(world.workerDb, mine.id)
  await mine.age('21 hours')
  await world.work()
  const [ended] = await mine.topUps()
  assert.partialDeepStrictEqual(ended, { state: 'expired' })
  assert.deepEqual([mine.charges().length, (await mine.settings())?.declines], [0, 0])
  await world.work()
  assert.deepEqual([mine.charges().length, await mine.balance()], [1, dollars(21)])
})

test('while Stripe is away or refuses the key, the payment waits and the job says why, without the key', async () => {
  const mine = await subscribe(world)
  await mine.spendTo(dollars(1))
  await assert.rejects(world.work({ apiBase: 'http://127.0.0.1:1' }), /^Error: Stripe cannot be reached: 1 payments/)
  await assert.rejects(world.work({ secretKey: 'sk_test_wrong' }), /refuses the key in PARLEY_STRIPE_SECRET_KEY: 1/)
  assert.deepEqual([(await mine.topUps())[0]?.state, await mine.balance()], ['created', dollars(1)])
  await world.work()
  assert.deepEqual([mine.charges().length, await mine.balance()], [1, dollars(21)])
})

test('what fails for one project keeps no other from its top-up, and the job fails with the first error', async () => {
  const [first, second, third] = [await subscribe(world), await subscribe(world), await subscribe(world)]
  for (const each of [first, second, third]) await each.spendTo(dollars(1))
  const notBegun = await plantError(world.store.db, { table: 'payments', event: 'insert', projectId: first.id })
  const notFinished = await plantError(world.store.db, { table: 'payments', event: 'update', projectId: second.id })
  await assert.rejects(world.work(), { message: `planted for ${first.id}` })
  await notBegun()
  await notFinished()
  assert.deepEqual([first.charges().length, second.charges().length], [0, 0])
  assert.equal(await third.balance(), dollars(21))
  await world.work()
  for (const each of [first, second, third])
    assert.deepEqual([each.charges().length, await each.balance()], [1, dollars(21)])
})

describe('never more than the cap in a month', () => {
  test('the last top-up is the one that still fits', async () => {
    const mine = await subscribe(world, { monthMax: dollars(50) })
    for (let n = 0; n < 3; n++) {
      await mine.spendTo(dollars(1))
      await world.work()
    }
    assert.deepEqual([mine.charges().length, await mine.balance()], [2, dollars(1)])
  })

  test('what is pending counts, with workers that begin at the same time', async () => {
    const mine = await subscribe(world, { monthMax: dollars(30) })
    await mine.spendTo(dollars(1))
    const begun = await Promise.all(Array.from({ length: 8 }, () => beginTopUp(world.workerDb, mine.id)))
    assert.equal(begun.filter(Boolean).length, 1)
    await world.work()
    await mine.spendTo(dollars(1))
    assert.equal(await beginTopUp(world.workerDb, mine.id), false)
    assert.equal(mine.charges().length, 1)
  })

  test('one that is pending leaves no room for another, although its end is unknown', async () => {
    const mine = await subscribe(world, { monthMax: dollars(20) })
    await mine.spendTo(dollars(1))
    await beginTopUp(world.workerDb, mine.id)
    assert.equal(await beginTopUp(world.workerDb, mine.id), false)
    await world.work()
    assert.equal(mine.charges().length, 1)
  })

  test('who has no room left in the month takes nobody else’s place among those who are due', async () => {
    const full = await subscribe(world, { monthMax: dollars(30) })
    const open = await subscribe(world, { monthMax: dollars(40) })
    for (const each of [full, open]) await each.spendTo(dollars(1))
    await world.work()
    for (const each of [full, open]) await each.spendTo(dollars(1))
    const due = (await listDueTopUps(world.workerDb, 100)).map(({ projectId }) => projectId)
    assert.deepEqual(due, [open.id], 'the first has $10 left, the second just what it takes')
    assert.deepEqual([full.charges().length, open.charges().length], [1, 1])
  })

  test('what was refunded was charged; what was declined, and what last month had, was not charged in this one', async () => {
    const mine = await subscribe(world, { monthMax: dollars(20) })
    await mine.spendTo(dollars(1))
    world.stripe.objects.declines.push('insufficient_funds')
    await world.work()
    await mine.rested()
    await world.work()
    assert.equal(mine.paid().length, 1)
    const [intent] = mine.paid()
    const refund = { id: `ch_${intent?.id}`, payment_intent: intent?.id, amount_refunded: 2_000, currency: 'usd' }
    assert.equal(await world.told(eventOf('charge.refunded', refund)), 'taken_back')
    assert.equal((await mine.topUps())[0]?.state, 'refunded')
    await world.work()
    assert.equal(mine.paid().length, 1, 'the month is used up')
    await mine.age('31 days')
    await world.work()
    assert.equal(mine.paid().length, 2)
  })
})

describe('a card that is declined', () => {
  test('is told in plain words to admins, tried again later, and left alone after three times in a row', async () => {
    const mine = await subscribe(world)
    const [owner, admin, viewer] = [
      await addMember(world, mine.publisherId, 'owner'),
      await addMember(world, mine.publisherId, 'admin'),
      await addMember(world, mine.publisherId, 'viewer'),
    ]
    await mine.spendTo(dollars(1))
    world.stripe.objects.declines.push('insufficient_funds', 'authentication_required', 'stolen_card')
    for (const declines of [1, 2, 3]) {
      await world.work()
      await world.work()
      assert.deepEqual([mine.charges().length, (await mine.settings())?.declines], [declines, declines])
      if (declines < 3) await mine.rested()
    }
    assert.ok((await mine.settings())?.pausedAt)
    await mine.rested()
    await world.work()
    assert.deepEqual([mine.charges().length, await mine.balance()], [3, dollars(1)])
    const reasons = (await mine.topUps()).map(({ state, failure }) => `${state}: ${failure}`).toReversed()
    assert.deepEqual(reasons, [
      'expired: The card has insufficient funds.',
      'expired: Your bank wants you to confirm the payment. Top up by hand.',
      'expired: The bank declined the card.',
    ])
    for (const recipient of [owner, admin])
      assert.deepEqual(
        (await mailsTo(world, recipient)).map(({ amount, reason, isPaused }) => [amount, reason, isPaused]),
        [
          ['$20.00', 'The card has insufficient funds.', false],
          ['$20.00', 'Your bank wants you to confirm the payment. Top up by hand.', false],
          ['$20.00', 'The bank declined the card.', true],
        ],
      )
    assert.deepEqual(await mailsTo(world, viewer), [])
    const log = world.store.db.selectFrom('audit_log').select('action').where('project_id', '=', mine.id).orderBy('seq')
    assert.deepEqual(
      (await log.execute()).map(({ action }) => action).filter((action) => /failed|paused/.test(action)),
      ['wallet.auto_top_up_failed', 'wallet.auto_top_up_failed', 'wallet.auto_top_up_paused'],
    )
    // An admin resumes it.
    await mine.choose()
    await world.work()
    assert.deepEqual([mine.paid().length, await mine.balance()], [1, dollars(21)])
  })

  test('is tried anew five times a day for who changes the settings, and not for who only saves them again', async () => {
    const mine = await subscribe(world)
    await mine.spendTo(dollars(1))
    const declined = async () => {
      world.stripe.objects.declines.push('insufficient_funds')
      await world.work()
      world.stripe.objects.declines.length = 0
      return mine.settings()
    }
    const resting = await declined()
    await mine.choose()
    assert.deepEqual(await mine.settings(), resting)
    for (let n = 1; n <= 5; n++) {
      await mine.choose({ monthMax: dollars(100 + n) })
      assert.partialDeepStrictEqual(await mine.settings(), { declines: 0, nextTryAt: null })
      assert.equal((await declined())?.declines, 1)
    }
    const last = await mine.settings()
    await mine.choose({ monthMax: dollars(200) })
    assert.deepEqual(await mine.settings(), { ...last, monthMax: dollars(200) })
    const { project } = mine
    await world.store.db.transaction().execute((tx) => switchAutoTopUpOff(tx, PARLEY, { project }))
    await assert.rejects(mine.choose(), /tried again 5 times in 24 hours/)
    // As if another card had been saved since.
    await sql`update payments set payment_method_id = 'pm_before' where project_id = ${mine.id} and is_automatic`.execute(
      world.store.db,
    )
    await mine.choose()
    assert.partialDeepStrictEqual(await mine.settings(), { declines: 0, nextTryAt: null })
  })

  test('a payment between two declines sets the count back', async () => {
    const mine = await subscribe(world)
    await mine.spendTo(dollars(1))
    world.stripe.objects.declines.push('insufficient_funds')
    await world.work()
    await mine.rested()
    await world.work()
    assert.partialDeepStrictEqual(await mine.settings(), { declines: 0, nextTryAt: null, pausedAt: null })
  })

  test('a decline that two workers hear of counts once, and nobody begins another before its time', async () => {
    const mine = await subscribe(world)
    await mine.spendTo(dollars(1))
    await beginTopUp(world.workerDb, mine.id)
    const pending = await pendingOf(mine)
    const till = { db: world.workerDb, account: world.account, log: world.log }
    world.stripe.objects.declines.push('insufficient_funds')
    await finishTopUp(till, pending)
    await finishTopUp(till, pending)
    assert.equal((await mine.settings())?.declines, 1)
    assert.equal(await beginTopUp(world.workerDb, mine.id), false)
  })

  test('a card that Stripe no longer knows is declined', async () => {
    const mine = await subscribe(world)
    await mine.spendTo(dollars(1))
    const method = world.stripe.objects.methods.get((await mine.card())?.paymentMethod ?? '')
    assert.ok(method)
    method.customer = null
    await world.work()
    assert.match((await mine.topUps())[0]?.failure ?? '', /^Stripe no longer knows the card/)
  })
})

describe('a card is charged for nobody who should not be', () => {
  test('who owes, is deleted, is not active, or has switched it off', async () => {
    const owing = await subscribe(world)
    await owing.spendTo(0n)
    const debt = { id: uuidv7(), projectId: owing.id, amount: 1n, reference: uuidv7(), reason: null }
    await refundWallet(world.store.db, debt, true)
    const deleted = await subscribe(world)
    await deleted.spendTo(0n)
    await archiveProject(world.store.db, deleted.id)
    const inactive = await subscribe(world)
    await inactive.spendTo(0n)
    const publishers = world.store.db.updateTable('publishers').set({ activated_at: null })
    await publishers.where('id', '=', inactive.publisherId).execute()
    const removed = await subscribe(world)
    await removed.spendTo(0n)
    const { project } = removed
    await world.store.db.transaction().execute((tx) => removeSavedCard(tx, PARLEY, { project }))
    assert.equal(await removed.settings(), undefined)
    await world.work()
    for (const each of [owing, deleted, inactive, removed]) assert.deepEqual(await each.topUps(), [])
  })

  const inOne = (work: (tx: Tx) => Promise<unknown>) => world.store.db.transaction().execute(work)
  const WAYS_OUT: Record<string, (mine: Subscriber) => Promise<unknown>> = {
    'removed the card': ({ project }) => inOne((tx) => removeSavedCard(tx, PARLEY, { project })),
    'switched it off': ({ project }) => inOne((tx) => switchAutoTopUpOff(tx, PARLEY, { project })),
    'deleted the project': ({ id }) => archiveProject(world.store.db, id),
  }
  for (const [way, leave] of Object.entries(WAYS_OUT)) {
    test(`who ${way} while Stripe was away is not charged when it is back`, async () => {
      const mine = await subscribe(world)
      await mine.spendTo(dollars(1))
      await beginTopUp(world.workerDb, mine.id)
      await leave(mine)
      await world.work()
      assert.deepEqual([mine.charges().length, (await mine.topUps())[0]?.state], [0, 'created'], 'it may be on its way')
      await mine.age('6 minutes')
      await world.work()
      assert.deepEqual([mine.charges().length, await mine.balance()], [0, dollars(1)])
      const [{ state, failure } = assert.fail('it is gone')] = await mine.topUps()
      assert.deepEqual([state, failure], ['expired', 'Stripe could not be reached. Nothing was charged.'])
    })
  }

  test('what Stripe had charged before the card was removed is credited, although nobody asks for it again', async () => {
    const mine = await subscribe(world)
    await mine.spendTo(dollars(1))
    await beginTopUp(world.workerDb, mine.id)
    assert.equal((await chargeCard(world.account, await pendingOf(mine), undefined)).state, 'paid')
    const { project } = mine
    await inOne((tx) => removeSavedCard(tx, PARLEY, { project }))
    await world.work()
    assert.deepEqual([mine.charges().length, await mine.balance()], [1, dollars(21)])
  })
})

describe('a saved card', () => {
  test('is known by what people know it by, and its number is nowhere', async () => {
    const mine = await subscribe(world)
    const { brand, last4, expMonth, expYear } = (await mine.card()) ?? assert.fail('no card')
    assert.deepEqual([brand, last4, expMonth, expYear], ['visa', '4242', 12, 2030])
    assert.partialDeepStrictEqual(world.stripe.checkouts.at(-1), {
      'payment_intent_data[setup_future_usage]': 'off_session',
      customer_creation: 'always',
      'allowed_payment_method_types[0]': 'card',
    })
  })

  test('that is removed is forgotten by Stripe, too, and no late event brings it back', async () => {
    const mine = await subscribe(world)
    const method = (await mine.card())?.paymentMethod ?? ''
    const { project } = mine
    await world.store.db.transaction().execute((tx) => removeSavedCard(tx, PARLEY, { project }))
    assert.equal(await mine.card(), undefined)
    await world.work()
    assert.equal(world.stripe.objects.methods.get(method)?.customer, null)
    const rows = world.store.db.selectFrom('wallet_cards').selectAll().where('project_id', '=', mine.id)
    assert.deepEqual(await rows.execute(), [])
    assert.equal(await world.told(mine.completed), 'unchanged')
    assert.equal(await mine.card(), undefined)
  })

  test('of a deleted project is forgotten; one that is being charged only when that has ended', async () => {
    const mine = await subscribe(world)
    const method = (await mine.card())?.paymentMethod ?? ''
    await mine.spendTo(0n)
    await beginTopUp(world.workerDb, mine.id)
    await archiveProject(world.store.db, mine.id)
    await assert.rejects(world.work({ apiBase: 'http://127.0.0.1:1' }))
    assert.notEqual(world.stripe.objects.methods.get(method)?.customer, null)
    await mine.age('6 minutes')
    await world.work()
    await world.work()
    assert.equal(world.stripe.objects.methods.get(method)?.customer, null)
    assert.equal(await mine.card(), undefined)
  })

  test('that Stripe does not name yet is saved by the next delivery of the event; the credit does not wait for it', async () => {
    const mine = await subscribe(world)
    const db = world.store.db.updateTable('payments').set({ saves_card: true })
    await db.where('session_id', '=', mine.sessionId).execute()
    const before = await mine.card()
    // Each is tried three times.
    world.stripe.failures.push(500, 500, 500)
    await assert.rejects(world.told(mine.completed), /502/)
    assert.deepEqual(await mine.card(), before)
    await world.store.db.deleteFrom('wallet_cards').where('project_id', '=', mine.id).execute()
    assert.equal(await world.told(mine.completed), 'unchanged')
    assert.deepEqual(await mine.card(), before)
  })
})

describe('with tax', () => {
  test('a checkout asks for it, and the credit is what was asked for without it', async () => {
    const mine = await subscribe(world, {}, true)
    assert.partialDeepStrictEqual(world.stripe.checkouts.at(-1), {
      'automatic_tax[enabled]': 'true',
      billing_address_collection: 'required',
      'tax_id_collection[enabled]': 'true',
      'line_items[0][price_data][tax_behavior]': 'exclusive',
    })
    assert.equal(await mine.balance(), dollars(25))
    const payments = world.store.db.selectFrom('payments').select('tax_nanos').where('session_id', '=', mine.sessionId)
    assert.deepEqual(await payments.execute(), [{ tax_nanos: nanosOfCents(475) }])
  })

  test('it is charged on top, also when the webhook is first, and all of it goes back with a refund', async () => {
    const mine = await subscribe(world, {}, true)
    await mine.spendTo(dollars(1))
    world.stripe.objects.onCharged = async (intent) => {
      assert.equal(await world.told(mine.succeeded(intent)), 'credited')
      return false
    }
    await world.work({ hasTax: true })
    const [intent] = mine.charges()
    assert.equal(intent?.amount, 2_380)
    assert.equal(await mine.balance(), dollars(21))
    const back = { id: `ch_${intent?.id}`, payment_intent: intent?.id, currency: 'usd' }
    assert.equal(await world.told(eventOf('charge.refunded', { ...back, amount_refunded: 1_190 })), 'taken_back')
    assert.equal(await mine.balance(), dollars(11))
    assert.equal(await world.told(eventOf('charge.refunded', { ...back, amount_refunded: 2_380 })), 'taken_back')
    assert.equal(await mine.balance(), dollars(1))
    assert.equal((await mine.topUps())[0]?.state, 'refunded')
  })

  test('a card without an address is declined; tax that the operator has not set up makes the payment wait', async () => {
    const mine = await subscribe(world, {}, true)
    await mine.spendTo(dollars(1))
    world.stripe.objects.taxRefusals.push('stripe_tax_inactive')
    await assert.rejects(world.work({ hasTax: true }), /Stripe refused to work out the tax \(stripe_tax_inactive\)/)
    assert.deepEqual([(await mine.topUps())[0]?.state, mine.charges().length], ['created', 0])
    world.stripe.objects.forgetKeys()
    world.stripe.objects.taxRefusals.push('customer_tax_location_invalid')
    await world.work({ hasTax: true })
    assert.match((await mine.topUps())[0]?.failure ?? '', /^The tax cannot be calculated/)
    assert.deepEqual([mine.charges().length, (await mine.settings())?.declines], [0, 1])
  })

  test('tax that was switched off before the card was charged is not taken from the credit', async () => {
    const mine = await subscribe(world, {}, true)
    await mine.spendTo(dollars(1))
    await beginTopUp(world.workerDb, mine.id)
    // The tax was set by a worker that was killed before it charged the card.
    await setTax(world.workerDb, (await pendingOf(mine)).id, nanosOfCents(380))
    await world.work()
    assert.deepEqual([mine.charges()[0]?.amount, await mine.balance()], [2_000, dollars(21)])
    assert.equal((await mine.topUps())[0]?.tax_nanos, 0n)
  })

  test('tax that was switched off after the card was charged is what was charged', async () => {
    const mine = await subscribe(world, {}, true)
    await mine.spendTo(dollars(1))
    await beginTopUp(world.workerDb, mine.id)
    const tax = { calculation: 'taxcalc_before', amount: nanosOfCents(380) }
    assert.equal((await chargeCard(world.account, await pendingOf(mine), tax)).state, 'paid')
    await world.work()
    assert.deepEqual([mine.charges().length, await mine.balance()], [1, dollars(21)])
    assert.equal((await mine.topUps())[0]?.tax_nanos, nanosOfCents(380))
  })

  test('a card that was charged another amount than was asked for is told of in the log, once, with the ids alone', async () => {
    const mine = await subscribe(world)
    await mine.spendTo(dollars(1))
    world.stripe.objects.onCharged = (intent) => {
      intent.amount_received = 1_900
      return false
    }
    world.logged.length = 0
    await world.work()
    await world.work()
    const lines = world.logged.map((line) => JSON.parse(line) as Record<string, unknown>)
    const [topUp] = await mine.topUps()
    const ids = { projectId: mine.id, payment: topUp?.session_id, paymentIntent: mine.charges()[0]?.id }
    const msg = 'a card was charged, nothing is credited'
    assert.deepEqual(
      lines.map(({ time: _time, ...line }) => line),
      [{ level: 'error', ...ids, verdict: 'wrong_amount', msg }],
    )
    assert.deepEqual([mine.charges().length, topUp?.state, await mine.balance()], [1, 'created', dollars(1)])
  })

  test('a payment of another amount than was asked for is not credited', async () => {
    const mine = await subscribe(world)
    await mine.spendTo(dollars(1))
    await beginTopUp(world.workerDb, mine.id)
    const pending = await pendingOf(mine)
    const event = { type: 'paid', sessionId: pending.id, paymentIntent: 'pi_other', currency: 'usd' } as const
    const verdict = await applyPaymentEvent(world.workerDb, { ...event, amount: dollars(19), tax: undefined })
    assert.deepEqual([verdict, await mine.balance()], ['wrong_amount', dollars(1)])
    await world.work()
  })
})
