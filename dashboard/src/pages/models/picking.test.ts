import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movedTo } from './picking.ts'

const ITEMS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

test('arrow keys move by one and from either end to the other, and a page by five within the list', () => {
  assert.equal(movedTo('ArrowDown', ITEMS, 'a'), 'b')
  assert.equal(movedTo('ArrowDown', ITEMS, 'g'), 'a')
  assert.equal(movedTo('ArrowDown', ITEMS, undefined), 'a')
  assert.equal(movedTo('ArrowUp', ITEMS, 'b'), 'a')
  assert.equal(movedTo('ArrowUp', ITEMS, 'a'), 'g')
  assert.equal(movedTo('PageDown', ITEMS, 'b'), 'g')
  assert.equal(movedTo('PageDown', ITEMS, 'f'), 'g')
  assert.equal(movedTo('PageUp', ITEMS, 'f'), 'a')
  assert.equal(movedTo('PageUp', ITEMS, 'c'), 'a')
})

test('other keys, and a list in which nothing was found, move nothing', () => {
  assert.equal(movedTo('x', ITEMS, 'a'), undefined)
  assert.equal(movedTo('Home', ITEMS, 'c'), undefined)
  for (const key of ['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp']) assert.equal(movedTo(key, [], undefined), undefined)
})
