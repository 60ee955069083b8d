import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RECOMMENDATION_OUTCOMES } from './matching.ts'
import { isRecommendationOutcome, outcomeWordsOf } from './outcome-labels.ts'

test('every outcome is told apart from all others, in sentences that end', () => {
  const titles = new Set(RECOMMENDATION_OUTCOMES.map((outcome) => outcomeWordsOf(outcome).title))
  assert.equal(titles.size, RECOMMENDATION_OUTCOMES.length)
  for (const outcome of RECOMMENDATION_OUTCOMES) {
    const { title, explanation, advice } = outcomeWordsOf(outcome)
    assert.match(title, /^[A-Z].*[a-z]$/, outcome)
    assert.match(explanation, /^[A-Z].*\.$/, outcome)
    assert.ok(advice === null || /^[A-Z].*\.$/.test(advice), outcome)
  }
})

test('only what a reader was or would have been shown counts as recommended', () => {
  const recommended = RECOMMENDATION_OUTCOMES.filter((outcome) => outcomeWordsOf(outcome).kind === 'recommended')
  assert.deepEqual(recommended, ['served', 'test'])
})

test('nobody is advised to undo what protects readers', () => {
  const protecting = RECOMMENDATION_OUTCOMES.map(outcomeWordsOf).filter(({ kind }) => kind === 'protected')
  assert.ok(protecting.length >= 5)
  for (const { title, advice } of protecting) assert.equal(advice, null, title)
})

test('an outcome that a newer version wrote is known as unknown', () => {
  assert.equal(isRecommendationOutcome('sensitive'), true)
  assert.equal(isRecommendationOutcome('toString'), false)
})

test('a call that broke is told apart from a reader who left', () => {
  assert.match(outcomeWordsOf('aborted').explanation, /connection was closed/)
  assert.match(outcomeWordsOf('failed').title, /failed/)
  assert.doesNotMatch(outcomeWordsOf('failed').explanation, /left|closed/)
})
