import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChatRequest } from '../../rules/calls/chat-request.ts'
import { UPSTREAM_TIMERS } from '../../rules/limits.ts'
import { callOptionsOf } from './ai-sdk-request.ts'
import { cannotHonour, modelOptionsOf } from './bedrock-request.ts'

const TOOL = { type: 'function', function: { name: 'weather' } }

const PDF = 'data:application/pdf;base64,AAAA'

function image(url: string) {
  return { type: 'image_url', image_url: { url } }
}

function file(file_data: string) {
  return { type: 'file', file: { file_data } }
}

test('what has no place in the format is named, and what asks for nothing is honoured', () => {
  const call = { id: 'c', type: 'function', function: { name: 'weather', arguments: '{}' } }
  const toolTurns = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', content: 'Rain.' },
  ]
  const schema = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } }
  for (const [field, body] of [
    ['temperature', { temperature: 1.5 }],
    [undefined, { temperature: 1 }],
    ['seed', { seed: 0 }],
    ['presence_penalty', { presence_penalty: 1 }],
    [undefined, { presence_penalty: 0 }],
    ['frequency_penalty', { frequency_penalty: -1 }],
    ['logit_bias', { logit_bias: { 5: 1 } }],
    ['parallel_tool_calls', { tools: [TOOL], parallel_tool_calls: false }],
    [undefined, { tools: [TOOL], parallel_tool_calls: true }],
    ['verbosity', { verbosity: 'high' }],
    ['logprobs', { logprobs: true }],
    ['prediction', { prediction: { type: 'content', content: 'x' } }],
    ['reasoning_effort', { reasoning_effort: 'low' }],
    [undefined, { reasoning_effort: 'none' }],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['response_format', { response_format: schema, tools: [TOOL] }],
    [undefined, { response_format: schema }],
    ['tools', { messages: toolTurns }],
    [undefined, { messages: [{ role: 'assistant', content: 'Yes?', tool_calls: null }] }],
    [undefined, { messages: toolTurns, tools: [TOOL] }],
    ['tool_choice', { messages: toolTurns, tools: [TOOL], tool_choice: 'none' }],
    [undefined, { tools: [TOOL], tool_choice: 'none' }],
    ['tool_choice', { tool_choice: 'required' }],
    ['images', { messages: [{ role: 'user', content: [image('https://example.com/a.png')] }] }],
    ['images', { messages: [{ role: 'user', content: [image('data:image/bmp;base64,AAAA')] }] }],
    [undefined, { messages: [{ role: 'user', content: [image('data:image/jpg;base64,AAAA')] }] }],
    ['files', { messages: [{ role: 'user', content: [file('data:text/plain;base64,AAAA')] }] }],
    [undefined, { messages: [{ role: 'user', content: [file(PDF), { type: 'text', text: 'Read.' }] }] }],
    ['files', { messages: [{ role: 'user', content: [file(PDF), { type: 'text', text: ' ' }] }] }],
    ['files', { messages: [{ role: 'user', content: [file(PDF)] }] }],
    [undefined, { messages: [{ role: 'assistant', content: 'Hi', tool_calls: null }, ...toolTurns.slice(0, 1)] }],
  ] as const) {
    const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...body })
    assert.equal(cannotHonour(request, 'meta.llama3-3-70b-instruct-v1:0'), field, JSON.stringify(body))
  }
})

test('what a maker’s models refuse is named, and what changes nothing is not said to them', () => {
  const requestOf = (body: object) =>
    parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...body })
  const [claude, oss, gpt, llama] = [
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'openai.gpt-oss-120b-1:0',
    'openai.gpt-5',
    'meta.llama3-3-70b-instruct-v1:0',
  ] as const
  for (const [model, field, body] of [
    [claude, 'top_p', { temperature: 0.5, top_p: 0.5 }],
    [claude, undefined, { temperature: 1, top_p: 1 }],
    [claude, 'stop', { stop: '\n' }],
    ['us.anthropic.claude-opus-4-7', 'temperature', { temperature: 0 }],
    [oss, 'stop', { stop: 'END' }],
    [oss, undefined, { temperature: 0.5 }],
    [gpt, 'temperature', { temperature: 0.5 }],
    [gpt, undefined, { temperature: 1 }],
    [llama, undefined, { temperature: 0.5, top_p: 0.5, stop: '\n' }],
  ] as const) {
    assert.equal(cannotHonour(requestOf(body), model), field, `${model} ${JSON.stringify(body)}`)
  }
  const saidTo = (upstreamModel: string) => {
    const request = requestOf({ temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 })
    const call = { request, upstreamModel, apiKey: 'k', timers: UPSTREAM_TIMERS }
    const { temperature, topP, presencePenalty, frequencyPenalty } = callOptionsOf(request, modelOptionsOf(call))
    return [temperature, topP, presencePenalty, frequencyPenalty]
  }
  assert.deepEqual(saidTo(claude), [undefined, undefined, undefined, undefined])
  assert.deepEqual(saidTo(gpt), [undefined, undefined, undefined, undefined])
  assert.deepEqual(saidTo(llama), [1, 1, undefined, undefined])
})

test('what only single models refuse is refused for them alone', () => {
  const CLAUDE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
  const schema = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } }
  for (const [field, model, body] of [
    ['top_p', CLAUDE, { temperature: 0.5, top_p: 0.5 }],
    [undefined, CLAUDE, { temperature: 0.5, top_p: 1 }],
    ['top_p', CLAUDE, { reasoning_effort: 'low', top_p: 0.97 }],
    ['stop', CLAUDE, { stop: ' ' }],
    ['temperature', 'us.anthropic.claude-opus-4-7', { temperature: 0.5 }],
    [undefined, 'us.anthropic.claude-opus-4-7', { temperature: 1 }],
    [undefined, CLAUDE, { reasoning_effort: 'low', response_format: schema }],
    ['response_format', 'us.anthropic.claude-opus-4-7', { reasoning_effort: 'low', response_format: schema }],
    [undefined, 'us.anthropic.claude-opus-4-7', { response_format: schema }],
    ['reasoning_effort', 'us.anthropic.claude-opus-5-5', { reasoning_effort: 'none' }],
    ['tool_choice', 'us.anthropic.claude-opus-5-5', { tools: [TOOL], tool_choice: 'required' }],
    ['reasoning_effort', 'openai.gpt-oss-120b-1:0', { reasoning_effort: 'none' }],
    [undefined, 'openai.gpt-oss-120b-1:0', { reasoning_effort: 'max', temperature: 0.5 }],
    ['stop', 'openai.gpt-oss-120b-1:0', { stop: 'END' }],
    ['temperature', 'openai.gpt-5', { temperature: 0.5 }],
  ] as const) {
    const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...body })
    assert.equal(cannotHonour(request, model), field, `${model} ${JSON.stringify(body)}`)
  }
})
