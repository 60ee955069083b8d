import assert from 'node:assert/strict'
import { test } from 'node:test'
import { choicesOf } from './model-choices.ts'

const SERVED = [
  { id: 'large', ownedBy: 'acme', contextWindow: 128_000 },
  { id: 'small', ownedBy: 'acme', contextWindow: null },
]
const CHOICES = [
  { id: 'large', hint: 'acme, 128 K tokens of context', isServed: true },
  { id: 'small', hint: 'acme', isServed: true },
]

test('a model that is chosen and not served any more can be taken out', () => {
  assert.deepEqual(choicesOf({ servedModels: SERVED, allowedModels: ['gone', 'small'] }), [
    ...CHOICES,
    { id: 'gone', hint: '', isServed: false },
  ])
  assert.deepEqual(choicesOf({ servedModels: SERVED, allowedModels: null }), CHOICES)
})
