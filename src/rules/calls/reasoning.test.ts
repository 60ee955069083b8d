import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UPSTREAM_TIMERS } from '../limits.ts'
import { REASONING_EFFORTS } from './chat-request.ts'
import { timersFor } from './reasoning.ts'

test('a model is given the time to think as hard as it was asked to', () => {
  const waits = REASONING_EFFORTS.map((effort) => [effort, timersFor(UPSTREAM_TIMERS, effort).firstTokenMs])
  assert.deepEqual(Object.fromEntries(waits), {
    none: 60_000,
    minimal: 80_480,
    low: 80_480,
    medium: 223_840,
    high: 551_520,
    xhigh: 715_360,
    max: 715_360,
  })
  assert.deepEqual(timersFor(UPSTREAM_TIMERS), UPSTREAM_TIMERS)
})

test("the total timer ends the wait for thoughts, and a deployment's own timer is the least", () => {
  const timers = { ...UPSTREAM_TIMERS, firstTokenMs: 100_000, totalMs: 300_000 }
  assert.deepEqual(timersFor(timers, 'high'), { ...timers, firstTokenMs: 300_000 })
  assert.deepEqual(timersFor(timers, 'low'), { ...timers, firstTokenMs: 120_480 })
  const patient = { ...UPSTREAM_TIMERS, firstTokenMs: 400_000, totalMs: 300_000 }
  assert.deepEqual(timersFor(patient, 'high'), patient)
})
