import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../rules/calls/message.ts'
import type { RecommendationChunk } from '../rules/calls/chunk.ts'
import { NO_USAGE } from '../rules/billing/usage.ts'
import { chunksOf } from './idempotency.ts'

const USAGE = { ...NO_USAGE, input: 7, output: 3 }
const END = [
  { type: 'finish', reason: 'stop' },
  { type: 'usage', usage: USAGE },
]

function replayOf(
  message: Omit<Extract<Message, { role: 'assistant' }>, 'role'>,
  recommendation?: RecommendationChunk,
) {
  const stored = { recommendation, finishReason: 'stop', usage: USAGE, created: 1 } as const
  return [...chunksOf({ ...stored, message: { role: 'assistant', ...message } })]
}

test('a stored answer is given again whole: its text, its refusal, its tool calls, what stood after it, and its end', () => {
  assert.deepEqual(replayOf({ content: 'Hello' }), [{ type: 'text', text: 'Hello' }, ...END])
  assert.deepEqual(replayOf({ content: null, refusal: 'No.' }), [{ type: 'refusal', text: 'No.' }, ...END])
  const calls = ['a', 'b'].map((name) => ({
    id: `call_${name}`,
    type: 'function' as const,
    function: { name, arguments: '{}' },
  }))
  assert.deepEqual(replayOf({ content: null, tool_calls: calls }), [
    { type: 'tool_call', index: 0, id: 'call_a', name: 'a', arguments: '{}' },
    { type: 'tool_call', index: 1, id: 'call_b', name: 'b', arguments: '{}' },
    ...END,
  ])
  const sponsored = { label: 'Ad', advertiser: 'Northwind', url: 'https://api.example.com/r/x', characters: 6 } as const
  const recommendation: RecommendationChunk = { type: 'recommendation', text: '\n\nBuy!', sponsored }
  assert.deepEqual(replayOf({ content: 'Hello' }, recommendation), [
    { type: 'text', text: 'Hello' },
    recommendation,
    ...END,
  ])
})

test('an answer of nothing is given again as nothing but its end', () => {
  assert.deepEqual(replayOf({ content: '' }), END)
})
