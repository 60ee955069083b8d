import { signatureOf } from '../../src/providers/reasoning-signature.ts'
import { REASONING_EFFORTS } from '../../src/rules/calls/chat-request.ts'

/** Chat requests in the words of callers. Each goes to every target, or is refused by it: see refusals.ts. */

export type Fields = Record<string, unknown>

const HI = user('Hi')
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PNG = `data:image/png;base64,${PIXEL}`
const PDF = 'data:application/pdf;base64,JVBERi0xLjQK'
const LONG = 'The quick brown fox jumps over the lazy dog. '.repeat(400)

function user(content: unknown) {
  return { role: 'user', content }
}

function system(content: unknown) {
  return { role: 'system', content }
}

function assistant(content: unknown, more: Fields = {}) {
  return { role: 'assistant', content, ...more }
}

function text(words: string, more: Fields = {}) {
  return { type: 'text', text: words, ...more }
}

function image(url: string, more: Fields = {}) {
  return { type: 'image_url', image_url: { url, ...more } }
}

function file(file_data: string, more: Fields = {}) {
  return { type: 'file', file: { file_data, ...more } }
}

function tool(name: string, parameters?: Fields, more: Fields = {}) {
  return { type: 'function', function: { name, description: `Tells the ${name}.`, parameters, ...more } }
}

function call(id: string, written = '{"city":"Oslo"}', name = 'weather') {
  return { id, type: 'function', function: { name, arguments: written } }
}

function result(tool_call_id: string, content: unknown = 'Rain.') {
  return { role: 'tool', tool_call_id, content }
}

const CITY = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const WEATHER = tool('weather', CITY)
const TIME = tool('time', CITY)

/** Allowed by OpenAI's own rules for strict schemas; other providers refuse parts of it. */
const STRICT = {
  type: 'object',
  properties: {
    kind: { const: 'person' },
    age: { type: 'integer', minimum: 0, maximum: 150, description: 'In years.' },
    name: { type: 'string', minLength: 1, maxLength: 80, pattern: '^[A-Z]' },
    tags: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 5 },
    // A property with the name of a keyword is none.
    minimum: { type: 'number', exclusiveMinimum: 0, multipleOf: 0.5 },
    address: { $ref: '#/$defs/address' },
    either: { anyOf: [{ type: 'null' }, { type: 'integer', maximum: 9 }] },
  },
  required: ['kind', 'age', 'name', 'tags', 'minimum', 'address', 'either'],
  additionalProperties: false,
  $defs: {
    address: {
      type: 'object',
      properties: { country: { const: 'NO' }, zip: { type: 'string', maxLength: 5 } },
      required: ['country', 'zip'],
      additionalProperties: false,
    },
  },
}

function jsonSchema(schema: Fields, more: Fields = {}) {
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, ...more } } }
}

const THOUGHT = 'The user wants the weather.'
const SIGNATURES = {
  anthropic: signatureOf('anthropic', [{ characters: THOUGHT.length, signature: 'c2lnbmVk' }]),
  encrypted: signatureOf('anthropic', [
    { characters: THOUGHT.length, signature: 'c2lnbmVk' },
    { redacted: 'ZW5jcnlwdGVk' },
  ]),
  bedrock: signatureOf('bedrock', [{ characters: THOUGHT.length, signature: 'c2lnbmVk' }]),
  gemini: signatureOf('gemini', { 0: 'c2lnbmVk', text: 'dGV4dA==' }),
}

function toolLoop(thoughts: Fields = {}, content: unknown = null) {
  const calls = { tool_calls: [call('call_1'), call('call_2', '{"city":"Rome"}')] }
  const messages = [user('Weather?'), assistant(content, { ...calls, ...thoughts }), result('call_1'), result('call_2')]
  return { tools: [WEATHER], messages }
}

/** As `ChatCompletionMessage.model_dump()` of OpenAI's Python package gives it. */
const DUMPED = { refusal: null, annotations: [], audio: null, function_call: null, tool_calls: null }

const PLAIN: Record<string, Fields> = {
  'a question': {},
  'a maximum of one token': { max_tokens: 1 },
  'a maximum by its newer name': { max_completion_tokens: 500 },
  'a stream with usage': { stream: true, stream_options: { include_usage: true } },
  'system text only': { messages: [system('Greet me.')] },
  'developer text only': { messages: [{ role: 'developer', content: 'Greet me.' }] },
  'several system texts': {
    messages: [system('Be brief.'), system([text('Be kind.'), text(' ')]), HI, system('Rhyme.')],
  },
  'the role developer': { messages: [{ role: 'developer', content: 'Be brief.' }, HI] },
  'a system text at the end': { messages: [HI, assistant('Hello. '), user('Go on.'), system('Rhyme.')] },
  'a system text after an answer': { messages: [HI, assistant('Hello.'), system('Say it again in rhymes.')] },
  'several messages of one side': {
    messages: [user('One'), user([text('Two')]), assistant('Three'), assistant('Four'), HI],
  },
  'an answer first': { messages: [assistant('Welcome!'), HI] },
  'whitespace in between': { messages: [HI, assistant(' \n'), user([text(''), text('  '), text('Well?')])] },
  'whitespace at the end': { messages: [HI, assistant('Hello.'), user('  ')] },
  'nothing at the end': { messages: [HI, assistant('Hello.'), user('')] },
  'whitespace only': { messages: [user(' \n ')] },
  'nothing at all': { messages: [user('')] },
  'a refusal in history': { messages: [HI, assistant(null, { refusal: 'I cannot.' }), user('Why?')] },
  'a message as Python dumps it': { messages: [HI, assistant('Hello.', DUMPED), user('Go on.')] },
  'calls as Python dumps them': {
    tools: [WEATHER],
    messages: [HI, assistant(null, { ...DUMPED, tool_calls: [call('call_1')] }), result('call_1')],
  },
  prefill: { messages: [HI, assistant('Hello, my ')] },
  'prefill with its thoughts': { messages: [HI, assistant('Hello', { reasoning_content: THOUGHT })] },
  'null fields': {
    stop: null,
    seed: null,
    tools: null,
    tool_choice: null,
    response_format: null,
    logit_bias: null,
    n: null,
    user: null,
    reasoning_effort: null,
    max_completion_tokens: null,
    stream_options: null,
  },
  'values that change nothing': {
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    logit_bias: {},
    stop: '',
    response_format: { type: 'text' },
    tool_choice: 'auto',
    parallel_tool_calls: true,
    verbosity: 'medium',
    logprobs: false,
    n: 1,
    service_tier: 'auto',
    modalities: ['text'],
    store: false,
  },
  'choices without tools': { tool_choice: 'none', parallel_tool_calls: false },
  'a long conversation': {
    tools: [WEATHER],
    messages: [system(LONG), user(LONG), assistant('Yes.'), user('And now?'), assistant('Still.'), user('Thanks.')],
  },
}

const SAMPLING: Record<string, Fields> = {
  'temperature 0': { temperature: 0 },
  'temperature 1.5': { temperature: 1.5 },
  top_p: { top_p: 0.5 },
  'temperature and top_p': { temperature: 0.3, top_p: 0.9 },
  'a stop': { stop: 'END' },
  'stops with empty ones': { stop: ['', 'END', ''] },
  'empty stops only': { stop: ['', ''] },
  'a stop of whitespace': { stop: ['\n\n'] },
  'a seed': { seed: 42 },
  'a large seed': { seed: 2 ** 40 },
  presence_penalty: { presence_penalty: 0.5 },
  frequency_penalty: { frequency_penalty: -0.5 },
  logit_bias: { logit_bias: { 50256: -100 } },
  logprobs: { logprobs: true, top_logprobs: 3 },
  verbosity: { verbosity: 'low' },
  prediction: { prediction: { type: 'content', content: 'Hello, world' } },
}

const FORMATS: Record<string, Fields> = {
  'any JSON': { response_format: { type: 'json_object' } },
  'any JSON beside tools': { response_format: { type: 'json_object' }, tools: [WEATHER] },
  'a JSON schema': jsonSchema(STRICT, { strict: true }),
  'a JSON schema with nulls beside it': jsonSchema(CITY, { strict: null, description: null }),
  'an open JSON schema': jsonSchema({ type: 'object', properties: { city: { type: 'string' } } }),
  'a JSON schema beside tools': { ...jsonSchema(CITY), tools: [WEATHER] },
}

const MEDIA: Record<string, Fields> = {
  'an image': { messages: [user([text('What is it?'), image(PNG)])] },
  'an image with detail': { messages: [user([image(PNG, { detail: 'high' }), text('What is it?')])] },
  'an image/jpg': { messages: [user([image(`data:image/jpg;base64,${PIXEL}`)])] },
  'an image by address': { messages: [user([text('What is it?'), image('https://example.com/a.png')])] },
  'a bitmap': { messages: [user([image(`data:image/bmp;base64,${PIXEL}`)])] },
  'a PDF': { messages: [user([file(PDF, { filename: 'report.pdf' }), text('Sum it up.')])] },
  'a PDF without a name': { messages: [user([file(PDF), text('Sum it up.')])] },
  'a PDF with an empty name': { messages: [user([file(PDF, { filename: '' }), text('Sum it up.')])] },
  'a PDF and nothing else': { messages: [user([file(PDF, { filename: 'Übersicht (1).v2.pdf' })])] },
  'a text file': { messages: [user([file('data:text/plain;base64,SGk=', { filename: 'a.txt' }), text('Read.')])] },
  'a sound': {
    messages: [user([text('Listen.'), { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }])],
  },
}

const CALLS: Record<string, Fields> = {
  'a tool': { tools: [WEATHER] },
  'a tool without parameters': { tools: [tool('now')] },
  'a tool with empty parameters': { tools: [tool('now', {})] },
  'a tool without a type': { tools: [tool('weather', { properties: { city: { type: 'string' } } })] },
  'a strict tool': { tools: [tool('person', STRICT, { strict: true })] },
  'a strict tool without parameters': { tools: [tool('now', undefined, { strict: true })] },
  'a tool with bounds': { tools: [tool('person', STRICT, { strict: null })] },
  'several tools': { tools: [WEATHER, TIME], tool_choice: 'auto', parallel_tool_calls: true },
  'one tool after the other': { tools: [WEATHER, TIME], parallel_tool_calls: false },
  'some tool': { tools: [WEATHER, TIME], tool_choice: 'required' },
  'a certain tool': { tools: [WEATHER, TIME], tool_choice: { type: 'function', function: { name: 'time' } } },
  'no tool': { tools: [WEATHER], tool_choice: 'none' },
  'some tool of none': { tool_choice: 'required' },
  'results of tools': toolLoop(),
  'results of tools and a question': { ...toolLoop(), messages: [...toolLoop().messages, user('So?')] },
  'results in another order': { ...toolLoop(), messages: [0, 1, 3, 2].map((at) => toolLoop().messages[at]) },
  'results with words in between': {
    tools: [WEATHER],
    messages: [...toolLoop().messages.slice(0, 3), user('Hurry!'), ...toolLoop().messages.slice(3)],
  },
  'results and no tools': { messages: toolLoop().messages },
  'results and no tool': { ...toolLoop(), tool_choice: 'none' },
  'calls beside words': toolLoop({}, 'Let me look. '),
  'calls without content': {
    tools: [WEATHER],
    messages: [HI, { role: 'assistant', tool_calls: [call('call_1')] }, result('call_1', [text('Rain')])],
  },
  'an empty result': { tools: [WEATHER], messages: [HI, assistant('', { tool_calls: [call('c')] }), result('c', '')] },
  'empty arguments': {
    tools: [WEATHER],
    messages: [HI, assistant(null, { tool_calls: [call('c', '')] }), result('c')],
  },
  'broken arguments': {
    tools: [WEATHER],
    messages: [HI, assistant(null, { tool_calls: [call('c', '{"a')] }), result('c')],
  },
  'foreign tool ids': {
    tools: [WEATHER],
    messages: [
      HI,
      assistant(null, { tool_calls: [call('functions.weather:0'), call(`call|${'x'.repeat(90)}`)] }),
      result('functions.weather:0'),
      result(`call|${'x'.repeat(90)}`),
    ],
  },
  'ids that differ in a sign': {
    tools: [WEATHER],
    messages: [HI, assistant(null, { tool_calls: [call('a.1'), call('a:1')] }), result('a.1'), result('a:1')],
  },
}

const THOUGHTS: Record<string, Fields> = {
  ...Object.fromEntries(REASONING_EFFORTS.map((effort) => [`effort ${effort}`, { reasoning_effort: effort }])),
  'effort in a small maximum': { reasoning_effort: 'high', max_tokens: 2_000 },
  'effort in a tiny maximum': { reasoning_effort: 'high', max_tokens: 10 },
  'effort and temperature': { reasoning_effort: 'low', temperature: 0.5 },
  'effort and values that change nothing': { reasoning_effort: 'low', temperature: 1, top_p: 1 },
  'effort and some tool': { reasoning_effort: 'low', tools: [WEATHER], tool_choice: 'required' },
  'effort and prefill': { reasoning_effort: 'low', messages: [HI, assistant('Hello')] },
  'effort and a JSON schema': { reasoning_effort: 'low', ...jsonSchema(CITY) },
  'effort and lost thoughts': { reasoning_effort: 'low', ...toolLoop() },
  'thoughts without a signature': { reasoning_effort: 'low', ...toolLoop({ reasoning_content: THOUGHT }) },
  'thoughts that are not wanted': toolLoop({ reasoning_content: THOUGHT, reasoning_signature: SIGNATURES.anthropic }),
  'old thoughts': {
    messages: [
      HI,
      assistant('Hello.', { reasoning_content: THOUGHT, reasoning_signature: SIGNATURES.gemini }),
      user('And?'),
    ],
  },
  ...Object.fromEntries(
    Object.entries(SIGNATURES).map(([name, reasoning_signature]) => [
      `thoughts signed: ${name}`,
      { reasoning_effort: 'low', ...toolLoop({ reasoning_content: THOUGHT, reasoning_signature }, 'Let me look.') },
    ]),
  ),
}

const MARK = { cache_control: { type: 'ephemeral' } }
const MARKS: Record<string, Fields> = {
  cache_control: {
    messages: [system([text('Be brief.', MARK)]), user([text('Hi', MARK), { ...image(PNG), ...MARK }])],
  },
  'cache_control for an hour': {
    messages: [system([text(LONG, { cache_control: { type: 'ephemeral', ttl: '5m' } })]), HI],
  },
  'cache_control on what says nothing': { messages: [user([text('Hi'), text(' ', MARK)])] },
  'cache_control null': { messages: [user([text('Hi', { cache_control: null })])] },
  prompt_cache_key: { prompt_cache_key: 'mine' },
}

export const REQUESTS: Readonly<Record<string, Fields>> = {
  ...PLAIN,
  ...SAMPLING,
  ...FORMATS,
  ...MEDIA,
  ...CALLS,
  ...THOUGHTS,
  ...MARKS,
}
