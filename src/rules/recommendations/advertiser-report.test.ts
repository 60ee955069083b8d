import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameOfRow, reportRowsOf, totalOf } from './advertiser-report.ts'

const sum = (key: string | null, event: string, times: bigint, spentNanos = 0n) => ({ key, event, times, spentNanos })
const UNTOLD = { serves: null, validClicks: null, otherClicks: null, conversions: null, averageNanos: null }

test('a row has its serves, its clicks by verdict, its conversions, and what a paid click cost on average', () => {
  const rows = reportRowsOf(
    [
      sum('quiet', 'serve', 10n),
      sum('loud', 'valid', 4n, 1_000n),
      sum('loud', 'bot', 2n),
      sum('loud', 'serve', 300n),
      sum('loud', 'agent', 1n),
      sum('loud', 'conversion', 3n),
    ],
    'hint',
  )
  assert.deepEqual(rows, [
    {
      key: 'loud',
      serves: 300n,
      validClicks: 4n,
      otherClicks: { agent: 1n, bot: 2n },
      conversions: 3n,
      spentNanos: 1_000n,
      averageNanos: 250n,
    },
    {
      key: 'quiet',
      serves: 10n,
      validClicks: 0n,
      otherClicks: {},
      conversions: 0n,
      spentNanos: 0n,
      averageNanos: null,
    },
  ])
})

test('a click that was taken back is no longer paid for, and never makes less than nothing', () => {
  const [row] = reportRowsOf(
    [sum('a', 'serve', 20n), sum('a', 'valid', 3n, 900n), sum('a', 'reversed', 1n, 300n)],
    'campaign',
  )
  assert.deepEqual(
    [row?.validClicks, row?.otherClicks, row?.spentNanos, row?.averageNanos],
    [2n, { reversed: 1n }, 600n, 300n],
  )
  const [other] = reportRowsOf([sum('b', 'serve', 20n), sum('b', 'reversed', 1n, 300n)], 'category')
  assert.deepEqual([other?.validClicks, other?.spentNanos], [0n, 0n])
})

test('of fewer than ten serves nothing is told but what was paid, and the others come last however many they are', () => {
  const few = [sum(null, 'serve', 9n), sum(null, 'valid', 1n, 50n), sum('a', 'serve', 12n)]
  const [shown, others] = reportRowsOf(few, 'offer')
  assert.equal(shown?.key, 'a')
  assert.deepEqual(others, { key: null, ...UNTOLD, spentNanos: 50n })
  const many = reportRowsOf([sum(null, 'serve', 10_000n), sum('a', 'serve', 12n)], 'offer')
  assert.deepEqual(
    many.map(({ key, serves }) => [key, serves]),
    [
      ['a', 12n],
      [null, 10_000n],
    ],
  )
})

test('days are in their order, the newest first', () => {
  const rows = reportRowsOf(
    [sum('2026-11-01', 'serve', 900n), sum('2026-11-03', 'serve', 10n), sum(null, 'serve', 3n)],
    'day',
  )
  assert.deepEqual(
    rows.map(({ key }) => key),
    ['2026-11-03', '2026-11-01', null],
  )
})

test('what a total says of others lets nobody find what is not told', () => {
  const rows = reportRowsOf(
    [sum('a', 'serve', 12n), sum('a', 'valid', 2n, 100n), sum(null, 'serve', 9n), sum(null, 'valid', 1n, 80n)],
    'offer',
  )
  assert.deepEqual(totalOf(rows), {
    serves: 12n,
    validClicks: 2n,
    conversions: 0n,
    spentNanos: 180n,
    averageNanos: 50n,
  })
})

test('a row is called what it is about, also when that is gone', () => {
  const names = new Map([['1', 'Desk lamps']])
  assert.equal(nameOfRow('campaign', '1', names), 'Desk lamps')
  assert.equal(nameOfRow('campaign', '2', names), 'Removed (2)')
  assert.equal(nameOfRow('hint', '', names), 'The offer’s own words')
  assert.equal(nameOfRow('category', '', names), 'None')
  assert.equal(nameOfRow('day', null, names), 'All others')
})
