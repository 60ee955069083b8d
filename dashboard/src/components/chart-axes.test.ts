import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChartPoint } from './chart-data.ts'
import { alone, momentOf, scaleOf, tickOf } from './chart-axes.ts'

test('an axis goes in round, whole steps from nothing to just above the highest', () => {
  const ticks = (highest: number) => scaleOf(highest).ticks
  assert.deepEqual(ticks(1), [0, 1])
  assert.deepEqual(ticks(5), [0, 1, 2, 3, 4, 5])
  assert.deepEqual(ticks(6), [0, 2, 4, 6])
  assert.deepEqual(ticks(11), [0, 5, 10, 15])
  assert.deepEqual(ticks(100), [0, 20, 40, 60, 80, 100])
  assert.deepEqual(ticks(101), [0, 25, 50, 75, 100, 125])
  assert.deepEqual(ticks(85_000_000), [0, 20_000_000, 40_000_000, 60_000_000, 80_000_000, 100_000_000])
  assert.deepEqual(scaleOf(11), { domain: [0, 15], ticks: [0, 5, 10, 15] })
})

test('an axis has at most five steps, and the highest value is on it', () => {
  for (let highest = 1; highest < 3_000; highest++) {
    const { domain, ticks } = scaleOf(highest)
    assert.ok(domain && ticks && ticks.length >= 2 && ticks.length <= 6, `${highest}`)
    assert.ok(domain[1] >= highest && domain[1] === ticks.at(-1), `${highest}`)
  }
})

test('where there is nothing to show, the axis is left as it is', () => {
  for (const highest of [0, -1, Number.NaN, Infinity]) assert.deepEqual(scaleOf(highest), {})
})

test('what stands at an axis is in UTC, to the end of the day', () => {
  assert.equal(tickOf('2026-03-01T23:00:00.000Z', 'hour'), '23:00')
  assert.equal(tickOf('2026-03-01T23:59:59.999Z', 'day'), '1 Mar')
  assert.equal(momentOf('2026-03-01T23:00:00.000Z', 'hour'), 'Sun 1 Mar, 23:00 UTC')
  assert.equal(momentOf('2026-03-01T00:00:00.000Z', 'day'), 'Sun 1 Mar (UTC)')
})

test('a point of a line without a neighbour is found, each series for itself', () => {
  const points: ChartPoint[] = [
    { at: 'a', values: { p50: 1 } },
    { at: 'b', values: {} },
    { at: 'c', values: { p50: 2, p95: 3 } },
    { at: 'd', values: { p50: 4 } },
    { at: 'e', values: {} },
    { at: 'f', values: { p50: 5 } },
  ]
  assert.deepEqual([...alone(points, 'p50')], [0, 5])
  assert.deepEqual([...alone(points, 'p95')], [2])
  assert.deepEqual([...alone([{ at: 'a', values: { p50: 0 } }], 'p50')], [0])
})
