import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chipsOf, rangeInWords, withoutHalfPair } from './call-filters.ts'

const NOW_MS = Date.UTC(2026, 10, 15, 9, 41)

test('times that a figure led here with are said in words, in the zone of the reader', () => {
  const words = (from?: string, to?: string) =>
    rangeInWords({ ...(from && { from }), ...(to && { to }) }, NOW_MS, 'Europe/Berlin')
  assert.equal(words('2026-11-13T23:00:00.000Z', '2026-11-14T23:00:00.000Z'), '14 Nov, 00:00 to today, 00:00')
  assert.equal(words('2025-11-13T23:00:00.000Z'), 'Since 14 Nov 2025, 00:00')
  assert.equal(words(undefined, '2026-11-15T08:00:07.000Z'), 'Before today, 09:00:07')
  assert.equal(words(), undefined)
})

test('every filter without a field of its own can be seen, and taken away by itself', () => {
  const span = { from: '2026-11-14T00:00:00.000Z', to: '2026-11-15T00:00:00.000Z' }
  const all = { ...span, min_cost: '0.000000001', price: '17', cached: 'true', recommendation: 'no_match' }
  assert.deepEqual(chipsOf(all, NOW_MS, 'UTC'), [
    { words: '14 Nov, 00:00 to today, 00:00', names: ['from', 'to'] },
    { words: 'Charged', names: ['min_cost'] },
    { words: 'Price 17', names: ['price'] },
    { words: 'With caching', names: ['cached'] },
    { words: 'Recommendation: no match', names: ['recommendation'] },
  ])
  assert.deepEqual(chipsOf({ ...span, since: '7d', min_cost: '0.01', model: 'small' }, NOW_MS, 'UTC'), [])
})

test('half a pair of metadata is not asked for', () => {
  assert.deepEqual(withoutHalfPair({ metadata_key: 'env', model: 'small' }), { model: 'small' })
  assert.deepEqual(withoutHalfPair({ metadata_key: 'env', metadata_value: 'prod' }), {
    metadata_key: 'env',
    metadata_value: 'prod',
  })
})
