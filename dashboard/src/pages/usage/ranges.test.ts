import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isoDate, RANGE_OPTIONS, rangeOf, spanOf } from './ranges.ts'

const LAST_MS_OF_A_DAY = Date.parse('2026-03-01T23:59:59.999Z')
const FIRST_MS_OF_THE_NEXT = LAST_MS_OF_A_DAY + 1

test('a range of days is that many days in UTC, and today is one of them, to its last millisecond', () => {
  const firstDays = (range: string) => [LAST_MS_OF_A_DAY, FIRST_MS_OF_THE_NEXT].map((nowMs) => spanOf({ range }, nowMs))
  const from = (...days: string[]) => days.map((day) => ({ from: `${day}T00:00:00.000Z`, every: 'day' }))
  assert.deepEqual(firstDays('7d'), from('2026-02-23', '2026-02-24'))
  assert.deepEqual(firstDays('30d'), from('2026-01-31', '2026-02-01'))
  assert.deepEqual(firstDays('90d'), from('2025-12-02', '2025-12-03'))
  assert.deepEqual(firstDays('12m'), from('2025-03-02', '2025-03-03'))
})

test('the last 24 hours are 24 hours, and the one that runs is one of them, to its last millisecond', () => {
  const firstHour = (nowMs: number) => spanOf({ range: '24h' }, nowMs)
  assert.deepEqual(firstHour(LAST_MS_OF_A_DAY), { from: '2026-03-01T00:00:00.000Z', every: 'hour' })
  assert.deepEqual(firstHour(FIRST_MS_OF_THE_NEXT), { from: '2026-03-01T01:00:00.000Z', every: 'hour' })
})

test('an address that names no range, or one that does not exist, means the last 30 days', () => {
  const thirty = { from: '2026-01-31T00:00:00.000Z', every: 'day' }
  for (const filters of [{}, { range: 'forever' }, { range: 'custom' }, { range: 'custom', to: '2026-02-01' }])
    assert.deepEqual(spanOf(filters, LAST_MS_OF_A_DAY), thirty, JSON.stringify(filters))
  assert.equal(rangeOf({}), '30d')
  assert.equal(rangeOf({ range: '7d' }), '7d')
})

test('chosen dates are asked for as they are, and only while dates are chosen', () => {
  const dates = { from: '2026-01-05', to: '2026-01-07' }
  assert.deepEqual(spanOf({ range: 'custom', ...dates }, LAST_MS_OF_A_DAY), dates)
  assert.deepEqual(spanOf({ range: 'custom', from: '2026-01-05' }, LAST_MS_OF_A_DAY), { from: '2026-01-05' })
  assert.equal(spanOf({ range: '7d', ...dates }, LAST_MS_OF_A_DAY).from, '2026-02-23T00:00:00.000Z')
})

test('the choices are those that the address may name', () => {
  assert.deepEqual(
    RANGE_OPTIONS.map(({ value }) => value),
    ['24h', '7d', '30d', '90d', '12m', 'custom'],
  )
})

test('a date is the one in UTC', () => {
  assert.equal(isoDate(LAST_MS_OF_A_DAY), '2026-03-01')
  assert.equal(isoDate(FIRST_MS_OF_THE_NEXT), '2026-03-02')
})
