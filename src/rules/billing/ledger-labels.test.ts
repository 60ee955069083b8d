import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LEDGER_KINDS, titleOfMovement } from './ledger-labels.ts'

test('every kind of movement has words, and a refund says in which direction it goes', () => {
  for (const kind of LEDGER_KINDS) assert.match(titleOfMovement(kind, 1n), /^[A-Z][a-z]/)
  assert.equal(titleOfMovement('refund', 1n), 'Refund')
  assert.equal(titleOfMovement('refund', -1n), 'Payment refunded')
})
