import assert from 'node:assert/strict'
import { test } from 'node:test'
import { REASONING_EFFORTS } from '../../rules/calls/chat-request.ts'
import { geminiTakesPenalties, geminiThinkingOf } from './gemini-models.ts'

test('a Gemini model is told a number or a word, by its version, or cannot be', () => {
  const told = (model: string) => REASONING_EFFORTS.map((effort) => geminiThinkingOf(model, effort))
  const budgets = (...tokens: number[]) => tokens.map((thinkingBudget) => ({ thinkingBudget, includeThoughts: true }))
  const levels = (...words: string[]) => words.map((thinkingLevel) => ({ thinkingLevel, includeThoughts: true }))
  const old = [{}, ...Array.from({ length: 6 }, () => undefined)]
  assert.deepEqual(told('gemini-2.0-flash'), old)
  assert.deepEqual(told('gemma-3-27b-it'), old)
  assert.deepEqual(told('gemini-2.5-pro'), [undefined, ...budgets(1_024, 1_024, 8_192, 24_576, 32_768, 32_768)])
  assert.deepEqual(told('gemini-2.5-flash'), [
    { thinkingBudget: 0 },
    ...budgets(1_024, 1_024, 8_192, 24_576, 24_576, 24_576),
  ])
  assert.deepEqual(told('gemini-3-pro-preview'), [undefined, ...levels('LOW', 'LOW', 'HIGH', 'HIGH', 'HIGH', 'HIGH')])
  assert.deepEqual(told('gemini-3.1-pro'), [undefined, ...levels('LOW', 'LOW', 'MEDIUM', 'HIGH', 'HIGH', 'HIGH')])
  assert.deepEqual(told('gemini-flash-latest'), [
    { thinkingLevel: 'MINIMAL' },
    ...levels('MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'HIGH', 'HIGH'),
  ])
  assert.deepEqual(['gemini-2.0-flash', 'gemini-2.5-flash', 'gemini-3.1-pro'].map(geminiTakesPenalties), [
    true,
    false,
    false,
  ])
})
