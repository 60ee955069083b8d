import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daysInWords } from './days-left.ts'

test('days are whole from ten on, and beyond a thousand nobody counts them', () => {
  for (const [days, words] of [
    [0, '0 days'],
    [0.5, '0.5 days'],
    [1, '1 day'],
    [9.9, '9.9 days'],
    [10.9, '10 days'],
    [999, '999 days'],
    [999.1, 'over 999 days'],
  ] as const)
    assert.equal(daysInWords(days), words)
})
