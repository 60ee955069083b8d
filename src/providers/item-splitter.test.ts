import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { createItemSplitter } from './item-splitter.ts'
import { UpstreamError } from './provider.ts'

function split(json: string, cuts: readonly number[] = []): { items: unknown[]; rest: unknown } {
  const splitter = createItemSplitter('data')
  const bytes = Buffer.from(json)
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  const items = places.slice(1).flatMap((end, n) => splitter.split(bytes.subarray(places[n], end)))
  return { items: items.map((item) => JSON.parse(item) as unknown), rest: JSON.parse(splitter.rest()) }
}

function kindOf(work: () => unknown): string | undefined {
  try {
    work()
  } catch (error) {
    return error instanceof UpstreamError ? error.kind : String(error)
  }
  return undefined
}

test('wherever the bytes are cut, the items and what is around them are the same', () => {
  const item = fc.oneof(
    fc.record({ embedding: fc.array(fc.double({ noNaN: true })), index: fc.nat() }),
    fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.array(fc.string()))),
  )
  const document = fc.record({
    object: fc.string(),
    data: fc.array(item, { maxLength: 6 }),
    more: fc.oneof(fc.string(), fc.array(fc.nat()), fc.dictionary(fc.string(), fc.string())),
  })
  fc.assert(
    fc.property(document, fc.array(fc.nat()), fc.constantFrom(undefined, 1, '\t'), (whole, cuts, indent) => {
      const { items, rest } = split(JSON.stringify(whole, null, indent), cuts)
      // JSON itself does not keep -0, or a field called __proto__: that is not the splitter's doing.
      const same = JSON.parse(JSON.stringify(whole)) as typeof whole
      assert.deepEqual(items, same.data)
      assert.deepEqual(rest, { ...same, data: [] })
    }),
  )
})

test('only the list of that name directly in the object is cut, and only once', () => {
  const json = '{"object":"data","usage":{"data":[{"a":1}]},"list":[{"b":2}],"data":[{"c":3}],"after":[{"d":4}]}'
  const { items, rest } = split(json)
  assert.deepEqual(items, [{ c: 3 }])
  assert.deepEqual(rest, { object: 'data', usage: { data: [{ a: 1 }] }, list: [{ b: 2 }], data: [], after: [{ d: 4 }] })
  assert.deepEqual(split('{"error":{"message":"no"}}').rest, { error: { message: 'no' } })
})

test('an object that does not end is truncated, wherever that is', () => {
  const whole = '{"data":[{"embedding":[0.5],"index":0}],"usage":{"prompt_tokens":1}}'
  for (let end = 1; end < whole.length; end++)
    assert.equal(
      kindOf(() => split(whole.slice(0, end))),
      'truncated',
      whole.slice(0, end),
    )
})

test('neither an item nor what is around the items may be long without end', () => {
  const padding = 'a'.repeat(1024 * 1024)
  assert.equal(
    kindOf(() => split(`{"data":[{"embedding":"${padding}"}]}`)),
    'event_too_big',
  )
  assert.equal(
    kindOf(() => split(`{"padding":"${padding.slice(0, 65 * 1024)}","data":[]}`)),
    'event_too_big',
  )
  const long = JSON.stringify({ data: Array.from({ length: 100 }, () => ({ embedding: padding.slice(0, 100_000) })) })
  assert.equal(split(long).items.length, 100, 'together they may')
})
