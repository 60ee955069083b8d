import assert from 'node:assert/strict'
import { test } from 'node:test'
import { phasesOf, tryWordsOf, wordsOf } from './call-labels.ts'
import { CALL_OUTCOMES } from '../billing/charging.ts'

test('the phases of a call follow each other without a gap from its first byte to its last', () => {
  const cases = [
    { firstTokenMs: 332, durationMs: 9_000, tries: [{ ms: 90, failed: 'rate_limited' }, { ms: 170 }] },
    { firstTokenMs: null, durationMs: 500, tries: [{ ms: 480, failed: 'server_error' }] },
    { firstTokenMs: 200, durationMs: 900, tries: [{ ms: 880, failed: 'idle_timeout' }] },
    { firstTokenMs: 100, durationMs: 900, tries: [{ ms: 5_000 }] },
    { firstTokenMs: null, durationMs: 0, tries: [] },
  ]
  for (const timings of cases) {
    const phases = phasesOf(timings)
    assert.equal(phases[0]?.fromMs, 0)
    for (const [n, { fromMs, toMs }] of phases.entries()) {
      assert.ok(toMs >= fromMs)
      if (n > 0) assert.equal(fromMs, phases[n - 1]?.toMs)
    }
    if (timings.tries.length > 0) assert.equal(phases.at(-1)?.toMs, timings.durationMs)
  }
})

test('a failed try is told as one, and an answer that broke says why', () => {
  const [, first, second, answer] = phasesOf({
    firstTokenMs: 300,
    durationMs: 900,
    tries: [
      { ms: 90, failed: 'rate_limited' },
      { ms: 800, failed: 'truncated' },
    ],
  })
  assert.deepEqual([first?.kind, first?.why], ['failed', 'was at its limit'])
  assert.equal(second?.kind, 'waited')
  assert.deepEqual([answer?.kind, answer?.why], ['answered', 'ended without its end marker'])
})

test('what only concerns the operator is not told apart', () => {
  assert.equal(tryWordsOf('key_rejected'), tryWordsOf('redirect'))
  assert.doesNotMatch(tryWordsOf('key_rejected'), /key/)
})

test('every outcome has words, and what went wrong has advice', () => {
  for (const outcome of CALL_OUTCOMES) {
    const { title, explanation, advice } = wordsOf(outcome)
    assert.ok(title && explanation)
    assert.equal(advice === null, outcome === 'completed')
  }
})
