import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastsInWords } from './credit-lasts.ts'

test('credit lasts for whole days, for more than a year, or nobody knows how long', () => {
  for (const [days, words] of [
    [null, 'unknown'],
    [0, 'less than a day'],
    [0.9, 'less than a day'],
    [1, 'about 1 day'],
    [1.9, 'about 1 day'],
    [2, 'about 2 days'],
    [34.4, 'about 34 days'],
    [365, 'about 365 days'],
    [365.1, 'more than a year'],
  ] as const)
    assert.equal(lastsInWords(days), words)
})
