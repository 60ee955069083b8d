import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRefusalLines } from './refusal-lines.ts'

test('of each code a hundred lines pass at once and ten a second, and the next one says how many were left out', () => {
  let nowMs = 0
  const lines = createRefusalLines(() => nowMs)
  const logged = Array.from({ length: 1_000 }, () => lines.next('keys_invalid')).filter((line) => line !== undefined)
  assert.equal(logged.length, 100)
  assert.deepEqual(lines.next('rate_limited'), {}, 'others are not hidden by it')
  nowMs += 100
  assert.deepEqual(lines.next('keys_invalid'), { leftOut: 900 })
  assert.equal(lines.next('keys_invalid'), undefined)
  nowMs += 100
  assert.deepEqual(lines.next('keys_invalid'), { leftOut: 1 })
})
