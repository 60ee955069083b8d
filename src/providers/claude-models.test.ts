import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REASONING_EFFORTS } from '../rules/calls/chat-request.ts'
import {
  claudeBudgetOf,
  claudeEffortOf,
  claudeHoldsToSchema,
  claudeTakesPrefill,
  claudeTakesSampling,
  claudeThinkingOf,
} from './claude-models.ts'

test('how a Claude model is told to think goes by its version, however it is named', () => {
  for (const [model, thinking] of [
    ['claude-3-5-haiku-20241022', 'none'],
    ['anthropic.claude-3-5-sonnet-20241022-v2:0', 'none'],
    ['claude-3-7-sonnet-20250219', 'budget'],
    ['claude-sonnet-4-20250514', 'budget'],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'budget'],
    ['claude-opus-4-6', 'adaptive'],
    ['claude-sonnet-5', 'adaptive'],
    ['claude-mythos-preview', 'adaptive'],
    ['somebody-elses', 'budget'],
  ] as const) {
    assert.equal(claudeThinkingOf(model), thinking, model)
    assert.equal(claudeTakesPrefill(model), thinking !== 'adaptive', model)
  }
})

test('what else a Claude model takes goes by its version, too', () => {
  const models = ['claude-sonnet-4-20250514', 'claude-opus-4-1', 'claude-opus-4-6', 'claude-opus-4-7', 'somebody-elses']
  assert.deepEqual(models.map(claudeHoldsToSchema), [false, true, true, true, true])
  assert.deepEqual(models.map(claudeTakesSampling), [true, true, true, false, true])
})

test('an adaptive model is told a word that it knows', () => {
  const words = (model: string) =>
    REASONING_EFFORTS.filter((effort) => effort !== 'none').map((effort) => claudeEffortOf(model, effort))
  assert.deepEqual(words('claude-opus-4-6'), ['low', 'low', 'medium', 'high', 'high', 'max'])
  assert.deepEqual(words('claude-opus-4-7'), ['low', 'low', 'medium', 'high', 'xhigh', 'max'])
})

test('a budget is less than the maximum, and none where that leaves too little', () => {
  assert.equal(claudeBudgetOf('medium', undefined), 8_192)
  assert.equal(claudeBudgetOf('high', 10_000), 9_999)
  assert.equal(claudeBudgetOf('low', 1_025), 1_024)
  assert.equal(claudeBudgetOf('low', 1_024), undefined)
  assert.equal(claudeBudgetOf('none', 10_000), undefined)
})
