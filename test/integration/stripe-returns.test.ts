import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { nanosOfCents } from '../../src/rules/billing/payments.ts'
import { listEntries } from '../../src/store/billing/wallets.ts'
import {
  AMOUNT,
  CENTS,
  checkoutAt,
  createPaymentWorld,
  tellAtOnce,
  tellWorld,
  type Checkout,
} from '../support/checkout.ts'
import { auditOf } from '../support/ledger.ts'
import { createRandom } from '../support/random.ts'
import { startStripe, type StripeStandIn } from '../support/stripe.ts'
import { here } from '../support/operator.ts'
import type { World } from '../support/world.ts'

/** Refunds and disputes that cross each other: whatever happens, the wallet has what is left of the payment. */

let world: World
let stripe: StripeStandIn

before(async () => {
  stripe = await startStripe()
  world = await createPaymentWorld()
})
after(async () => {
  await world.close()
  await stripe.close()
})
afterEach(async () => assert.deepEqual(await auditOf(world.store), []))

const told = (payload: string) => tellWorld(world, payload)
const checkout = () => checkoutAt(world, stripe)

describe('a dispute that ends well gives the credit back, once, in whatever order its events come', () => {
  const INQUIRED = ['charge.dispute.created', 'warning_needs_response'] as const
  const CREATED = ['charge.dispute.created', 'needs_response'] as const
  const WITHDRAWN = ['charge.dispute.funds_withdrawn', 'needs_response'] as const
  const WON = ['charge.dispute.closed', 'won'] as const
  const CLOSED = ['charge.dispute.closed', 'warning_closed'] as const
  const REINSTATED = ['charge.dispute.funds_reinstated', 'won'] as const
  const orders = [
    [CREATED, WITHDRAWN, WON, REINSTATED],
    [CREATED, WITHDRAWN, REINSTATED, WON],
    [WON, CREATED, REINSTATED, WITHDRAWN],
    [REINSTATED, WITHDRAWN, CREATED, WON],
    [INQUIRED, CLOSED],
    [CLOSED, INQUIRED],
    [WON, CLOSED, WITHDRAWN, INQUIRED],
    [WITHDRAWN, WON, WITHDRAWN, CREATED],
  ]
  for (const order of orders) {
    const names = order.map(([type, status]) => `${type.slice('charge.dispute.'.length)} ${status}`).join(', ')
    test(names, async () => {
      const { disputed, completed, spend, balance, owed, payment } = await checkout()
      await told(completed())
      await spend(nanosOfCents(500))
      for (const [type, status] of order) await told(disputed(type, status))
      assert.deepEqual([await balance(), await owed()], [AMOUNT - nanosOfCents(500), 0n])
      assert.equal((await payment())?.state, 'paid')
    })

    test(`${names}, all before the payment itself is told of`, async () => {
      const { disputed, completed, balance, owed } = await checkout()
      for (const [type, status] of order) await told(disputed(type, status))
      assert.equal(await told(completed()), 'credited')
      assert.deepEqual([await balance(), await owed()], [AMOUNT, 0n])
    })
  }
})

const CREATED = 'charge.dispute.created'
const WITHDRAWN = 'charge.dispute.funds_withdrawn'
const REINSTATED = 'charge.dispute.funds_reinstated'
const CLOSED = 'charge.dispute.closed'

describe('what was refunded during a dispute does not come back with it', () => {
  const cases: [what: string, opened: string, closed: string, refunded: number][] = [
    ['an inquiry, all of it refunded', 'warning_needs_response', 'warning_closed', CENTS],
    ['a dispute, all of it refunded', 'needs_response', 'won', CENTS],
    ['a dispute, $20 refunded', 'needs_response', 'won', 2_000],
  ]
  for (const [what, opened, closed, cents] of cases) {
    test(what, async () => {
      const { refunded, disputed, completed, balance, owed, payment } = await checkout()
      await told(completed())
      assert.equal(await told(disputed(CREATED, opened)), 'taken_back')
      assert.equal(await told(refunded(cents)), 'absorbed')
      await told(disputed(CLOSED, closed))
      const left = AMOUNT - nanosOfCents(cents)
      assert.deepEqual([await balance(), await owed()], [left, 0n])
      assert.equal((await payment())?.state, left === 0n ? 'refunded' : 'paid')
      assert.equal(await told(refunded(cents)), 'unchanged')
      assert.equal(await balance(), left)
    })
  }

  test('what is spent by then is owed', async () => {
    const { refunded, disputed, completed, spend, balance, owed } = await checkout()
    await told(completed())
    await spend(AMOUNT)
    for (const event of [disputed(CREATED), refunded(2_000), disputed(CLOSED, 'won')]) await told(event)
    assert.deepEqual([await balance(), await owed()], [0n, nanosOfCents(2_000)])
  })

  test('what the operator had lost to it is made good, to the cent', async () => {
    const { paymentIntent, refunded, disputed, completed } = await checkout()
    await told(completed())
    for (const event of [disputed(CREATED), refunded(2_000), disputed(CLOSED, 'won')]) await told(event)
    const { rows } = await sql<{ lost: bigint }>`
      select coalesce(sum(case when t.kind = 'absorbed' then t.amount_nanos else -t.amount_nanos end), 0)::int8 as lost
      from transfers a join transfers t on t.id = a.id or t.corrects = a.id
      where a.reference like ${`absorbed:stripe:%${paymentIntent}:%`}`.execute(world.store.db)
    assert.equal(rows[0]?.lost, 0n)
  })
})

describe('a dispute that was given back can take again', () => {
  const cases: [what: string, events: [type: string, status: string][]][] = [
    [
      'an inquiry that becomes a dispute',
      [
        [CLOSED, 'warning_closed'],
        [WITHDRAWN, 'needs_response'],
        [CLOSED, 'lost'],
      ],
    ],
    [
      'only its end is told of',
      [
        [CLOSED, 'warning_closed'],
        [CLOSED, 'lost'],
      ],
    ],
    [
      'money that came back early',
      [
        [REINSTATED, 'under_review'],
        [CLOSED, 'lost'],
      ],
    ],
  ]
  for (const [what, events] of cases) {
    test(`${what}, within a second and in any order`, async () => {
      for (const order of [events, events.toReversed()]) {
        const { disputed, completed, balance } = await checkout()
        await told(completed())
        await told(disputed(CREATED, 'warning_needs_response'))
        for (const [type, status] of order) await told(disputed(type, status))
        assert.equal(await balance(), 0n)
      }
    })
  }

  test('won and lost by turns: what Stripe said last counts, not what arrived last', async () => {
    const { disputed, completed, balance } = await checkout()
    await told(completed())
    const at = (created: number, status: string) => disputed(CLOSED, status, { created })
    for (const event of [at(100, 'won'), at(300, 'won'), at(200, 'lost')]) await told(event)
    assert.equal(await balance(), AMOUNT)
    assert.equal(await told(at(400, 'lost')), 'taken_back')
    assert.equal(await told(at(350, 'won')), 'unchanged')
    assert.equal(await balance(), 0n)
    assert.equal(await told(at(500, 'won')), 'given_back')
    assert.equal(await balance(), AMOUNT)
  })
})

/** A payment's life, in the order in which it happens at Stripe, and what of it has gone back in the end. */
function storyOf(seed: number, { refunded, disputed, completed }: Checkout) {
  const random = createRandom(seed)
  const events = [completed()]
  let [created, refunds] = [1_800_000_000, 0]
  const disputes = [1, 2].map((n) => ({ id: `du${n}`, cents: random.pick([CENTS, CENTS, 700]), stands: false }))
  for (let step = 0; step < 2 + random.int(8); step += 1) {
    created += 1
    if (random.int(3) === 0 && refunds < CENTS) {
      refunds = Math.min(CENTS, refunds + random.pick([500, 1_000, CENTS]))
      events.push(refunded(refunds, 'usd', created))
      continue
    }
    const dispute = random.pick(disputes)
    const [type, status] = random.pick(
      dispute.stands
        ? [
            [CLOSED, 'warning_closed'],
            [CLOSED, 'won'],
            [CLOSED, 'lost'],
            [REINSTATED, 'won'],
            [REINSTATED, 'lost'],
          ]
        : [
            [CREATED, 'warning_needs_response'],
            [CREATED, 'needs_response'],
            [WITHDRAWN, 'lost'],
            [CLOSED, 'lost'],
          ],
    ) as [string, string]
    dispute.stands = type === CREATED || type === WITHDRAWN || (type === CLOSED && status === 'lost')
    events.push(disputed(type, status, { ...dispute, created }))
  }
  const returned = disputes.reduce((sum, { stands, cents }) => sum + (stands ? cents : 0), refunds)
  return { events, random, left: AMOUNT - nanosOfCents(Math.min(CENTS, returned)) }
}

describe('whatever happens to a payment, told in any order, twice and at once, the wallet has what is left of it', () => {
  for (const at of ['one after the other', 'at the same time'] as const) {
    test(at, async () => {
      for (let seed = 1; seed <= 60; seed += 1) {
        const one = await checkout()
        const { events, random, left } = storyOf(seed, one)
        const repeated = [...events, ...events.filter(() => random.int(2) === 0)]
        const order = repeated.map((event) => ({ event, key: random.next() })).toSorted((a, b) => a.key - b.key)
        if (at === 'at the same time') {
          await tellAtOnce(
            world,
            order.map(({ event }) => event),
          )
        }
        let spent = 0n
        for (const { event } of at === 'at the same time' ? [] : order) {
          await told(event)
          const balance = await one.balance()
          if (balance > 0n && random.int(3) === 0) {
            await one.spend(balance / 2n)
            spent += balance / 2n
          }
        }
        const found = (await one.balance()) - ((await one.owed()) ?? 0n)
        assert.equal(found, left - spent, `seed ${seed}: ${order.map(({ event }) => event).join('\n')}`)
        assert.equal((await one.payment())?.state, left === 0n ? 'refunded' : 'paid')
        assert.deepEqual(await auditOf(world.store), [])
      }
    })
  }
})

test('what an operator has reversed by hand is neither taken again nor given back twice', async () => {
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  const { projectId, disputed, completed, balance } = await checkout()
  await told(completed())
  await told(disputed(CREATED))
  const [entry] = await listEntries(world.store.db, projectId, 1)
  assert.equal(
    (await here(['wallet', 'reverse', entry?.id ?? '', '--reason', 'x'], { env: { DATABASE_URL, PARLEY_SECRET } }))
      .code,
    0,
  )
  assert.equal(await told(disputed(WITHDRAWN, 'lost')), 'unchanged')
  assert.equal(await balance(), AMOUNT)
  assert.equal(await told(disputed(CLOSED, 'won', { created: Date.now() / 1000 + 10 })), 'unchanged')
  assert.equal(await balance(), AMOUNT)
})
