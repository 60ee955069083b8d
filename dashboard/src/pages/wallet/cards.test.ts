import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cardInWords, expiryOf } from './cards.ts'

test('a card is called as people call it, also one of a network that is new to us', () => {
  assert.equal(cardInWords({ brand: 'visa', last4: '4242' }), 'Visa ending in 4242')
  assert.equal(cardInWords({ brand: 'amex', last4: '0005' }), 'American Express ending in 0005')
  assert.equal(cardInWords({ brand: 'toString', last4: '1111' }), 'ToString ending in 1111')
})

test('a month has two digits', () => {
  assert.equal(expiryOf({ expMonth: 3, expYear: 2030 }), '03/2030')
  assert.equal(expiryOf({ expMonth: 12, expYear: 2030 }), '12/2030')
})
