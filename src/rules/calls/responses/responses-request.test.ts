import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ParleyError } from '../../errors.ts'
import { KNOWN_FIELDS } from '../chat-request.ts'
import { inResponsesWords, parseResponsesRequest, RESPONSES_FIELDS } from './responses-request.ts'
import { ROUTE_FIELDS, unsupportedField } from '../route-fields.ts'

const PIXEL = 'data:image/png;base64,iVBORw0KGgo='
const PDF = 'data:application/pdf;base64,JVBERi0='
const LOOK_UP = { type: 'function', name: 'look_up', parameters: { type: 'object' }, strict: true }

function parse(more: object, input: unknown = 'Hi') {
  return parseResponsesRequest({ model: 'm', input, ...more })
}

const chatOf = (more: object, input?: unknown) => parse(more, input).chat
const messagesOf = (input: unknown) => chatOf({}, input).messages

function assertRefused(body: unknown, status: number, param: string | undefined, message: string): void {
  assert.throws(
    () => parseResponsesRequest(body),
    (error) => {
      assert.ok(error instanceof ParleyError, String(error))
      assert.deepEqual([error.status, error.options.param, error.message], [status, param, message])
      return true
    },
  )
}

const refused = (more: object, param: string, message: string, status = 422) =>
  assertRefused({ model: 'm', input: 'Hi', ...more }, status, param, message)

test('an input that is a text is a message of the user, and instructions stand before it', () => {
  assert.deepEqual(chatOf({ instructions: 'Be brief.' }).messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi' },
  ])
  assert.deepEqual(messagesOf('Hi'), [{ role: 'user', content: 'Hi' }])
})

test('messages keep their role, and the parts of their content become those of a chat', () => {
  const content = [
    { type: 'input_text', text: 'What is this?' },
    { type: 'input_image', image_url: PIXEL, detail: 'low' },
    { type: 'input_image', image_url: 'https://example.com/a.png', detail: null, file_id: null },
    { type: 'input_file', file_data: PDF, filename: 'a.pdf' },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
  ]
  const input = [
    { role: 'developer', content: 'Be kind.' },
    { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
    { type: 'message', role: 'user', content },
  ]
  assert.deepEqual(JSON.parse(JSON.stringify(messagesOf(input))), [
    { role: 'developer', content: 'Be kind.' },
    { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: PIXEL, detail: 'low' } },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        { type: 'file', file: { file_data: PDF, filename: 'a.pdf' } },
        { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      ],
    },
  ])
})

const call = (id: string, name = 'look_up') => ({ type: 'function_call', call_id: id, name, arguments: '{}' })
const said = (text: string) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
const result = (id: string, output: unknown = 'found') => ({ type: 'function_call_output', call_id: id, output })
const toolCall = (id: string) => ({ id, type: 'function', function: { name: 'look_up', arguments: '{}' } })

test('thoughts, words and calls that follow each other are one message of the assistant, and results are of tools', () => {
  const input = [
    { role: 'user', content: 'Where?' },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Let me ' }], encrypted_content: null },
    said('I look.'),
    call('a'),
    call('b'),
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'see.' }], encrypted_content: 'anthropic.x' },
    result('a'),
    result('b', [{ type: 'input_text', text: 'nothing' }]),
    call('c'),
    result('c'),
  ]
  assert.deepEqual(messagesOf(input), [
    { role: 'user', content: 'Where?' },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [toolCall('a'), toolCall('b')],
      reasoning_content: 'Let me see.',
      reasoning_signature: 'anthropic.x',
    },
    { role: 'tool', tool_call_id: 'a', content: 'found' },
    { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'nothing' }] },
    { role: 'assistant', content: null, tool_calls: [toolCall('c')] },
    { role: 'tool', tool_call_id: 'c', content: 'found' },
  ])
})

test('two answers side by side stay two, a refusal stays one, and thoughts that led to nothing are left out', () => {
  const input = [
    { role: 'assistant', content: 'One.' },
    { role: 'assistant', content: 'Two.' },
    { role: 'user', content: 'Go on.' },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    { role: 'user', content: 'Please.' },
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
    { role: 'user', content: 'Well?' },
  ]
  assert.deepEqual(messagesOf(input), [
    { role: 'assistant', content: 'One.' },
    { role: 'assistant', content: 'Two.' },
    { role: 'user', content: 'Go on.' },
    { role: 'assistant', content: null, refusal: 'No.' },
    { role: 'user', content: 'Please.' },
    { role: 'user', content: 'Well?' },
  ])
  const alone = [{ type: 'reasoning', summary: [] }]
  assertRefused({ model: 'm', input: alone }, 422, 'input', 'input must have at least one message or function call.')
})

test('the words of an answer that came in several items are one text, as a conversation keeps it', () => {
  const input = [said('Let me '), call('a'), said('look.'), result('a')]
  assert.deepEqual(messagesOf(input)[0], { role: 'assistant', content: 'Let me look.', tool_calls: [toolCall('a')] })
})

test('fields become those of a chat, under their names there', () => {
  const schema = { type: 'object', properties: {} }
  const chat = chatOf({
    stream: true,
    temperature: 0.5,
    top_p: 0.9,
    max_output_tokens: 50,
    tools: [LOOK_UP, { type: 'function', name: 'other', description: null, parameters: null, strict: null }],
    tool_choice: { type: 'function', name: 'look_up' },
    parallel_tool_calls: false,
    text: { format: { type: 'json_schema', name: 'place', schema, strict: true }, verbosity: 'low' },
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['message.output_text.logprobs'],
    top_logprobs: 3,
    prompt_cache_key: 'k',
    service_tier: 'auto',
    metadata: { a: 'b' },
    user: 'u',
    store: false,
    truncation: 'disabled',
    background: false,
  })
  assert.deepEqual(chat, {
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
    includeUsage: false,
    temperature: 0.5,
    top_p: 0.9,
    max_tokens: 50,
    tools: [
      { type: 'function', function: { name: 'look_up', parameters: { type: 'object' }, strict: true } },
      { type: 'function', function: { name: 'other' } },
    ],
    tool_choice: { type: 'function', function: { name: 'look_up' } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
    verbosity: 'low',
    reasoning_effort: 'high',
    logprobs: true,
    top_logprobs: 3,
    prompt_cache_key: 'k',
  })
})

test('null is not given, in every field that may be left out', () => {
  const optional = [...RESPONSES_FIELDS].filter((name) => name !== 'model' && name !== 'input')
  const { chat, echo } = parse(Object.fromEntries(optional.map((name) => [name, null])))
  assert.deepEqual({ chat, echo }, { chat: parse({}).chat, echo: parse({}).echo })
  const nested = { text: { format: null, verbosity: null }, reasoning: { effort: null, summary: null } }
  assert.deepEqual(chatOf(nested), chatOf({}))
  assert.deepEqual(chatOf({ tools: [], include: [], top_logprobs: 0 }), chatOf({}))
})

test('where only some tools may be called, the model is told of no others', () => {
  const other = { ...LOOK_UP, name: 'other' }
  const allowing = (mode: string, ...names: string[]) => ({
    type: 'allowed_tools',
    mode,
    tools: names.map((name) => ({ type: 'function', name })),
  })
  const { tools, tool_choice } = chatOf({ tools: [LOOK_UP, other], tool_choice: allowing('required', 'other') })
  assert.deepEqual([tools?.map((tool) => tool.function.name), tool_choice], [['other'], 'required'])
  refused(
    { tools: [LOOK_UP], tool_choice: allowing('auto', 'look_up', 'gone') },
    'tool_choice',
    'tool_choice names a function that is not in tools.',
  )
  refused(
    { tools: [LOOK_UP], tool_choice: allowing('all', 'look_up') },
    'tool_choice.mode',
    'tool_choice.mode must be auto or required.',
  )
})

test('what needs something stored, or a tool of a provider, is refused by name with what to do instead', () => {
  const told: [object, string, string][] = [
    [
      { store: true },
      'store',
      'store must be false: answers are not stored. Send the whole conversation in input with each request.',
    ],
    [
      { previous_response_id: 'resp_1' },
      'previous_response_id',
      'previous_response_id is not supported: answers are not stored. Send the whole conversation in input.',
    ],
    [
      { conversation: 'conv_1' },
      'conversation',
      'conversation is not supported: send the whole conversation in input, and name it with the header x-conversation-id.',
    ],
    [
      { background: true },
      'background',
      'background must be false: every call is answered directly. Stream long answers.',
    ],
    [
      { prompt: { id: 'pmpt_1' } },
      'prompt',
      'prompt is not supported: Parley has no prompt templates. Send instructions and input.',
    ],
    [
      { max_tool_calls: 3 },
      'max_tool_calls',
      'max_tool_calls is not supported: it limits provider-run tools, which are not available.',
    ],
    [
      { truncation: 'auto' },
      'truncation',
      'truncation must be disabled: Parley never cuts a prompt. Shorten the input.',
    ],
    [
      { include: ['reasoning.encrypted_content', 'file_search_call.results'] },
      'include[1]',
      'include[1] must be reasoning.encrypted_content or message.output_text.logprobs: the other values belong to tools that are not available.',
    ],
    [{ service_tier: 'flex' }, 'service_tier', 'service_tier must be auto or default: other tiers are not available.'],
    [
      { input: [{ type: 'item_reference', id: 'msg_1' }] },
      'input[0]',
      'input[0] is an item_reference, but Parley stores no items to refer to: send the item itself, as SDKs do with store: false.',
    ],
    [{ top_logprobs: 2 }, 'top_logprobs', 'top_logprobs needs include: ["message.output_text.logprobs"].'],
  ]
  for (const [more, param, message] of told) refused(more, param, message)
  const hosted = ['web_search', 'file_search', 'code_interpreter', 'computer', 'mcp', 'image_generation', 'custom']
  for (const type of hosted)
    refused(
      { tools: [LOOK_UP, { type, name: 'x' }] },
      'tools[1].type',
      'tools[1].type must be "function": provider-run tools are not available.',
    )
})

test('a field that only chat has is refused with the name that it has here, or with where it can be sent', () => {
  refused(
    { max_tokens: 5 },
    'max_tokens',
    'max_tokens is not a field of this endpoint: send max_output_tokens instead.',
  )
  refused({ messages: [] }, 'messages', 'messages is not a field of this endpoint: send input instead.')
  refused({ seed: 1 }, 'seed', 'seed is not a field of this endpoint: use /v1/chat/completions, which has it.')
  for (const name of KNOWN_FIELDS)
    if (!RESPONSES_FIELDS.has(name))
      assert.throws(() => parse({ [name]: 1 }), { message: new RegExp(`^${name} is not a field of this endpoint`) })
  assert.doesNotThrow(() => parse({ seed: null, top_k: 3, prompt_cache_retention: '24h' }))
})

test('without a model or an input there is no request at all', () => {
  assertRefused({ input: 'Hi' }, 400, 'model', 'model is required.')
  assertRefused({ model: 'm' }, 400, 'input', 'input is required.')
  assertRefused({ model: 'm', input: null }, 400, 'input', 'input is required.')
  assertRefused({ model: 'm', input: 5 }, 400, 'input', 'input must be a string or an array of items.')
  assertRefused({ model: 'm', input: [] }, 400, 'input', 'input must not be empty.')
  assertRefused([], 400, undefined, 'The body must be a JSON object.')
})

test('each refusal names the field as it was sent, however deep it lies', () => {
  const input = (...items: unknown[]) => ({ input: items })
  const user = (...content: unknown[]) => input({ role: 'user', content: 'Hi' }, { role: 'user', content })
  const told: [object, string, string][] = [
    [{ max_output_tokens: 0 }, 'max_output_tokens', 'must be greater than 0'],
    [{ temperature: 3 }, 'temperature', 'must be at most 2'],
    [{ stream: 'yes' }, 'stream', 'must be true or false'],
    [{ instructions: 5 }, 'instructions', 'must be a string'],
    [{ instructions: 'a\0' }, 'instructions', 'must be well-formed text without NUL characters'],
    [{ input: 'a\0' }, 'input', 'must be well-formed text without NUL characters'],
    [
      { reasoning: { effort: 'huge' } },
      'reasoning.effort',
      'must be one of none, minimal, low, medium, high, xhigh, max',
    ],
    [{ reasoning: { summary: 'long' } }, 'reasoning.summary', 'must be one of auto, concise, detailed'],
    [{ text: { verbosity: 'huge' } }, 'text.verbosity', 'must be one of low, medium, high'],
    [{ text: { format: { type: 'xml' } } }, 'text.format.type', 'must be one of text, json_object, json_schema'],
    [{ text: { format: { type: 'json_schema', schema: {} } } }, 'text.format.name', 'is required'],
    [{ text: { format: { type: 'json_schema', name: 'a' } } }, 'text.format.schema', 'is required'],
    [
      { tools: [{ type: 'function', name: 'no spaces' }] },
      'tools[0].name',
      'must be 1 to 64 characters of A-Z a-z 0-9 _ -',
    ],
    [{ tools: ['look_up'] }, 'tools[0]', 'must be an object'],
    [
      { tool_choice: 'maybe' },
      'tool_choice',
      'must be none, auto, required, {"type":"function","name":…} or {"type":"allowed_tools","mode":…,"tools":[…]}',
    ],
    [input('Hi'), 'input[0]', 'must be an object'],
    [input({ role: 'tool', content: 'x' }), 'input[0].role', 'must be user, assistant, system or developer'],
    [
      input({ type: 'web_search_call', id: 'ws_1' }),
      'input[0].type',
      'must be message, function_call, function_call_output or reasoning: provider-run tools are not available',
    ],
    [user(), 'input[1].content', 'must not be empty'],
    [input({ role: 'user' }), 'input[0].content', 'is required'],
    [
      user({ type: 'text', text: 'a' }),
      'input[1].content[0].type',
      'must be input_text, input_image, input_file or input_audio',
    ],
    [user({ type: 'input_text', text: 5 }), 'input[1].content[0].text', 'must be a string'],
    [user({ type: 'input_image' }), 'input[1].content[0].image_url', 'is required'],
    [
      user({ type: 'input_image', image_url: PIXEL, detail: 'original' }),
      'input[1].content[0].detail',
      'must be one of auto, low, high',
    ],
    [
      user({ type: 'input_image', file_id: 'f' }),
      'input[1].content[0].file_id',
      'is not supported: send image_url, an address or a data: URL',
    ],
    [
      user({ type: 'input_file', file_url: 'https://a' }),
      'input[1].content[0].file_url',
      'is not supported: send file_data, a data: URL',
    ],
    [user({ type: 'input_file', file_data: 'AAAA' }), 'input[1].content[0].file_data', 'must be a data: URL in base64'],
    [
      user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'ogg' } }),
      'input[1].content[0].input_audio.format',
      'must be one of wav, mp3',
    ],
    [input(said('a'), { ...call('a'), name: 5 }), 'input[1].name', 'must be a string'],
    [input(said('a'), call('a'), { ...call('b'), call_id: undefined }), 'input[2].call_id', 'is required'],
    [input({ ...call('a'), arguments: {} }), 'input[0].arguments', 'must be a string'],
    [input(call('a'), { type: 'function_call_output', output: 'x' }), 'input[1].call_id', 'is required'],
    [input(call('a'), result('a', 5)), 'input[1].output', 'must be a string or an array of parts'],
    [
      input(call('a'), result('a', [{ type: 'input_image', image_url: PIXEL }])),
      'input[1].output[0].type',
      'must be input_text',
    ],
    [
      input({ role: 'assistant', content: [{ type: 'output_text', text: 'a' }, { type: 'output_text' }] }),
      'input[0].content[1].text',
      'is required',
    ],
    [
      input({ role: 'assistant', content: [{ type: 'input_image' }] }),
      'input[0].content[0].type',
      'must be output_text or refusal',
    ],
    [input({ type: 'reasoning', summary: [{ text: 5 }] }), 'input[0].summary[0].text', 'must be a string'],
    [
      input({ type: 'reasoning', summary: [], encrypted_content: 5 }, call('a')),
      'input[0].encrypted_content',
      'must be a string',
    ],
  ]
  for (const [more, param, sentence] of told) refused(more, param, `${param} ${sentence}.`)
})

test('what no route of a model honours is refused under the name that it has here', () => {
  const told = Object.fromEntries(
    ROUTE_FIELDS.map((field) => {
      const error = inResponsesWords(unsupportedField(field)) as ParleyError
      return [field, [error.options.param, error.message.replace(' is not supported by this model.', '')]]
    }),
  )
  const { images, image_urls, files, input_audio, json_schema, prefill, logprobs, response_format } = told
  assert.deepEqual(response_format, ['text.format', 'text.format'])
  assert.deepEqual(json_schema, ['text.format', 'text.format json_schema'])
  assert.deepEqual(told.reasoning_effort, ['reasoning.effort', 'reasoning.effort'])
  assert.deepEqual(told.verbosity, ['text.verbosity', 'text.verbosity'])
  assert.deepEqual(logprobs, ['include', 'message.output_text.logprobs'])
  assert.deepEqual(told.temperature, ['temperature', 'temperature'])
  assert.deepEqual(images, ['input', 'input_image'])
  assert.deepEqual(image_urls, ['input', 'input_image with an address (send the image as a data: URL)'])
  assert.deepEqual(
    [files, input_audio],
    [
      ['input', 'input_file'],
      ['input', 'input_audio'],
    ],
  )
  assert.deepEqual(prefill, ['input', 'input that ends with a message of the assistant'])
})

test('an answer says how it was asked for', () => {
  assert.deepEqual(parse({}).echo, {
    access_programs: null,
    background: false,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: {},
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: false,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: null,
    truncation: 'disabled',
  })
  const asked = {
    instructions: 'Be brief.',
    tools: [LOOK_UP],
    tool_choice: 'required',
    metadata: { a: 'b', odd: 5 },
    user: 'u',
    text: { verbosity: 'low' },
  }
  const told = { ...asked, metadata: { a: 'b' }, text: { format: { type: 'text' }, verbosity: 'low' } }
  assert.deepEqual(parse(asked).echo, { ...parse({}).echo, ...told })
})

test('an answer has nothing of its request that is long and not paid for', () => {
  const long = 'x'.repeat(513)
  const tool = { type: 'function', name: 'look_up', parameters: {}, strict: true }
  const other = { ...tool, name: 'other', description: long }
  const names = [{ type: 'function', name: 'look_up', note: long }]
  const { echo } = parse({
    user: long,
    safety_identifier: long,
    tools: [{ ...tool, note: long }, other],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: names, note: long },
  })
  assert.deepEqual(echo, {
    ...parse({}).echo,
    tools: [tool],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look_up' }] },
  })
  const short = { user: 'x'.repeat(512), safety_identifier: 'ada' }
  assert.deepEqual(parse(short).echo, { ...parse({}).echo, ...short })
})
