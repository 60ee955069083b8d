import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChatRequest, type ChatRequest } from '../../rules/calls/chat-request.ts'
import * as gemini from './gemini-request.ts'
import { UpstreamError } from '../provider.ts'

const MODEL = 'gemini-2.0-flash'
const HI = [{ role: 'user', content: 'Hi' }]

function requestOf(fields: Record<string, unknown>): ChatRequest {
  return parseChatRequest({ model: 'public', messages: HI, ...fields })
}

const { requestBodyOf } = gemini

function cannotHonour(request: ChatRequest, upstreamModel: string, readsAudio = false) {
  return gemini.cannotHonour(request, upstreamModel, { readsAudio })
}

/** As it is sent. */
function bodyOf(fields: Record<string, unknown>, upstreamModel = 'gemini-2.5-flash', hasCallIds = true) {
  const body = requestBodyOf(requestOf(fields), { upstreamModel, hasCallIds })
  return JSON.parse(JSON.stringify(body)) as Record<string, unknown>
}

function contentsOf(messages: unknown[], upstreamModel?: string, hasCallIds?: boolean): unknown {
  return bodyOf({ messages }, upstreamModel, hasCallIds).contents
}

function configOf(fields: Record<string, unknown>): unknown {
  return bodyOf(fields).generationConfig
}

test('a plain question is one turn of the user, and neither model nor stream are in the body', () => {
  assert.deepEqual(bodyOf({ stream: true }), {
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
  })
})

test('system messages become the system instruction, wherever they stand', () => {
  const body = bodyOf({
    messages: [
      { role: 'system', content: 'Be brief.' },
      ...HI,
      { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
    ],
  })
  assert.deepEqual(body.systemInstruction, { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] })
  assert.deepEqual(body.contents, [{ role: 'user', parts: [{ text: 'Hi' }] }])
})

test('a system message alone is said as the user, because an instruction alone is refused', () => {
  const body = bodyOf({ messages: [{ role: 'system', content: 'Say hello.' }] })
  assert.deepEqual(body.contents, [{ role: 'user', parts: [{ text: 'Say hello.' }] }])
  assert.equal(body.systemInstruction, undefined)
})

test('turns of the same speaker become one, and empty texts none', () => {
  assert.deepEqual(
    contentsOf([
      { role: 'user', content: 'one' },
      { role: 'user', content: [{ type: 'text', text: 'two' }] },
      { role: 'assistant', content: 'three' },
      { role: 'assistant', content: '', refusal: 'four' },
      { role: 'user', content: 'five' },
      { role: 'user', content: '' },
    ]),
    [
      { role: 'user', parts: [{ text: 'one' }, { text: 'two' }] },
      { role: 'model', parts: [{ text: 'three' }, { text: 'four' }] },
      { role: 'user', parts: [{ text: 'five' }] },
    ],
  )
})

function imageOf(url: string, detail?: string): unknown {
  return [{ role: 'user', content: [{ type: 'image_url', image_url: { url, detail } }] }]
}

function partSentFor(url: string): unknown {
  const [content] = bodyOf({ messages: imageOf(url) }).contents as { parts: unknown[] }[]
  return content?.parts[0]
}

test('an image in the request is sent inline, one at a public address by its address', () => {
  for (const [url, mimeType, data] of [
    ['data:image/png;base64,iVBORw0KGgo=', 'image/png', 'iVBORw0KGgo='],
    ['DATA:image/JPEG;name=a.jpg;BASE64,/9j/4A==', 'image/jpeg', '/9j/4A=='],
  ] as const) {
    assert.deepEqual(partSentFor(url), { inlineData: { mimeType, data } })
  }
  for (const [url, mimeType] of [
    ['https://cdn.example.com/a.png?size=2', 'image/png'],
    ['https://cdn.example.com/a.WEBP', 'image/webp'],
    ['https://cdn.example.com/a.jpg', 'image/jpeg'],
    ['https://cdn.example.com/a', 'image/jpeg'],
    // Said to be an image, so that it is not read as a document of a million tokens.
    ['https://cdn.example.com/a.pdf', 'image/jpeg'],
  ] as const) {
    assert.deepEqual(partSentFor(url), { fileData: { mimeType, fileUri: url } })
  }
})

test('a PDF and a text file are sent inline, and no other file', () => {
  const fileOf = (file_data: string) => [{ role: 'user', content: [{ type: 'file', file: { file_data } }] }]
  for (const mimeType of ['application/pdf', 'text/plain']) {
    const messages = fileOf(`data:${mimeType};base64,JVBERi0=`)
    assert.equal(cannotHonour(requestOf({ messages }), MODEL), undefined)
    assert.deepEqual(contentsOf(messages), [{ role: 'user', parts: [{ inlineData: { mimeType, data: 'JVBERi0=' } }] }])
  }
  assert.equal(cannotHonour(requestOf({ messages: fileOf('data:video/mp4;base64,AAAA') }), MODEL), 'files')
})

test('sound is sent only where the operator says that models read it', () => {
  const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
  const messages = [{ role: 'user', content: [sound] }]
  assert.equal(cannotHonour(requestOf({ messages }), MODEL), 'input_audio')
  assert.equal(cannotHonour(requestOf({ messages }), MODEL, true), undefined)
  const parts = [{ inlineData: { mimeType: 'audio/wav', data: 'AAAA' } }]
  assert.deepEqual(contentsOf(messages), [{ role: 'user', parts }])
})

test("no image is what is not base64, not at a public https address, a film, or one of the operator's own files", () => {
  for (const url of [
    'data:image/svg+xml,%3Csvg/%3E',
    'data:application/pdf;base64,JVBERi0=',
    'data:,',
    'http://cdn.example.com/a.png',
    'gs://bucket/a.png',
    'file:///etc/passwd',
    'a.png',
    '',
    'https://generativelanguage.googleapis.com/v1beta/files/abc',
    'https://GENERATIVELANGUAGE.googleapis.com/v1beta/files/abc',
    'https://www.youtube.com/watch?v=abc',
    'https://youtu.be/abc',
  ]) {
    const request = requestOf({ messages: imageOf(url) })
    assert.equal(cannotHonour(request, MODEL), 'images', url)
    const refused = (error: unknown) => error instanceof UpstreamError && error.kind === 'rejected'
    assert.throws(() => requestBodyOf(request, { upstreamModel: 'm', hasCallIds: true }), refused, url)
  }
  assert.equal(cannotHonour(requestOf({ messages: imageOf('https://notyoutu.be/a.png') }), MODEL), undefined)
})

test('the detail of images is the resolution of all media: the finest that one of them asks for', () => {
  const url = 'https://cdn.example.com/a.png'
  assert.equal(configOf({ messages: imageOf(url) }), undefined)
  assert.equal(configOf({ messages: imageOf(url, 'auto') }), undefined)
  assert.deepEqual(configOf({ messages: imageOf(url, 'low') }), { mediaResolution: 'MEDIA_RESOLUTION_LOW' })
  const mixed = [imageOf(url, 'low'), imageOf(url, 'high')].flat()
  assert.deepEqual(configOf({ messages: mixed }), { mediaResolution: 'MEDIA_RESOLUTION_HIGH' })
})

function call(id: string, name: string, args: string): unknown {
  return { id, type: 'function', function: { name, arguments: args } }
}

const CALLS = [
  ...HI,
  { role: 'assistant', content: null, tool_calls: [call('a', 'look_up', '{"q":"x"}'), call('b', 'now', '')] },
  { role: 'tool', tool_call_id: 'a', content: '{"id":12345678901234567890}' },
  { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'noon' }] },
  { role: 'user', content: 'Thanks' },
]

test('calls and their results keep ids, names and order, and results stand alone', () => {
  assert.deepEqual(contentsOf(CALLS), [
    { role: 'user', parts: [{ text: 'Hi' }] },
    {
      role: 'model',
      parts: [
        { functionCall: { id: 'a', name: 'look_up', args: { q: 'x' } } },
        { functionCall: { id: 'b', name: 'now', args: {} } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'a', name: 'look_up', response: { result: '{"id":12345678901234567890}' } } },
        { functionResponse: { id: 'b', name: 'now', response: { result: 'noon' } } },
      ],
    },
    { role: 'user', parts: [{ text: 'Thanks' }] },
  ])
})

test('where function calls have no ids, none are sent', () => {
  assert.ok(!JSON.stringify(contentsOf(CALLS, 'gemini-2.5-flash', false)).includes('"id":"'))
})

test('a result finds the latest call of its id, and one without a call is left for the provider to refuse', () => {
  const again = [
    ...CALLS,
    { role: 'assistant', tool_calls: [call('a', 'other', '{}')] },
    { role: 'tool', tool_call_id: 'a', content: '' },
    { role: 'tool', tool_call_id: 'lost', content: '' },
  ]
  const last = (contentsOf(again) as { parts: { functionResponse: { name: string } }[] }[]).at(-1)
  assert.deepEqual(
    last?.parts.map((part) => part.functionResponse.name),
    ['other', 'lost'],
  )
})

test('results stand right after their calls and in their order, whatever the user says meanwhile', () => {
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: `of ${id}` })
  const asked = { role: 'assistant', tool_calls: [call('a', 'f', '{}'), call('b', 'f', '{}')] }
  const contents = contentsOf([...HI, asked, result('b'), ...HI, result('a')], 'gemini-2.5-flash', false)
  const response = (text: string) => ({ functionResponse: { name: 'f', response: { result: text } } })
  assert.deepEqual((contents as unknown[]).slice(2), [
    { role: 'user', parts: [response('of a'), response('of b')] },
    { role: 'user', parts: [{ text: 'Hi' }] },
  ])
})

test('where nothing is said at all, nothing is sent', () => {
  const nothing = { messages: [{ role: 'user', content: '' }] }
  assert.throws(() => bodyOf(nothing), { kind: 'rejected' })
})

test('JSON beside functions is for newer models, and an answer to go on from for older ones, also before instructions', () => {
  const json = requestOf({ tools: [tool()], response_format: { type: 'json_object' } })
  assert.equal(cannotHonour(json, 'gemini-2.5-flash'), 'response_format')
  assert.equal(cannotHonour(json, 'gemini-3-flash-preview'), undefined)
  const answer = { role: 'assistant', content: 'Hello' }
  const prefilled = requestOf({ messages: [...HI, answer, { role: 'system', content: 'Rhyme.' }] })
  assert.equal(cannotHonour(prefilled, 'gemini-2.5-flash'), undefined)
  assert.equal(cannotHonour(prefilled, 'gemini-3-flash-preview'), 'prefill')
})

test('a model that cannot think is not told to stop thinking', () => {
  assert.equal(bodyOf({ reasoning_effort: 'none' }, 'gemini-2.0-flash').generationConfig, undefined)
})

test('arguments that are no object are handed back inside of one', () => {
  for (const text of ['{"city":"Zür', '[1]', 'null', '5']) {
    const contents = contentsOf([...HI, { role: 'assistant', tool_calls: [call('a', 'f', text)] }])
    const { parts } = (contents as { parts: { functionCall: { args: unknown } }[] }[])[1] ?? assert.fail()
    assert.deepEqual(parts[0]?.functionCall.args, { arguments: text })
  }
})

test('a model that demands signatures gets the word for a lost one, at the first call of each turn', () => {
  const again = [...CALLS, { role: 'assistant', tool_calls: [call('c', 'f', '{}')] }]
  const signedBy = (model: string) =>
    (contentsOf(again, model) as { parts: { thoughtSignature?: string }[] }[])
      .flatMap(({ parts }) => parts)
      .map(({ thoughtSignature }) => thoughtSignature)
  const lost = 'skip_thought_signature_validator'
  const none = undefined
  for (const model of [
    'gemini-3-pro-preview',
    'gemini-3.5-flash',
    'gemini-flash-latest',
    'publishers/google/models/gemini-4-argon',
  ]) {
    assert.deepEqual(signedBy(model), [none, lost, none, none, none, none, lost], model)
  }
  for (const model of ['gemini-2.5-pro', 'gemini-2.0-flash', 'gemini-1.5-pro', 'gemma-3-27b-it', 'sim']) {
    assert.deepEqual(signedBy(model), Array(7).fill(none), model)
  }
})

const PARAMETERS = { type: 'object', properties: { q: { const: 'x' } }, additionalProperties: false }

function tool(more: Record<string, unknown> = {}): unknown {
  return { type: 'function', function: { name: 'look_up', ...more } }
}

test('tools are declared with their JSON schema, without the word that they do not know, and with none if it is empty', () => {
  const tools = [tool({ description: 'Finds', parameters: PARAMETERS }), tool(), tool({ parameters: {} })]
  assert.deepEqual(bodyOf({ tools }).tools, [
    {
      functionDeclarations: [
        {
          name: 'look_up',
          description: 'Finds',
          parametersJsonSchema: { ...PARAMETERS, properties: { q: { enum: ['x'] } } },
        },
        { name: 'look_up' },
        { name: 'look_up' },
      ],
    },
  ])
})

test('the choice of a tool becomes a mode, and strict tools keep to their schemas', () => {
  const modeOf = (choice: unknown, strict?: boolean) => {
    const { toolConfig } = bodyOf({ tools: [tool({ strict })], tool_choice: choice })
    return (toolConfig as { functionCallingConfig: unknown }).functionCallingConfig
  }
  assert.deepEqual(modeOf(undefined), { mode: 'AUTO' })
  assert.deepEqual(modeOf('auto', false), { mode: 'AUTO' })
  assert.deepEqual(modeOf('auto', true), { mode: 'VALIDATED' })
  assert.deepEqual(modeOf('none', true), { mode: 'NONE' })
  assert.deepEqual(modeOf('required', true), { mode: 'ANY' })
  assert.deepEqual(modeOf({ type: 'function', function: { name: 'look_up' } }), {
    mode: 'ANY',
    allowedFunctionNames: ['look_up'],
  })
})

test('a choice without tools is nothing if it asks for nothing, and impossible if it demands a call', () => {
  for (const choice of ['none', 'auto']) {
    assert.equal(cannotHonour(requestOf({ tool_choice: choice }), MODEL), undefined)
    assert.equal(bodyOf({ tool_choice: choice }).toolConfig, undefined)
  }
  assert.equal(cannotHonour(requestOf({ tool_choice: 'required' }), MODEL), 'tool_choice')
  const named = { type: 'function', function: { name: 'f' } }
  assert.equal(cannotHonour(requestOf({ tool_choice: named }), MODEL), 'tool_choice')
})

test('each number of the request has its place', () => {
  const fields = { temperature: 0, top_p: 0.5, seed: -7, presence_penalty: -1, frequency_penalty: 0.25 }
  assert.deepEqual(configOf({ ...fields, max_completion_tokens: 9, stop: 'END' }), {
    temperature: 0,
    topP: 0.5,
    seed: -7,
    presencePenalty: -1,
    frequencyPenalty: 0.25,
    maxOutputTokens: 9,
    stopSequences: ['END'],
  })
  assert.deepEqual(configOf({ stop: ['a', 'b', 'c', 'd'] }), { stopSequences: ['a', 'b', 'c', 'd'] })
})

test('JSON is asked for by media type, and a schema is sent without the word that they do not know', () => {
  assert.equal(configOf({ response_format: { type: 'text' } }), undefined)
  assert.deepEqual(configOf({ response_format: { type: 'json_object' } }), { responseMimeType: 'application/json' })
  const schema = {
    type: 'object',
    // A property may have any name, also that of a keyword.
    properties: { const: { type: 'string', const: 'x' }, list: { items: { anyOf: [{ const: 1 }, { type: 'null' }] } } },
    $defs: { one: { const: 1 } },
    required: ['const'],
    enum: [{ const: 'kept' }],
  }
  const format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } }
  assert.deepEqual(configOf({ response_format: format }), {
    responseMimeType: 'application/json',
    responseJsonSchema: {
      type: 'object',
      properties: {
        const: { type: 'string', enum: ['x'] },
        list: { items: { anyOf: [{ enum: [1] }, { type: 'null' }] } },
      },
      $defs: { one: { enum: [1] } },
      required: ['const'],
      enum: [{ const: 'kept' }],
    },
  })
})

test('what has no place is refused and not dropped', () => {
  assert.equal(cannotHonour(requestOf({ logit_bias: { 50256: -100 } }), MODEL), 'logit_bias')
  assert.equal(cannotHonour(requestOf({ logit_bias: {} }), MODEL), undefined, 'an empty bias asks for nothing')
  assert.equal(cannotHonour(requestOf({ seed: 2 ** 31 }), MODEL), 'seed')
  assert.equal(cannotHonour(requestOf({ seed: 2 ** 31 - 1 }), MODEL), undefined)
})
