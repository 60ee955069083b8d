import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filesOf, parseChatRequest } from './chat-request.ts'
import { inlineDataOf } from './message.ts'
import { ParleyError } from '../errors.ts'
import { MESSAGES_MAX } from '../limits.ts'

const HI = { role: 'user', content: 'Hi' }
const MINIMAL = { model: 'm', messages: [HI] }
const TOOL = { type: 'function', function: { name: 'look_up' } }
const PART = { type: 'text', text: 'a' }
const DATA = 'data:application/pdf;base64,JVBERi0='
const TOOL_CALL = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } }

function many<T>(count: number, one: T): T[] {
  return Array.from({ length: count }, () => one)
}

function toolWith(changes: object) {
  return { tools: [{ type: 'function', function: { ...TOOL.function, ...changes } }] }
}

interface Refused {
  status: number
  message: string
  param: string | undefined
}

function refusalOf(body: unknown): Refused {
  try {
    parseChatRequest(body)
  } catch (error) {
    assert.ok(error instanceof ParleyError, String(error))
    return { status: error.status, message: error.message, param: error.options.param }
  }
  return assert.fail(`accepted: ${JSON.stringify(body).slice(0, 200)}`)
}

/** Each refusal names its field, both in the sentence and for programs. */
function assertRefused(body: unknown, status: number, message: string): void {
  const path = message.split(' ', 1)[0]
  assert.deepEqual(refusalOf(body), { status, message, param: path })
}

test('the smallest request is accepted, and the defaults are filled in', () => {
  assert.deepEqual(parseChatRequest(MINIMAL), {
    ...MINIMAL,
    max_tokens: undefined,
    stream: false,
    includeUsage: false,
  })
})

test('every supported field is kept as it was sent', () => {
  const full = {
    model: 'm',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      { role: 'user', content: [{ type: 'text', text: 'What is this?' }, image('high')] },
      { role: 'assistant', content: null, tool_calls: [TOOL_CALL] },
      { role: 'tool', content: 'nothing', tool_call_id: 'call_1' },
      { role: 'assistant', content: 'Nothing.', tool_calls: [TOOL_CALL] },
      { role: 'user', content: '' },
    ],
    temperature: 0,
    top_p: 1,
    max_tokens: 1,
    stop: ['a', 'b', 'c', 'd'],
    seed: -1,
    presence_penalty: -2,
    frequency_penalty: 2,
    logit_bias: { '50256': -100 },
    parallel_tool_calls: false,
    reasoning_effort: 'xhigh',
    verbosity: 'low',
    logprobs: true,
    top_logprobs: 20,
    prediction: { type: 'content', content: [{ type: 'text', text: 'x' }] },
    prompt_cache_key: 'k'.repeat(512),
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } },
    tools: [
      { type: 'function', function: { ...TOOL.function, description: 'd', parameters: { a: [1] }, strict: true } },
    ],
    tool_choice: { type: 'function', function: { name: 'look_up' } },
  }
  const sent = { ...full, n: 1, stream: true, stream_options: { include_usage: true } }
  assert.deepEqual(parseChatRequest(sent), { ...full, stream: true, includeUsage: true })
})

function image(detail: string) {
  return { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail } }
}

test('an assistant message needs a content, a refusal or a tool call, and any one of them is enough', () => {
  for (const said of [{ content: '' }, { refusal: 'No.' }, { refusal: '' }, { tool_calls: [TOOL_CALL] }]) {
    for (const rest of [{}, { content: null }]) {
      const messages = [HI, { role: 'assistant', ...rest, ...said }]
      assert.deepEqual(parseChatRequest({ model: 'm', messages }).messages, messages)
    }
  }
  const empty = [HI, { role: 'assistant', content: null, refusal: null }]
  assertRefused({ model: 'm', messages: empty }, 422, 'messages[1].content must be a string.')
})

test('unknown fields are ignored at every level and never passed on', () => {
  const request = parseChatRequest({
    ...MINIMAL,
    messages: [{ ...HI, name: 'Ada', cache_control: { type: 'ephemeral' } }],
    stream_options: { include_usage: true, include_obfuscation: true },
    tools: [{ ...TOOL, cache: 1 }],
    metadata: { a: 1 },
    api_key: 'x',
  })
  assert.deepEqual(request, {
    model: 'm',
    messages: [HI],
    tools: [TOOL],
    max_tokens: undefined,
    stream: false,
    includeUsage: true,
  })
})

test('max_completion_tokens is another name for max_tokens', () => {
  assert.equal(parseChatRequest({ ...MINIMAL, max_completion_tokens: 7 }).max_tokens, 7)
  const both = parseChatRequest({ ...MINIMAL, max_tokens: 7, max_completion_tokens: 7 })
  assert.equal(both.max_tokens, 7)
  assert.ok(!('max_completion_tokens' in both))
  assertRefused(
    { ...MINIMAL, max_tokens: 7, max_completion_tokens: 8 },
    422,
    'max_completion_tokens and max_tokens mean the same: send one, or the same value in both.',
  )
})

test('a body that is not a JSON object is 400', () => {
  for (const body of [null, [], [MINIMAL], 'x', 5, true]) {
    assert.deepEqual(refusalOf(body), { status: 400, message: 'The body must be a JSON object.', param: undefined })
  }
})

const INCOMPLETE: [body: unknown, message: string][] = [
  [{}, 'model is required.'],
  [{ messages: [] }, 'model is required.'],
  [{ messages: [HI] }, 'model is required.'],
  [{ model: '', messages: [HI] }, 'model must not be empty.'],
  [{ model: 5, messages: [HI] }, 'model must be a string.'],
  [{ model: null, messages: [HI] }, 'model must be a string.'],
  [{ model: ['m'], messages: [HI] }, 'model must be a string.'],
  [{ model: 'm' }, 'messages is required.'],
  [{ model: 'm', messages: null }, 'messages must be an array.'],
  [{ model: 'm', messages: HI }, 'messages must be an array.'],
  [{ model: 'm', messages: 'Hi' }, 'messages must be an array.'],
  [{ model: 'm', messages: [] }, 'messages must not be empty.'],
  [{ messages: [{ role: 'robot' }], temperature: 9 }, 'model is required.'],
]

test('a body without a usable model or messages is 400, whatever else is wrong with it', () => {
  for (const [body, message] of INCOMPLETE) assertRefused(body, 400, message)
})

const NOT_TEXT = 'must be well-formed text without NUL characters.'
const WRONG_MESSAGES: [messages: unknown[], message: string][] = [
  [['Hi'], 'messages[0] must be an object.'],
  [[HI, null], 'messages[1] must be an object.'],
  [
    [HI, HI, { role: 'robot', content: 'Hi' }],
    'messages[2].role must be one of system, developer, user, assistant, tool.',
  ],
  [[{ content: 'Hi' }], 'messages[0].role must be one of system, developer, user, assistant, tool.'],
  [[{ role: 'User', content: 'Hi' }], 'messages[0].role must be one of system, developer, user, assistant, tool.'],
  [[{ role: 'user' }], 'messages[0].content is required.'],
  [[{ role: 'user', content: null }], 'messages[0].content must be a string or an array of parts.'],
  [[{ role: 'user', content: 5 }], 'messages[0].content must be a string or an array of parts.'],
  [[{ role: 'user', content: { text: 'Hi' } }], 'messages[0].content must be a string or an array of parts.'],
  [[{ role: 'user', content: [] }], 'messages[0].content must not be empty.'],
  [[{ role: 'user', content: ['Hi'] }], 'messages[0].content[0] must be an object.'],
  [[{ role: 'user', content: [{ type: 'text' }] }], 'messages[0].content[0].text is required.'],
  [
    [{ role: 'user', content: [{ type: 'video' }] }],
    'messages[0].content[0].type must be text, image_url, file or input_audio.',
  ],
  [
    [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: {} },
        ],
      },
    ],
    'messages[0].content[1].image_url.url is required.',
  ],
  [
    [{ role: 'user', content: [image('max')] }],
    'messages[0].content[0].image_url.detail must be one of auto, low, high.',
  ],
  [[{ role: 'system', content: [image('low')] }], 'messages[0].content[0].type must be one of text.'],
  [
    [{ role: 'user', content: [{ ...PART, cache_control: { type: 'ephemeral', ttl: '1h' } }] }],
    'messages[0].content[0].cache_control.ttl must be 5m: one-hour caching is not available.',
  ],
  [[{ role: 'user', content: 'a\0b' }], `messages[0].content ${NOT_TEXT}`],
  [[{ role: 'user', content: '\ud83d' }], `messages[0].content ${NOT_TEXT}`],
  [[{ role: 'user', content: [{ type: 'text', text: '\udc4d\ud83d' }] }], `messages[0].content[0].text ${NOT_TEXT}`],
  [[{ role: 'assistant' }], 'messages[0].content must be a string.'],
  [[{ role: 'assistant', content: null }], 'messages[0].content must be a string.'],
  [[{ role: 'assistant', content: 5 }], 'messages[0].content must be a string or an array of parts.'],
  [[{ role: 'assistant', tool_calls: [] }], 'messages[0].tool_calls must not be empty.'],
  [[{ role: 'assistant', tool_calls: [{}] }], 'messages[0].tool_calls[0].id is required.'],
  [
    [{ role: 'assistant', tool_calls: [{ ...TOOL_CALL, function: { name: 'look_up', arguments: {} } }] }],
    'messages[0].tool_calls[0].function.arguments must be a string.',
  ],
  [[{ role: 'tool', content: 'x' }], 'messages[0].tool_call_id is required.'],
  [[{ role: 'tool', content: 'x', tool_call_id: 5 }], 'messages[0].tool_call_id must be a string.'],
  [[{ role: 'tool', tool_call_id: 'x' }], 'messages[0].content is required.'],
  [[{ role: 'tool', content: [image('low')], tool_call_id: 'x' }], 'messages[0].content[0].type must be one of text.'],
  [[{ role: 'system' }], 'messages[0].content is required.'],
  [[{ role: 'system', content: [] }], 'messages[0].content must not be empty.'],
  [[{ role: 'system', content: many(1_001, PART) }], 'messages[0].content must be at most 1000 items long.'],
  [[{ role: 'user', content: many(1_001, PART) }], 'messages[0].content must be at most 1000 items long.'],
  [[{ role: 'user', content: [{ ...PART, text: 5 }] }], 'messages[0].content[0].text must be a string.'],
  [
    [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'a\0' } }] }],
    `messages[0].content[0].image_url.url ${NOT_TEXT}`,
  ],
  [[{ role: 'user', content: [{ type: 'file' }] }], 'messages[0].content[0].file is required.'],
  [
    [{ role: 'user', content: [{ type: 'file', file: { file_data: DATA, filename: 'x'.repeat(256) } }] }],
    'messages[0].content[0].file.filename must be at most 255 characters long.',
  ],
  [[{ role: 'assistant', content: [] }], 'messages[0].content must not be empty.'],
  [[{ role: 'assistant', content: [image('low')] }], 'messages[0].content[0].type must be one of text.'],
  [[{ role: 'assistant', refusal: 5 }], 'messages[0].refusal must be a string.'],
  [[{ role: 'assistant', refusal: 'a\0' }], `messages[0].refusal ${NOT_TEXT}`],
  [[{ role: 'assistant', tool_calls: many(129, TOOL_CALL) }], 'messages[0].tool_calls must be at most 128 items long.'],
  [
    [{ role: 'assistant', tool_calls: [{ ...TOOL_CALL, type: 'retrieval' }] }],
    'messages[0].tool_calls[0].type must be one of function.',
  ],
  [[{ role: 'assistant', tool_calls: [{ ...TOOL_CALL, id: 'a\0' }] }], `messages[0].tool_calls[0].id ${NOT_TEXT}`],
  [
    [{ role: 'assistant', tool_calls: [{ ...TOOL_CALL, function: { arguments: '' } }] }],
    'messages[0].tool_calls[0].function.name is required.',
  ],
  [
    [{ role: 'assistant', tool_calls: [{ ...TOOL_CALL, function: { name: 'x', arguments: '\ud83d' } }] }],
    `messages[0].tool_calls[0].function.arguments ${NOT_TEXT}`,
  ],
  [many(MESSAGES_MAX + 1, HI), `messages must be at most ${MESSAGES_MAX} items long.`],
]

test('a message that is not valid is 422 and named by its position', () => {
  for (const [messages, message] of WRONG_MESSAGES) assertRefused({ model: 'm', messages }, 422, message)
})

const WRONG_FIELDS: [fields: Record<string, unknown>, message: string][] = [
  [{ stream: 'true' }, 'stream must be true or false.'],
  [{ stream: 1 }, 'stream must be true or false.'],
  [{ stream: null }, 'stream must be true or false.'],
  [{ temperature: null }, 'temperature must be a number.'],
  [{ temperature: -0.1 }, 'temperature must be at least 0.'],
  [{ temperature: 2.1 }, 'temperature must be at most 2.'],
  [{ temperature: '1' }, 'temperature must be a number.'],
  [{ temperature: Infinity }, 'temperature must be a number.'],
  [{ top_p: -1 }, 'top_p must be at least 0.'],
  [{ top_p: 1.01 }, 'top_p must be at most 1.'],
  [{ max_tokens: 0 }, 'max_tokens must be greater than 0.'],
  [{ max_tokens: 2 ** 31 }, 'max_tokens must be at most 2147483647.'],
  [{ max_tokens: Number.MAX_SAFE_INTEGER }, 'max_tokens must be at most 2147483647.'],
  [{ max_completion_tokens: 2 ** 31 }, 'max_completion_tokens must be at most 2147483647.'],
  [{ max_tokens: -1 }, 'max_tokens must be greater than 0.'],
  [{ max_tokens: 1.5 }, 'max_tokens must be an integer.'],
  [{ max_tokens: '5' }, 'max_tokens must be a number.'],
  [{ max_completion_tokens: 0 }, 'max_completion_tokens must be greater than 0.'],
  [{ max_completion_tokens: '5' }, 'max_completion_tokens must be a number.'],
  [{ n: '1' }, 'n must be 1: Parley answers with one choice.'],
  [{ n: 2 }, 'n must be 1: Parley answers with one choice.'],
  [{ n: 0 }, 'n must be 1: Parley answers with one choice.'],
  [{ stop: 5 }, 'stop must be a string or an array of 1 to 4 strings.'],
  [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop must be a string or an array of 1 to 4 strings.'],
  [{ stop: [] }, 'stop must not be empty.'],
  [{ stop: ['a\0'] }, `stop[0] ${NOT_TEXT}`],
  [{ seed: 0.5 }, 'seed must be an integer.'],
  [{ seed: '1' }, 'seed must be a number.'],
  [{ presence_penalty: 2.1 }, 'presence_penalty must be at most 2.'],
  [{ presence_penalty: -2.1 }, 'presence_penalty must be at least -2.'],
  [{ frequency_penalty: 2.1 }, 'frequency_penalty must be at most 2.'],
  [{ frequency_penalty: -2.1 }, 'frequency_penalty must be at least -2.'],
  [{ logit_bias: [] }, 'logit_bias must be an object.'],
  [{ logit_bias: { '5': 101 } }, 'logit_bias.5 must be at most 100.'],
  [{ logit_bias: { '5': -101 } }, 'logit_bias.5 must be at least -100.'],
  [{ logit_bias: { '5': '1' } }, 'logit_bias.5 must be a number.'],
  [{ parallel_tool_calls: 'no' }, 'parallel_tool_calls must be true or false.'],
  [{ reasoning_effort: 'lots' }, 'reasoning_effort must be one of none, minimal, low, medium, high, xhigh, max.'],
  [{ verbosity: 'chatty' }, 'verbosity must be one of low, medium, high.'],
  [{ logprobs: 1 }, 'logprobs must be true or false.'],
  [{ logprobs: true, top_logprobs: 21 }, 'top_logprobs must be at most 20.'],
  [{ top_logprobs: 2 }, 'top_logprobs needs logprobs: true.'],
  [{ prediction: 'x' }, 'prediction must be an object.'],
  [{ prediction: { type: 'content', content: 5 } }, 'prediction.content must be a string or an array of parts.'],
  [{ prompt_cache_key: 'x'.repeat(513) }, 'prompt_cache_key must be at most 512 characters long.'],
  [{ service_tier: 'flex' }, 'service_tier must be auto or default: other tiers are not available.'],
  [{ modalities: ['text', 'audio'] }, 'modalities[1] must be text: Parley answers with text only.'],
  [
    { store: true },
    'store must be false: no provider keeps completions. Send x-conversation-id to keep a conversation.',
  ],
  [{ audio: { voice: 'alloy' } }, 'audio is not supported: Parley answers with text only. Leave it out.'],
  [{ web_search_options: {} }, 'web_search_options is not supported: offer a search of your own in tools.'],
  [{ functions: [] }, 'functions is not supported: send tools instead.'],
  [{ function_call: 'auto' }, 'function_call is not supported: send tool_choice instead.'],
  [{ response_format: 'json' }, 'response_format must be an object.'],
  [{ response_format: { type: 'xml' } }, 'response_format.type must be one of text, json_object, json_schema.'],
  [{ response_format: {} }, 'response_format.type must be one of text, json_object, json_schema.'],
  [{ response_format: { type: 'json_schema', json_schema: [] } }, 'response_format.json_schema must be an object.'],
  [{ tools: 'look_up' }, 'tools must be an array.'],
  [toolWith({ name: undefined }), 'tools[0].function.name is required.'],
  [toolWith({ name: '' }), 'tools[0].function.name must be 1 to 64 characters of A-Z a-z 0-9 _ -.'],
  [toolWith({ name: 'x'.repeat(65) }), 'tools[0].function.name must be 1 to 64 characters of A-Z a-z 0-9 _ -.'],
  [toolWith({ description: 'a\0' }), `tools[0].function.description ${NOT_TEXT}`],
  [toolWith({ parameters: [] }), 'tools[0].function.parameters must be an object.'],
  [toolWith({ strict: 'yes' }), 'tools[0].function.strict must be true or false.'],
  [{ tools: [] }, 'tools must not be empty.'],
  [{ tools: [TOOL, { type: 'retrieval' }] }, 'tools[1].type must be "function": provider-run tools are not available.'],
  [
    { tools: [{ type: 'function', function: { name: 'look up' } }] },
    'tools[0].function.name must be 1 to 64 characters of A-Z a-z 0-9 _ -.',
  ],
  [{ tools: many(129, TOOL) }, 'tools must be at most 128 items long.'],
  [
    { response_format: { type: 'json_schema' } },
    'response_format.json_schema must be an object with a name and a schema.',
  ],
  [{ tool_choice: 'any' }, 'tool_choice must be none, auto, required or {"type":"function","function":{"name":…}}.'],
  [
    { tool_choice: { type: 'function' } },
    'tool_choice must be none, auto, required or {"type":"function","function":{"name":…}}.',
  ],
  [{ stream_options: true }, 'stream_options must be an object.'],
  [{ stream_options: { include_usage: 'yes' } }, 'stream_options.include_usage must be true or false.'],
]

test('a field with a wrong value is 422, named, and never coerced', () => {
  for (const [fields, message] of WRONG_FIELDS) assertRefused({ ...MINIMAL, ...fields }, 422, message)
})

test('the most of everything that may be sent is accepted', () => {
  const file = { type: 'file', file: { file_data: DATA, filename: 'x'.repeat(255) } }
  const messages = [
    { role: 'system', content: many(1_000, PART) },
    { role: 'user', content: [...many(999, PART), file] },
    { role: 'assistant', tool_calls: many(128, TOOL_CALL) },
    ...many(MESSAGES_MAX - 3, HI),
  ]
  const tools = many(128, { type: 'function', function: { name: 'x'.repeat(64) } })
  const fields = {
    temperature: 2,
    top_p: 0,
    presence_penalty: 2,
    frequency_penalty: -2,
    logit_bias: { '5': 100 },
    tools,
  }
  const request = parseChatRequest({ model: 'm', messages, ...fields })
  assert.deepEqual({ ...request, ...fields, messages }, request)
})

test('a refusal never repeats what the caller wrote', () => {
  const secret = 'my password is hunter2'
  for (const body of [
    { model: 'm', messages: [{ role: secret, content: 'Hi' }] },
    { model: 'm', messages: [{ role: 'user', content: [{ type: secret }] }] },
    { ...MINIMAL, temperature: secret },
    { ...MINIMAL, stop: { a: secret } },
    { ...MINIMAL, tool_choice: secret },
    { ...MINIMAL, tools: [{ type: 'function', function: { name: secret } }] },
  ]) {
    assert.ok(!JSON.stringify(refusalOf(body)).includes('hunter2'), JSON.stringify(refusalOf(body)))
  }
})

test('a __proto__ in the body is data at most: it fills in nothing and changes no prototype', () => {
  const smuggled = JSON.parse(
    `{"model":"m","messages":[{"role":"user","content":"Hi"}],"__proto__":{"stream":true,"temperature":9},
      "tools":[{"type":"function","function":{"name":"f","parameters":{"__proto__":{"polluted":1},"a":1}}}],
      "logit_bias":{"__proto__":5},"constructor":{"prototype":{"polluted":1}}}`,
  )
  const request = parseChatRequest(smuggled)
  assert.equal(request.stream, false)
  assert.equal(request.temperature, undefined)
  assert.deepEqual(request.logit_bias, {})
  assert.equal(request.tools?.[0]?.function.parameters?.polluted, undefined)
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
  assert.equal(Object.getPrototypeOf(request), Object.prototype)
  assertRefused(JSON.parse(`{"__proto__":${JSON.stringify(MINIMAL)}}`), 400, 'model is required.')
  assertRefused(
    JSON.parse(`{"model":"m","messages":[{"__proto__":${JSON.stringify(HI)}}]}`),
    422,
    'messages[0].role must be one of system, developer, user, assistant, tool.',
  )
})

test('a file comes with the request, as data, and is a field that a deployment must be able to read', () => {
  const file = { file_data: DATA, filename: 'a.pdf' }
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content: [{ type: 'file', file }] }] })
  assert.deepEqual(filesOf(request), [{ type: 'file', file }])
  assert.deepEqual(inlineDataOf(file.file_data), { mediaType: 'application/pdf', base64: 'JVBERi0=' })
  for (const [file_data, problem] of [
    ['https://example.com/a.pdf', 'must be a data: URL in base64.'],
    ['JVBERi0=', 'must be a data: URL in base64.'],
    ['data:application/pdf,plain', 'must be a data: URL in base64.'],
    [undefined, 'is required.'],
  ]) {
    const content = [{ type: 'file', file: { file_data, file_id: 'file-1' } }]
    const message = `messages[0].content[0].file.file_data ${problem}`
    assertRefused({ model: 'm', messages: [{ role: 'user', content }] }, 422, message)
  }
})

test('null means "not given", but for the fields of the specification', () => {
  const names = [
    'stop',
    'seed',
    'user',
    'metadata',
    'store',
    'audio',
    'service_tier',
    'reasoning_effort',
    'stream_options',
  ]
  const nulls = Object.fromEntries(names.map((name) => [name, null]))
  assert.deepEqual(parseChatRequest({ ...MINIMAL, ...nulls }), parseChatRequest(MINIMAL))
  const dumped = { role: 'assistant', content: 'Hi', refusal: null, tool_calls: null, reasoning_content: null }
  assert.ok(parseChatRequest({ model: 'm', messages: [HI, dumped, HI] }))
})

test('whom a call is for, and what is noted with it, is no reason to refuse it, and not part of what is asked', () => {
  for (const odd of [5, 'x'.repeat(10_000), 'a\0b', {}, ['u']]) {
    const request = parseChatRequest({ ...MINIMAL, user: odd, safety_identifier: odd, metadata: odd })
    assert.deepEqual(request, parseChatRequest(MINIMAL))
  }
})

test('what an SDK sends and asks for nothing is accepted', () => {
  const nothing = { service_tier: 'auto', modalities: ['text'], store: false, n: 1 }
  assert.deepEqual(parseChatRequest({ ...MINIMAL, ...nothing }), parseChatRequest(MINIMAL))
})

test('thoughts are kept only of the tool calls whose results have just come', () => {
  const thinking = { role: 'assistant', tool_calls: [TOOL_CALL], reasoning_content: 'Hm.', reasoning_signature: 's' }
  const result = { role: 'tool', content: 'x', tool_call_id: 'call_1' }
  const messages = [HI, thinking, result, HI, thinking, result, thinking, result]
  const kept = parseChatRequest({ model: 'm', messages }).messages.map(
    (message) =>
      message.role === 'assistant' && message.reasoning_content === 'Hm.' && message.reasoning_signature === 's',
  )
  assert.deepEqual(kept, [false, false, false, false, true, false, true, false])
})
