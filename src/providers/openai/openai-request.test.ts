import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChatRequest } from '../../rules/calls/chat-request.ts'
import { openAICompatibleSettings } from './openai-settings.ts'
import { requestBodyOf, type Asked } from './openai-request.ts'

const HI = { role: 'user', content: 'Hi' }
const PDF = 'data:application/pdf;base64,AAAA'
const TOOL = { type: 'function', function: { name: 'look_up' } }
const PLAIN = { model: 'their-name', messages: [HI], stream: true, stream_options: { include_usage: true } }

interface Ask extends Partial<Omit<Asked, 'request'>> {
  settings?: Record<string, unknown>
}

/** As it goes over the wire. */
function bodyOf(fields: Record<string, unknown>, { settings = {}, ...asked }: Ask = {}): Record<string, unknown> {
  const request = parseChatRequest({ model: 'public-name', messages: [HI], ...fields })
  const body = requestBodyOf(
    { request, upstreamModel: 'their-name', ...asked },
    openAICompatibleSettings.parse(settings),
  )
  return JSON.parse(JSON.stringify(body)) as Record<string, unknown>
}

function messagesOf(messages: unknown[], settings?: Record<string, unknown>): unknown {
  return bodyOf({ messages }, settings && { settings }).messages
}

test('the upstream gets the checked fields under its own name of the model, and is always asked to stream usage', () => {
  const fields = { stream: false, max_completion_tokens: 5, temperature: 0, unknown: true, prompt_cache_key: 'k' }
  assert.deepEqual(bodyOf(fields), { ...PLAIN, max_tokens: 5, temperature: 0 })
})

test('what it refuses altogether is left out where it asks for nothing', () => {
  const nothing = { temperature: 1, presence_penalty: 0, stop: '' }
  assert.deepEqual(bodyOf(nothing), { ...PLAIN, temperature: 1, presence_penalty: 0 })
  assert.deepEqual(bodyOf(nothing, { settings: { unsupportedFields: ['presence_penalty'] } }), {
    ...PLAIN,
    temperature: 1,
  })
  const unsupportedFields = new Set(['temperature', 'presence_penalty'])
  assert.deepEqual(bodyOf(nothing, { unsupportedFields }), PLAIN)
})

test('how to call tools is said only where there are some', () => {
  for (const tool_choice of ['none', 'auto'])
    assert.deepEqual(bodyOf({ tool_choice, parallel_tool_calls: false }), PLAIN)
  const fields = { tools: [TOOL], tool_choice: 'none', parallel_tool_calls: false }
  assert.deepEqual(bodyOf(fields), { ...PLAIN, ...fields })
})

test('empty stop sequences are left out, and the others stay as they were', () => {
  assert.equal(bodyOf({ stop: 'END' }).stop, 'END')
  assert.deepEqual(bodyOf({ stop: ['', 'END'] }).stop, ['END'])
})

test('the role developer is system, unless the provider knows it', () => {
  const instruction = { role: 'developer', content: 'Be brief.' }
  assert.deepEqual(messagesOf([instruction, HI]), [{ role: 'system', content: 'Be brief.' }, HI])
  assert.deepEqual(messagesOf([instruction, HI], { developerRole: true }), [instruction, HI])
})

test('marks of where a prompt may be cached are passed on only to who reads them', () => {
  const part = { type: 'text', text: 'Hi' }
  const marked = { ...part, cache_control: { type: 'ephemeral', ttl: '5m' } }
  const messages = [{ role: 'user', content: [marked] }]
  assert.deepEqual(messagesOf(messages), [{ role: 'user', content: [part] }])
  assert.deepEqual(messagesOf(messages, { cacheControl: true }), messages)
})

test('whom a call is for is told as a digest, where the provider has a place for it', () => {
  const endUser = '0192d9f4'
  assert.deepEqual(bodyOf({ user: 'ada@example.com' }), PLAIN)
  assert.deepEqual(bodyOf({ user: 'ada@example.com' }, { endUser }), { ...PLAIN, user: endUser })
  assert.equal(bodyOf({}, { endUser, settings: { endUserField: 'safety_identifier' } }).safety_identifier, endUser)
  assert.deepEqual(bodyOf({}, { endUser, settings: { endUserField: 'none' } }), PLAIN)
})

const CALL = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '' } }
const RESULT = { role: 'tool', content: 'x', tool_call_id: 'call_1' }

test('an answer in the history has no null, no empty arguments and no thoughts that nobody asked for', () => {
  const said = { role: 'assistant', content: null, refusal: null, tool_calls: [CALL], reasoning_content: 'Hm.' }
  const answer = {
    role: 'assistant',
    content: null,
    tool_calls: [{ ...CALL, function: { name: 'look_up', arguments: '{}' } }],
  }
  const messages = [HI, { ...said, reasoning_signature: 's' }, RESULT]
  assert.deepEqual(messagesOf(messages), [HI, answer, RESULT])
  for (const reasoningField of ['reasoning_content', 'reasoning'])
    // One of them refuses thoughts beside no content.
    assert.deepEqual(messagesOf(messages, { reasoningField }), [
      HI,
      { ...answer, content: '', [reasoningField]: 'Hm.' },
      RESULT,
    ])
})

test('thoughts go back with the calls that they led to, and not with a mere answer', () => {
  const answer = { role: 'assistant', content: 'Well,' }
  const messages = [HI, { ...answer, reasoning_content: 'Hm.' }]
  assert.deepEqual(messagesOf(messages, { reasoningField: 'reasoning_content' }), [HI, answer])
})

test('a call has a content, because some refuse one without', () => {
  const [, sent] = messagesOf([HI, { role: 'assistant', tool_calls: [CALL] }, RESULT]) as { content: unknown }[]
  assert.equal(sent?.content, null)
})

test('a refusal in the history is what was said, unless the provider knows the field', () => {
  const refusal = { role: 'assistant', content: null, refusal: 'No.' }
  assert.deepEqual(messagesOf([HI, refusal, HI], { refusals: true }), [HI, refusal, HI])
  assert.deepEqual(messagesOf([HI, refusal, HI]), [HI, { role: 'assistant', content: 'No.' }, HI])
  const content = ['Well.', 'No.'].map((text) => ({ type: 'text', text }))
  for (const said of ['Well.', content.slice(0, 1)])
    assert.deepEqual(messagesOf([HI, { ...refusal, content: said }, HI]), [HI, { role: 'assistant', content }, HI])
})

test('values that say nothing are left out, inside of other fields as well', () => {
  assert.deepEqual(bodyOf({ logit_bias: {} }), PLAIN)
  const schema = { type: 'object', properties: { a: { default: null } } }
  const format = (more: object) => ({ type: 'json_schema', json_schema: { name: 'x', schema, ...more } })
  assert.deepEqual(bodyOf({ response_format: format({ strict: null, description: null }) }).response_format, format({}))
  const file = (name: object) => [{ role: 'user', content: [{ type: 'file', file: { file_data: PDF, ...name } }] }]
  assert.deepEqual(messagesOf(file({ filename: '' })), file({}))
})

test('ids of calls become nine letters and digits where only such are taken, the same for call and result', () => {
  const nine = { ...CALL, id: 'abcDEF123' }
  const messages = [HI, { role: 'assistant', tool_calls: [CALL, nine] }, RESULT, { ...RESULT, tool_call_id: nine.id }]
  const sent = messagesOf(messages, { toolCallIds: 'nine' }) as {
    tool_calls: { id: string }[]
    tool_call_id: string
  }[]
  const [first, second] = sent[1]?.tool_calls.map(({ id }) => id) ?? []
  assert.match(first ?? '', /^[A-Za-z0-9]{9}$/)
  assert.deepEqual([sent[2]?.tool_call_id, second, sent[3]?.tool_call_id], [first, nine.id, nine.id])
})
