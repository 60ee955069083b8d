import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeLeft } from './time-left.ts'

test('what is left is told in days, hours and minutes, and in the last five minutes with seconds', () => {
  const DAY = 86_400
  for (const [seconds, words] of [
    [7 * DAY, '7 d 0 h'],
    [2 * DAY + 3_599, '2 d 0 h'],
    [2 * DAY, '2 d 0 h'],
    [2 * DAY - 1, '47 h 59 min'],
    [3_600, '1 h 0 min'],
    [3_599, '59 min'],
    [300, '5 min'],
    [299, '4 min 59 s'],
    [60, '1 min 0 s'],
    [59, '59 s'],
    [1, '1 s'],
    [0.001, '1 s'],
    [0, undefined],
    [-1, undefined],
  ] as const)
    assert.equal(timeLeft(seconds * 1_000, 0), words, `${seconds} s`)
})
