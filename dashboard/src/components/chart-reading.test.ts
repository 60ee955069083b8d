import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movedAlong, readingOf, wordsOf } from './chart-reading.ts'

const SERIES = ['large-1', 'small-1'].map((id) => ({ id, label: id, colour: '' }))
const BARS = { kind: 'bars' as const, series: SERIES, every: 'day' as const, format: (value: number) => `${value}` }
const SUNDAY = '2026-03-01T00:00:00.000Z'

test('what is heard of a bar is what its tooltip shows: the moment, each part, the top one first, and their sum', () => {
  const said = (values: Record<string, number>, chart = {}) => wordsOf(readingOf({ ...BARS, ...chart }, SUNDAY, values))
  assert.equal(said({ 'large-1': 12, 'small-1': 3 }), 'Sun 1 Mar (UTC): small-1 3, large-1 12, 15 in total')
  assert.equal(said({ 'large-1': 12, 'small-1': 0 }), 'Sun 1 Mar (UTC): large-1 12')
  assert.equal(said({}), 'Sun 1 Mar (UTC): no calls')
  assert.equal(
    said({ 'large-1': 12, 'small-1': 3 }, { kind: 'lines' }),
    'Sun 1 Mar (UTC): small-1 3, large-1 12',
    'lines are not stacked, so they have no sum',
  )
})

test('keys move along the bars and stop at either end', () => {
  const moved = (key: string, at: number) => movedAlong(key, at, 30)
  assert.deepEqual([moved('ArrowRight', 3), moved('ArrowUp', 3), moved('ArrowRight', 29)], [4, 4, 29])
  assert.deepEqual([moved('ArrowLeft', 3), moved('ArrowDown', 3), moved('ArrowLeft', 0)], [2, 2, 0])
  assert.deepEqual(
    [moved('PageUp', 3), moved('PageUp', 28), moved('PageDown', 10), moved('PageDown', 2)],
    [10, 29, 3, 0],
  )
  assert.deepEqual([moved('Home', 9), moved('End', 9), moved('Tab', 9)], [0, 29, undefined])
})
