import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesOf } from './week-changes.ts'

test('each figure of the week is compared with the same one of the week before', () => {
  const week = {
    calls: 30,
    failed: 6,
    previousFailed: 5,
    previousCalls: 20,
    firstTokenMs: { p50: 125, p95: 3_000 },
    previousFirstTokenMs: { p50: 100, p95: 4_000 },
  }
  assert.deepEqual(changesOf(week), { calls: 0.5, p50: 0.25, p95: -0.25 })
})
