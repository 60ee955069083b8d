import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLAUSES, type Clause } from './conformance/clauses.ts'
import { verdictOf } from './conformance/verdict.ts'

const SAME_ID: Clause = { id: '2.4-same-id', part: '2.4', text: 'Same identifier on every chunk.' }
const RETRIES: Clause = { id: '7-retries', part: '7', text: 'Retry 5xx.', untestable: 'it advises clients' }
const REPLAY: Clause = { id: 'retries-once', part: 'contract', text: 'Charged once.', planned: 'idempotency' }
const passing = { title: '2.4-same-id: Same identifier on every chunk.', passed: true }
const failing = { ...passing, passed: false, error: 'two ids' }

test('a suite in which every testable clause has a passing test succeeds', () => {
  const verdict = verdictOf([SAME_ID, RETRIES, REPLAY], [passing, passing])
  assert.deepEqual(verdict.problems, [])
  assert.deepEqual([verdict.passed, verdict.failed], [2, 0])
  assert.deepEqual(
    verdict.rows.map(({ standing }) => standing),
    ['ok', 'not testable', 'planned'],
  )
})

test('a failing test fails the suite, also beside a passing one of the same clause', () => {
  const verdict = verdictOf([SAME_ID], [passing, failing])
  assert.deepEqual([verdict.passed, verdict.failed, verdict.rows[0]?.standing], [1, 1, 'FAILED'])
  assert.match(verdict.problems[0] ?? '', /2\.4-same-id.*\ntwo ids/)
})

test('a testable clause without a test fails the suite', () => {
  const verdict = verdictOf([SAME_ID, { ...SAME_ID, id: '2.4-object' }], [passing])
  assert.deepEqual([verdict.failed, verdict.rows[1]?.standing], [1, 'NO TEST'])
})

test('a test that names no known clause fails the suite and is not counted', () => {
  const verdict = verdictOf([SAME_ID], [passing, { title: '2.4-samid: Same identifier.', passed: true }])
  assert.deepEqual([verdict.passed, verdict.failed], [1, 1])
})

test('a file that breaks outside its tests fails the suite', () => {
  const verdict = verdictOf([SAME_ID], [passing, { title: '/x/fields.test.ts', passed: false, error: 'boom' }])
  assert.equal(verdict.failed, 1)
})

test('a clause that is marked as planned or not testable has no test', () => {
  for (const clause of [RETRIES, REPLAY]) {
    const verdict = verdictOf([SAME_ID, clause], [passing, { title: `${clause.id}: it works`, passed: true }])
    assert.equal(verdict.failed, 1, clause.id)
  }
})

test('a run without tests is no success', () => {
  assert.equal(verdictOf([], []).failed, 1)
  assert.equal(verdictOf([RETRIES], []).failed, 1)
})

test('two clauses with one id fail the suite: the test of one would pass for both', () => {
  assert.equal(verdictOf([SAME_ID, SAME_ID], [passing]).failed, 1)
})

test('every clause of the specification and the contract says what it demands, once', () => {
  assert.ok(CLAUSES.length > 200)
  assert.equal(new Set(CLAUSES.map(({ part, text }) => `${part} ${text}`)).size, CLAUSES.length)
  for (const { id, text } of CLAUSES) assert.match(text, /^\S.{5,}\.$/, id)
})
