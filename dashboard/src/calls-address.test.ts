import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callsAt, fullDays, lastDays, momentSpan } from './calls-address.ts'

const NOW_MS = Date.UTC(2026, 10, 15, 23, 59, 59, 999)

test('a figure leads to the calls that it was made of, and to no filter that it does not need', () => {
  const span = momentSpan('2026-11-14T00:00:00.000Z', 'day')
  assert.deepEqual(callsAt('p', { ...span, model: 'small', key: undefined, outcome: 'failed' }), {
    to: '/projects/p/calls',
    search: {
      from: '2026-11-14T00:00:00.000Z',
      to: '2026-11-15T00:00:00.000Z',
      model: 'small',
      outcome: 'failed',
    },
  })
  assert.equal(momentSpan('2026-11-14T23:00:00.000Z', 'hour').to, '2026-11-15T00:00:00.000Z')
})

test('days up to now have today among them, and full days do not', () => {
  assert.deepEqual(lastDays(1, NOW_MS), { from: '2026-11-15T00:00:00.000Z' })
  assert.deepEqual(lastDays(7, NOW_MS), { from: '2026-11-09T00:00:00.000Z' })
  assert.deepEqual(fullDays(7, NOW_MS), { from: '2026-11-08T00:00:00.000Z', to: '2026-11-15T00:00:00.000Z' })
})
