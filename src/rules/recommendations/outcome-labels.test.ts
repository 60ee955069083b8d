import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUTCOMES } from './matching.ts'
import { isOutcome, outcomeWordsOf } from './outcome-labels.ts'

test('every outcome is told apart from all others, in sentences that end', () => {
  const titles = new Set(OUTCOMES.map((outcome) => outcomeWordsOf(outcome).title))
  assert.equal(titles.size, OUTCOMES.length)
  for (const outcome of OUTCOMES) {
    const { title, explanation, advice } = outcomeWordsOf(outcome)
    assert.match(title, /^[A-Z].*[a-z]$/, outcome)
    assert.match(explanation, /^[A-Z].*\.$/, outcome)
    assert.ok(advice === null || /^[A-Z].*\.$/.test(advice), outcome)
  }
})

test('only what a reader was or would have been shown counts as recommended', () => {
  const recommended = OUTCOMES.filter((outcome) => outcomeWordsOf(outcome).kind === 'recommended')
  assert.deepEqual(recommended, ['served', 'test'])
})

test('nobody is advised to undo what protects readers', () => {
  const protecting = OUTCOMES.map(outcomeWordsOf).filter(({ kind }) => kind === 'protected')
  assert.ok(protecting.length >= 5)
  for (const { title, advice } of protecting) assert.equal(advice, null, title)
})

test('an outcome that a newer version wrote is known as unknown', () => {
  assert.equal(isOutcome('sensitive'), true)
  assert.equal(isOutcome('toString'), false)
})
