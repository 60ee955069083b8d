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

test('what is too long, and what cannot be stored, is refused with a sentence', () => {
  assert.match(String(extraBodyProblemOf({ a: 'x'.repeat(16_384) })), /16392 characters, at most 16384/)
  for (const text of ['\0', '\ud800', '\udc00'])
    assert.match(String(extraBodyProblemOf({ a: text })), /cannot be stored/)
  assert.equal(extraBodyProblemOf({ a: 'é👍' }), undefined)
})

test('what bounds an answer of Google is refused by name', () => {
  for (const name of ['candidateCount', 'maxOutputTokens'])
    assert.match(String(extraBodyProblemOf({ generationConfig: { [name]: 1 } })), new RegExp(`must not set ${name}:`))
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
