import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChatRequest } from '../../rules/calls/chat-request.ts'
import { requestBodyOf, unhonouredIn } from './anthropic-request.ts'

const MODEL = 'claude-opus-4-5'
const HI = { role: 'user', content: 'Hi' }

function requestOf(more: Record<string, unknown> = {}) {
  return parseChatRequest({ model: 'public-name', messages: [HI], ...more })
}

/** As it goes over the wire. */
function bodyOf(more: Record<string, unknown> = {}) {
  return JSON.parse(JSON.stringify(requestBodyOf(requestOf(more), 'their-name', 8192)))
}

function messagesOf(...messages: unknown[]) {
  return bodyOf({ messages }).messages
}

function text(value: string) {
  return { type: 'text', text: value }
}

function call(id: string, name: string, written: string) {
  return { id, type: 'function', function: { name, arguments: written } }
}

const GIVEN = { role: 'user', content: [text('Hi')] }

test('a plain request is streamed under the name that the provider knows, and nothing of ours goes along', () => {
  assert.deepEqual(bodyOf({ stream: false, stream_options: { include_usage: true }, unknown: 1, n: 1 }), {
    model: 'their-name',
    max_tokens: 8192,
    stream: true,
    messages: [GIVEN],
  })
})

test('the maximum of the caller is kept, under either of its names', () => {
  assert.equal(bodyOf({ max_tokens: 5 }).max_tokens, 5)
  assert.equal(bodyOf({ max_completion_tokens: 6 }).max_tokens, 6)
})

test('system messages become the system prompt, wherever they stand', () => {
  const parts = { role: 'system', content: [text('B'), text(' '), text('C')] }
  const body = bodyOf({ messages: [{ role: 'system', content: 'A' }, HI, parts] })
  assert.deepEqual(body.system, [text('A'), text('B'), text('C')])
  assert.deepEqual(body.messages, [GIVEN])
})

test('instructions alone are given as what the user said, because somebody must have spoken', () => {
  const body = bodyOf({ messages: [{ role: 'system', content: 'Greet me.' }] })
  assert.equal(body.system, undefined)
  assert.deepEqual(body.messages, [{ role: 'user', content: [text('Greet me.')] }])
})

test('messages of one side in a row become one turn', () => {
  assert.deepEqual(
    messagesOf(HI, HI, { role: 'assistant', content: 'A' }, { role: 'assistant', content: [text('B')] }, HI),
    [
      { role: 'user', content: [text('Hi'), text('Hi')] },
      { role: 'assistant', content: [text('A'), text('B')] },
      GIVEN,
    ],
  )
})

test('the results of tools stand first in the turn of the user, whatever else is said in it', () => {
  assert.deepEqual(
    messagesOf(
      HI,
      { role: 'assistant', content: null, tool_calls: [call('a', 'f', '{"x":1}'), call('b', 'g', '')] },
      { role: 'user', content: 'and' },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: [text('two'), text('')] },
      { role: 'user', content: 'so?' },
    ),
    [
      GIVEN,
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } },
          { type: 'tool_use', id: 'b', name: 'g', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [text('one')] },
          { type: 'tool_result', tool_use_id: 'b', content: [text('two')] },
          text('and'),
          text('so?'),
        ],
      },
    ],
  )
})

test('a result without a word is still a result', () => {
  const [, , last] = messagesOf(
    HI,
    { role: 'assistant', tool_calls: [call('a', 'f', '{}')] },
    { role: 'tool', tool_call_id: 'a', content: '' },
  )
  assert.deepEqual(last, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] })
})

test('arguments that are no JSON object are shown to the model as they were written', () => {
  const bomb = '['.repeat(100_000)
  for (const [written, input] of [
    ['  ', {}],
    ['{"a":', { arguments: '{"a":' }],
    ['[1]', { arguments: '[1]' }],
    ['null', { arguments: 'null' }],
    ['5', { arguments: '5' }],
    [bomb, { arguments: bomb }],
  ] as const) {
    const [, turn] = messagesOf(HI, { role: 'assistant', tool_calls: [call('a', 'f', written)] }, HI)
    assert.deepEqual(turn.content[0].input, input)
  }
})

test('ids of tool calls from other providers are made acceptable, in the call and in its result alike', () => {
  for (const [theirs, ours] of [
    ['functions.f:0', /^functions_f_0_\w+$/],
    ['', /^_\w+$/],
    ['call_A-1', /^call_A-1$/],
  ] as const) {
    const [, turn, result] = messagesOf(
      HI,
      { role: 'assistant', tool_calls: [call(theirs, 'f', '{}')] },
      { role: 'tool', tool_call_id: theirs, content: 'x' },
    )
    assert.match(turn.content[0].id, ours)
    assert.equal(result.content[0].tool_use_id, turn.content[0].id)
  }
})

test('a refusal is something that the assistant said', () => {
  const [, turn] = messagesOf(HI, { role: 'assistant', content: null, refusal: 'I will not.' }, HI)
  assert.deepEqual(turn, { role: 'assistant', content: [text('I will not.')] })
})

test('texts of nothing but whitespace are left out, and so is a message that has nothing else', () => {
  assert.deepEqual(
    messagesOf(
      { role: 'user', content: [text(''), text('Hi'), text('\n')] },
      { role: 'assistant', content: ' ' },
      { role: 'user', content: 'there' },
    ),
    [{ role: 'user', content: [text('Hi'), text('there')] }],
  )
})

test('an answer to be continued does not end in whitespace; others keep theirs', () => {
  const said = { role: 'assistant', content: 'Once \n' }
  assert.equal(messagesOf(HI, said).at(-1).content[0].text, 'Once')
  assert.equal(messagesOf(HI, said, HI).at(-2).content[0].text, 'Once \n')
})

function imageOf(url: string) {
  return { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }
}

test('images are given by their data or by their address', () => {
  const data = 'iVBORw0KGgo='
  for (const [url, source] of [
    [`data:image/png;base64,${data}`, { type: 'base64', media_type: 'image/png', data }],
    [`data:image/JPG;name=a;base64,${data}`, { type: 'base64', media_type: 'image/jpeg', data }],
    ['https://example.com/a.png', { type: 'url', url: 'https://example.com/a.png' }],
    ['http://example.com/a.png', { type: 'url', url: 'http://example.com/a.png' }],
  ] as const) {
    assert.equal(unhonouredIn(requestOf(imageOf(url)), MODEL), undefined)
    assert.deepEqual(bodyOf(imageOf(url)).messages[0].content, [{ type: 'image', source }])
  }
})

test('an image that cannot be given is not left out silently', () => {
  for (const url of ['data:image/svg+xml;base64,AA==', 'data:image/png,%89', 'file:///etc/passwd', 'data:', '']) {
    assert.equal(unhonouredIn(requestOf(imageOf(url)), MODEL), 'images', url)
  }
})

function fileOf(file_data: string, filename?: string) {
  return { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data, filename } }] }] }
}

test('a PDF is a document by its data, and a text file one by its text', () => {
  assert.deepEqual(bodyOf(fileOf('data:application/pdf;base64,JVBERi0=', 'a.pdf')).messages[0].content, [
    {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      title: 'a.pdf',
    },
  ])
  assert.deepEqual(bodyOf(fileOf('data:text/plain;base64,w6k=')).messages[0].content, [
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'é' } },
  ])
  const word = fileOf('data:application/msword;base64,AAAA')
  assert.equal(unhonouredIn(requestOf(word), MODEL), 'files', 'what they do not read is not left out silently')
})

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } }

test('tools keep their description, schema and strictness, and those without parameters get an empty schema', () => {
  const tools = [
    { type: 'function', function: { name: 'f', description: 'Does f.', parameters: PARAMETERS, strict: true } },
    { type: 'function', function: { name: 'g', strict: false } },
    { type: 'function', function: { name: 'h', parameters: { properties: {} } } },
  ]
  assert.deepEqual(bodyOf({ tools }).tools, [
    { name: 'f', description: 'Does f.', input_schema: PARAMETERS, strict: true },
    { name: 'g', input_schema: { type: 'object', properties: {} } },
    { name: 'h', input_schema: { type: 'object', properties: {} } },
  ])
})

test('each choice of tools has its counterpart', () => {
  const tools = [{ type: 'function', function: { name: 'f' } }]
  for (const [ours, theirs] of [
    [undefined, undefined],
    ['none', { type: 'none' }],
    ['auto', { type: 'auto' }],
    ['required', { type: 'any' }],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'tool', name: 'f' },
    ],
  ]) {
    assert.deepEqual(bodyOf({ tools, tool_choice: ours }).tool_choice, theirs)
  }
  assert.equal(bodyOf({ tool_choice: 'none' }).tool_choice, undefined, 'there is nothing to choose from')
})

test('sampling and stop sequences are passed on', () => {
  assert.equal(bodyOf({ temperature: 0 }).temperature, 0)
  assert.equal(bodyOf({ top_p: 0.5 }).top_p, 0.5)
  assert.deepEqual(bodyOf({ stop: 'END' }).stop_sequences, ['END'])
  assert.deepEqual(bodyOf({ stop: ['\n\nHuman:', ''] }).stop_sequences, ['\n\nHuman:'])
})

const CLOSED = { ...PARAMETERS, additionalProperties: false }

function schemaFormat(schema: unknown) {
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } } }
}

test('a JSON schema becomes the format of the output', () => {
  assert.equal(unhonouredIn(requestOf(schemaFormat(CLOSED)), MODEL), undefined)
  assert.deepEqual(bodyOf(schemaFormat(CLOSED)).output_config, { format: { type: 'json_schema', schema: CLOSED } })
})

test('what asks for nothing is honoured by leaving it out', () => {
  for (const [field, value] of [
    ['temperature', 1],
    ['top_p', 1],
    ['stop', ''],
    ['presence_penalty', 0],
    ['frequency_penalty', 0],
    ['logit_bias', {}],
    ['logit_bias', { 50256: 0 }],
    ['verbosity', 'medium'],
    ['logprobs', false],
    ['parallel_tool_calls', true],
    ['reasoning_effort', 'none'],
    ['service_tier', 'auto'],
    ['store', false],
    ['modalities', ['text']],
    ['response_format', { type: 'text' }],
    ['tool_choice', 'none'],
    ['tool_choice', 'auto'],
  ] as const) {
    assert.equal(unhonouredIn(requestOf({ [field]: value }), MODEL), undefined, field)
    assert.deepEqual(Object.keys(bodyOf({ [field]: value })), ['model', 'max_tokens', 'stream', 'messages'], field)
  }
})

test('a field that cannot be honoured is named, never dropped or bent', () => {
  const open = { type: 'object', properties: { a: { type: ['object', 'null'], properties: {} } } }
  for (const [field, more] of [
    ['temperature', { temperature: 1.1 }],
    ['top_p', { temperature: 0.5, top_p: 0.5 }],
    ['stop', { stop: '\n' }],
    ['stop', { stop: ['END', ' '] }],
    ['seed', { seed: 0 }],
    ['presence_penalty', { presence_penalty: -0.1 }],
    ['frequency_penalty', { frequency_penalty: 0.1 }],
    ['logit_bias', { logit_bias: { 50256: -100 } }],
    ['verbosity', { verbosity: 'low' }],
    ['logprobs', { logprobs: true }],
    ['prediction', { prediction: { type: 'content', content: 'x' } }],
    [
      'input_audio',
      {
        messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }],
      },
    ],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['response_format', { response_format: { type: 'json_schema', json_schema: {} } }],
    ['response_format', schemaFormat('x')],
    ['response_format', schemaFormat(PARAMETERS)],
    ['response_format', schemaFormat({ ...open, additionalProperties: false })],
    ['response_format', schemaFormat({ anyOf: [CLOSED, PARAMETERS] })],
    ['tool_choice', { tool_choice: 'required' }],
    ['tool_choice', { tool_choice: { type: 'function', function: { name: 'f' } } }],
  ] as const) {
    assert.equal(unhonouredIn(requestOf(more), MODEL), field, JSON.stringify(more))
  }
})

test('newer models take no sampling, and no answer to go on from, wherever instructions and blanks stand', () => {
  const answer = { role: 'assistant', content: 'Hello' }
  for (const [field, more] of [
    ['temperature', { temperature: 0 }],
    ['top_p', { top_p: 0.9 }],
    [undefined, { temperature: 1, top_p: 1 }],
    ['prefill', { messages: [HI, answer] }],
    ['prefill', { messages: [HI, answer, { role: 'system', content: 'Rhyme.' }] }],
    ['prefill', { messages: [HI, answer, { role: 'user', content: ' ' }] }],
    ['prefill', { messages: [HI, answer, { role: 'user', content: [text('')] }] }],
    [undefined, { messages: [HI, answer, HI, { role: 'system', content: 'Rhyme.' }] }],
  ] as const) {
    assert.equal(unhonouredIn(requestOf(more), 'claude-opus-4-7'), field, JSON.stringify(more))
    assert.equal(unhonouredIn(requestOf(more), MODEL), undefined, JSON.stringify(more))
  }
})

test('where nothing is said at all, nothing is sent', () => {
  assert.throws(() => messagesOf({ role: 'user', content: ' \n' }), { kind: 'rejected' })
})

test('a strict tool without parameters allows none', () => {
  const { tools } = bodyOf({ tools: [{ type: 'function', function: { name: 'now', strict: true } }] })
  assert.deepEqual(tools[0].input_schema, { type: 'object', properties: {}, additionalProperties: false })
})

test('a value inside a schema that looks like a schema is none', () => {
  const schema = { ...CLOSED, properties: { a: { enum: [{ type: 'object' }] }, b: { const: { type: 'object' } } } }
  assert.equal(unhonouredIn(requestOf(schemaFormat(schema)), MODEL), undefined)
})
