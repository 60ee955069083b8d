import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { ask, eventsIn } from './probe.ts'
import type { Question, Seen } from './probe.ts'
import { createSimulator } from './server.ts'
import type { Simulator } from './server.ts'

let simulator: Simulator
before(async () => {
  simulator = await createSimulator()
})
after(() => simulator.close())
beforeEach(() => simulator.reset())

const KEY = { 'x-goog-api-key': 'test' }
const QUESTION = 'What is the capital of France?'
const PROMPT_TOKENS = 3 + 4 + encode(QUESTION).length

type Body = Record<string, unknown>

function user(text: string): Body {
  return { role: 'user', parts: [{ text }] }
}

function pathOf(model: string, method: string): string {
  return `/v1beta/models/${encodeURIComponent(model)}:${method}`
}

function streamed(model: string, body: Body = {}, more: Question = {}): Promise<Seen> {
  const path = pathOf(model, 'streamGenerateContent?alt=sse')
  return ask(simulator.url, { path, headers: KEY, ...more, body: { contents: [user(QUESTION)], ...body } })
}

function asked(model: string, body: Body = {}, more: Question = {}): Promise<Seen> {
  const path = pathOf(model, 'generateContent')
  return ask(simulator.url, { path, headers: KEY, ...more, body: { contents: [user(QUESTION)], ...body } })
}

interface Response {
  candidates: { content: { parts: Body[]; role: string }; finishReason?: string; index: number }[]
  usageMetadata?: Body
  responseId: string
}

function responsesIn(seen: Seen): Response[] {
  return eventsIn(seen.text).map((data): Response => JSON.parse(data))
}

function textIn(responses: Response[]): string {
  return responses
    .flatMap((response) => response.candidates[0]?.content.parts ?? [])
    .map((part) => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}

test('a stream carries the text token by token, counts as it goes, and ends with a reason and no marker', async () => {
  const seen = await streamed('sim?tokens=5')
  assert.equal(seen.headers['content-type'], 'text/event-stream; charset=utf-8')
  const responses = responsesIn(seen)
  assert.equal(responses.length, 6)
  assert.equal(encode(textIn(responses)).length, 5)
  assert.deepEqual(
    responses.map((response) => response.candidates[0]?.finishReason),
    [undefined, undefined, undefined, undefined, undefined, 'STOP'],
  )
  assert.deepEqual(
    responses.map((response) => response.usageMetadata?.candidatesTokenCount),
    [1, 2, 3, 4, 5, 5],
  )
  assert.deepEqual(responses.at(-1)?.usageMetadata, {
    promptTokenCount: PROMPT_TOKENS,
    candidatesTokenCount: 5,
    totalTokenCount: PROMPT_TOKENS + 5,
  })
  assert.equal(new Set(responses.map((response) => response.responseId)).size, 1)
  assert.ok(!seen.text.includes('[DONE]'))
  assert.equal(simulator.calls[0]?.generatedTokens, 5)
})

test('JSON and stream say the same', async () => {
  const whole: Response = JSON.parse((await asked('sim?thoughts=Hmm')).text)
  const stream = responsesIn(await streamed('sim?thoughts=Hmm'))
  assert.equal(textIn([whole]), textIn(stream))
  assert.deepEqual(whole.usageMetadata, stream.at(-1)?.usageMetadata)
})

test('cached tokens count inside the prompt, thoughts beside the candidates', async () => {
  const responses = responsesIn(await streamed('sim?tokens=3&cached=4&thoughts=Let%20me%20see'))
  assert.deepEqual(responses[0]?.candidates[0]?.content.parts, [{ text: 'Let', thought: true }])
  assert.deepEqual(responses.at(-1)?.usageMetadata, {
    promptTokenCount: PROMPT_TOKENS,
    candidatesTokenCount: 3,
    totalTokenCount: PROMPT_TOKENS + 6,
    cachedContentTokenCount: 4,
    thoughtsTokenCount: 3,
  })
})

const TOOLS = [
  {
    functionDeclarations: [
      { name: 'weather', parametersJsonSchema: { type: 'object', properties: { city: { type: 'string' } } } },
    ],
  },
]

test('a function is called whole, or not at all if there is no room for it', async () => {
  const calls = responsesIn(await streamed('sim?tool=weather', { tools: TOOLS }))
  const parts = calls.flatMap((response) => response.candidates[0]?.content.parts ?? [])
  const call = parts.find((part) => part.functionCall)?.functionCall as { name: string; args: { city: string } }
  assert.equal(call.name, 'weather')
  assert.equal(typeof call.args.city, 'string')
  assert.equal(calls.at(-1)?.candidates[0]?.finishReason, 'STOP')

  const cut = await streamed('sim?tool=weather', { tools: TOOLS, generationConfig: { maxOutputTokens: 2 } })
  assert.ok(!cut.text.includes('functionCall'))
  assert.equal(responsesIn(cut).at(-1)?.candidates[0]?.finishReason, 'MAX_TOKENS')
})

function call(more: Body = {}): Body {
  return { role: 'model', parts: [{ functionCall: { id: 'a', name: 'weather', args: {} }, ...more }] }
}

function result(name = 'weather', id = 'a'): Body {
  return { role: 'user', parts: [{ functionResponse: { id, name, response: { result: 'sunny' } } }] }
}

test('a function whose result was given is not called again', async () => {
  const seen = await streamed('sim?tool=weather', { tools: TOOLS, contents: [user('?'), call(), result()] })
  assert.equal(seen.status, 200, seen.text)
  assert.ok(!seen.text.includes('functionCall'))
})

test('what Google refuses is refused', async () => {
  const refusals: [string, Body, RegExp][] = [
    ['sim', { contents: [] }, /contents is not specified/],
    ['sim', { contents: [{ role: 'assistant', parts: [{ text: 'x' }] }] }, /valid role/],
    ['sim', { contents: [{ role: 'user', parts: [] }] }, /must not be empty/],
    ['sim', { contents: [{ role: 'user', parts: [{}] }] }, /oneof field/],
    ['sim', { messages: [] }, /Unknown name "messages"/],
    ['sim', { generationConfig: { max_tokens: 5 } }, /Unknown name "max_tokens"/],
    ['sim', { generationConfig: { maxOutputTokens: 0 } }, /must be positive/],
    ['sim', { generationConfig: { stopSequences: ['1', '2', '3', '4', '5', '6'] } }, /stop_sequences/],
    ['sim', { contents: [user('?'), result()] }, /number of function response parts/],
    ['sim', { contents: [user('?'), call(), user('!')] }, /number of function response parts/],
    ['sim', { contents: [user('?'), call(), result('other')] }, /does not match/],
    ['sim', { contents: [user('?'), call(), result('weather', 'b')] }, /does not match/],
    ['gemini-3-pro', { contents: [user('?'), call(), result()] }, /thought_signature/],
    ['sim', { toolConfig: { functionCallingConfig: { mode: 'ANY' } } }, /without function_declarations/],
    ['sim', { tools: TOOLS, toolConfig: { functionCallingConfig: { mode: 'any' } } }, /mode/],
  ]
  for (const [model, body, message] of refusals) {
    const seen = await streamed(model, body)
    assert.equal(seen.status, 400, seen.text)
    const { error } = JSON.parse(seen.text)
    assert.equal(error.status, 'INVALID_ARGUMENT')
    assert.match(error.message, message)
  }
  const signed = call({ thoughtSignature: 'skip_thought_signature_validator' })
  assert.equal((await streamed('gemini-3-pro', { contents: [user('?'), signed, result()] })).status, 200)
})

test('the key is taken from the header or the address; a wrong one is a 400, none a 403', async () => {
  const path = `${pathOf('sim', 'streamGenerateContent')}?alt=sse&key=in-the-address`
  assert.equal((await streamed('sim', {}, { path, headers: {} })).status, 200)
  assert.equal(simulator.calls.at(-1)?.authorization, 'in-the-address')
  const wrong = await streamed('sim', {}, { headers: { 'x-goog-api-key': 'bad-key' } })
  assert.equal(wrong.status, 400)
  assert.equal(JSON.parse(wrong.text).error.details[0].reason, 'API_KEY_INVALID')
  const none = await streamed('sim', {}, { headers: {} })
  assert.equal(none.status, 403)
  assert.equal(JSON.parse(none.text).error.status, 'PERMISSION_DENIED')
})

test('a legal oddity of the event stream does not change what is said', async () => {
  const healthy = textIn(responsesIn(await streamed('sim?tokens=6')))
  for (const fault of ['U7-bom', 'U7-cr', 'U7-nospace', 'U7-comments', 'U7-multiline', 'U7-unknown-fields']) {
    const seen = await streamed(`sim?tokens=6&fault=${fault}`)
    assert.equal(textIn(responsesIn(seen)), healthy, fault)
    if (fault === 'U7-bom') assert.ok(seen.text.startsWith('\uFEFF'))
  }
  const events = eventsIn((await streamed('sim?tokens=6&fault=U7-badjson')).text)
  assert.equal(events.length, 8)
  assert.throws(() => JSON.parse(events[3] ?? ''))
})

test('errors in a 200 have the shape of errors', async () => {
  const error = { code: 500, message: 'simulated failure in the stream', status: 'INTERNAL' }
  assert.deepEqual(eventsIn((await streamed('sim?fault=U12-sse')).text), [JSON.stringify({ error })])
  const midway = eventsIn((await streamed('sim?fault=U12-midstream')).text)
  assert.equal(midway.length, 4)
  assert.deepEqual(JSON.parse(midway[3] ?? ''), { error })
  assert.equal(JSON.parse((await streamed('sim?fault=U12-json')).text).error.status, 'INTERNAL')
})

test('an end without its marker is here one without its last event', async () => {
  const healthy = responsesIn(await streamed('sim?tokens=4'))
  const cut = responsesIn(await streamed('sim?tokens=4&fault=U14-nodone'))
  assert.equal(textIn(cut), textIn(healthy))
  assert.ok(cut.every((response) => response.candidates[0]?.finishReason === undefined))
  for (const fault of ['U14-eof', 'U14-close', 'U14-short', 'U14-rst']) {
    assert.equal(responsesIn(await streamed(`sim?tokens=8&fault=${fault}`)).length, 3, fault)
  }
})

test('what Google was seen to send: a report without the prompt, and calls that nobody can use', async () => {
  const [, last] = responsesIn(await streamed('sim?tokens=1&reasoning=4&fault=U21-noprompt'))
  assert.deepEqual(last?.usageMetadata, { candidatesTokenCount: 1, thoughtsTokenCount: 4 })
  const totalTokenCount = PROMPT_TOKENS + 4
  const usageMetadata = {
    promptTokenCount: PROMPT_TOKENS,
    candidatesTokenCount: 0,
    totalTokenCount,
    thoughtsTokenCount: 4,
  }
  for (const [fault, finishReason, parts] of [
    ['U21-undeclared', 'UNEXPECTED_TOOL_CALL', [{ functionCall: { name: 'undeclared', args: {} } }]],
    ['U21-malformed', 'MALFORMED_FUNCTION_CALL', []],
  ] as const) {
    const [only, ...more] = responsesIn(await streamed(`sim?tokens=5&reasoning=4&fault=${fault}`))
    assert.deepEqual(only?.candidates, [{ content: { parts, role: 'model' }, finishReason, index: 0 }])
    assert.deepEqual([only.usageMetadata, more], [usageMetadata, []])
    assert.equal(simulator.calls.at(-1)?.bill?.completion, 0)
    assert.equal((await asked(`sim?fault=${fault}`)).status, 400, 'only a stream')
  }
})

test('usage is withheld or false on request', async () => {
  assert.ok(!(await streamed('sim?fault=U13')).text.includes('usageMetadata'))
  for (const [fault, count] of [
    ['U19-negative', -PROMPT_TOKENS - 1],
    ['U19-huge', 1e15],
    ['U19-string', String(PROMPT_TOKENS)],
    ['U19-null', null],
  ] as const) {
    const responses = responsesIn(await streamed(`sim?fault=${fault}`))
    assert.equal(responses.at(-1)?.usageMetadata?.promptTokenCount, count)
  }
  const [first = ''] = eventsIn((await streamed('sim?fault=U19-nan')).text)
  assert.throws(() => JSON.parse(first))
})
