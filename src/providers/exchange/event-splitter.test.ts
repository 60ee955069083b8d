import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { EVENT_BYTES_MAX } from '../../rules/limits.ts'
import { isUpstreamError } from '../support.test.ts'
import { createEventSplitter } from './event-splitter.ts'

function readAll(pieces: readonly Buffer[]): string[] {
  const splitter = createEventSplitter()
  const events: string[] = []
  for (const piece of pieces) splitter.split(piece, events)
  splitter.splitRest(events)
  return events
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places, bytes.length].toSorted((a, b) => a - b)
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end))
}

/** Lines whose meaning the standard defines, whatever ends them. */
const STREAM = [
  ': a comment ✓',
  'data: one',
  '',
  'data:two',
  'data:  data: 2 ',
  '',
  'event: named',
  'id: 7',
  'retry: 5',
  'data: {"text":"é 👩‍👩‍👧 日本"}',
  '',
  '',
  ':',
  'data',
  '',
  'dat: no',
  'data : no',
  ' data: no',
  '',
  'data: [DONE]',
  '',
  'data: never ended by a blank line',
]
const EVENTS = ['one', 'two\n data: 2 ', '{"text":"é 👩‍👩‍👧 日本"}', '', '[DONE]']

for (const [name, newline] of [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
] as const) {
  for (const mark of ['', '\uFEFF']) {
    const bytes = Buffer.from(mark + STREAM.join(newline) + newline)

    test(`lines that end in ${name}${mark && ', after a byte order mark,'} are the same events at every cut`, () => {
      assert.deepEqual(readAll([bytes]), EVENTS)
      for (let at = 0; at <= bytes.length; at++) {
        assert.deepEqual(readAll(cutAt(bytes, [at])), EVENTS, `cut at byte ${at}`)
      }
      assert.deepEqual(readAll(cutAt(bytes, [...bytes.keys()])), EVENTS, 'one byte at a time')
    })
  }
}

test('any bytes at all, legal or not, are the same events wherever they are cut', () => {
  const words = fc.constantFrom(
    'data:',
    'data: ',
    'x',
    '\r',
    '\n',
    '\r\n',
    ':',
    'é',
    '👍',
    '\uFEFF',
    'event: e',
    '\u2028',
  )
  const legal = fc.array(words, { maxLength: 40 }).map((parts) => Buffer.from(parts.join('')))
  const illegal = fc.array(fc.constantFrom(0x0a, 0x0d, 0x20, 0x3a, 0x64, 0xc3, 0xe2, 0xf0, 0x9f, 0xff, 0x00))
  const prefixed = illegal.map((codes) => Buffer.from([...Buffer.from('data: '), ...codes, 10, 10]))
  const cuts = fc.array(fc.nat(), { maxLength: 8 })
  fc.assert(
    fc.property(fc.oneof(legal, prefixed), cuts, (bytes, places) => {
      const pieces = cutAt(
        bytes,
        places.map((place) => place % (bytes.length + 1)),
      )
      assert.deepEqual(readAll(pieces), readAll([bytes]))
    }),
    { numRuns: 1_000 },
  )
})

test('an event beyond the limit is an error, not memory without end', () => {
  const endless = Buffer.from(`data: ${'x'.repeat(EVENT_BYTES_MAX + 1)}`)
  const lines = Buffer.from(`data: ${'x'.repeat(1_000)}\n`.repeat(EVENT_BYTES_MAX / 1_000 + 1))
  for (const bytes of [endless, lines, Buffer.concat([Buffer.from('data: fine\n\n'), endless])]) {
    for (const size of [bytes.length, 65_536, 1_000]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      )
      assert.throws(() => readAll(pieces), isUpstreamError('event_too_big'))
    }
  }
})

test('a comment may be of any length, because nothing of it is kept', () => {
  const comment = Buffer.from(`: ${'x'.repeat(65_534)}`)
  const pieces = [...Array.from({ length: 64 }, () => comment), Buffer.from('\ndata: fine\n\n')]
  assert.deepEqual(readAll(pieces), ['fine'])
})

test('the last event counts without the blank line after it, unless it was cut', () => {
  const ends = (text: string) => readAll([Buffer.from(`data: {"a":1}\n\n${text}`)])
  assert.deepEqual(ends('data: {"b":"é"}'), ['{"a":1}', '{"b":"é"}'])
  assert.deepEqual(ends('data: [DONE]\n'), ['{"a":1}', '[DONE]'])
  for (const cut of ['data: {"b":"', 'data: [DO', 'dat', ': a comment', 'data: '])
    assert.deepEqual(ends(cut), ['{"a":1}'])
})

test('what is cut up the fast way is what the exact one makes of it', () => {
  const usual = ['data: {"a":1}', 'event: delta\ndata: é 👍', 'data: [DONE]', 'data: ', 'data:  two blanks']
  const odd = [': a comment', 'data:none', 'id: 7\ndata: x', 'data: a\ndata: b', 'event: e', '\uFEFFdata: x', 'data']
  const event = fc.tuple(
    fc.constantFrom(...usual, ...usual, ...odd),
    fc.constantFrom('\n\n', '\n\n', '\r\n\r\n', '\r\r'),
  )
  const reads = fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { maxLength: 6 })
  fc.assert(
    fc.property(reads, (events) => {
      const pieces = events.map((read) => Buffer.from(read.map((parts) => parts.join('')).join('')))
      const whole = Buffer.concat(pieces)
      assert.deepEqual(readAll(pieces), readAll(cutAt(whole, [...whole.keys()])))
    }),
    { numRuns: 2_000 },
  )
})

test('an event that is too long comes after those before it', () => {
  const events: string[] = []
  const bytes = Buffer.from(`data: fine\n\ndata: ${'x'.repeat(EVENT_BYTES_MAX + 1)}`)
  assert.throws(() => createEventSplitter().split(bytes, events), isUpstreamError('event_too_big'))
  assert.deepEqual(events, ['fine'])
})
