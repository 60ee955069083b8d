import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLICK_STATES } from '../../../../src/rules/clicks/earnings.ts'
import { VERDICT_LABELS } from '../../../../src/rules/clicks/verdict.ts'
import { STATES, VERDICTS } from './verdicts.ts'

test('the list of clicks can be filtered by every verdict, named as everywhere else, and by every state', () => {
  const labels = Object.entries(VERDICT_LABELS).map(([verdict, { label }]) => [verdict, label])
  assert.deepEqual(Object.entries(VERDICTS), labels)
  assert.deepEqual(Object.keys(STATES).toSorted(), CLICK_STATES.toSorted())
})
