import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { TYPICAL_OUTPUT_MAX, TYPICAL_OUTPUT_MIN, quote, shouldExtend } from './holds.ts'
import { costOf, type Price } from './pricing.ts'
import { NO_USAGE } from './usage.ts'

const PRICE: Price = {
  version: 1n,
  input: 1_000_000n,
  cachedInput: 500_000n,
  cacheWrite: 0n,
  output: 4_000_000n,
  reasoning: 4_000_000n,
}
const FREE: Price = { version: 1n, input: 0n, cachedInput: 0n, cacheWrite: 0n, output: 0n, reasoning: 0n }

test('a call asks for its prompt and the answer length that its caller named', () => {
  const { want, min, outputTokens } = quote(100, 50, 1_000, 16_384, PRICE)
  assert.equal(outputTokens, 50)
  assert.equal(want, 100n + 50n * 4n)
  assert.equal(min, 100n + 4n)
})

test('a call without max_tokens asks for a typical answer, within bounds, not for the longest that the model can write', () => {
  assert.equal(quote(1, undefined, 1_000, 128_000, PRICE).outputTokens, 1_000)
  assert.equal(quote(1, undefined, 3, 128_000, PRICE).outputTokens, TYPICAL_OUTPUT_MIN)
  assert.equal(quote(1, undefined, 90_000, 128_000, PRICE).outputTokens, TYPICAL_OUTPUT_MAX)
  assert.equal(quote(1, undefined, 1_000, undefined, PRICE).outputTokens, 1_000)
})

test('max_tokens beyond what the model can write does not lock more of the wallet', () => {
  assert.equal(quote(1, 999_999_999, 256, 16_384, PRICE).outputTokens, 16_384)
  assert.equal(quote(1, undefined, 4_096, 100, PRICE).outputTokens, 100)
})

test('where answer and reasoning differ in price, the dearer one is set aside', () => {
  assert.equal(quote(100, 50, 256, 1_000, { ...PRICE, reasoning: 9_000_000n }).want, 100n + 50n * 9n)
  assert.equal(quote(100, 50, 256, 1_000, { ...PRICE, reasoning: 1_000_000n }).want, 100n + 50n * 4n)
})

test('even a free model needs a positive balance', () => {
  assert.deepEqual(quote(100, 50, 256, 1_000, FREE), { want: 1n, min: 1n, promptTokens: 100, outputTokens: 50 })
})

test('what is asked for pays for the whole quoted answer, and the minimum for at least one token of it', () => {
  const prices = fc.bigInt({ min: 0n, max: 10_000_000_000_000n })
  const anyPrice = fc.record({ input: prices, output: prices, reasoning: prices })
  const tokens = fc.integer({ min: 1, max: 2_000_000 })
  fc.assert(
    fc.property(anyPrice, tokens, fc.option(tokens, { nil: undefined }), tokens, (classes, prompt, most, typical) => {
      const price = { ...FREE, ...classes }
      const { want, min, outputTokens } = quote(prompt, most, typical, 128_000, price)
      assert.ok(min >= 1n && want >= min)
      for (const kind of ['output', 'reasoning'] as const) {
        assert.ok(costOf({ ...NO_USAGE, input: prompt, [kind]: outputTokens }, price) <= want)
        assert.ok(costOf({ ...NO_USAGE, input: prompt, [kind]: 1 }, price) <= min)
      }
    }),
  )
})

test('more is asked for when 70 % of a hold is used, and not before', () => {
  assert.equal(shouldExtend(69n, 100n), false)
  assert.equal(shouldExtend(70n, 100n), true)
  assert.equal(shouldExtend(0n, 100n), false)
  assert.equal(shouldExtend(700_000_000_000_000_001n, 1_000_000_000_000_000_001n), true)
  assert.equal(shouldExtend(700_000_000_000_000_000n, 1_000_000_000_000_000_001n), false)
})
