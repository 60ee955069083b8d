import assert from 'node:assert/strict'
import { test } from 'node:test'
import { curlOf, fieldsOf, typeOf, type Endpoint, type OpenApi } from './openapi.ts'

test('a type is said in words', () => {
  for (const [schema, words] of [
    [{ type: 'string' }, 'string'],
    [{ type: 'integer', minimum: 0, maximum: 20 }, 'integer from 0 to 20'],
    [{ type: 'integer', exclusiveMinimum: 0, maximum: 2_147_483_647 }, 'integer from 1 to 2,147,483,647'],
    [{ type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, 'integer'],
    [{ const: 'list' }, '"list"'],
    [{ enum: ['low', 'high'] }, '"low", "high"'],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string or null'],
    [{ type: ['string', 'null'] }, 'string or null'],
    [{ type: 'array', items: { type: 'number' } }, 'array of number'],
    [{ $ref: '#/components/schemas/Model' }, 'Model'],
    [{}, 'any'],
  ] as const)
    assert.equal(typeOf(schema as never), words)
})

test('the fields of alternatives are those of all, each once', () => {
  const message = (role: string, more: object) => ({
    properties: { role: { const: role }, ...more },
    required: ['role'],
  })
  const schema = { items: { oneOf: [message('a', { x: {} }), message('b', { y: {} })] } }
  assert.deepEqual(
    fieldsOf(schema).map(([name, , isRequired]) => [name, isRequired]),
    [
      ['role', true],
      ['x', false],
      ['y', false],
    ],
  )
})

test('a request to paste has the address, the keys and the body', () => {
  const document = { servers: [{ url: 'https://gateway.example.com' }] } as OpenApi
  const ask = { method: 'POST', path: '/v1/chat/completions' } as Endpoint
  assert.match(
    curlOf(document, ask, { stream: true }),
    /^curl -sSN https:\/\/gateway\.example\.com\/v1\/chat\/completions [^]*-d '\{/,
  )
  const read = { method: 'GET', path: '/v1/receipts/{completion_id}' } as Endpoint
  const text = curlOf(document, read, undefined)
  assert.match(text, /^curl -sS "https:\/\/gateway\.example\.com\/v1\/receipts\/\$COMPLETION_ID" /)
  assert.doesNotMatch(text, /-d /)
})
