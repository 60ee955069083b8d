import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../durations.ts'
import { digestOfLong, jsonOfMetadata, METADATA_BYTES_PER_DAY, metadataOf, withMetadata } from './metadata.ts'

const pairsOf = (metadata: unknown) => metadataOf({ metadata }).map(({ key, value }) => [key, value])

test('metadata are pairs of texts, in the order in which they were sent', () => {
  assert.deepEqual(pairsOf({ plan: 'free', order: 'A-17', empty: '' }), [
    ['plan', 'free'],
    ['order', 'A-17'],
    ['empty', ''],
  ])
})

test('whatever cannot be kept is left out, and all else stays', () => {
  const odd = { a: 1, b: null, c: { d: 'x' }, e: ['x'], f: true, '': 'no key', ok: 'yes' }
  assert.deepEqual(pairsOf(odd), [['ok', 'yes']])
  const unstorable = { nul: 'a\0b', 'n\0': 'x', half: '\ud800', '\udc00': 'x', whole: '\u{1f600}' }
  assert.deepEqual(pairsOf(unstorable), [['whole', '\u{1f600}']])
  for (const nothing of [undefined, null, 'text', 7, ['a', 'b'], {}]) assert.deepEqual(pairsOf(nothing), [])
  for (const body of [undefined, null, 'text', []]) assert.deepEqual(metadataOf(body), [])
})

test('a key has 64 characters and a value 512 at most; an emoji is one of them', () => {
  assert.deepEqual(pairsOf({ ['k'.repeat(64)]: 'v'.repeat(512) }), [['k'.repeat(64), 'v'.repeat(512)]])
  assert.deepEqual(pairsOf({ ['k'.repeat(65)]: 'v', long: 'v'.repeat(513) }), [])
  const smile = '\u{1f600}'
  assert.equal(pairsOf({ [smile.repeat(64)]: smile.repeat(512) }).length, 1)
  assert.deepEqual(pairsOf({ [smile.repeat(65)]: 'v', long: smile.repeat(513) }), [])
})

test('the seventeenth pair is left out, and one that does not fit takes no place', () => {
  const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`key${n}`, n === 3 ? 3 : 'v']))
  const expected = Array.from({ length: 17 }, (_, n) => `key${n}`).filter((key) => key !== 'key3')
  assert.deepEqual(
    pairsOf(many).map(([key]) => key),
    expected,
  )
})

test('a key is a key, whatever it means to JavaScript', () => {
  const sent: unknown = JSON.parse('{"__proto__":"a","constructor":"b"}')
  assert.deepEqual(pairsOf(sent), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ])
  assert.equal(jsonOfMetadata(metadataOf({ metadata: sent })), '{"__proto__":"a","constructor":"b"}')
  assert.equal(jsonOfMetadata([]), '')
})

test('a project has so many bytes of metadata a day, and the next day anew', () => {
  const today = 20_000 * DAY_MS
  const pairs = [
    { key: 'ä', value: 'x'.repeat(510) },
    { key: 'b', value: '' },
  ]
  const first = withMetadata(undefined, pairs, today)
  assert.deepEqual(first, { day: 20_000, bytes: 513 })
  const full = { day: 20_000, bytes: METADATA_BYTES_PER_DAY - 513 }
  const last = withMetadata(full, pairs, today + DAY_MS - 1)
  assert.deepEqual(last, { day: 20_000, bytes: METADATA_BYTES_PER_DAY })
  assert.equal(withMetadata(last, pairs, today), undefined)
  assert.deepEqual(withMetadata(last, pairs, today + DAY_MS), { day: 20_001, bytes: 513 })
})

test('a value of more than 64 bytes is found by its digest', () => {
  assert.equal(digestOfLong('x'.repeat(64)), undefined)
  assert.equal(digestOfLong('x'.repeat(65))?.length, 43)
  assert.equal(digestOfLong('ä'.repeat(33))?.length, 43)
})
