import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settingsOf, typedOf, type Campaign } from './campaign-fields.ts'

const CAMPAIGN = {
  name: 'Lamps',
  bidNanos: '400000000',
  dailyBudgetNanos: null,
  totalBudgetNanos: '250000000000',
  pacing: 'even',
  startsAt: '2026-11-01T09:30:00.000Z',
  endsAt: '2026-12-01T00:00:00.000Z',
  hints: ['for people who read at night', 'for small desks'],
  negativeHints: [],
} as unknown as Campaign

test('what was not changed is not sent, so that a time of day that a command has set stays', () => {
  const before = typedOf(CAMPAIGN)
  assert.deepEqual(settingsOf(before, before), {})
  assert.deepEqual(settingsOf({ ...before, bidNanos: '0.55' }, before), { bidNanos: '550000000' })
})

test('an empty budget is none, and the last day is over at the midnight after it', () => {
  const before = typedOf(CAMPAIGN)
  assert.equal(before.endsAt, '2026-11-30')
  const changed = settingsOf({ ...before, totalBudgetNanos: ' ', endsAt: '2026-12-31', startsAt: '' }, before)
  assert.deepEqual(changed, { totalBudgetNanos: null, endsAt: '2027-01-01T00:00:00.000Z', startsAt: null })
})

test('each line that says something is a hint', () => {
  const before = typedOf(CAMPAIGN)
  assert.deepEqual(settingsOf({ ...before, hints: ' for night owls \n\n' }, before), { hints: ['for night owls'] })
  assert.deepEqual(settingsOf(typedOf(undefined), undefined).hints, [])
})
