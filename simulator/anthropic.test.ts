import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createParser } from 'eventsource-parser'
import { ask } from './probe.ts'
import type { Question, Seen } from './probe.ts'
import { tokensIn } from './reply.ts'
import { createSimulator } from './server.ts'
import type { Simulator } from './server.ts'

let simulator: Simulator
before(async () => {
  simulator = await createSimulator()
})
after(() => simulator.close())
beforeEach(() => simulator.reset())

const HEADERS = { 'x-api-key': 'test', 'anthropic-version': '2023-06-01' }
const QUESTION = 'What is the capital of France?'
const HI = { role: 'user', content: QUESTION }
const PROMPT_TOKENS = 3 + 4 + tokensIn(QUESTION)

function bodyOf(model: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { model, max_tokens: 1000, messages: [HI], ...more }
}

function post(body: Record<string, unknown>, more: Question = {}): Promise<Seen> {
  return ask(simulator.url, { path: '/v1/messages', headers: HEADERS, body, ...more })
}

function stream(model: string, more: Record<string, unknown> = {}): Promise<Seen> {
  return post(bodyOf(model, { ...more, stream: true }))
}

async function json(model: string, more: Record<string, unknown> = {}) {
  const seen = await post(bodyOf(model, more))
  assert.equal(seen.status, 200, seen.text)
  return JSON.parse(seen.text)
}

interface EventSeen {
  type: string
  index?: number
  delta?: { type?: string; text?: string; thinking?: string; partial_json?: string; stop_reason?: string }
  message?: { id: string; usage?: Record<string, unknown> }
  usage?: Record<string, unknown>
  error?: { type: string; message: string }
}

/** Each event must have the name that its data gives. */
function eventsIn(text: string): EventSeen[] {
  const events: EventSeen[] = []
  const parser = createParser({
    onEvent({ event, data }) {
      const parsed: EventSeen = JSON.parse(data)
      assert.equal(event, parsed.type)
      events.push(parsed)
    },
  })
  parser.feed(text)
  return events
}

function textIn(text: string): string {
  return eventsIn(text)
    .map((event) => event.delta?.text ?? '')
    .join('')
}

test('a stream names its events, carries the text token by token and ends with message_stop', async () => {
  const seen = await stream('sim?tokens=3&cached=2&written=1')
  assert.equal(seen.headers['content-type'], 'text/event-stream; charset=utf-8')
  const events = eventsIn(seen.text)
  assert.deepEqual(
    events.map((event) => event.type),
    [
      'message_start',
      'content_block_start',
      'ping',
      ...Array.from({ length: 3 }, () => 'content_block_delta'),
      'content_block_stop',
      'message_delta',
      'message_stop',
    ],
  )
  const prompt = { input_tokens: PROMPT_TOKENS - 3, cache_creation_input_tokens: 1, cache_read_input_tokens: 2 }
  assert.deepEqual(events[0]?.message?.usage, { ...prompt, output_tokens: 1 })
  assert.deepEqual(events.at(-2)?.delta, { stop_reason: 'end_turn', stop_sequence: null })
  assert.deepEqual(events.at(-2)?.usage, {
    ...prompt,
    output_tokens: 3,
    output_tokens_details: { thinking_tokens: 0 },
  })
  assert.match(events[0]?.message?.id ?? '', /^msg_/)
  assert.equal(simulator.calls.at(-1)?.generatedTokens, 3)
})

test('JSON and stream say the same, and the same as the other dialects', async () => {
  const whole = await json('sim')
  assert.equal(whole.content[0].text, textIn((await stream('sim')).text))
  assert.equal(whole.stop_reason, 'end_turn')
  const other = await ask(simulator.url, { body: { model: 'sim', messages: [HI] } })
  assert.equal(whole.content[0].text, JSON.parse(other.text).choices[0].message.content)
})

test('the maximum cuts the reply', async () => {
  const whole = await json('sim?tokens=50', { max_tokens: 7 })
  assert.deepEqual([whole.stop_reason, whole.usage.output_tokens], ['max_tokens', 7])
})

test('thoughts come in a block of their own before the reply, and are counted', async () => {
  const model = 'sim?thoughts=First%20I%20think&text=Done'
  const events = eventsIn((await stream(model)).text)
  assert.equal(events.map((event) => event.delta?.thinking ?? '').join(''), 'First I think')
  assert.ok(events.some((event) => event.delta?.type === 'signature_delta' && event.index === 0))
  assert.ok(events.every((event) => event.delta?.text === undefined || event.index === 1))
  assert.deepEqual(events.at(-2)?.usage?.output_tokens_details, { thinking_tokens: 3 })
  const whole = await json(model)
  assert.deepEqual(
    whole.content.map((block: { type: string }) => block.type),
    ['thinking', 'text'],
  )
  assert.equal(whole.usage.output_tokens, 4)
})

const TOOLS = [
  { name: 'look', input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
]

test('a tool is called in fragments, and not again once its result was given', async () => {
  const events = eventsIn((await stream('sim?tool=look', { tools: TOOLS })).text)
  const written = events.map((event) => event.delta?.partial_json ?? '').join('')
  const whole = await json('sim?tool=look', { tools: TOOLS })
  assert.deepEqual(JSON.parse(written), whole.content[0].input)
  assert.equal(whole.stop_reason, 'tool_use')
  const { id, name, input } = whole.content[0]
  const messages = [
    HI,
    { role: 'assistant', content: [{ type: 'tool_use', id, name, input }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'rain' }] },
  ]
  assert.equal((await json('sim?tool=look', { tools: TOOLS, messages })).stop_reason, 'end_turn')
})

const CALL = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] }
const RESULT = { type: 'tool_result', tool_use_id: 'a' }
const TEXT = { type: 'text', text: 'so?' }

test('what the real format refuses is refused', async () => {
  for (const [what, more] of Object.entries({
    'no maximum': { max_tokens: undefined },
    'a maximum of nothing': { max_tokens: 0 },
    'no messages': { messages: [] },
    'a field of another format': { stream_options: {} },
    'a system message among the others': { messages: [{ role: 'system', content: 'Be nice.' }, HI] },
    'an empty text': { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] },
    'an empty text beside another': { messages: [{ role: 'user', content: [{ type: 'text', text: '' }, TEXT] }] },
    'a blank text': { messages: [{ role: 'user', content: ' ' }] },
    'an empty message': { messages: [{ role: 'user', content: [] }] },
    'a prefill that ends in whitespace': { messages: [HI, { role: 'assistant', content: 'Once ' }] },
    'a call without result': { messages: [HI, CALL, HI] },
    'a call without result at the end': { messages: [HI, CALL] },
    'a result without call': { messages: [{ role: 'user', content: [RESULT] }] },
    'a result behind a text': { messages: [HI, CALL, { role: 'user', content: [TEXT, RESULT] }] },
    'an id with odd characters': {
      messages: [HI, { role: 'assistant', content: [{ ...CALL.content[0], id: 'a.b' }] }],
    },
    'input that is no object': {
      messages: [HI, { role: 'assistant', content: [{ ...CALL.content[0], input: '{}' }] }],
    },
    'an image in another format': {
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x' } }] }],
    },
    'a temperature above 1': { temperature: 1.1 },
    'temperature and top_p': { temperature: 0.5, top_p: 0.5 },
    'a blank stop sequence': { stop_sequences: ['\n'] },
    'a tool without schema': { tools: [{ name: 'look' }] },
    'a choice without tools': { tool_choice: { type: 'any' } },
    'an unknown choice': { tools: TOOLS, tool_choice: 'auto' },
    'a tool that is not there': { tools: TOOLS, tool_choice: { type: 'tool', name: 'listen' } },
    'a format without schema': { output_config: { format: { type: 'json_object' } } },
    'a long user id': { metadata: { user_id: 'u'.repeat(257) } },
  })) {
    const seen = await post(bodyOf('sim', more))
    assert.equal(seen.status, 400, what)
    assert.equal(JSON.parse(seen.text).error.type, 'invalid_request_error', what)
  }
  const messages = [HI, HI, CALL, { role: 'user', content: [RESULT, TEXT] }, { role: 'assistant', content: 'Once' }]
  assert.equal((await post(bodyOf('sim', { messages, tools: TOOLS, system: 'Be nice.' }))).status, 200)
})

test('the version and the key are demanded', async () => {
  const version = await post(bodyOf('sim'), { headers: { 'x-api-key': 'test' } })
  assert.equal(version.status, 400)
  for (const headers of [{ authorization: '' }, { 'x-api-key': 'bad-key' }] as Record<string, string>[]) {
    const seen = await post(bodyOf('sim'), { headers: { ...headers, 'anthropic-version': '2023-06-01' } })
    assert.equal(seen.status, 401)
    assert.equal(JSON.parse(seen.text).error.type, 'authentication_error')
  }
  assert.ok(!('x-api-key' in (simulator.calls.at(-1)?.headers ?? {})), 'a credential is not shown')
})

test('each status has its type of error', async () => {
  for (const [status, type] of [
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [529, 'overloaded_error'],
  ]) {
    const seen = await post(bodyOf(`sim?status=${status}`))
    assert.deepEqual(
      [seen.status, JSON.parse(seen.text).type, JSON.parse(seen.text).error.type],
      [status, 'error', type],
    )
  }
})

test('the legal U7 forms look different and say the same', async () => {
  const healthy = textIn((await stream('sim?tokens=12')).text)
  const marks: Record<string, RegExp> = {
    'U7-bom': /^\uFEFFevent: message_start\ndata: [^\uFEFF]*$/,
    'U7-cr': /^event: message_start\rdata: [^\n]*$/,
    'U7-nospace': /^event:message_start\ndata:\{/,
    'U7-comments': /^: ping\n\n/,
    'U7-multiline': /^event: message_start\ndata: \{\ndata:  "type"/,
    'U7-unknown-fields': /\nflavour: plain\nevent: /,
  }
  for (const [fault, mark] of Object.entries(marks)) {
    const seen = await stream(`sim?tokens=12&fault=${fault}`)
    assert.match(seen.bytes.toString(), mark, fault)
    assert.equal(textIn(seen.text), healthy, fault)
    assert.equal(eventsIn(seen.text).at(-1)?.type, 'message_stop', fault)
  }
})

test('errors inside a stream are events of the name error', async () => {
  const first = eventsIn((await stream('sim?fault=U12-sse')).text)
  assert.deepEqual([first.length, first[0]?.error?.type], [1, 'api_error'])
  const midway = eventsIn((await stream('sim?tokens=12&fault=U12-midstream&after=2')).text)
  assert.deepEqual([midway.filter(({ delta }) => delta).length, midway.at(-1)?.type], [2, 'error'])
})

test('a cut stream has its first chunks and no end, and U14-nodone lacks only message_stop', async () => {
  for (const fault of ['U14-eof', 'U14-close', 'U14-short', 'U14-rst']) {
    const events = eventsIn((await stream(`sim?tokens=12&fault=${fault}&after=4`)).text)
    assert.deepEqual(
      events.map((event) => event.type),
      ['message_start', 'content_block_start', 'ping', ...Array.from({ length: 4 }, () => 'content_block_delta')],
      fault,
    )
  }
  assert.equal(eventsIn((await stream('sim?fault=U14-nodone')).text).at(-1)?.type, 'message_delta')
})

test('U13 withholds every count and U19 lies about every one', async () => {
  assert.ok(!(await stream('sim?fault=U13')).text.includes('usage'))
  assert.ok(!('usage' in (await json('sim?fault=U13'))))
  const isLie: Record<string, (count: unknown) => boolean> = {
    'U19-negative': (count) => typeof count === 'number' && count < 0,
    'U19-huge': (count) => count === 1e15,
    'U19-string': (count) => typeof count === 'string',
    'U19-null': (count) => count === null,
  }
  for (const [fault, lies] of Object.entries(isLie)) {
    const { output_tokens_details: details, ...counts } = (await json(`sim?fault=${fault}`)).usage
    for (const count of [...Object.values(counts), details.thinking_tokens]) assert.ok(lies(count), fault)
    const events = eventsIn((await stream(`sim?fault=${fault}`)).text)
    assert.deepEqual(events.at(-2)?.usage, { ...counts, output_tokens_details: details }, fault)
  }
  assert.match((await stream('sim?fault=U19-nan')).text, /"output_tokens":NaN/)
})
