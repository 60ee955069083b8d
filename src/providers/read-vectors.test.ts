import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PRESETS } from './presets.ts'
import { createProvider, EMBEDDING_KINDS, PROVIDER_KINDS } from './create-provider.ts'
import { readVectors, type WantedVectors } from './read-vectors.ts'
import { UpstreamError } from './provider.ts'
import type { BodyReader } from './body-reader.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import { createTransport, type Transport } from './transport.ts'
import { vectorOf } from '../rules/calls/vectors.ts'
import { UPSTREAM_TIMERS } from '../rules/limits.ts'

const WANTED: WantedVectors = {
  list: 'data',
  read: ({ embedding: value, index }) => ({ value, index: index ?? undefined }),
  count: 2,
  dimensions: undefined,
}
const EXCHANGE = { url: 'http://provider.test', headers: {}, body: '{}', timers: UPSTREAM_TIMERS }

function answering(body: string): Transport {
  return {
    async *exchange<Part, Piece>({ contentType }: UpstreamRequest, reader: BodyReader<Part, Piece>) {
      assert.equal(contentType, 'application/json')
      const parts: Part[] = []
      for (const piece of body.match(/.{1,7}/gs) ?? []) reader.split(Buffer.from(piece), parts)
      for (const part of parts) yield reader.read(part)
      yield reader.end()
    },
    close: () => Promise.resolve(),
  }
}

function read(body: unknown, wanted: Partial<WantedVectors> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return readVectors(answering(text), EXCHANGE, { ...WANTED, ...wanted }, new AbortController().signal)
}

const item = (embedding: unknown, index?: unknown) => ({ object: 'embedding', embedding, index })
const ONE = vectorOf([1, 0])?.vector
const TWO = vectorOf([0, 1])?.vector

test('vectors are put in the order of their inputs, in whichever they came and in either form', async () => {
  const usage = { prompt_tokens: 3 }
  for (const data of [
    [item([1, 0], 0), item([0, 1], 1)],
    [item([0, 1], 1), item([1, 0], 0)],
    [item(ONE, 0), item(TWO, 1)],
    [item([1, 0]), item(TWO)],
    [item(ONE, null), item(TWO, null)],
  ])
    assert.deepEqual(await read({ data, usage }), { vectors: [ONE, TWO], rest: { data: [], usage } })
})

test('an answer in which anything is missing, twice there, no vector or of another length is none', async () => {
  const wrong: [body: unknown, kind: string, wanted?: Partial<WantedVectors>][] = [
    [{ data: [item(ONE, 0)] }, 'bad_event'],
    [{ data: [item(ONE, 0), item(TWO, 0)] }, 'bad_event'],
    [{ data: [item(ONE, 0), item(TWO, 1), item(TWO, 2)] }, 'bad_event'],
    [{ data: [item(ONE, 0), item(TWO, 2)] }, 'bad_event'],
    [{ data: [item(ONE, 0), item(TWO, -1)] }, 'bad_event'],
    [{ data: [item(ONE, 0), item(TWO, '1')] }, 'bad_event'],
    [{ data: [item(ONE, 0), item([], 1)] }, 'bad_event'],
    [{ data: [item(ONE, 0), item(undefined, 1)] }, 'bad_event'],
    [{ data: [item(ONE, 0), [1]] }, 'bad_event'],
    [{ data: [item([1, 0, 0], 0), item([0, 1, 0], 1)] }, 'bad_event', { dimensions: 2 }],
    [
      {
        data: [
          item(
            Array.from({ length: 4_097 }, () => 1),
            0,
          ),
          item([1], 1),
        ],
      },
      'bad_event',
    ],
    [{}, 'bad_event'],
    ['[]', 'bad_event'],
    ['nothing', 'bad_event'],
    [{ error: { message: 'no' } }, 'error_in_200'],
    [{ error: { code: 429 } }, 'rate_limited'],
    ['{"data":[', 'truncated'],
    ['', 'bad_event'],
  ]
  for (const [body, kind, wanted] of wrong)
    await assert.rejects(
      read(body, wanted),
      (error) => error instanceof UpstreamError && error.kind === kind,
      JSON.stringify(body).slice(0, 80),
    )
})

test('the kinds of providers that are said to make embeddings are those that do', async () => {
  const transport = createTransport()
  const settings = (kind: string) => (kind === 'bedrock' ? { region: 'eu-north-1' } : {})
  const able = PROVIDER_KINDS.filter((kind) => {
    const options = { kind, name: 'p', baseUrl: 'https://provider.test/v1', settings: settings(kind) }
    return createProvider(options, transport).embed !== undefined
  })
  await transport.close()
  assert.deepEqual(able.toSorted(), [...EMBEDDING_KINDS].toSorted())
  assert.ok(PRESETS.some(({ kind }) => !EMBEDDING_KINDS.has(kind)))
})
