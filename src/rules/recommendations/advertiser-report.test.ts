import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportRowsOf } from './advertiser-report.ts'

const sum = (key: string | null, event: string, times: bigint, spentNanos = 0n) => ({ key, event, times, spentNanos })

test('a row has its serves, its clicks by verdict, and what a paid one cost on average', () => {
  const rows = reportRowsOf([
    sum('quiet', 'serve', 10n),
    sum('loud', 'valid', 4n, 1_000n),
    sum('loud', 'bot', 2n),
    sum('loud', 'serve', 300n),
    sum('loud', 'agent', 1n),
  ])
  assert.deepEqual(rows, [
    {
      key: 'loud',
      serves: 300n,
      validClicks: 4n,
      otherClicks: { agent: 1n, bot: 2n },
      spentNanos: 1_000n,
      averageNanos: 250n,
    },
    { key: 'quiet', serves: 10n, validClicks: 0n, otherClicks: {}, spentNanos: 0n, averageNanos: null },
  ])
})

test('of fewer than ten serves nothing is told but what was paid, and the others come last however many they are', () => {
  const [shown, others] = reportRowsOf([sum(null, 'serve', 9n), sum(null, 'valid', 1n, 50n), sum('a', 'serve', 12n)])
  assert.equal(shown?.key, 'a')
  assert.deepEqual(others, {
    key: null,
    serves: null,
    validClicks: null,
    otherClicks: null,
    spentNanos: 50n,
    averageNanos: null,
  })
  const many = reportRowsOf([sum(null, 'serve', 10_000n), sum('a', 'serve', 12n)])
  assert.deepEqual(
    many.map(({ key, serves }) => [key, serves]),
    [
      ['a', 12n],
      [null, 10_000n],
    ],
  )
})
