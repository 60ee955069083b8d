import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chunk } from '../../rules/calls/chunk.ts'
import { judgeReport } from '../../rules/billing/reported-usage.ts'
import { createReader } from './openai-events.ts'
import { UpstreamError } from '../provider.ts'
import { finish, isUpstreamError, POSSIBLE, readAll, text, usage } from '../support.test.ts'

function read(...events: unknown[]): Chunk[] {
  return readAll(createReader(), events)
}

function delta(value: unknown, finish_reason: string | null = null) {
  return { choices: [{ index: 0, delta: value, finish_reason }] }
}

const STOP = delta({}, 'stop')

test('the finish is given out only when the end marker has come', () => {
  const reader = createReader()
  assert.deepEqual(reader.read(JSON.stringify(delta({ content: 'Hi' }, 'stop'))), [text('Hi')])
  assert.ok(reader.isLast('[DONE]') && !reader.isLast('{}'))
  assert.deepEqual(reader.read('[DONE]'), [finish('stop')])
  assert.deepEqual(reader.read(JSON.stringify(delta({ content: 'more' }))), [], 'nothing counts after the end')
  reader.end()
})

test('an end marker without a finish ends what has begun, and nothing else', () => {
  assert.deepEqual(read(delta({ content: 'Hi' }), '[DONE]'), [text('Hi'), finish('stop', 'missing')])
  const call = delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] }, '')
  assert.deepEqual(read(call, '[DONE]').at(-1), finish('tool_calls', 'missing'))
  assert.throws(() => read('[DONE]'), isUpstreamError('truncated'))
  assert.throws(() => read(delta({ role: 'assistant' }), '[DONE]'), isUpstreamError('truncated'))
})

test('the end of the body ends an answer that has given its reason to finish, and breaks any other', () => {
  const reader = createReader()
  reader.read(JSON.stringify(delta({ content: 'Hi' }, 'stop')))
  reader.read(JSON.stringify({ choices: [], usage: { prompt_tokens: 2, completion_tokens: 1 } }))
  assert.deepEqual(reader.end(), [finish('stop'), usage(2, 1)])
  assert.deepEqual(reader.end(), [], 'once')
  assert.throws(() => read(delta({ content: 'Hi' })), isUpstreamError('truncated'))
})

test('text and thoughts in a list of parts, as Mistral sends them, are text and thoughts', () => {
  const thinking = {
    type: 'thinking',
    thinking: [
      { type: 'text', text: 'Let me ' },
      { type: 'text', text: 'see.' },
    ],
  }
  const said = { type: 'text', text: 'Hi' }
  const reference = { type: 'reference', reference_ids: [1] }
  assert.deepEqual(
    read(delta({ content: [thinking] }), delta({ content: [said, reference] }), delta({ content: [] }), STOP, '[DONE]'),
    [{ type: 'reasoning', text: 'Let me see.' }, text('Hi'), finish('stop')],
  )
})

test('a call without an id gets one, and one without arguments gets an object', () => {
  const named = (name: string, more: object = {}) => ({ function: { name }, ...more })
  const [first, second, ...rest] = read(
    delta({ tool_calls: [named('now', { index: 0 }), named('then', { index: 1, id: 'c1' })] }, 'tool_calls'),
    '[DONE]',
  )
  assert.ok(first?.type === 'tool_call' && /^call_[0-9a-f]{32}$/.test(first.id ?? ''))
  assert.ok(second?.type === 'tool_call' && second.id === 'c1')
  const empty = (index: number): Chunk => ({
    type: 'tool_call',
    index,
    id: undefined,
    name: undefined,
    arguments: '{}',
  })
  assert.deepEqual(rest, [empty(0), empty(1), finish('tool_calls')])
  const cut = read(delta({ tool_calls: [named('now', { index: 0, id: 'c' })] }, 'length'), '[DONE]')
  assert.equal(cut.length, 2, 'what was cut short is not made whole')
})

test('calls without an index are told apart by their ids, and what has neither belongs to the last', () => {
  const piece = (more: object, given: string) => delta({ tool_calls: [{ ...more, function: { arguments: given } }] })
  const chunks = read(
    delta({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{' } }] }),
    piece({}, '"x":1'),
    delta({ tool_calls: [{ id: 'b', index: null, function: { name: 'g', arguments: '{}' } }] }),
    piece({ id: 'a' }, '}'),
    delta({ tool_calls: [{ id: 'c', function: { name: 'h', arguments: '[]' } }] }),
    delta({}, 'tool_calls'),
    '[DONE]',
  )
  const pieces = chunks.flatMap((chunk) => (chunk.type === 'tool_call' ? [[chunk.index, chunk.arguments]] : []))
  assert.deepEqual(pieces, [
    [0, '{'],
    [0, '"x":1'],
    [1, '{}'],
    [0, '}'],
    [2, '[]'],
  ])
})

test('an empty delta is no chunk, so that another deployment may still be tried', () => {
  assert.deepEqual(
    read(delta({ role: 'assistant', content: '' }), delta({ content: null, refusal: null }), STOP, '[DONE]'),
    [finish('stop')],
  )
  const nothing = [{}, { index: 0, id: '', function: { name: '', arguments: '' } }, { index: 1, function: null }]
  assert.deepEqual(read(delta({ tool_calls: nothing }), STOP, '[DONE]'), [finish('stop')])
})

test('only the first choice is read', () => {
  const other = { choices: [{ index: 1, delta: { content: 'no' }, finish_reason: 'length' }] }
  assert.deepEqual(read(other, delta({ content: 'yes' }), STOP, other, '[DONE]'), [text('yes'), finish('stop')])
})

test('finish reasons of other dialects become one of ours', () => {
  for (const [theirs, ours] of [
    ['stop', 'stop'],
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['tool_calls', 'tool_calls'],
    ['function_call', 'tool_calls'],
    ['eos', 'stop'],
    ['model_length', 'length'],
  ] as const) {
    assert.deepEqual(read(delta({}, theirs), '[DONE]'), [finish(ours)])
  }
  assert.deepEqual(read(delta({}, 'new_today'), '[DONE]'), [finish('stop', 'new_today')])
  for (const failure of ['error', 'insufficient_system_resource']) {
    assert.throws(() => read(delta({}, failure), '[DONE]'), isUpstreamError('error_in_200'))
  }
})

test('an end that a router calls an error is one only if its maker does, too', () => {
  const ended = (native: unknown) => ({
    choices: [{ delta: {}, finish_reason: 'error', native_finish_reason: native }],
  })
  const odd = 'MALFORMED_FUNCTION_CALL'
  assert.deepEqual(read(delta({ content: 'Hi' }), ended(odd), '[DONE]'), [text('Hi'), finish('stop', odd)])
  for (const native of ['error', null, 5, 'INVENTED']) {
    assert.throws(() => read(delta({ content: 'Hi' }), ended(native), '[DONE]'), isUpstreamError('error_in_200'))
  }
})

test('an error that tells what the model did ends an answer that has begun, and refuses one that has not', () => {
  for (const [code, ours, kind] of [
    ['tool_use_failed', 'stop', 'model_failed'],
    ['json_validate_failed', 'stop', 'model_failed'],
    ['content_filter', 'content_filter', 'rejected'],
  ] as const) {
    const error = { message: 'x', type: 'invalid_request_error', code }
    assert.deepEqual(read(delta({ content: 'Hi' }), { error }), [text('Hi'), finish(ours, code)])
    assert.throws(() => read(delta({ role: 'assistant', content: '' }), { error }), isUpstreamError(kind))
  }
})

test('an error inside a stream that is about the request says nothing of the provider', () => {
  for (const [error, kind] of [
    [{ type: 'invalid_request_error', code: null }, 'rejected'],
    [{ code: 403 }, 'rejected'],
    [{ code: 'x', status_code: 400 }, 'rejected'],
    [{ code: 429 }, 'rate_limited'],
    [{ code: 502 }, 'error_in_200'],
  ] as const) {
    assert.throws(() => read(delta({ content: 'Hi' }), { error }), isUpstreamError(kind), JSON.stringify(error))
  }
})

test('an error inside a stream is an error, in every shape that providers give it', () => {
  for (const error of [{ message: 'overloaded' }, 'overloaded', 503, {}]) {
    assert.throws(() => read(delta({ content: 'Hi' }), { error }), isUpstreamError('error_in_200'))
  }
  assert.deepEqual(read({ ...STOP, error: null }, '[DONE]'), [finish('stop')], 'an absent error is none')
})

const MALFORMED = [
  'not json',
  '{"choices":[{"delta":{"content":"lost',
  'null',
  '5',
  '"text"',
  { choices: {} },
  { choices: 'x' },
  { choices: [null] },
  delta(5),
  delta({ content: 5 }),
  delta({ content: [{ type: 'text', text: 5 }] }),
  delta({ content: [null] }),
  delta({ content: { text: 'Hi' } }),
  delta({ refusal: 5 }),
  delta({ reasoning_content: {} }),
  delta({ tool_calls: {} }),
  delta({ tool_calls: [null] }),
  delta({ tool_calls: [{ index: '0', function: { arguments: '' } }] }),
  delta({ tool_calls: [{ index: -1, function: { arguments: '' } }] }),
  delta({ tool_calls: [{ index: 1e9, function: { arguments: '' } }] }),
  delta({ tool_calls: [{ index: 0, id: 5, function: { name: 'f', arguments: '' } }] }),
  delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 5, arguments: '' } }] }),
  delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: {} } }] }),
]

test('an event that is not what it should be is a bad event of the provider: it neither crashes us nor is passed on', () => {
  const wrong = MALFORMED.flatMap((event) => {
    const what = typeof event === 'string' ? event : JSON.stringify(event)
    try {
      const passedOn = read(event, STOP, '[DONE]').slice(0, -1)
      return passedOn.length === 0 ? [] : [`${what} is passed on as ${JSON.stringify(passedOn)}`]
    } catch (error) {
      return error instanceof UpstreamError && error.kind === 'bad_event' ? [] : [`${what} throws ${String(error)}`]
    }
  })
  assert.deepEqual(wrong, [])
})

test('usage is taken from the last report, wherever in the stream it comes', () => {
  const early = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }
  const late = { choices: [], usage: { prompt_tokens: 2, completion_tokens: 1 } }
  assert.deepEqual(read(early, { ...delta({ content: 'Hi' }), usage: null }, STOP, late, '[DONE]'), [
    text('Hi'),
    { ...usage(1, 1), soFar: true },
    finish('stop'),
    usage(2, 1),
  ])
  assert.deepEqual(read({ ...STOP, usage: { prompt_tokens: 0, completion_tokens: 0 } }, '[DONE]'), [
    finish('stop'),
    usage(0, 0),
  ])
})

test('a caller can make a model call any number of tools: that is an answer, and no mistake of the provider', () => {
  const call = (index: number) =>
    delta({ tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: '{}' } }] })
  const chunks = read(...Array.from({ length: 300 }, (_, index) => call(index)), STOP, '[DONE]')
  assert.equal(chunks.filter(({ type }) => type === 'tool_call').length, 300)
})

test('whatever a provider calls its counts, each token lands in one bucket', () => {
  const reports: [who: string, report: unknown, expected: Chunk][] = [
    [
      'DeepSeek',
      { prompt_tokens: 10, completion_tokens: 3, prompt_cache_hit_tokens: 8 },
      usage(2, 3, { cachedInput: 8 }),
    ],
    [
      'Google, whose thoughts are only in the total',
      { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 },
      usage(35, 12, { reasoning: 62 }),
    ],
    [
      'Mistral, for what was heard',
      { prompt_tokens: 5, completion_tokens: 7, total_tokens: 387, prompt_audio_seconds: 15 },
      usage(380, 7),
    ],
    ['Moonshot', { prompt_tokens: 10, completion_tokens: 3, cached_tokens: 4 }, usage(6, 3, { cachedInput: 4 })],
    [
      'OpenRouter',
      {
        prompt_tokens: 194,
        completion_tokens: 2,
        total_tokens: 196,
        prompt_tokens_details: { cached_tokens: 50, cache_write_tokens: 100 },
      },
      usage(44, 2, { cachedInput: 50, cacheWrite: 100 }),
    ],
    [
      'xAI, with reasoning beside the completion',
      {
        prompt_tokens: 119,
        completion_tokens: 9,
        total_tokens: 226,
        prompt_tokens_details: { cached_tokens: 112 },
        completion_tokens_details: { reasoning_tokens: 98 },
      },
      usage(7, 9, { cachedInput: 112, reasoning: 98 }),
    ],
    [
      'OpenAI, with reasoning inside the completion',
      {
        prompt_tokens: 10,
        completion_tokens: 100,
        total_tokens: 110,
        completion_tokens_details: { reasoning_tokens: 98 },
      },
      usage(10, 2, { reasoning: 98 }),
    ],
  ]
  for (const [who, report, expected] of reports) {
    assert.deepEqual(read({ ...STOP, usage: report }, '[DONE]').at(-1), expected, who)
  }
  const groq = { ...STOP, x_groq: { id: 'req_1', usage: { prompt_tokens: 5, completion_tokens: 6 } } }
  assert.deepEqual(read(groq, '[DONE]').at(-1), usage(5, 6), 'Groq')
})

test('a usage report that makes no sense is never plausible', () => {
  for (const report of [
    {},
    { prompt_tokens: '5', completion_tokens: 5 },
    { prompt_tokens: 5, completion_tokens: null },
    { prompt_tokens: -5, completion_tokens: 5 },
    { prompt_tokens: 5, completion_tokens: -5, total_tokens: 9 },
    { prompt_tokens: 5, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 6 } },
    { prompt_tokens: 5, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 6 } },
    { prompt_tokens: 5, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 'all' } },
  ]) {
    const last = read({ ...STOP, usage: report }, '[DONE]').at(-1)
    assert.ok(last?.type === 'usage', JSON.stringify(report))
    const counted = { input: 5, cachedInput: 0, cacheWrite: 0, output: 5, reasoning: 0 }
    assert.notDeepEqual(judgeReport(last.usage, counted, POSSIBLE).anomalies, [], JSON.stringify(report))
  }
})
