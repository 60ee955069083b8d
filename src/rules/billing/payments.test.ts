import assert from 'node:assert/strict'
import { test } from 'node:test'
import { centsOf, mismatchOf, nanosOfCents } from './payments.ts'

test('cents and nanos are the same amount, both ways', () => {
  for (const cents of [50, 51, 999, 2_500, 99_999_999]) assert.equal(centsOf(nanosOfCents(cents)), cents)
  assert.equal(nanosOfCents(1), 10_000_000n)
})

test('what cannot be paid in one payment has no cents', () => {
  for (const nanos of [0n, 1n, 490_000_000n, 500_000_001n, 509_999_999n, 1_000_000_000_000_000n, -500_000_000n])
    assert.equal(centsOf(nanos), undefined, String(nanos))
})

test('a payment is credited only if it is exactly what was asked for', () => {
  const asked = { amount: 10_000_000_000n, currency: 'usd' }
  assert.equal(mismatchOf(asked, { ...asked }), undefined)
  assert.equal(mismatchOf(asked, { ...asked, amount: 9_990_000_000n }), 'wrong_amount')
  assert.equal(mismatchOf(asked, { ...asked, amount: 10_010_000_000n }), 'wrong_amount')
  assert.equal(mismatchOf(asked, { ...asked, currency: 'USD' }), 'wrong_currency')
  assert.equal(mismatchOf(asked, { amount: 1n, currency: 'jpy' }), 'wrong_currency')
})
