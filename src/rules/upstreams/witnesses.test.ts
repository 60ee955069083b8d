import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isEverybodys, NO_WITNESSES, withAnswer, withRefusal, withUse } from './witnesses.ts'

const both = withUse(withUse(NO_WITNESSES, 'a', 0), 'b', 0)

test('where two publishers use a key, it takes both to make it everybody’s, with no answer in between', () => {
  assert.equal(isEverybodys(both, 'overload', 'a', 0), false)
  const one = withRefusal(both, 'overload', 'a', 0)
  assert.equal(isEverybodys(one, 'overload', 'a', 0), false, 'however often it is the same one')
  assert.equal(isEverybodys(one, 'overload', 'b', 0), true)
  assert.equal(isEverybodys(withAnswer(one), 'overload', 'b', 0), false)
  assert.equal(isEverybodys(one, 'unpaid', 'b', 0), false, 'another trouble is another matter')
})

test('who is the only one to use it within a minute speaks for all', () => {
  assert.equal(isEverybodys(withUse(NO_WITNESSES, 'a', 0), 'overload', 'a', 0), true)
  assert.equal(isEverybodys(both, 'overload', 'a', 60_000), false)
  assert.equal(isEverybodys(both, 'overload', 'a', 60_001), true)
})

test('the one who uses it most does not hide the other', () => {
  let many = both
  for (let n = 0; n < 100; n++) many = withUse(many, 'a', n)
  assert.equal(many.users.length, 2)
  assert.equal(isEverybodys(many, 'overload', 'a', 100), false)
})

test('a refusal of long ago is no witness', () => {
  const old = withRefusal(both, 'unpaid', 'b', 0)
  const now = withUse(withUse(old, 'b', 70_000), 'a', 70_000)
  assert.equal(isEverybodys(now, 'unpaid', 'a', 70_000), false)
})
