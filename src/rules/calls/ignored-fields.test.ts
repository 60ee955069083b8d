import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KNOWN_FIELDS } from './chat-request.ts'
import { ignoredFieldsOf, suggestionFor } from './ignored-fields.ts'

test('every field that a request may have is known, and so are those that are read elsewhere', () => {
  const known = [...KNOWN_FIELDS]
  assert.ok(KNOWN_FIELDS.has('model') && KNOWN_FIELDS.has('stream_options'))
  assert.deepEqual(ignoredFieldsOf(Object.fromEntries(known.map((name) => [name, 1]))), [])
})

test('other fields are told by name, once each, and what is in them nowhere', () => {
  const told = ignoredFieldsOf({ model: 'm', reasoning_efort: 'secret', top_k: { secret: 'secret' }, constructor: 1 })
  assert.deepEqual(told, ['reasoning_efort', 'top_k', 'constructor'])
  for (const nothing of [undefined, null, 'text', ['a']]) assert.deepEqual(ignoredFieldsOf(nothing), [])
})

test('a name has 64 characters that can be seen: others are marked, so that it does not look like the right one', () => {
  assert.deepEqual(ignoredFieldsOf({ ['n'.repeat(1_000)]: 1 }), ['n'.repeat(64)])
  assert.deepEqual(ignoredFieldsOf({ ['\u{1f600}'.repeat(100)]: 1 }), ['\u{1f600}'.repeat(64)])
  const unseen = ['\0', '\n', '\u200b', '\u200d', '\u202e', '\u3164', '\u2028', '\u00a0', '\ud800']
  for (const character of unseen)
    assert.deepEqual(ignoredFieldsOf({ [`seed${character}x`]: 1 }), ['seed\u{fffd}x'], JSON.stringify(character))
  assert.deepEqual(ignoredFieldsOf({ 'two words': 1, '   ': 2, '': 3 }), ['two words'])
  // The same to whoever sees them.
  assert.deepEqual(ignoredFieldsOf({ 'a\0b': 1, 'a\u200bb': 2 }), ['a\u{fffd}b'])
})

test('of a body with thousands of names, fifty are told', () => {
  const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`name${n}`, n]))
  assert.deepEqual(
    ignoredFieldsOf(many),
    Array.from({ length: 50 }, (_, n) => `name${n}`),
  )
})

test('a known field is suggested when at most two letters differ, in whatever spelling', () => {
  const meant: Record<string, string> = {
    reasoning_efort: 'reasoning_effort',
    temprature: 'temperature',
    tempratur: 'temperature',
    Temperature: 'temperature',
    maxTokens: 'max_tokens',
    maxCompletionTokens: 'max_completion_tokens',
    'response-format': 'response_format',
    message: 'messages',
    modle: 'model',
    'temperature\u{fffd}': 'temperature',
  }
  for (const [name, field] of Object.entries(meant)) assert.equal(suggestionFor(name), field, name)
  for (const name of ['tempratr', 'thinking', 'best_of', 'x', 'xy', 'xyz', '', 'x'.repeat(64)])
    assert.equal(suggestionFor(name), undefined, name)
})

test('each endpoint has fields of its own, and a name is suggested that any of them knows', () => {
  const body = {
    model: 'm',
    input: 'a',
    dimensions: 3,
    encoding_format: 'float',
    user: 'u',
    metadata: {},
    messages: [],
  }
  assert.deepEqual(ignoredFieldsOf(body, 'embeddings'), ['messages'])
  assert.deepEqual(ignoredFieldsOf(body), ['input', 'dimensions', 'encoding_format'])
  assert.equal(suggestionFor('dimension'), 'dimensions')
})
