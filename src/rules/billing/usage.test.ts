import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completionTokensOf, promptTokensOf, type Usage } from './usage.ts'

test('prompt and completion are the sums of their buckets', () => {
  const usage: Usage = { input: 1, cachedInput: 10, cacheWrite: 100, output: 1_000, reasoning: 10_000 }
  assert.equal(promptTokensOf(usage), 111)
  assert.equal(completionTokensOf(usage), 11_000)
})
