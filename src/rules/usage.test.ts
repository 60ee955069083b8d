import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_USAGE, completionTokensOf, isPlausible, promptTokensOf, type Usage } from './usage.ts'

const COUNTED: Usage = { ...NO_USAGE, input: 1_000, output: 100 }
const OUTPUT_MAX = 500

function isBelieved(reported: Partial<Usage>, counted = COUNTED, outputMax = OUTPUT_MAX): boolean {
  return isPlausible({ ...NO_USAGE, ...reported }, counted, outputMax)
}

test('prompt and completion are the sums of their buckets', () => {
  const usage: Usage = { input: 1, cachedInput: 10, cacheWrite: 100, output: 1_000, reasoning: 10_000 }
  assert.equal(promptTokensOf(usage), 111)
  assert.equal(completionTokensOf(usage), 11_000)
})

test('what differs as providers differ is believed', () => {
  assert.ok(isBelieved(COUNTED))
  assert.ok(isBelieved(NO_USAGE), 'an explicit zero is a report')
  assert.ok(isBelieved({ input: 1_300, output: 80 }))
  assert.ok(isBelieved({ input: 100, cachedInput: 900, output: 100 }), 'cached tokens are part of the prompt')
  assert.ok(isBelieved({ input: 1_000, output: 100, reasoning: 400 }), 'reasoning is invisible to us')
})

test('a count that is not a whole number of tokens is not believed', () => {
  for (const count of [-1, 0.5, Number.NaN, Infinity, 2 ** 53, 1_000_000_001]) {
    for (const bucket of Object.keys(NO_USAGE)) {
      assert.equal(isBelieved({ [bucket]: count }, { ...NO_USAGE, input: 10 ** 9, output: 10 ** 9 }, 10 ** 9), false)
    }
  }
  assert.equal(isBelieved({ input: '5' as unknown as number }), false)
})

test('a prompt is believed up to four times our count and 20,000 tokens that we cannot see', () => {
  assert.ok(isBelieved({ input: 4 * 1_000 + 20_000 }))
  assert.equal(isBelieved({ input: 4 * 1_000 + 20_001 }), false)
  assert.equal(isBelieved({ input: 4_000, cachedInput: 10_000, cacheWrite: 10_001 }), false)
})

test('an answer is believed up to four times what the request allows or what we saw', () => {
  assert.ok(isBelieved({ output: 4 * OUTPUT_MAX }))
  assert.equal(isBelieved({ output: 4 * OUTPUT_MAX + 1 }), false)
  assert.equal(isBelieved({ output: OUTPUT_MAX, reasoning: 3 * OUTPUT_MAX + 1 }), false)
  assert.ok(isBelieved({ output: 4 * 600 }, { ...NO_USAGE, input: 1_000, output: 600 }))
})
