import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChatRequest } from './chat-request.ts'
import { fieldsOf, ROUTE_FIELDS, type RouteField } from './route-fields.ts'

const HI = { role: 'user', content: 'Hi' }
const TOOL = { type: 'function', function: { name: 'look_up' } }
const DATA = 'data:image/png;base64,AAAA'

function usedIn(fields: Record<string, unknown>): RouteField[] {
  return fieldsOf(parseChatRequest({ model: 'm', messages: [HI], ...fields }))
}

function withPart(part: object) {
  return { messages: [{ role: 'user', content: [part] }] }
}

const schema = { type: 'json_schema', json_schema: { name: 'x', schema: {} } }

/** A use of each, and what else it is a use of. */
const USES: Record<RouteField, [fields: Record<string, unknown>, ...others: RouteField[]]> = {
  temperature: [{ temperature: 0 }],
  top_p: [{ top_p: 0 }],
  stop: [{ stop: 'END' }],
  seed: [{ seed: 0 }],
  presence_penalty: [{ presence_penalty: 0.1 }],
  frequency_penalty: [{ frequency_penalty: -0.1 }],
  logit_bias: [{ logit_bias: { 5: 1 } }],
  response_format: [{ response_format: { type: 'json_object' } }],
  json_schema: [{ response_format: schema }, 'response_format'],
  tools: [{ tools: [TOOL] }],
  tool_choice: [{ tool_choice: 'required' }],
  parallel_tool_calls: [{ tools: [TOOL], parallel_tool_calls: false }, 'tools'],
  reasoning_effort: [{ reasoning_effort: 'none' }],
  verbosity: [{ verbosity: 'low' }],
  logprobs: [{ logprobs: true }],
  top_logprobs: [{ logprobs: true, top_logprobs: 0 }, 'logprobs'],
  prediction: [{ prediction: { type: 'content', content: 'x' } }],
  images: [withPart({ type: 'image_url', image_url: { url: DATA } })],
  image_urls: [withPart({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }), 'images'],
  files: [withPart({ type: 'file', file: { file_data: DATA } })],
  input_audio: [withPart({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } })],
  prefill: [{ messages: [HI, { role: 'assistant', content: 'Well,' }] }],
}

test('what a request makes use of is known, so that no deployment drops it', () => {
  assert.deepEqual(usedIn({ max_tokens: 5, stream: true }), [])
  for (const field of ROUTE_FIELDS) {
    const [fields, ...others] = USES[field]
    assert.deepEqual(usedIn(fields).toSorted(), [field, ...others].toSorted(), field)
  }
})

test('a field at the value that it has anyway is not made use of', () => {
  for (const fields of [
    { temperature: 1, top_p: 1 },
    { presence_penalty: 0, frequency_penalty: 0 },
    { stop: '' },
    { stop: ['', ''] },
    { logit_bias: {} },
    { logit_bias: { 5: 0 } },
    { response_format: { type: 'text' } },
    { tool_choice: 'none' },
    { tool_choice: 'auto' },
    { parallel_tool_calls: false },
    { verbosity: 'medium' },
    { logprobs: false },
  ])
    assert.deepEqual(usedIn(fields), [], JSON.stringify(fields))
  assert.deepEqual(usedIn({ tools: [TOOL], tool_choice: 'none' }), ['tools', 'tool_choice'])
})
