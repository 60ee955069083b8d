import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cooldownMs } from './cooldown.ts'

test('a key rests for as long as the provider says, a minute at most', () => {
  assert.equal(cooldownMs(2, 1, 0.5), 2_000)
  assert.equal(cooldownMs(2, 9, 0.5), 2_000)
  assert.equal(cooldownMs(1_000_000, 1, 0), 60_000)
  assert.equal(cooldownMs(0, 1, 0), 0)
  assert.equal(cooldownMs(-5, 1, 0), 0)
})

test('where it says nothing, a key rests for a second, then two, and so on up to 30', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 2_000].map((inARow) => cooldownMs(undefined, inARow, 0)),
    [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000],
  )
})

test('chance makes the guess up to a half shorter', () => {
  assert.equal(cooldownMs(undefined, 1, 0.5), 750)
  assert.ok(cooldownMs(undefined, 1, 0.999) > 500)
})
