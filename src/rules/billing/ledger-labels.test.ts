import assert from 'node:assert/strict'
import { test } from 'node:test'
import { daysLeft, LEDGER_KINDS, titleOfMovement } from './ledger-labels.ts'

test('every kind of movement has words, and a refund says in which direction it goes', () => {
  for (const kind of LEDGER_KINDS) assert.match(titleOfMovement(kind, 1n), /^[A-Z][a-z]/)
  assert.equal(titleOfMovement('refund', 1n), 'Refund')
  assert.equal(titleOfMovement('refund', -1n), 'Payment refunded')
})

test('credit lasts as long as it would at the pace of the last days', () => {
  assert.equal(daysLeft(10n, 7n, 7), 10)
  assert.equal(daysLeft(10n, 70n, 7), 1)
  assert.equal(daysLeft(0n, 7n, 7), 0)
  assert.equal(daysLeft(-5n, 7n, 7), 0)
  assert.equal(daysLeft(10n, 0n, 7), undefined)
})
