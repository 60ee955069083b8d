import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeClicks, type Follow } from './chaos/readers.ts'

/** The judge of a chaos run's clicks must itself be known to bite. */

const follow = (change: Partial<Follow> = {}): Follow => ({
  recommendationId: 'r',
  status: 302,
  durationMs: 20,
  ...change,
})

function foundIn(follows: Follow[], stored: number, paid: number, spent = 0n): string[] {
  const verdict = judgeClicks(
    follows,
    [{ recommendationId: 'r', stored, paid }],
    [{ campaignId: 'c', spent, budget: 10n }],
  )
  return Object.entries(verdict).flatMap(([name, cases]) => cases.map(() => name))
}

test('a click that was led on at once and is not stored is lost; one that was led on late may be', () => {
  assert.deepEqual(foundIn([follow(), follow()], 2, 1), [])
  assert.deepEqual(foundIn([follow(), follow()], 1, 1), ['lost'])
  assert.deepEqual(foundIn([follow(), follow({ durationMs: 501 })], 1, 1), [])
  assert.deepEqual(foundIn([follow({ status: 503 }), follow({ status: undefined })], 0, 0), [])
})

test('more rows than attempts are doubled, and so is a second payment', () => {
  assert.deepEqual(foundIn([follow({ status: undefined })], 1, 1), [])
  assert.deepEqual(foundIn([follow()], 2, 1), ['doubled'])
  assert.deepEqual(foundIn([follow(), follow()], 2, 2), ['doubled'])
})

test('a campaign that paid a nano more than its budget is overspent', () => {
  assert.deepEqual(foundIn([follow()], 1, 1, 10n), [])
  assert.deepEqual(foundIn([follow()], 1, 1, 11n), ['overspent'])
})
