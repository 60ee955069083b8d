import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearestHint } from './hint-book.ts'

const SAID = Int8Array.of(127, 0)
const hints = [
  { text: 'for people with a desk', vector: Int8Array.of(90, 90) },
  { text: 'for people with cables all over their desk', vector: Int8Array.of(120, 40) },
  { text: 'for cooks', vector: Int8Array.of(0, 127) },
]

test('of several hints that are near enough, the nearest is named, wherever it stands', () => {
  for (const order of [hints, hints.toReversed()])
    assert.equal(nearestHint(order, SAID, 0.4)?.text, 'for people with cables all over their desk')
})

test('a hint that is not near enough is no hint', () => {
  assert.equal(nearestHint(hints.slice(2), SAID, 0.4), undefined)
  assert.equal(nearestHint(hints.slice(2), SAID)?.text, 'for cooks', 'without a bound, the least bad is named')
  assert.equal(nearestHint([], SAID), undefined)
})
