import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ATTACKERS } from './neighbours/attackers.ts'
import { ATTACKS } from './neighbours/attacks.ts'
import { reportOf } from './neighbours/report.ts'
import { complaintsOf, figuresOf, p99MaxMs, type Figures, type Observation } from './neighbours/verdict.ts'

const figures = (p99Ms: number, failures: Record<string, number> = {}): Figures => ({
  calls: 160,
  failures,
  p50Ms: 10,
  p99Ms,
})
const seen = (changes: Partial<Observation> = {}): Observation => ({
  before: figures(20),
  beside: figures(70),
  peakBytes: 999_999_999,
  tally: { 403: 12 },
  crashes: [],
  isCalm: true,
  ...changes,
})

test('the p99 may rise by 50 ms, or to three times what it was, whichever is more', () => {
  assert.equal(p99MaxMs(figures(20)), 70)
  assert.equal(p99MaxMs(figures(40)), 120)
  assert.deepEqual(complaintsOf(seen(), undefined), [])
  assert.equal(complaintsOf(seen({ beside: figures(70.1) }), undefined).length, 1)
  assert.equal(complaintsOf(seen({ beside: figures(NaN) }), undefined).length, 1, 'what was not measured is not good')
})

test('one failed call of the quiet tenant, a gigabyte, a crash and an attack that was none are each a failure', () => {
  const failures: [Partial<Observation>, string | undefined][] = [
    [{ beside: figures(20, { 503: 1 }) }, undefined],
    [{ before: figures(20, { late: 1 }) }, undefined],
    [{ peakBytes: 1_000_000_000 }, undefined],
    [{ peakBytes: NaN }, undefined],
    [{ crashes: ['gateway-1 ended by itself'] }, undefined],
    [{}, '4 of 403 expected'],
  ]
  for (const [changes, noAttack] of failures) {
    assert.deepEqual(
      complaintsOf(seen(changes), noAttack).map(({ isOfTime }) => isOfTime),
      [false],
    )
  }
})

test('only what is late may be a moment of the machine', () => {
  const isOfTime = (beside: Figures) => complaintsOf(seen({ beside }), undefined).map((complaint) => complaint.isOfTime)
  assert.deepEqual(isOfTime(figures(80)), [true])
  assert.deepEqual(isOfTime(figures(20, { 'no recommendation': 16 })), [], 'one in ten calls')
  assert.deepEqual(isOfTime(figures(20, { 'no recommendation': 17 })), [true])
  assert.deepEqual(isOfTime(figures(80, { 'no recommendation': 17, 503: 1 })), [false, true])
})

test('of 160 answers the p99 is the last but one', () => {
  const answers = Array.from({ length: 160 }, (_, n) => ({ ms: n + 1, complaint: n % 80 === 0 ? '503' : undefined }))
  assert.deepEqual(figuresOf(answers.toReversed()), { calls: 160, failures: { 503: 2 }, p50Ms: 80, p99Ms: 159 })
  assert.ok(Number.isNaN(figuresOf([]).p99Ms))
})

test('every attack has its attacker, and one that does nothing or has wrong keys is noticed', () => {
  assert.deepEqual(ATTACKS.map(({ name }) => name).toSorted(), Object.keys(ATTACKERS).toSorted())
  for (const { name, missingFrom } of ATTACKS) {
    assert.notEqual(missingFrom({}, 4), undefined, name)
    assert.notEqual(missingFrom({ ECONNREFUSED: 10_000 }, 4), undefined, name)
    if (name !== 'wrong keys') assert.notEqual(missingFrom({ 401: 10_000 }, 4), undefined, name)
  }
})

test('the last line says how many passed and failed', () => {
  const good = { attack: 'large bodies', seen: seen(), complaints: [], tries: 2 }
  const bad = {
    attack: 'slow calls',
    seen: seen(),
    complaints: [{ text: 'the quiet tenant failed: 503 × 1', isOfTime: false }],
    tries: 1,
  }
  assert.match(reportOf([good, bad]), /^large bodies +10 → 10 ms +20 → 70 ms +0 of 160 +1,000 MB +2 +403 × 12$/m)
  assert.match(reportOf([good, bad]), /FAILED slow calls\n {4}the quiet tenant failed: 503 × 1\n\n/)
  assert.match(reportOf([good, bad]), /\n\nneighbours: 1 passed, 1 failed$/)
  assert.match(
    reportOf([{ ...good, isUntimed: true }]),
    /NOT TIMED large bodies\n.*\n\nneighbours: 1 passed, 0 failed$/,
  )
  assert.match(reportOf([good]), /\n\nneighbours: 1 passed, 0 failed$/)
})
