import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Chunk } from '../../rules/calls/chunk.ts'
import { judgeReport } from '../../rules/billing/reported-usage.ts'
import { createAnthropic, createReader, kindOfRefusal } from './anthropic.ts'
import { UpstreamError } from '../provider.ts'
import {
  answerOf,
  finish,
  isUpstreamError,
  POSSIBLE,
  readAll,
  reasoning,
  recordingTransport,
  text,
  toolCall,
} from '../support.test.ts'

function read(...events: unknown[]): Chunk[] {
  return readAll(createReader(), events)
}

function start(counts?: unknown) {
  return { type: 'message_start', message: { id: 'msg_1', usage: counts } }
}

function blockStart(content_block: unknown, index: unknown = 0) {
  return { type: 'content_block_start', index, content_block }
}

function delta(value: unknown, index: unknown = 0) {
  return { type: 'content_block_delta', index, delta: value }
}

function said(value: unknown) {
  return delta({ type: 'text_delta', text: value })
}

function messageDelta(stop_reason: unknown, counts?: unknown) {
  return { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: counts }
}

const TOOL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }
const STOPPED = messageDelta('end_turn')
const END = { type: 'message_stop' }

test('the finish is given out only when the end marker has come', () => {
  const reader = createReader()
  assert.deepEqual(reader.read(JSON.stringify(said('Hi'))), [text('Hi')])
  assert.deepEqual(reader.read(JSON.stringify(STOPPED)), [])
  assert.equal(reader.isLast(''), false)
  assert.deepEqual(reader.read(JSON.stringify(END)), [finish('stop')])
  assert.equal(reader.isLast(''), true)
  assert.deepEqual(reader.read(JSON.stringify(said('more'))), [], 'nothing counts after the end')
  reader.end()
})

test('an end marker without a stop reason is a truncated answer', () => {
  assert.throws(() => read(said('Hi'), END), isUpstreamError('truncated'))
  assert.throws(() => read(said('Hi'), messageDelta(null), END), isUpstreamError('truncated'))
  assert.throws(() => read(said('Hi'), STOPPED), isUpstreamError('truncated'))
})

test('nothing is given out before there is an answer, so that another deployment may still be tried', () => {
  assert.deepEqual(
    read(start({ input_tokens: 1 }), blockStart({ type: 'text', text: '' }), { type: 'ping' }, said(''), STOPPED, END),
    [finish('stop')],
  )
})

test('what a block already holds at its start is part of the answer', () => {
  const whole = { ...TOOL, input: { city: 'Bern' } }
  const blockEnd = { type: 'content_block_stop', index: 2 }
  assert.deepEqual(
    read(
      blockStart({ type: 'thinking', thinking: 'Hm', signature: '' }),
      blockStart({ type: 'text', text: 'Hi' }, 1),
      blockStart(whole, 2),
      blockEnd,
      blockEnd,
      STOPPED,
      END,
    ),
    [reasoning('Hm'), text('Hi'), toolCall(0, '', 'toolu_1', 'f'), toolCall(0, '{"city":"Bern"}'), finish('stop')],
  )
})

test('each stop reason becomes one of ours', () => {
  for (const [theirs, ours] of [
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
  ] as const) {
    assert.deepEqual(read(messageDelta(theirs), END), [finish(ours)])
  }
  assert.deepEqual(read(messageDelta('something_new'), END), [finish('stop', 'something_new')])
})

test('an error inside a stream is an error, in every shape, and says whether waiting may help', () => {
  for (const [type, kind] of [
    ['overloaded_error', 'server_error'],
    ['rate_limit_error', 'rate_limited'],
    ['api_error', 'error_in_200'],
    ['invalid_request_error', 'rejected'],
  ] as const) {
    assert.throws(() => read({ type: 'error', error: { type, message: 'x' } }), isUpstreamError(kind))
  }
  for (const error of [undefined, null, 'overloaded', 503, {}, [], { type: 5 }]) {
    assert.throws(() => read(said('Hi'), { type: 'error', error }), isUpstreamError('error_in_200'))
  }
})

test('an answer that is blocked midway has ended, and one that is blocked at once is refused', () => {
  const message = 'Output blocked by content filtering policy'
  const blocked = { type: 'error', error: { type: 'invalid_request_error', message } }
  assert.deepEqual(read(said('Hi'), blocked), [text('Hi'), finish('content_filter', 'output_blocked')])
  assert.throws(() => read(blocked), isUpstreamError('rejected'))
})

const MALFORMED = [
  'not json',
  '{"type":"content_block_delta","delta":{"type":"text_delta","text":"lost',
  'null',
  '5',
  '"text"',
  '[]',
  {},
  { type: 5 },
  { type: 'content_block_delta' },
  { type: 'message_start' },
  { type: 'message_delta' },
  delta(null),
  delta([]),
  delta('Hi'),
  delta({}),
  delta({ type: 5, text: 'Hi' }),
  said(5),
  said(null),
  said([{ text: 'Hi' }]),
  delta({ type: 'text_delta' }),
  delta({ type: 'thinking_delta', thinking: {} }),
  delta({ type: 'input_json_delta', partial_json: '{}' }),
  delta({ type: 'input_json_delta', partial_json: {} }),
  blockStart(null),
  blockStart([]),
  blockStart({ type: null }),
  blockStart({ type: 'text', text: 5 }),
  blockStart({ type: 'thinking' }),
  blockStart({ ...TOOL, id: 5 }),
  blockStart({ ...TOOL, name: null }),
  blockStart(TOOL, '0'),
  messageDelta(5),
  { type: 'message_delta', delta: [] },
]

test('an event that is not what it should be is a bad event of the provider: it neither crashes us nor is passed on', () => {
  for (const event of MALFORMED) {
    assert.throws(() => read(event, STOPPED, END), isUpstreamError('bad_event'), JSON.stringify(event))
  }
})

test('a caller can make a model call any number of tools: that is an answer, and no mistake of the provider', () => {
  const many = Array.from({ length: 300 }, (_, index) => blockStart({ ...TOOL, id: `toolu_${index}` }, index))
  const chunks = read(...many, STOPPED, END)
  assert.equal(chunks.filter(({ type }) => type === 'tool_call').length, 300)
})

test('what the prompt came to is told with the first chunk, for a caller that hangs up before the end', () => {
  const first = start({ input_tokens: 9, cache_read_input_tokens: 5, output_tokens: 1 })
  const chunks = read(first, said('Hi'), said(' you'), STOPPED, END).slice(0, 3)
  const soFar = { input: 9, cachedInput: 5, cacheWrite: 0, output: 0, reasoning: 0 }
  assert.deepEqual(chunks, [text('Hi'), { type: 'usage', usage: soFar, soFar: true }, text(' you')])
})

test('whatever JSON comes, the answer is chunks or an error of the provider', () => {
  const key = fc.constantFrom('type', 'delta', 'index', 'content_block', 'usage', 'message', 'text', '__proto__')
  const word = fc.constantFrom('content_block_delta', 'content_block_start', 'message_delta', 'text_delta', 'tool_use')
  const anything = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(fc.jsonValue(), word, fc.dictionary(key, tie('node'), { maxKeys: 5 })),
  })).node
  fc.assert(
    fc.property(fc.array(anything, { maxLength: 8 }), (events) => {
      try {
        read(...events.map((event) => JSON.stringify(event)), STOPPED, END)
      } catch (error) {
        assert.ok(error instanceof UpstreamError, String(error))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('the counts at the end replace those at the start where they are given, and an explicit zero is believed', () => {
  const early = start({
    input_tokens: 10,
    cache_read_input_tokens: 4,
    cache_creation_input_tokens: 3,
    output_tokens: 1,
  })
  assert.deepEqual(read(early, messageDelta('end_turn', { output_tokens: 7 }), END).at(-1), {
    type: 'usage',
    usage: { input: 10, cachedInput: 4, cacheWrite: 3, output: 7, reasoning: 0 },
  })
  const late = { input_tokens: 0, cache_read_input_tokens: null, cache_creation_input_tokens: 0, output_tokens: 0 }
  assert.deepEqual(read(early, messageDelta(null, { output_tokens: 5 }), messageDelta('end_turn', late), END).at(-1), {
    type: 'usage',
    usage: { input: 0, cachedInput: 4, cacheWrite: 0, output: 0, reasoning: 0 },
  })
})

test('the counts at the start alone are no report: they are taken before the answer', () => {
  assert.deepEqual(read(start({ input_tokens: 10, output_tokens: 1 }), STOPPED, END), [finish('stop')])
})

test('a usage report that makes no sense is never plausible', () => {
  for (const [atStart, atEnd] of [
    [{ input_tokens: 5 }, {}],
    [undefined, { output_tokens: 5 }],
    [{ input_tokens: '5' }, { output_tokens: 5 }],
    [{ input_tokens: -5 }, { output_tokens: 5 }],
    [{ input_tokens: 5, output_tokens: 1 }, { output_tokens: 'many' }],
    [{ input_tokens: 5, output_tokens: 1 }, { output_tokens: null }],
    [{ input_tokens: 5, cache_read_input_tokens: 'all' }, { output_tokens: 5 }],
    [{ input_tokens: 5 }, { output_tokens: 5, output_tokens_details: { thinking_tokens: 6 } }],
    [[5], { output_tokens: 5 }],
  ]) {
    const last = read(start(atStart), messageDelta('end_turn', atEnd), END).at(-1)
    assert.ok(last?.type === 'usage', JSON.stringify(atEnd))
    const counted = { input: 5, cachedInput: 0, cacheWrite: 0, output: 5, reasoning: 0 }
    assert.notDeepEqual(judgeReport(last.usage, counted, POSSIBLE).anomalies, [], JSON.stringify([atStart, atEnd]))
  }
})

test('a refusal about the account rejects the key, and a caller cannot make one by quoting it', () => {
  const refusal = (message: unknown) => JSON.stringify({ type: 'error', error: { type: 'x', message } })
  const poor = 'Your credit balance is too low to access the Anthropic API.'
  assert.equal(kindOfRefusal(400, refusal(poor)), 'key_rejected')
  assert.equal(kindOfRefusal(400, refusal('You have reached your specified API usage limits.')), 'key_rejected')
  for (const body of [refusal(`tools.0.name: "${poor}"`), refusal(5), 'null', '{"error":', '[]', '']) {
    assert.equal(kindOfRefusal(400, body), undefined, body)
  }
  for (const status of [401, 413, 429, 500, 529]) assert.equal(kindOfRefusal(status, refusal(poor)), undefined)
})

test('a request goes to the base URL with the key, the version and the headers of the settings', async () => {
  const { sent, isLastSeen, transport } = recordingTransport(STOPPED, END)
  const settings = { headers: { 'Anthropic-Beta': 'b', 'X-Api-Key': 'theirs' }, defaultMaxTokens: 7 }
  for (const [baseUrl, apiKey, given] of [
    ['https://api.example.com/v1', 'k', settings],
    ['https://api.example.com/v1//', undefined, undefined],
  ] as const) {
    const provider = createAnthropic({ name: 'p', baseUrl, settings: given, transport })
    assert.deepEqual(await answerOf(provider, { apiKey }), [finish('stop')])
  }
  const version = { 'anthropic-version': '2023-06-01' }
  assert.deepEqual(
    sent.map(({ url, headers, body }) => [url, headers, JSON.parse(body).max_tokens]),
    [
      ['https://api.example.com/v1/messages', { ...version, 'anthropic-beta': 'b', 'x-api-key': 'k' }, 7],
      ['https://api.example.com/v1/messages', version, 8192],
    ],
  )
  assert.deepEqual(isLastSeen, [false, true, false, true])
  assert.equal(sent[0]?.kindOfRefusal, kindOfRefusal)
})

test('settings that are not understood are refused, not ignored', () => {
  for (const settings of [{ header: {} }, { defaultMaxTokens: 0 }, { headers: { a: 1 } }, 'x', []]) {
    assert.throws(() =>
      createAnthropic({ name: 'p', baseUrl: 'https://x', settings, transport: recordingTransport().transport }),
    )
  }
})
