import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupFailures, phasesOf, tryWordsOf, wordsOf } from './call-labels.ts'
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

test('a provider that limits requests is told apart from a fault, here and there, and only where the call failed by it', () => {
  const limited = wordsOf('upstream_failed', 'provider_rate_limited')
  assert.equal(limited.title, 'The provider is limiting requests')
  assert.match(limited.explanation, /not charged/)
  assert.doesNotMatch(JSON.stringify(limited), /fault in this service|at capacity|on our side/)
  assert.deepEqual(wordsOf('gateway_failed', 'provider_rate_limited'), limited, 'however the call was filed')
  assert.equal(wordsOf('upstream_failed', 'upstream_failed').title, 'The model failed')
  assert.equal(wordsOf('upstream_failed', 'a_code_of_a_newer_version').title, 'The model failed')
  assert.equal(wordsOf('completed', 'provider_rate_limited').title, 'Completed')
})

const at = (minute: number) => new Date(Date.UTC(2026, 10, 18, 9, minute))

test('calls with the same code and sentence are one group, with their number, first and last time, and newest call', () => {
  const limited = { errorCode: 'provider_rate_limited', title: 'The provider is limiting requests' }
  const broken = { errorCode: 'upstream_failed', title: 'The model failed' }
  const calls = [
    { ...limited, id: 5, beganAt: at(50), model: 'large' },
    { ...broken, id: 4, beganAt: at(40), model: 'small' },
    { ...limited, id: 3, beganAt: at(30), model: 'small' },
    // The same code is told in other words where the outcome is another.
    { ...broken, title: 'The model took too long', id: 2, beganAt: at(20), model: 'small' },
    { ...limited, id: 1, beganAt: at(10), model: 'large' },
    { errorCode: null, title: 'Interrupted on our side', id: 0, beganAt: at(0), model: 'small' },
  ]
  assert.deepEqual(
    groupFailures(calls).map(({ calls: count, firstAt, lastAt, models, newest }) => {
      return [newest.id, count, firstAt, lastAt, models]
    }),
    [
      [5, 3, at(10), at(50), ['large', 'small']],
      [4, 1, at(40), at(40), ['small']],
      [2, 1, at(20), at(20), ['small']],
      [0, 1, at(0), at(0), ['small']],
    ],
  )
  assert.deepEqual(groupFailures([]), [])
})
