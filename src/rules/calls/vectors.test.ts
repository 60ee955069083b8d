import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { numbersOfVector, vectorCharacters, vectorOf } from './vectors.ts'

const numbers = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 50 })

test('a vector is the same whether it came as numbers or in base64, and its numbers are what they were', () => {
  fc.assert(
    fc.property(numbers, (given) => {
      const fromNumbers = vectorOf(given)
      assert.ok(fromNumbers)
      assert.equal(fromNumbers.dimensions, given.length)
      assert.equal(fromNumbers.vector.length, vectorCharacters(given.length))
      assert.deepEqual(vectorOf(fromNumbers.vector), fromNumbers)
      assert.deepEqual([...numbersOfVector(fromNumbers.vector)], given)
    }),
  )
})

test('the lowest byte is first, as SDKs read it', () => {
  const bytes = Buffer.alloc(8)
  bytes.writeFloatLE(0.5, 0)
  bytes.writeFloatLE(-3, 4)
  assert.deepEqual(vectorOf(bytes.toString('base64')), vectorOf([0.5, -3]))
})

test('what is no vector is none', () => {
  const nan = Buffer.from(Float32Array.of(1, NaN).buffer).toString('base64')
  for (const value of [
    undefined,
    null,
    7,
    {},
    [],
    '',
    [1, '2'],
    [1, null],
    [1e300],
    nan,
    'AAAA',
    Buffer.alloc(6).toString('base64'),
  ])
    assert.equal(vectorOf(value), undefined, JSON.stringify(value))
})
