import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, afterEach, before, describe, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { nanosOfCents } from '../../src/rules/billing/payments.ts'
import { serve, type Running } from '../../src/serve.ts'
import { listPayments } from '../../src/store/billing/payments.ts'
import { listEntries } from '../../src/store/billing/wallets.ts'
import {
  AMOUNT,
  CENTS,
  checkoutAt,
  createPaymentWorld,
  postEvent,
  tellAtOnce,
  tellWorld,
  type Answer,
} from '../support/checkout.ts'
import { auditOf } from '../support/ledger.ts'
import { eventOf, signatureOf, startStripe, STRIPE_KEY, WEBHOOK_SECRET, type StripeStandIn } from '../support/stripe.ts'
import { here } from '../support/operator.ts'
import { addProject, type World } from '../support/world.ts'

let world: World
let stripe: StripeStandIn
let webhookUrl: string

before(async () => {
  stripe = await startStripe()
  world = await createPaymentWorld()
  webhookUrl = `${world.running.consoleUrl}/webhooks/stripe`
})
after(async () => {
  await world.close()
  await stripe.close()
})
afterEach(async () => assert.deepEqual(await auditOf(world.store), []))

function post(payload: string, headers: Record<string, string>, url = webhookUrl): Promise<Answer> {
  return postEvent(url, payload, headers)
}

function deliver(payload: string, signature = signatureOf(payload)): Promise<Answer> {
  return post(payload, { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature })
}

const told = (payload: string) => tellWorld(world, payload)
const checkout = () => checkoutAt(world, stripe)

async function rejectsOf(why: string): Promise<number> {
  const text = await (await fetch(`${world.running.opsUrl}/metrics`)).text()
  return Number(new RegExp(`^parley_webhook_rejects_total\\{why="${why}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}

test('a checkout asks Stripe for exactly the amount, and is known before anybody can pay it', async () => {
  const { projectId, sessionId, url, payment } = await checkout()
  assert.equal(url, `${stripe.url}/pay/${sessionId}`)
  assert.partialDeepStrictEqual(stripe.checkouts.at(-1), {
    mode: 'payment',
    client_reference_id: projectId,
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][unit_amount]': String(CENTS),
    'line_items[0][price_data][currency]': 'usd',
    'payment_intent_data[metadata][parley_project]': projectId,
    success_url: 'https://a.example/',
  })
  assert.partialDeepStrictEqual(await payment(), { session_id: sessionId, amount_nanos: AMOUNT, state: 'created' })
})

test('a paid checkout becomes credit once, under the id of the payment', async () => {
  const { projectId, paymentIntent, completed, succeeded, balance, payment } = await checkout()
  assert.equal(await told(completed()), 'credited')
  assert.equal(await balance(), AMOUNT)
  assert.partialDeepStrictEqual(await payment(), { state: 'paid', payment_intent: paymentIntent, problem: null })
  const [entry] = await listEntries(world.store.db, projectId, 1)
  assert.partialDeepStrictEqual(entry, { kind: 'topup', delta_nanos: AMOUNT, reference: `stripe:${paymentIntent}` })
  // Another event about the same payment, and the same bytes again: neither is the payment.
  const second = completed()
  for (const event of [second, second, succeeded()]) assert.equal(await told(event), 'unchanged')
  assert.equal(await balance(), AMOUNT)
})

test('of 20 deliveries at the same time one credits', async () => {
  const { completed, succeeded, balance } = await checkout()
  const same = completed()
  const deliveries = Array.from({ length: 20 }, (_, n) => (n % 4 === 0 ? succeeded() : same))
  const verdicts = await tellAtOnce(world, deliveries)
  assert.equal(verdicts.filter((verdict) => verdict === 'credited').length, 1)
  assert.equal(verdicts.filter((verdict) => verdict === 'unchanged').length, 19)
  assert.equal(await balance(), AMOUNT)
})

test('a bank transfer is credited when it is paid, not when the checkout is completed', async () => {
  const { completed, succeeded, balance } = await checkout()
  assert.equal(await told(completed({ payment_status: 'unpaid' })), 'unchanged')
  assert.equal(await balance(), 0n)
  assert.equal(await told(succeeded()), 'credited')
  assert.equal(await balance(), AMOUNT)
})

test('a top-up that an operator booked by hand under the same reference is not credited again', async () => {
  const { projectId, paymentIntent, completed, balance, payment } = await checkout()
  const env = envOf({})
  const byHand = ['wallet', 'topup', projectId, '25', '--reference', `stripe:${paymentIntent}`]
  assert.equal((await here(byHand, { env })).code, 0)
  assert.equal(await told(completed()), 'credited')
  assert.equal(await balance(), AMOUNT)
  assert.equal((await payment())?.state, 'paid')
})

describe('what Stripe did not sign is refused and changes nothing', () => {
  const forgeries: [what: string, why: string, sign: (payload: string) => string][] = [
    ['signed with another secret', 'signature', (payload) => signatureOf(payload, { secret: `${WEBHOOK_SECRET}x` })],
    ['the signature of other bytes', 'signature', (payload) => signatureOf(payload.replace('2500', '9900'))],
    ['no signature', 'signature', () => ''],
    ['a signature that is none', 'signature', () => 't=now,v1=yes'],
    ['an unsigned time', 'signature', (payload) => signatureOf(payload).replace(/t=\d+/, `t=${Date.now()}`)],
    ['only an obsolete scheme', 'signature', (payload) => signatureOf(payload).replace('v1=', 'v0=')],
    ['a signature that is too old', 'stale', (payload) => signatureOf(payload, { ageSeconds: 310 })],
  ]
  for (const [what, why, sign] of forgeries) {
    test(what, async () => {
      const { completed, balance, payment } = await checkout()
      const payload = completed()
      const before = await rejectsOf(why)
      assert.equal((await deliver(payload, sign(payload))).status, 400)
      assert.equal(await rejectsOf(why), before + 1)
      assert.deepEqual([await balance(), (await payment())?.state], [0n, 'created'])
      assert.equal(await told(payload), 'credited', 'the same event is accepted when it is signed')
    })
  }

  test('a signature of almost five minutes ago still counts', async () => {
    const { completed } = await checkout()
    const payload = completed()
    assert.equal((await deliver(payload, signatureOf(payload, { ageSeconds: 280 }))).verdict, 'credited')
  })

  test('while the secret is replaced, Stripe signs with the old one and with the new one, and either counts', async () => {
    for (const inOrder of [
      (own: string, other: string) => `${own},${other}`,
      (own: string, other: string) => `${other},${own}`,
    ]) {
      const { completed } = await checkout()
      const payload = completed()
      const [time, own = ''] = signatureOf(payload).split(',')
      const other = signatureOf(payload, { secret: `${WEBHOOK_SECRET}x` }).split(',')[1] ?? ''
      assert.equal((await deliver(payload, `${time},${inOrder(own, other)}`)).verdict, 'credited')
    }
  })

  test('a recorded delivery that is sent again in time credits nothing', async () => {
    const { completed, balance } = await checkout()
    const payload = completed()
    const signature = signatureOf(payload)
    assert.equal((await deliver(payload, signature)).verdict, 'credited')
    assert.equal((await deliver(payload, signature)).verdict, 'unchanged')
    assert.equal(await balance(), AMOUNT)
  })
})

describe('a payment that is not what was asked for is not credited, recorded and counted', () => {
  const cases: [what: string, why: string, change: Record<string, unknown>][] = [
    ['too little', 'wrong_amount', { amount_total: CENTS - 1 }],
    ['too much', 'wrong_amount', { amount_total: CENTS * 100 }],
    ['another currency', 'wrong_currency', { currency: 'eur' }],
  ]
  for (const [what, why, change] of cases) {
    test(what, async () => {
      const { completed, balance, payment } = await checkout()
      const before = await rejectsOf(why)
      assert.equal(await told(completed(change)), why)
      assert.equal(await rejectsOf(why), before + 1)
      assert.equal(await balance(), 0n)
      assert.match((await payment())?.problem ?? '', new RegExp(`^${why}: pi_\\d+ is of `))
      assert.equal(await told(completed()), 'credited', 'the right event still counts')
      assert.equal((await payment())?.problem, null)
    })
  }

  test('an unknown checkout', async () => {
    const { completed, balance } = await checkout()
    const before = await rejectsOf('unknown_session')
    assert.equal(await told(completed({ id: 'cs_of_somebody_else' })), 'unknown_session')
    assert.equal(await rejectsOf('unknown_session'), before + 1)
    assert.equal(await balance(), 0n)
  })

  test('a second payment of one checkout', async () => {
    const { completed, balance, payment } = await checkout()
    await told(completed())
    assert.equal(await told(completed({ payment_intent: 'pi_second' })), 'wrong_payment')
    assert.equal(await balance(), AMOUNT)
    assert.match((await payment())?.problem ?? '', /^wrong_payment: pi_second /)
  })

  for (const change of [{ payment_intent: null }, { amount_total: '2500' }, { amount_total: 25.5 }, { id: 7 }]) {
    test(`an event that Stripe would never write: ${JSON.stringify(change)}`, async () => {
      const { completed, balance } = await checkout()
      assert.equal((await deliver(completed(change))).status, 400)
      assert.equal(await balance(), 0n)
    })
  }
})

describe('events in any order come to the same', () => {
  test('expired, then completed: the money came, so it is credited', async () => {
    const { expired, completed, balance, payment } = await checkout()
    assert.equal(await told(expired()), 'expired')
    assert.equal((await payment())?.state, 'expired')
    assert.equal(await told(completed()), 'credited')
    assert.deepEqual([await balance(), (await payment())?.state], [AMOUNT, 'paid'])
  })

  test('completed, then expired: it stays paid', async () => {
    const { expired, completed, balance, payment } = await checkout()
    await told(completed())
    assert.equal(await told(expired()), 'unchanged')
    assert.deepEqual([await balance(), (await payment())?.state], [AMOUNT, 'paid'])
  })

  test('refunded before completed: credited and taken back at once', async () => {
    const { refunded, completed, balance, payment, entries } = await checkout()
    assert.equal(await told(refunded(CENTS)), 'remembered')
    assert.equal(await told(completed()), 'credited')
    assert.deepEqual([await balance(), (await payment())?.state], [0n, 'refunded'])
    assert.deepEqual((await entries()).length, 2)
    assert.equal(await told(refunded(CENTS)), 'unchanged')
  })

  test('refunded and completed at the same time, 20 times', async () => {
    const pairs = await Promise.all(Array.from({ length: 20 }, () => checkout()))
    await tellAtOnce(
      world,
      pairs.flatMap(({ refunded, completed }) => [refunded(1_000), completed()]),
    )
    for (const { balance } of pairs) assert.equal(await balance(), AMOUNT - nanosOfCents(1_000))
  })

  test('partial refunds are cumulative, and an older one that comes late takes nothing', async () => {
    const { refunded, completed, balance, payment, entries } = await checkout()
    await told(completed())
    assert.equal(await told(refunded(1_000)), 'taken_back')
    assert.equal(await told(refunded(2_000)), 'taken_back')
    assert.equal(await told(refunded(1_500)), 'unchanged')
    assert.deepEqual([await balance(), (await payment())?.state], [nanosOfCents(500), 'paid'])
    assert.equal(await told(refunded(CENTS)), 'taken_back')
    assert.deepEqual([await balance(), (await payment())?.state], [0n, 'refunded'])
    assert.deepEqual(
      (await entries()).map(([kind]) => kind),
      ['refund', 'refund', 'refund', 'topup'],
    )
  })
})

test('of 20 refund events at the same time one takes back', async () => {
  const { refunded, completed, balance } = await checkout()
  await told(completed())
  const verdicts = await tellAtOnce(
    world,
    Array.from({ length: 20 }, () => refunded(1_000)),
  )
  assert.equal(verdicts.filter((verdict) => verdict === 'taken_back').length, 1)
  assert.equal(await balance(), AMOUNT - nanosOfCents(1_000))
})

test('a refund takes what is available, and what was spent is owed until the next payment', async () => {
  const { projectId, refunded, completed, spend, balance, owed, absorbed } = await checkout()
  await told(completed())
  await spend(nanosOfCents(2_000))
  assert.equal(await told(refunded(CENTS)), 'owed')
  assert.deepEqual([await balance(), await owed()], [0n, nanosOfCents(2_000)])
  assert.deepEqual(await absorbed(), [], 'it is not given up')
  await here(['wallet', 'topup', projectId, '30'], { env: envOf({}) })
  assert.deepEqual([await balance(), await owed()], [nanosOfCents(1_000), 0n])
})

test('a dispute freezes what was paid from the day it begins, and takes it once', async () => {
  const { disputed, completed, balance, payment, entries } = await checkout()
  await told(completed())
  assert.equal(await told(disputed('charge.dispute.created')), 'taken_back')
  assert.equal(await told(disputed()), 'unchanged')
  assert.equal(await told(disputed('charge.dispute.closed', 'lost')), 'unchanged')
  assert.deepEqual([await balance(), (await payment())?.state], [0n, 'refunded'])
  assert.deepEqual((await entries())[0], ['chargeback', -AMOUNT])
})

test('a refund of one payment takes nothing of another, although the wallet has more', async () => {
  const { projectId, refunded, disputed, completed, balance, absorbed } = await checkout()
  await told(completed())
  await here(['wallet', 'grant', projectId, '100'], { env: envOf({}) })
  assert.equal(await told(refunded(CENTS)), 'taken_back')
  assert.equal(await told(disputed()), 'absorbed')
  assert.equal(await balance(), 100_000_000_000n)
  assert.deepEqual(await absorbed(), [AMOUNT])
})

test('a refund in another currency is recorded and takes nothing; of a stranger’s payment it is ignored', async () => {
  const { refunded, completed, balance, payment } = await checkout()
  await told(completed())
  assert.equal(await told(refunded(CENTS, 'eur')), 'wrong_currency')
  assert.deepEqual(
    [await balance(), (await payment())?.problem],
    [AMOUNT, `wrong_currency: ch_${(await payment())?.payment_intent} is in eur`],
  )
  const foreign = { id: 'ch_9', payment_intent: 'pi_foreign', amount_refunded: 1, currency: 'eur' }
  assert.equal(await told(eventOf('charge.refunded', foreign)), 'unchanged')
  assert.equal(await told(eventOf('charge.refunded', { ...foreign, payment_intent: null })), 'unchanged')
})

test('events of other kinds are accepted and ignored', async () => {
  for (const type of ['invoice.paid', 'customer.created', 'checkout.session.async_payment_failed', 'x'])
    assert.equal(await told(eventOf(type, { id: 'x_1' })), 'unchanged')
})

describe('what is no event is refused before it is read', () => {
  const signed = (payload: string) => ({ 'stripe-signature': signatureOf(payload) })

  test('a huge body', async () => {
    const payload = JSON.stringify({ id: 'evt', filler: 'x'.repeat(1024 * 1024) })
    assert.equal((await post(payload, { 'content-type': 'application/json', ...signed(payload) })).status, 413)
  })

  test('a huge body that does not say its size', async () => {
    assert.equal(await statusOfEndless(), 413)
  })

  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
    test(`the content type ${type}`, async () => {
      const { completed, balance } = await checkout()
      const payload = completed()
      assert.equal((await post(payload, { 'content-type': type, ...signed(payload) })).status, 415)
      assert.equal(await balance(), 0n)
    })
  }

  for (const payload of ['{', '[]', 'null', '{"id":"evt_1","type":"x"}', '{"object":"v2.core.event","id":"evt_1"}']) {
    test(`signed, but not an event: ${payload}`, async () => {
      const before = await rejectsOf('malformed')
      assert.equal((await deliver(payload)).status, 400)
      assert.equal(await rejectsOf('malformed'), before + 1)
    })
  }

  test('no body, and other methods and paths', async () => {
    assert.equal((await fetch(webhookUrl, { method: 'POST' })).status, 415)
    assert.equal((await fetch(webhookUrl)).status, 404)
    assert.equal((await fetch(`${world.running.consoleUrl}/v1/models`)).status, 404)
  })
})

/** Sends without a length until it is stopped. */
function statusOfEndless(): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'stripe-signature': 't=1,v1=x' }
    const sending = httpRequest(webhookUrl, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
      sending.destroy()
    })
    // The server closes its end as soon as it has refused.
    sending.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? undefined : reject(error)))
    for (let kilobytes = 0; kilobytes <= 1_100; kilobytes += 100) sending.write('x'.repeat(100 * 1024))
  })
}

describe('without the secret nothing is accepted', () => {
  for (const secret of [undefined, '']) {
    test(secret === undefined ? 'not configured' : 'configured as nothing', async () => {
      const running = await startConsole(secret === undefined ? {} : { PARLEY_STRIPE_WEBHOOK_SECRET: secret })
      try {
        const { completed, balance } = await checkout()
        const payload = completed()
        for (const forged of ['', ' ', 'undefined', WEBHOOK_SECRET]) {
          const headers = {
            'content-type': 'application/json',
            'stripe-signature': signatureOf(payload, { secret: forged }),
          }
          assert.equal((await post(payload, headers, `${running.consoleUrl}/webhooks/stripe`)).status, 404)
        }
        assert.equal(await balance(), 0n)
      } finally {
        await running.stop()
      }
    })
  }

  test('a blank or wrong secret, or a key that is none, does not start', () => {
    for (const [name, value] of [
      ['PARLEY_STRIPE_WEBHOOK_SECRET', ' '],
      ['PARLEY_STRIPE_WEBHOOK_SECRET', 'whsec_short'],
      ['PARLEY_STRIPE_WEBHOOK_SECRET', STRIPE_KEY],
      ['PARLEY_STRIPE_SECRET_KEY', 'pk_live_0123456789'],
      ['PARLEY_STRIPE_API_BASE', 'ftp://127.0.0.1'],
      ['PARLEY_CHECKOUT_SUCCESS_URL', 'javascript:alert(1)'],
    ] as const) {
      assert.throws(
        () => readConfig({ ...world.env, [name]: value }),
        (error: Error) => error.message.includes(name) && (value === ' ' || !error.message.includes(value)),
      )
    }
  })
})

async function startConsole(change: Record<string, string>): Promise<Running> {
  const { PARLEY_STRIPE_WEBHOOK_SECRET: _, ...env } = world.env
  const log = createLog('info', { write: (line) => world.logs.push(line) })
  return serve(readConfig({ ...env, PARLEY_OPS_PORT: '0', ...change }), ['console'], log)
}

function envOf(change: Record<string, string>): Record<string, string> {
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  return {
    DATABASE_URL,
    PARLEY_SECRET,
    PARLEY_STRIPE_SECRET_KEY: STRIPE_KEY,
    PARLEY_STRIPE_API_BASE: stripe.url,
    PARLEY_CHECKOUT_SUCCESS_URL: 'https://a.example/paid',
    PARLEY_CHECKOUT_CANCEL_URL: 'https://a.example/not-paid',
    ...change,
  }
}

test('an operator makes a payment page and sees what became of it', async () => {
  const { id } = await addProject(world.store, world.secrets, { credits: '0' })
  const made = await here(['wallet', 'checkout', id, '9.99', '--json'], { env: envOf({}) })
  assert.equal(made.code, 0, made.stderr)
  const { session_id, url } = JSON.parse(made.stdout) as { session_id: string; url: string }
  assert.equal(url, `${stripe.url}/pay/${session_id}`)
  assert.partialDeepStrictEqual(stripe.checkouts.at(-1), {
    'line_items[0][price_data][unit_amount]': '999',
    success_url: 'https://a.example/paid',
    cancel_url: 'https://a.example/not-paid',
  })
  const paid = { id: session_id, payment_status: 'paid', payment_intent: 'pi_cli', amount_total: 999, currency: 'usd' }
  assert.equal(await told(eventOf('checkout.session.completed', paid)), 'credited')
  const shown = await here(['wallet', 'payments', id], { env: envOf({}) })
  assert.match(shown.stdout, new RegExp(`^20\\S+ +\\$9\\.99 +paid +20\\S+ +${session_id} +pi_cli +-$`, 'm'))
})

describe('a checkout that cannot be made is one sentence, without the key', () => {
  const cases: [what: string, amount: string, change: Record<string, string>, failures: number[], sentence: RegExp][] =
    [
      [
        'no key',
        '10',
        { PARLEY_STRIPE_SECRET_KEY: '' },
        [],
        /Set PARLEY_STRIPE_SECRET_KEY and PARLEY_CHECKOUT_SUCCESS/,
      ],
      [
        'a wrong key',
        '10',
        { PARLEY_STRIPE_SECRET_KEY: 'sk_test_wrong' },
        [],
        /refuses the key in PARLEY_STRIPE_SECRET_K/,
      ],
      ['nobody there', '10', { PARLEY_STRIPE_API_BASE: 'http://127.0.0.1:1' }, [], /Stripe cannot be reached/],
      ['Stripe refuses', '10', {}, [400], /Stripe refused the checkout/],
      ['parts of cents', '10.001', {}, [], /whole cents, from 0\.50/],
      ['too little', '0.49', {}, [], /whole cents, from 0\.50/],
    ]
  for (const [what, amount, change, failures, sentence] of cases) {
    test(what, async () => {
      const { id } = await addProject(world.store, world.secrets, { credits: '0' })
      stripe.failures.push(...failures)
      const { code, stdout, stderr } = await here(['wallet', 'checkout', id, amount], { env: envOf(change) })
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, sentence)
      assert.match(stderr, /^[^\n]+\n$/)
      assert.doesNotMatch(stderr, /sk_test|standIn/)
      assert.deepEqual(await listPayments(world.store.db, id, 1), [])
    })
  }
})

test('no secret, no signature and nothing of a payer is in a log line', () => {
  assert.ok(world.logs.length > 100)
  for (const line of world.logs) assert.doesNotMatch(line, /standIn|whsec|sk_test|v1=|payer@|\bstack\b/)
  const rejected = world.logs.filter((line) => line.includes('"why":"signature"'))
  assert.ok(rejected.length >= 6, 'a forgery leaves a line')
  assert.ok(world.logs.some((line) => /"event":"evt_\d+".*"verdict":"credited"/.test(line)))
  assert.ok(world.logs.some((line) => /"level":"warn".*"verdict":"wrong_amount"/.test(line)))
})
