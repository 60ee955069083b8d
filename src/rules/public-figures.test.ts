import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellableCalls } from './public-figures.ts'

test('calls are told of five publishers and more, rounded down to two digits', () => {
  assert.equal(tellableCalls([300, 300, 300, 300]), null)
  assert.equal(tellableCalls([300, 300, 300, 300, 39]), 1_200)
  assert.equal(tellableCalls([299_999, 300_000, 300_000, 300_000, 390_000]), 1_500_000)
})

test('nothing is told of so few calls that two digits are all of them', () => {
  assert.equal(tellableCalls([20, 20, 20, 20, 19]), null)
  assert.equal(tellableCalls([20, 20, 20, 20, 20]), 100)
})

test('nothing is told where one publisher is most of it, not even to the second largest, who knows its own part', () => {
  assert.equal(tellableCalls([100_000, 10, 10, 10, 10]), null)
  assert.equal(tellableCalls([100_000, 900_000, 1_000, 1_000, 1_000]), null)
  assert.equal(tellableCalls([100_000, 90_000, 7_000, 7_000, 5_999]), null, '20,000 blur 100,000')
  assert.equal(tellableCalls([100_000, 90_000, 7_000, 7_000, 6_000]), 210_000)
})
