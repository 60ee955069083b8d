import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ParleyError } from '../errors.ts'
import { answerCharactersMax, embeddingFieldsOf, inputPathOf, parseEmbeddingsRequest } from './embeddings-request.ts'

/** The refusals are tried over HTTP, in test/e2e/embeddings.test.ts. */

test('one input is a list of one, whether it is a text or token ids', () => {
  const shared = { format: 'float', dimensions: undefined, model: 'm' }
  for (const [input, inputs, isSingle] of [
    ['a', ['a'], true],
    [['a'], ['a'], false],
    [[1, 2], [[1, 2]], true],
    [[[1], [2, 3]], [[1], [2, 3]], false],
  ] as const)
    assert.deepEqual(parseEmbeddingsRequest({ model: 'm', input }), { ...shared, inputs, isSingle })
})

test('null is "not given" but for what must be there, and unknown names are ignored', () => {
  const request = parseEmbeddingsRequest({
    model: 'm',
    input: 'a',
    dimensions: null,
    encoding_format: null,
    user: 7,
    x: 1,
  })
  assert.deepEqual([request.dimensions, request.format], [undefined, 'float'])
  for (const [body, param] of [
    [{ model: null, input: 'a' }, 'model'],
    [{ model: 'm', input: null }, 'input'],
  ] as const)
    assert.throws(
      () => parseEmbeddingsRequest(body),
      (error) => error instanceof ParleyError && error.options.param === param,
    )
})

test('what not every route can honour is named', () => {
  const fields = (more: object) => embeddingFieldsOf(parseEmbeddingsRequest({ model: 'm', input: 'a', ...more }))
  assert.deepEqual(fields({}), [])
  assert.deepEqual(fields({ dimensions: 3 }), ['dimensions'])
  assert.deepEqual(fields({ input: [1] }), ['token_ids'])
  assert.deepEqual(fields({ input: [[1]], dimensions: 3 }), ['dimensions', 'token_ids'])
})

test('an input is named as its sender knows it', () => {
  assert.equal(inputPathOf(parseEmbeddingsRequest({ model: 'm', input: 'a' }), 0), 'input')
  assert.equal(inputPathOf(parseEmbeddingsRequest({ model: 'm', input: ['a', 'b'] }), 1), 'input[1]')
})

test('memory is for the longest vectors, or for as long as was asked for', () => {
  const memory = (more: object) =>
    answerCharactersMax(parseEmbeddingsRequest({ model: 'm', input: ['a', 'b'], ...more }))
  assert.equal(memory({ dimensions: 3 }), 2 * 16)
  assert.equal(memory({}), 2 * 21_848)
})
