import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import {
  TYPICAL_OUTPUT_MAX,
  TYPICAL_OUTPUT_MIN,
  quote,
  shouldExtend,
  tokensBeforeExtending,
  type QuoteOptions,
} from './holds.ts'
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

/** For a model that can write 128,000 tokens and thinks in the open. */
function quoteFor(options: Partial<QuoteOptions>) {
  const usual = { promptTokens: 100, maxTokens: undefined, typicalOutputTokens: 1_000, hiddenTokens: 0, price: PRICE }
  return quote({ ...usual, outputTokensMax: 128_000, ...options })
}

test('a call asks for its prompt and the answer length that its caller named', () => {
  const { want, min, outputTokens } = quoteFor({ maxTokens: 50 })
  assert.equal(outputTokens, 50)
  assert.equal(want, 100n + 50n * 4n)
  assert.equal(min, 100n + 4n)
})

test('a call without max_tokens asks for a typical answer, within bounds, not for the longest that the model can write', () => {
  assert.equal(quoteFor({ typicalOutputTokens: 1_000 }).outputTokens, 1_000)
  assert.equal(quoteFor({ typicalOutputTokens: 3 }).outputTokens, TYPICAL_OUTPUT_MIN)
  assert.equal(quoteFor({ typicalOutputTokens: 90_000 }).outputTokens, TYPICAL_OUTPUT_MAX)
})

test('a model that thinks unseen is held for all that it may think, because nothing could stop it midway', () => {
  assert.equal(quoteFor({ hiddenTokens: 32_000 }).outputTokens, 32_000 + TYPICAL_OUTPUT_MAX)
  assert.equal(quoteFor({ hiddenTokens: 200_000 }).outputTokens, 128_000)
  assert.equal(quoteFor({ hiddenTokens: 32_000, maxTokens: 50 }).outputTokens, 50, 'its caller has bounded it')
})

test('max_tokens beyond what the model can write does not lock more of the wallet', () => {
  assert.equal(quoteFor({ maxTokens: 999_999_999, outputTokensMax: 16_384 }).outputTokens, 16_384)
  assert.equal(quoteFor({ typicalOutputTokens: 4_096, outputTokensMax: 100 }).outputTokens, 100)
})

test('where answer and reasoning differ in price, the dearer one is set aside', () => {
  assert.equal(quoteFor({ maxTokens: 50, price: { ...PRICE, reasoning: 9_000_000n } }).want, 100n + 50n * 9n)
  assert.equal(quoteFor({ maxTokens: 50, price: { ...PRICE, reasoning: 1_000_000n } }).want, 100n + 50n * 4n)
})

test('where a prompt that is written to a cache costs more than one that is read, the dearer one is set aside', () => {
  assert.equal(quoteFor({ maxTokens: 50, price: { ...PRICE, cacheWrite: 1_250_000n } }).want, 125n + 50n * 4n)
  assert.equal(quoteFor({ maxTokens: 50, price: { ...PRICE, cacheWrite: 900_000n } }).want, 100n + 50n * 4n)
})

test('even a free model needs a positive balance', () => {
  const free = quoteFor({ maxTokens: 50, price: FREE })
  assert.deepEqual(free, { want: 1n, min: 1n, promptTokens: 100, outputTokens: 50 })
})

test('what is asked for pays for the whole quoted answer, and the minimum for at least one token of it', () => {
  const prices = fc.bigInt({ min: 0n, max: 10_000_000_000_000n })
  const anyPrice = fc.record({ input: prices, cacheWrite: prices, output: prices, reasoning: prices })
  const tokens = fc.integer({ min: 1, max: 2_000_000 })
  fc.assert(
    fc.property(anyPrice, tokens, fc.option(tokens, { nil: undefined }), tokens, (classes, prompt, most, typical) => {
      const price = { ...FREE, ...classes }
      const { want, min, outputTokens } = quoteFor({
        promptTokens: prompt,
        maxTokens: most,
        typicalOutputTokens: typical,
        price,
      })
      assert.ok(min >= 1n && want >= min)
      for (const kind of ['output', 'reasoning'] as const) {
        for (const read of ['input', 'cacheWrite'] as const) {
          assert.ok(costOf({ ...NO_USAGE, [read]: prompt, [kind]: outputTokens }, price) <= want)
          assert.ok(costOf({ ...NO_USAGE, [read]: prompt, [kind]: 1 }, price) <= min)
        }
      }
    }),
  )
})

test('more is asked for when 70 % of a hold is used, and not before', () => {
  assert.equal(shouldExtend(69n, 100n), false)
  assert.equal(shouldExtend(70n, 100n), true)
  assert.equal(shouldExtend(0n, 100n), false)
  assert.equal(shouldExtend(0n, 0n), false, 'an answer that costs nothing')
  assert.equal(shouldExtend(1n, 0n), true)
  assert.equal(shouldExtend(700_000_000_000_000_001n, 1_000_000_000_000_000_001n), true)
  assert.equal(shouldExtend(700_000_000_000_000_000n, 1_000_000_000_000_000_001n), false)
})

test('as many tokens as need no extension never need one, and nearly all that need none are among them', () => {
  const rates = fc.record({ output: fc.bigInt(0n, 10n ** 10n), reasoning: fc.bigInt(0n, 10n ** 10n) })
  const calls = fc.record({
    rates,
    input: fc.nat(10_000),
    held: fc.bigInt(0n, 10n ** 8n),
    share: fc.double({ min: 0, max: 1 }),
  })
  fc.assert(
    fc.property(
      calls.filter(({ share }) => !Number.isNaN(share)),
      ({ rates, input, held, share }) => {
        const price = { ...PRICE, ...rates }
        const prompt = { ...NO_USAGE, input }
        const isDue = (output: number, reasoning: number) =>
          shouldExtend(costOf({ ...prompt, output, reasoning }, price) - costOf(prompt, price), held)
        const tokens = tokensBeforeExtending(held, price)
        if (tokens === Number.POSITIVE_INFINITY) return assert.deepEqual(rates, { output: 0n, reasoning: 0n })
        const output = Math.floor(tokens * share)
        assert.equal(isDue(output, tokens - output), false)
        const [dearest, which] = rates.output > rates.reasoning ? [rates.output, 0] : [rates.reasoning, 1]
        // The rounding of at most three nanos cannot be foreseen.
        const more = tokens + 1 + Number(3_000_000n / dearest)
        assert.ok(which === 0 ? isDue(more, 0) : isDue(0, more))
      },
    ),
  )
})
