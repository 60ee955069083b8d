import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ParleyError } from './errors.ts'
import { endpointNoted, explanationOf, namedModelOf, refusalCodesOf, refusalWords } from './refused-requests.ts'

test('what a refusal said is noted as it was said, within bounds and visible', () => {
  assert.deepEqual(refusalWords(new ParleyError('invalid_value', { message: 'n must be 1.', param: 'n' })), {
    status: 422,
    code: 'invalid_value',
    message: 'n must be 1.',
    param: 'n',
  })
  const long = refusalWords(
    new ParleyError('invalid_value', { message: 'x'.repeat(9_000), param: `metadata.\u202e${'k'.repeat(500)}` }),
  )
  assert.equal(long?.message.length, 500)
  assert.equal(long?.param?.length, 200)
  assert.ok(!long?.param?.includes('\u202e'))
})

test('what went wrong on our side is nothing that a publisher could mend', () => {
  for (const code of ['internal', 'store_unavailable', 'overloaded', 'upstream_failed'] as const)
    assert.equal(refusalWords(new ParleyError(code)), undefined, code)
})

test('of a body only the name of the model is noted', () => {
  assert.equal(namedModelOf({ model: 'gpt-9', messages: [{ content: 'secret' }] }), 'gpt-9')
  for (const body of [undefined, null, 'text', [], {}, { model: 7 }, { model: '' }, { model: { secret: 1 } }])
    assert.equal(namedModelOf(body), null)
  assert.equal(namedModelOf({ model: '👍'.repeat(300) })?.length, 2 * 99 + 1)
})

test('of a path that does not exist what is harmless is noted, and never a key or a query', () => {
  assert.equal(endpointNoted('POST', '/v1/completions?key=secret', undefined), 'POST /v1/completions')
  assert.equal(endpointNoted('GET', '/v1/models/m', '/v1/models/*'), 'GET /v1/models/*')
  for (const path of [
    `/v1/ply_sk_00${'a'.repeat(20)}`,
    '/v1/sk-abc',
    `/${'a'.repeat(101)}`,
    '/v1/<script>',
    '/v1/a%20b',
  ])
    assert.equal(endpointNoted('GET', path, undefined), 'GET (another path)', path)
})

test('a code is explained in whole sentences, and one that nobody knows is not', () => {
  assert.deepEqual(explanationOf('keys_invalid'), {
    what: 'Unknown, mismatched or malformed keys.',
    advice: 'Copy both keys of one pair again.',
  })
  for (const code of ['internal', 'toString', '']) assert.equal(explanationOf(code), undefined)
})

test('a status is the codes that have it', () => {
  assert.deepEqual(refusalCodesOf(401), ['keys_missing', 'keys_invalid', 'key_inactive', 'session_over'])
  assert.deepEqual(refusalCodesOf(418), [])
})
