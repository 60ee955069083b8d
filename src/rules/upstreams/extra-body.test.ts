import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extraBodyProblemOf } from './extra-body.ts'

test('any object may be sent with the requests of a route', () => {
  for (const extra of [{}, { reasoning_effort: 'none' }, { generationConfig: { topK: 3 }, provider: { model: 'x' } }]) {
    assert.equal(extraBodyProblemOf(extra), undefined)
  }
})

test('what is no object is refused', () => {
  for (const value of [[], 'x', 1, true, null, undefined]) {
    assert.match(String(extraBodyProblemOf(value)), /not a JSON object/)
  }
})

test('what the gateway sets is refused by name, whatever its value', () => {
  const names = [
    'model',
    'messages',
    'contents',
    'stream',
    'stream_options',
    'n',
    'max_tokens',
    'max_completion_tokens',
  ]
  for (const name of names) {
    for (const value of [1, null, { a: 1 }]) {
      assert.match(
        String(extraBodyProblemOf({ other: 1, [name]: value })),
        new RegExp(`must not set ${name}: .*Leave it`),
      )
    }
  }
})
