import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromOf } from './periods.ts'

const LAST_MS_OF_A_DAY = Date.parse('2026-03-01T23:59:59.999Z')

test('a period is that many days in UTC, and today is one of them, to its last millisecond', () => {
  const firstDays = (days: string) => [0, 1].map((ms) => fromOf(days, LAST_MS_OF_A_DAY + ms).from)
  assert.deepEqual(firstDays('7'), ['2026-02-23T00:00:00.000Z', '2026-02-24T00:00:00.000Z'])
  assert.deepEqual(firstDays('30'), ['2026-01-31T00:00:00.000Z', '2026-02-01T00:00:00.000Z'])
  assert.deepEqual(firstDays('90'), ['2025-12-02T00:00:00.000Z', '2025-12-03T00:00:00.000Z'])
  assert.deepEqual(firstDays('365'), ['2025-03-02T00:00:00.000Z', '2025-03-03T00:00:00.000Z'])
})

test('no period, or one that is not offered, is all of the ledger', () => {
  for (const days of [undefined, '', '8', '-7', '7.0', 'x']) assert.deepEqual(fromOf(days, LAST_MS_OF_A_DAY), {}, days)
})
