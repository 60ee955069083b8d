import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChatRequest, type ChatRequest } from '../../rules/calls/chat-request.ts'
import type { Chunk } from '../../rules/calls/chunk.ts'
import { judgeReport } from '../../rules/billing/reported-usage.ts'
import { callOptionsOf } from './ai-sdk-request.ts'
import { createReader } from './ai-sdk-parts.ts'
import { BEDROCK_ENDINGS } from '../endings.ts'
import { toolIdOf } from '../tool-ids.ts'
import { isUpstreamError, POSSIBLE, toolCall } from '../support.test.ts'

type Part = Parameters<ReturnType<typeof createReader>['read']>[0]
type Finish = Extract<Part, { type: 'finish' }>

function read(...parts: Part[]): Chunk[] {
  const reader = createReader(BEDROCK_ENDINGS)
  return [...parts.flatMap((part) => reader.read(part)), ...reader.end()]
}

function finish(unified: Finish['finishReason']['unified'], raw?: string, counts: Record<string, number> = {}): Part {
  return {
    type: 'finish',
    finishReason: { unified, raw },
    usage: {
      inputTokens: {
        total: counts.input,
        noCache: undefined,
        cacheRead: counts.cacheRead,
        cacheWrite: counts.cacheWrite,
      },
      outputTokens: { total: counts.output, text: undefined, reasoning: counts.reasoning },
    },
  }
}

const STOP = finish('stop', 'end_turn')

test('calls are numbered in their order, and their fragments find them by id', () => {
  assert.deepEqual(
    read(
      { type: 'tool-input-start', id: 'a', toolName: 'f' },
      { type: 'tool-input-start', id: 'b', toolName: 'g' },
      { type: 'tool-input-delta', id: 'a', delta: '{"x"' },
      { type: 'tool-input-delta', id: 'a', delta: ':1}' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'f', input: '{"x":1}' },
      { type: 'tool-call', toolCallId: 'b', toolName: 'g', input: '{}' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'h', input: '{"y":2}' },
      finish('tool-calls', 'tool_use'),
    ),
    [
      toolCall(0, '', 'a', 'f'),
      toolCall(1, '', 'b', 'g'),
      toolCall(0, '{"x"'),
      toolCall(0, ':1}'),
      toolCall(1, '{}'),
      toolCall(2, '', 'c', 'h'),
      toolCall(2, '{"y":2}'),
      { type: 'finish', reason: 'tool_calls' },
    ],
  )
})

test('a fragment of an unknown call and a call that begins twice are bad events; many calls are not', () => {
  const start = (id: string): Part => ({ type: 'tool-input-start', id, toolName: 'f' })
  assert.throws(() => read({ type: 'tool-input-delta', id: 'a', delta: '{' }, STOP), isUpstreamError('bad_event'))
  assert.throws(() => read(start('a'), start('a'), STOP), isUpstreamError('bad_event'))
  const many = read(...Array.from({ length: 300 }, (_, n) => start(`c${n}`)), STOP)
  assert.equal(many.filter(({ type }) => type === 'tool_call').length, 300)
})

test('a finish that the package made up is a truncated answer, and one that it does not know is asked about', () => {
  assert.throws(() => read({ type: 'text-delta', id: '0', delta: 'Hi' }), isUpstreamError('truncated'))
  assert.throws(() => read(finish('other')), isUpstreamError('truncated'))
  assert.throws(() => read(finish('error')), isUpstreamError('error_in_200'))
  assert.deepEqual(read(finish('other', 'model_context_window_exceeded')), [{ type: 'finish', reason: 'length' }])
  const odd = 'malformed_tool_use'
  assert.deepEqual(read(finish('other', odd)), [{ type: 'finish', reason: 'stop', odd }])
  assert.deepEqual(read(finish('content-filter', 'x')), [{ type: 'finish', reason: 'content_filter' }])
})

test('an event that the package could not read is a bad one, and any other error is the upstream’s', () => {
  for (const [name, kind] of [
    ['AI_JSONParseError', 'bad_event'],
    ['AI_TypeValidationError', 'bad_event'],
    ['AI_APICallError', 'error_in_200'],
  ] as const) {
    const error = Object.assign(new Error('quotes the prompt'), { name })
    assert.throws(() => read({ type: 'error', error }, STOP), isUpstreamError(kind))
  }
  assert.throws(() => read({ type: 'error', error: { message: 'overloaded' } }, STOP), isUpstreamError('error_in_200'))
  assert.throws(
    () => read({ type: 'error', error: { message: 'too long', statusCode: 400 } }, STOP),
    isUpstreamError('rejected'),
  )
})

test('an answer that is blocked midway has ended, and one that is blocked at once is refused', () => {
  const error = { message: 'Output blocked by content filtering policy', statusCode: 400 }
  const hi: Part = { type: 'text-delta', id: '0', delta: 'Hi' }
  assert.deepEqual(read(hi, { type: 'error', error }, finish('error')), [
    { type: 'text', text: 'Hi' },
    { type: 'finish', reason: 'content_filter', odd: 'output_blocked' },
  ])
  assert.throws(() => read({ type: 'error', error }, finish('error')), isUpstreamError('rejected'))
})

test('usage is in disjoint buckets, is left out if there was none, and is never made up', () => {
  const full = { input: 100, cacheRead: 30, cacheWrite: 20, output: 9, reasoning: 4 }
  assert.deepEqual(read(finish('stop', 'x', full)).at(-1), {
    type: 'usage',
    usage: { input: 50, cachedInput: 30, cacheWrite: 20, output: 5, reasoning: 4 },
  })
  assert.deepEqual(read(finish('stop', 'x', { input: 0, output: 0 })).at(-1), {
    type: 'usage',
    usage: { input: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 },
  })
  assert.deepEqual(read(STOP), [{ type: 'finish', reason: 'stop' }])
  const half = read(finish('stop', 'x', { output: 5 })).at(-1)
  assert.ok(half?.type === 'usage')
  const counted = { input: 5, cachedInput: 0, cacheWrite: 0, output: 5, reasoning: 0 }
  assert.notDeepEqual(judgeReport(half.usage, counted, POSSIBLE).anomalies, [])
})

/** As the package reads it: what is undefined is not there. */
function optionsOf(request: ChatRequest) {
  return JSON.parse(JSON.stringify(callOptionsOf(request))) as ReturnType<typeof callOptionsOf>
}

test('a conversation keeps its sense in the words of the packages', () => {
  const call = (id: string, written: string) => ({ id, type: 'function', function: { name: 'f', arguments: written } })
  const { prompt } = optionsOf(
    parseChatRequest({
      model: 'm',
      messages: [
        { role: 'system', content: 'One.' },
        { role: 'user', content: ' ' },
        { role: 'user', content: 'Hi' },
        { role: 'system', content: [{ type: 'text', text: 'Two.' }] },
        { role: 'assistant', content: 'So', refusal: 'No.', tool_calls: [call('a b', ''), call('c', '[1]')] },
        { role: 'tool', tool_call_id: 'a b', content: '' },
        { role: 'tool', tool_call_id: 'unknown', content: 'x' },
      ],
    }),
  )
  assert.deepEqual(prompt, [
    { role: 'system', content: 'One.' },
    { role: 'system', content: 'Two.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'So' },
        { type: 'text', text: 'No.' },
        { type: 'tool-call', toolCallId: toolIdOf('a b'), toolName: 'f', input: {} },
        { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: { arguments: '[1]' } },
      ],
    },
    { role: 'tool', content: [result(toolIdOf('a b'), 'f', [])] },
    { role: 'tool', content: [result('unknown', 'unknown', [{ type: 'text', text: 'x' }])] },
  ])
  const alone = optionsOf(parseChatRequest({ model: 'm', messages: [{ role: 'system', content: 'Alone.' }] }))
  assert.deepEqual(alone.prompt, [{ role: 'user', content: [{ type: 'text', text: 'Alone.' }] }])
})

function result(toolCallId: string, toolName: string, value: unknown[]) {
  return { type: 'tool-result', toolCallId, toolName, output: { type: 'content', value } }
}
