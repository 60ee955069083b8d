import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { breakdownOf, daysLeft, savedByCaches } from './costs.ts'
import { TOKEN_CLASSES } from './usage.ts'
import { costOf } from './pricing.ts'

const count = fc.nat(100_000)
const classes = fc.record({ input: count, cachedInput: count, cacheWrite: count, output: count, reasoning: count })

test('the classes plus the rounding minus what was not charged are exactly the charge', () => {
  fc.assert(
    fc.property(classes, fc.array(fc.tuple(classes, fc.nat(1_000)), { minLength: 1 }), (prices, calls) => {
      const price = mapped(prices)
      const tokens = mapped({ input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 })
      let [worth, charged] = [0n, 0n]
      for (const [usage, short] of calls) {
        const cost = costOf(usage, price)
        worth += cost
        charged += cost > BigInt(short) ? cost - BigInt(short) : cost
        for (const name of TOKEN_CLASSES) tokens[name] += BigInt(usage[name])
      }
      const result = breakdownOf([{ worth, charged, tokens, price }])
      const sum = TOKEN_CLASSES.reduce((total, name) => total + result.classes[name].nanos, 0n)
      assert.equal(sum + result.rounding - result.notCharged, result.charged)
      assert.equal(result.charged, charged)
      assert.ok(result.rounding >= 0n && result.rounding < BigInt(calls.length + TOKEN_CLASSES.length))
    }),
  )
})

test('what caches have saved is what their tokens would have cost as plain input, minus what they cost', () => {
  fc.assert(
    fc.property(classes, classes, (prices, usage) => {
      const price = mapped(prices)
      const plain = {
        ...usage,
        input: usage.input + usage.cachedInput + usage.cacheWrite,
        cachedInput: 0,
        cacheWrite: 0,
      }
      const saved = savedByCaches([{ tokens: mapped(usage), price }])
      const difference = costOf(plain, price) - costOf(usage, price) - saved
      assert.ok(difference >= -1n && difference <= 1n, 'but for the rounding of both')
    }),
  )
  const price = mapped({ input: 1_000_000, cachedInput: 100_000, cacheWrite: 1_250_000, output: 1, reasoning: 1 })
  const tokens = (cachedInput: number, cacheWrite: number) =>
    mapped({ input: 5, cachedInput, cacheWrite, output: 5, reasoning: 5 })
  assert.equal(savedByCaches([{ tokens: tokens(1_000, 0), price }]), 900n)
  assert.equal(savedByCaches([{ tokens: tokens(0, 1_000), price }]), -250n)
  assert.equal(savedByCaches([tokens(1_000, 0), tokens(0, 1_000)].map((each) => ({ tokens: each, price }))), 650n)
  assert.equal(savedByCaches([]), 0n)
})

test('the credit lasts as long as days like these can be paid from it', () => {
  assert.equal(daysLeft(100n, 70n, 7), 10)
  assert.equal(daysLeft(5n, 70n, 7), 0.5)
  assert.equal(daysLeft(0n, 70n, 7), 0)
  assert.equal(daysLeft(100n, 0n, 7), null)
})

test('credit lasts as long as it would at the pace of the last days', () => {
  assert.equal(daysLeft(10n, 7n, 7), 10)
  assert.equal(daysLeft(10n, 70n, 7), 1)
  assert.equal(daysLeft(0n, 7n, 7), 0)
  assert.equal(daysLeft(-5n, 7n, 7), 0)
  assert.equal(daysLeft(10n, 0n, 7), null)
})

function mapped(counts: Record<(typeof TOKEN_CLASSES)[number], number>) {
  return Object.fromEntries(TOKEN_CLASSES.map((name) => [name, BigInt(counts[name])])) as Record<
    (typeof TOKEN_CLASSES)[number],
    bigint
  >
}
