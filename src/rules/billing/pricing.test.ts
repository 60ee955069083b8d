import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { costOf, outputTokensFor, type Price } from './pricing.ts'
import { NO_USAGE, type Usage } from './usage.ts'

const CLASSES = ['input', 'cachedInput', 'cacheWrite', 'output', 'reasoning'] as const

/** The highest price and count that the ledger can store. */
const prices = fc.bigInt({ min: 0n, max: 10_000_000_000_000n })
const counts = fc.nat({ max: 1_000_000_000 })

const anyUsage: fc.Arbitrary<Usage> = fc.record(allClasses(counts))
const anyPrice: fc.Arbitrary<Price> = fc.record({ version: fc.constant(1n), ...allClasses(prices) })

function allClasses<T>(values: T) {
  return { input: values, cachedInput: values, cacheWrite: values, output: values, reasoning: values }
}

const FREE: Price = { version: 1n, ...allClasses(0n) }

/** A fraction, so that the expected cost is exact until the very end. */
interface Rational {
  numerator: bigint
  denominator: bigint
}

function plus(a: Rational, b: Rational): Rational {
  return {
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: a.denominator * b.denominator,
  }
}

function exactCostOf(usage: Usage, price: Price): Rational {
  return CLASSES.map((name) => ({ numerator: BigInt(usage[name]) * price[name], denominator: 1_000_000n })).reduce(plus)
}

test('a cost is the exact sum of all classes, rounded up once', () => {
  fc.assert(
    fc.property(anyUsage, anyPrice, (usage, price) => {
      const { numerator, denominator } = exactCostOf(usage, price)
      const cost = costOf(usage, price)
      assert.ok(cost * denominator >= numerator, 'never below the exact cost')
      assert.ok((cost - 1n) * denominator < numerator, 'never a whole nano above it')
    }),
  )
})

test('five classes that each cost a fraction of a nano are rounded together, not one by one', () => {
  const usage: Usage = allClasses(1)
  const price: Price = { version: 1n, ...allClasses(200_000n) }
  assert.equal(costOf(usage, price), 1n)
  assert.equal(costOf({ ...usage, output: 2 }, price), 2n)
})

test('each class of tokens is charged at its own price', () => {
  for (const name of CLASSES) {
    const price = { ...FREE, [name]: 3_000_000n }
    for (const other of CLASSES) {
      assert.equal(
        costOf({ ...NO_USAGE, [other]: 7 }, price),
        other === name ? 21n : 0n,
        `${other} tokens, ${name} price`,
      )
    }
  }
})

test('nothing used costs nothing', () => {
  fc.assert(fc.property(anyPrice, (price) => assert.equal(costOf(NO_USAGE, price), 0n)))
})

test('an amount buys as many answer tokens as it can pay for, and not one more', () => {
  const amounts = fc.bigInt({ min: 0n, max: 10n ** 18n })
  const most = Number.MAX_SAFE_INTEGER
  fc.assert(
    fc.property(amounts, counts, anyPrice, fc.constantFrom('output', 'reasoning'), (amount, prompt, price, dearest) => {
      const cheaper = dearest === 'output' ? 'reasoning' : 'output'
      const priced = { ...price, [cheaper]: price[dearest] / 2n }
      if (priced[dearest] === 0n) return
      // A prompt may be written to a cache, which may cost more than to read it.
      const read = priced.cacheWrite > priced.input ? 'cacheWrite' : 'input'
      const costWith = (tokens: number) => costOf({ ...NO_USAGE, [read]: prompt, [dearest]: tokens }, priced)
      const tokens = outputTokensFor(amount, prompt, priced, most)
      assert.ok(costWith(tokens) <= amount || tokens === 0)
      if (tokens < most) assert.ok(costWith(tokens + 1) > amount)
    }),
  )
})

test('an amount never buys more than the most that is asked for, not even of a free answer', () => {
  assert.equal(outputTokensFor(10n ** 18n, 10, { ...FREE, output: 1n }, 77), 77)
  assert.equal(outputTokensFor(0n, 10, FREE, 77), 77)
})

test('an amount that does not pay for the prompt buys no answer', () => {
  assert.equal(outputTokensFor(9n, 10, { ...FREE, input: 1_000_000n, output: 1n }, 77), 0)
  assert.equal(outputTokensFor(9n, 10, { ...FREE, input: 1_000_000n }, 77), 0)
})

test('no cost is more than the ledger can store, however many tokens there are', () => {
  const most = 2n ** 63n - 1n
  const dear: Price = { ...FREE, output: 10_000_000_000_000n }
  assert.equal(costOf({ ...NO_USAGE, output: Number.MAX_SAFE_INTEGER }, dear), most)
  const cheap: Price = { ...FREE, output: 1_000_000n }
  assert.equal(costOf({ ...NO_USAGE, output: 7 }, cheap), 7n)
})
