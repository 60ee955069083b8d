import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropic } from './anthropic.ts'
import { bedrock } from './bedrock.ts'
import type { Dialect } from './dialect.ts'
import { gemini } from './gemini.ts'
import { openai } from './openai.ts'
import { Refusal } from './refusal.ts'
import { signatureOf } from './thinking.ts'

const SIGNATURE = signatureOf('an answer')

type Fields = Record<string, unknown>

/** Undefined: the request is taken. */
function refusalOf(dialect: Dialect, body: Fields, url = ''): string | undefined {
  try {
    dialect.read(body, url)
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error.message
    throw error
  }
}

const USER = { role: 'user', content: 'Hello' }
const TOOL = { name: 'look_up', input_schema: { type: 'object' } }
const BUDGET = { thinking: { type: 'enabled', budget_tokens: 1_024 } }
const ADAPTIVE = { thinking: { type: 'adaptive' } }
const CALL = { type: 'tool_use', id: 'a', name: 'look_up', input: {} }
const RESULT = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }
const thought = (signature: string) => ({ type: 'thinking', thinking: 'Hm.', signature })
const loop = (...blocks: Fields[]) => ({
  tools: [TOOL],
  messages: [USER, { role: 'assistant', content: [...blocks, CALL] }, RESULT],
})
const schemaOf = (age: Fields) => ({
  output_config: {
    format: { type: 'json_schema', schema: { type: 'object', properties: { age }, additionalProperties: false } },
  },
})

test('Anthropic refuses of thinking what the real one refuses', () => {
  const refusal = (more: Fields, model = 'claude-opus-4-5') =>
    refusalOf(anthropic, { model, max_tokens: 2_000, messages: [USER], ...more })
  for (const [more, words, model] of [
    [{ thinking: { type: 'enabled', budget_tokens: 1_023 } }, /greater than or equal to 1024/],
    [{ thinking: { type: 'enabled', budget_tokens: 2_000 } }, /must be greater than `thinking.budget_tokens`/],
    [{ ...BUDGET, temperature: 0.5 }, /`temperature` may only be set to 1/],
    [{ ...BUDGET, top_k: 5 }, /`top_k` must be unset/],
    [{ ...BUDGET, top_p: 0.9 }, /`top_p`/],
    [{ ...BUDGET, tools: [TOOL], tool_choice: { type: 'any' } }, /forces tool use/],
    [{ ...BUDGET, ...loop() }, /Expected `thinking`/],
    [{ ...BUDGET, ...loop(thought('forged')) }, /Invalid `signature`/],
    [ADAPTIVE, /adaptive thinking is not supported/],
    [BUDGET, /not supported/, 'claude-opus-4-7'],
    [{ temperature: 0.5 }, /deprecated/, 'claude-opus-4-7'],
    [{ messages: [USER, { role: 'assistant', content: 'Well,' }] }, /prefill/, 'claude-opus-4-6'],
    [{ output_config: { effort: 'xhigh' } }, /effort/, 'claude-opus-4-6'],
    [schemaOf({ type: 'integer', minimum: 1 }), /'minimum' is not supported/],
    [{ tools: [{ ...TOOL, strict: true, input_schema: { type: 'object', maxItems: 1 } }] }, /'maxItems'/],
    [{ messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'x' } }] }] }, /tag/],
  ] as const) {
    assert.match(refusal(more, model) ?? 'taken', words, JSON.stringify(more))
  }
})

test('Anthropic takes what the real one takes', () => {
  const text = { type: 'text', media_type: 'text/plain', data: 'A note.' }
  for (const [more, model] of [
    [BUDGET],
    [{ ...BUDGET, ...loop(thought(SIGNATURE)) }],
    [{ ...ADAPTIVE, ...loop() }, 'claude-opus-4-6'],
    [{ ...ADAPTIVE, output_config: { effort: 'max' } }, 'claude-opus-4-6'],
    [{ thinking: { type: 'disabled' }, temperature: 0.5 }],
    [schemaOf({ type: 'string', enum: ['minimum'] })],
    [{ messages: [{ role: 'user', content: [{ type: 'document', source: text, title: 'a' }] }] }],
  ] as const) {
    const body = { model: model ?? 'claude-opus-4-5', max_tokens: 2_000, messages: [USER], ...more }
    assert.equal(refusalOf(anthropic, body), undefined, JSON.stringify(more))
  }
})

test('Bedrock refuses the same of Claude, and of others what they do not know', () => {
  const refusal = (model: string, more: Fields) =>
    refusalOf(
      bedrock,
      { messages: [{ role: 'user', content: [{ text: 'Hello' }] }], ...more },
      `/model/${model}/converse`,
    )
  const thinking = { additionalModelRequestFields: BUDGET, inferenceConfig: { maxTokens: 2_000 } }
  const hotter = { ...thinking, inferenceConfig: { maxTokens: 2_000, temperature: 0.5 } }
  assert.equal(refusal('anthropic.claude-sonnet-4-5', thinking), undefined)
  assert.match(refusal('anthropic.claude-opus-4-7', thinking) ?? '', /not supported/)
  assert.match(refusal('anthropic.claude-sonnet-4-5', hotter) ?? '', /temperature/)
  const effort = (reasoning_effort: string) => ({ additionalModelRequestFields: { reasoning_effort } })
  assert.equal(refusal('openai.gpt-oss-120b-1', effort('high')), undefined)
  assert.match(refusal('openai.gpt-oss-120b-1', effort('xhigh')) ?? '', /reasoning_effort/)
})

test('Gemini refuses by version: budgets, levels, penalties, signatures, and a last word of the model', () => {
  const refusal = (model: string, generationConfig: Fields, contents: Fields[] = [{ parts: [{ text: 'Hello' }] }]) =>
    refusalOf(gemini, { contents, generationConfig }, `/v1beta/models/${model}:generateContent`)
  const thinking = (thinkingConfig: Fields) => ({ thinkingConfig })
  assert.equal(refusal('gemini-2.5-flash', thinking({ thinkingBudget: 0 })), undefined)
  assert.equal(refusal('gemini-3.1-pro', thinking({ thinkingLevel: 'MEDIUM', includeThoughts: true })), undefined)
  for (const [model, config] of [
    ['gemini-2.0-flash', { thinkingBudget: 1_024 }],
    ['gemini-2.5-pro', { thinkingBudget: 0 }],
    ['gemini-2.5-flash', { thinkingBudget: 24_577 }],
    ['gemini-2.5-flash', { thinkingLevel: 'LOW' }],
    ['gemini-3-pro-preview', { thinkingLevel: 'MINIMAL' }],
    ['gemini-3-flash', { thinkingLevel: 'NONE' }],
    ['gemini-3-flash', { thinkingLevel: 'LOW', thinkingBudget: 5 }],
  ] as const)
    assert.match(refusal(model, thinking(config)) ?? 'taken', /[Tt]hinking/, `${model} ${JSON.stringify(config)}`)
  assert.equal(refusal('gemini-2.0-flash', { presencePenalty: 1 }), undefined)
  assert.match(refusal('gemini-2.5-flash', { presencePenalty: 1 }) ?? '', /Penalty/)
  const said = { role: 'model', parts: [{ text: 'Well,' }] }
  assert.equal(refusal('gemini-2.5-flash', {}, [{ parts: [{ text: 'Hello' }] }, said]), undefined)
  assert.match(refusal('gemini-3-flash', {}, [{ parts: [{ text: 'Hello' }] }, said]) ?? '', /last turn/)
  const called = (thoughtSignature?: string) => [
    { parts: [{ text: 'Hello' }] },
    { role: 'model', parts: [{ functionCall: { name: 'f' }, thoughtSignature }] },
    { parts: [{ functionResponse: { name: 'f', response: {} } }] },
  ]
  assert.equal(refusal('gemini-3-flash', {}, called(SIGNATURE)), undefined)
  assert.equal(refusal('gemini-3-flash', {}, called('skip_thought_signature_validator')), undefined)
  assert.match(refusal('gemini-3-flash', {}, called('forged')) ?? '', /Invalid `signature`/)
  assert.match(refusal('gemini-3-flash', {}, called()) ?? '', /missing/)
})

test('OpenAI refuses what does not go together, and what stands alone', () => {
  const refusal = (more: Fields) => refusalOf(openai, { model: 'sim', messages: [USER], ...more })
  const tools = [{ type: 'function', function: { name: 'f' } }]
  assert.equal(refusal({ tools, tool_choice: 'required', parallel_tool_calls: false }), undefined)
  for (const more of [
    { max_tokens: 5, max_completion_tokens: 5 },
    { tool_choice: 'auto' },
    { parallel_tool_calls: true },
    { tools: [] },
    { tools, tool_choice: 'any' },
    { top_logprobs: 2 },
    { reasoning_effort: 'extreme' },
    { response_format: { type: 'json_schema' } },
  ])
    assert.notEqual(refusal(more), undefined, JSON.stringify(more))
})
