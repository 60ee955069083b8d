import assert from 'node:assert/strict'
import { test } from 'node:test'
import { methodsOf } from './endpoints.ts'

test('every path that is answered says by which methods, and no other does', () => {
  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/embeddings', '/v1/sessions'])
    assert.equal(methodsOf(path), 'POST', path)
  for (const path of ['/v1/models', '/v1/models/a/b', '/v1/credits', '/v1/receipts/x', '/openapi.json', '/r/t', '/w/t'])
    assert.equal(methodsOf(path), 'GET, HEAD', path)
  for (const path of [
    '/',
    '/v1',
    '/v1/models/',
    '/v1/receipts/',
    '/v1/receipts/x/y',
    '/r/',
    '/r/a/b',
    '/x/v1/models',
    '/openapi-json',
  ])
    assert.equal(methodsOf(path), undefined, path)
})
