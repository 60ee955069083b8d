import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followed } from './typed-text.ts'

test('a field keeps what is typed, and follows when its value changes from outside', () => {
  const typed = { text: 'soup', given: '' }
  assert.equal(followed(typed, ''), typed)
  const cleared = followed({ text: 'soup', given: 'soup' }, '')
  assert.deepEqual(cleared, { text: '', given: '' })
  assert.deepEqual(followed(cleared, 'bread'), { text: 'bread', given: 'bread' })
})

test('letters that are typed while what was told is on its way stay, and are lost by a later change from outside', () => {
  const told = { text: 'soups', given: '', told: 'soup' }
  assert.equal(followed(told, ''), told)
  const arrived = followed(told, 'soup')
  assert.deepEqual(arrived, { text: 'soups', given: 'soup' })
  assert.deepEqual(followed(arrived, ''), { text: '', given: '' })
  assert.deepEqual(followed(told, 'bread'), { text: 'bread', given: 'bread' })
})
