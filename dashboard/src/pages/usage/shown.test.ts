import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chartOf, formatShown, rowsOf, shownOf, tokensIn, type Usage } from './shown.ts'

const NO_TOKENS = { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }
const COLOURS = new Map([['m1', 'var(--chart-1)']])

/** One day on which each group had so many calls, in the order of the list. */
function usageOf(calls: readonly number[]): Usage {
  const groups = calls.map((count, n) => ({
    id: `m${n + 1}`,
    label: `Model ${n + 1}`,
    calls: count,
    failed: 1,
    chargedNanos: String(count * 1_000),
    tokens: { ...NO_TOKENS, output: 2 * count },
  }))
  return { by: 'model', every: 'day', groups, points: [{ at: '2026-03-01T00:00:00.000Z', groups }] } as unknown as Usage
}

const idsOf = (usage: Usage) => chartOf(usage, 'calls', COLOURS).series.map(({ id }) => id)
const valuesOf = (usage: Usage, shown: Parameters<typeof chartOf>[1] = 'calls') =>
  chartOf(usage, shown, COLOURS).points.map(({ values }) => values)

test('all kinds of tokens are counted, each once', () => {
  assert.equal(tokensIn({ input: 1, cachedInput: 10, cacheWrite: 100, output: 1_000, reasoning: 10_000 }), 11_111)
})

test('six groups are shown each for itself; of seven, the last two are one part that loses nothing', () => {
  assert.deepEqual(idsOf(usageOf([6, 5, 4, 3, 2, 1])), ['m1', 'm2', 'm3', 'm4', 'm5', 'm6'])
  assert.deepEqual(valuesOf(usageOf([6, 5, 4, 3, 2, 1])), [{ m1: 6, m2: 5, m3: 4, m4: 3, m5: 2, m6: 1 }])
  assert.deepEqual(idsOf(usageOf([7, 6, 5, 4, 3, 2, 1])), ['m1', 'm2', 'm3', 'm4', 'm5', 'other'])
  assert.deepEqual(valuesOf(usageOf([7, 6, 5, 4, 3, 2, 1])), [{ m1: 7, m2: 6, m3: 5, m4: 4, m5: 3, other: 3 }])
  assert.deepEqual(idsOf(usageOf([])), [])
})

test('a chart shows calls, failed calls, tokens or spend, as it was asked', () => {
  const usage = usageOf([3])
  assert.deepEqual(valuesOf(usage, 'calls'), [{ m1: 3 }])
  assert.deepEqual(valuesOf(usage, 'failed'), [{ m1: 1 }])
  assert.deepEqual(valuesOf(usage, 'tokens'), [{ m1: 6 }])
  assert.deepEqual(valuesOf(usage, 'spend'), [{ m1: 3_000 }])
  const { label, series, format } = chartOf(usage, 'spend', COLOURS)
  assert.equal(label, 'Spend by model, per day in UTC.')
  assert.deepEqual(series, [{ id: 'm1', label: 'Model 1', colour: 'var(--chart-1)' }])
  assert.equal(format(2_500_000_000), '$2.50')
  assert.equal(formatShown(12_345, 'tokens'), '12.3 K')
})

test('an address that names nothing that can be shown means calls', () => {
  assert.deepEqual([shownOf('spend'), shownOf(undefined), shownOf('everything')], ['spend', 'calls', 'calls'])
})

test('the numbers behind the charts are listed newest first, and by name', () => {
  const usage = usageOf([2, 1])
  const [first] = usage.points
  const points = ['2026-03-01', '2026-03-02'].map((at) => ({ ...first, at })) as Usage['points']
  assert.deepEqual(
    rowsOf({ ...usage, points, groups: usage.groups.slice(0, 1) }).map(({ at, label, calls }) => [at, label, calls]),
    [
      ['2026-03-02', 'Model 1', 2],
      ['2026-03-02', 'm2', 1],
      ['2026-03-01', 'Model 1', 2],
      ['2026-03-01', 'm2', 1],
    ],
  )
})
