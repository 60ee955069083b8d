import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { generateText, isStepCount, streamText, tool } from 'ai'
import OpenAI, { APIError } from 'openai'
import type { Response as OpenAIResponse, ResponseInputItem } from 'openai/resources/responses/responses'
import { z } from 'zod'
import { ERRORS } from '../../src/rules/errors.ts'
import { listMessages } from '../../src/store/calls/conversations.ts'
import { addImpatientModel } from '../support/refusals.ts'
import { aiSdkModel } from '../support/responses-sdks.ts'
import { createWorld, until, walletOf, type World } from '../support/world.ts'

let world: World
before(async () => {
  world = await createWorld()
  await addImpatientModel(world)
})
after(() => world.close())

function headersWith(more: Record<string, string> = {}) {
  return { ...world.project.headers, 'x-error-format': 'openai', ...more }
}

function clientWith(more: Record<string, string> = {}): OpenAI {
  const defaultHeaders = { ...headersWith(more), Authorization: null }
  return new OpenAI({ apiKey: 'unused', baseURL: `${world.url}/v1`, maxRetries: 0, defaultHeaders })
}

function respond(body: object, more: Record<string, string> = {}): Promise<Response> {
  return fetch(`${world.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersWith(more) },
    body: JSON.stringify({ model: 'sim-small', ...body }),
  })
}

const scripted = (script: string) => `Hello [[sim ${script}]]`
const saying = (text: string) => scripted(`text=${encodeURIComponent(text)}`)
const LOOK_UP = {
  type: 'function' as const,
  name: 'look_up',
  parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  strict: false,
}

test('a response has its output, its usage and its id, which is also in the headers and finds its receipt', async () => {
  const { data, response } = await clientWith()
    .responses.create({ model: 'sim-small', input: saying('Bonjour, 世界 👋'), metadata: { order: '7' } })
    .withResponse()
  assert.equal(data.object, 'response')
  assert.equal(data.status, 'completed')
  assert.equal(data.model, 'sim-small')
  assert.equal(data.output_text, 'Bonjour, 世界 👋')
  assert.deepEqual(data.metadata, { order: '7' })
  assert.equal(data.error, null)
  assert.ok(data.usage && data.usage.input_tokens > 0 && data.usage.output_tokens > 0)
  assert.equal(data.usage.total_tokens, data.usage.input_tokens + data.usage.output_tokens)
  assert.match(data.id, /^resp_[0-9a-f]{32}$/)
  assert.equal(response.headers.get('x-completion-id'), data.id)
  const receipt = await fetch(`${world.url}/v1/receipts/${data.id}`, { headers: headersWith() })
  const { id, endpoint, streamed, usage } = (await receipt.json()) as Record<string, unknown>
  assert.deepEqual([id, endpoint, streamed], [data.id, '/v1/responses', false])
  assert.equal((usage as { output_tokens: number }).output_tokens, data.usage.output_tokens)
})

/** Returns the response without its id and time, so that those of two calls can be compared. */
function unnamed({ id, ...response }: OpenAIResponse): unknown {
  return JSON.parse(JSON.stringify({ ...response, created_at: 0 }).replaceAll(id.replace('resp_', ''), 'ID'))
}

const KINDS: Record<string, { script: string; more?: object }> = {
  words: { script: 'tokens=12 cached=3 reasoning=4' },
  thoughts: {
    script: 'text=Aye thoughts=Hm. asked',
    more: { reasoning: { effort: 'low', summary: 'auto' }, store: false },
  },
  'calls of tools': { script: 'tool=look_up calls=3', more: { tools: [LOOK_UP] } },
  'an answer that is cut off': { script: 'tokens=50', more: { max_output_tokens: 20 } },
}
for (const [kind, { script, more = {} }] of Object.entries(KINDS)) {
  test(`the SDK's own accumulator gives the response that one body would be: ${kind}`, async () => {
    const { responses } = clientWith()
    const body = { model: 'sim-small', input: scripted(script), ...more }
    const whole = await responses.create(body)
    const streamed = await responses.stream({ ...body, stream: true }).finalResponse()
    const isOurs = (key: string) => !['output_parsed', 'parsed', 'parsed_arguments'].includes(key)
    const own = JSON.parse(JSON.stringify(streamed, (key, value: unknown) => (isOurs(key) ? value : undefined)))
    assert.deepEqual(callIdsAside(unnamed(own)), callIdsAside(unnamed(whole)))
    assert.ok(whole.output.length > 0)
  })
}

/** The simulator calls each call by another id. */
function callIdsAside(response: unknown): unknown {
  return JSON.parse(JSON.stringify(response).replaceAll(/"call_id":"[^"]+"/g, '"call_id":""'))
}

test('events have a name and data each, in order, and the last one is not [DONE]', async () => {
  const response = await respond({ input: saying('one two'), stream: true })
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
  const events = (await response.text()).trimEnd().split('\n\n')
  const parsed = events.map((event) => {
    const [, name, data] = /^event: (\S+)\ndata: (\{.*\})$/.exec(event) ?? assert.fail(event)
    return { name, ...(JSON.parse(data ?? '') as { type: string; sequence_number: number }) }
  })
  assert.ok(parsed.every(({ name, type }) => name === type))
  assert.deepEqual(
    parsed.map(({ sequence_number }) => sequence_number),
    parsed.map((_, n) => n),
  )
  assert.equal(parsed[0]?.type, 'response.created')
  assert.equal(parsed.at(-1)?.type, 'response.completed')
})

test('a provider that breaks off after the first byte makes the SDK throw our sentence, and nothing is charged', async () => {
  const before = await walletOf(world.store, world.project.id)
  const stream = await clientWith().responses.create({
    model: 'sim-small',
    input: scripted('tokens=20 fault=U14-eof'),
    stream: true,
  })
  const seen: string[] = []
  await assert.rejects(
    async () => {
      for await (const event of stream) seen.push(event.type)
    },
    (error) => {
      assert.ok(error instanceof APIError, String(error))
      assert.equal(error.code, 'upstream_failed')
      assert.match(error.message, new RegExp(ERRORS.upstream_failed.message.replace('.', '\\.')))
      return true
    },
  )
  assert.ok(seen.includes('response.output_text.delta'))
  await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0)
  assert.equal((await walletOf(world.store, world.project.id)).balance, before.balance)
})

test('a loop of tools ends: calls in parallel, each with its result, and the conversation is kept once', async () => {
  const key = { projectId: world.project.id, id: 'responses-tools' }
  const client = clientWith({ 'x-conversation-id': key.id })
  const input: ResponseInputItem[] = [{ role: 'user', content: scripted('tool=look_up calls=2 text=Done') }]
  const first = await client.responses.create({ model: 'sim-small', input, tools: [LOOK_UP] })
  const calls = first.output.filter((item) => item.type === 'function_call')
  assert.equal(calls.length, 2)
  for (const call of calls) assert.equal(typeof JSON.parse(call.arguments).place, 'string')
  await until(async () => (await listMessages(world.store.db, key, 10)).length === 2)
  input.push(...(first.output as ResponseInputItem[]))
  for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: 'by the river' })
  const second = await client.responses.create({ model: 'sim-small', input, tools: [LOOK_UP] })
  assert.equal(second.output_text, 'Done')
  await until(async () => (await listMessages(world.store.db, key, 10)).length >= 5)
  const stored = await listMessages(world.store.db, key, 10)
  assert.deepEqual(
    stored.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'tool', 'assistant'],
  )
})

test('what was said by way of chat is the same conversation by way of responses', async () => {
  const key = { projectId: world.project.id, id: 'responses-and-chat' }
  const client = clientWith({ 'x-conversation-id': key.id })
  const question = saying('first answer')
  await client.chat.completions.create({ model: 'sim-small', messages: [{ role: 'user', content: question }] })
  await until(async () => (await listMessages(world.store.db, key, 10)).length === 2)
  const input: ResponseInputItem[] = [
    { role: 'user', content: question },
    { type: 'message', role: 'assistant', content: 'first answer' },
    { role: 'user', content: saying('second answer') },
  ]
  await client.responses.create({ model: 'sim-small', input })
  await until(async () => (await listMessages(world.store.db, key, 10)).length >= 4)
  assert.equal((await listMessages(world.store.db, key, 10)).length, 4)
})

test('a refusal names the field that was sent, and what no route honours has the name that it has here', async () => {
  const told: [object, number, string, string][] = [
    [{ input: 'Hi', previous_response_id: 'resp_1' }, 422, 'previous_response_id', 'answers are not stored'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
      422,
      'input[0].content[0].image_url',
      'is required',
    ],
    [{}, 400, 'input', 'input is required.'],
    [{ input: 'Hi', model: 'gone' }, 422, 'model', 'GET /v1/models'],
  ]
  for (const [body, status, param, words] of told) {
    const response = await respond(body)
    const { error } = (await response.json()) as { error: { param: string; message: string } }
    assert.deepEqual([response.status, error.param], [status, param])
    assert.ok(error.message.includes(words), error.message)
  }
  const [get, post] = [
    await fetch(`${world.url}/v1/responses`, { headers: headersWith() }),
    await respond({ input: 'Hi' }),
  ]
  assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST'])
  assert.equal(post.status, 200)
})

const lookUp = tool({
  inputSchema: z.object({ place: z.string() }),
  execute: ({ place }) => `${place}: by the river`,
})

test('the AI SDK at its defaults: text, stream, and a loop of tools', async () => {
  const model = aiSdkModel({ url: world.url, headers: headersWith() }, 'sim-small')
  const whole = await generateText({ model, prompt: saying('Bonjour'), maxRetries: 0 })
  assert.equal(whole.text, 'Bonjour')
  assert.equal(whole.finishReason, 'stop')
  assert.match(whole.response.id, /^resp_/)
  const streamed = streamText({ model, prompt: scripted('tokens=12 cached=3 reasoning=4'), maxRetries: 0 })
  const chunks: string[] = []
  for await (const chunk of streamed.textStream) chunks.push(chunk)
  assert.equal(chunks.length, 12)
  const usage = await streamed.usage
  assert.equal(usage.outputTokens, 16)
  assert.equal(usage.inputTokenDetails.cacheReadTokens, 3)
  assert.equal(usage.outputTokenDetails.reasoningTokens, 4)
  const looped = await generateText({
    model,
    prompt: scripted('tool=look_up calls=2 text=Done'),
    tools: { look_up: lookUp },
    stopWhen: isStepCount(4),
    maxRetries: 0,
  })
  assert.equal(looped.text, 'Done')
  assert.equal(looped.steps.length, 2)
})

test('the AI SDK at its defaults refers to earlier answers, and is told to send them; with store: false it does', async () => {
  const model = aiSdkModel({ url: world.url, headers: headersWith() }, 'sim-small')
  const first = await generateText({ model, prompt: saying('first answer'), maxRetries: 0 })
  const messages = [
    { role: 'user' as const, content: saying('first answer') },
    ...first.response.messages,
    { role: 'user' as const, content: saying('second answer') },
  ]
  await assert.rejects(generateText({ model, messages, maxRetries: 0 }), {
    message:
      'input[1] is an item_reference, but Parley stores no items to refer to: send the item itself, as SDKs do with store: false.',
  })
  const again = await generateText({ model, messages, maxRetries: 0, providerOptions: { openai: { store: false } } })
  assert.equal(again.text, 'second answer')
})

test('an answer that is asked for again is the same response, charged and made once, as JSON and as a stream', async () => {
  for (const stream of [false, true]) {
    world.simulator.reset()
    const body = { input: scripted('tool=look_up calls=2'), tools: [LOOK_UP], stream }
    const keyed = { 'idempotency-key': `responses-${stream}` }
    const first = await respond(body, keyed)
    const said = await first.text()
    await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0)
    const { balance } = await walletOf(world.store, world.project.id)
    const again = await respond(body, keyed)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.equal(again.headers.get('x-completion-id'), first.headers.get('x-completion-id'))
    assert.deepEqual(finalOf(await again.text()), finalOf(said))
    assert.equal((await walletOf(world.store, world.project.id)).balance, balance)
    assert.equal(world.simulator.calls.length, 1)
  }
})

test('a caller that lost its connection midway gets the whole response when it asks again, and pays once', async () => {
  world.simulator.reset()
  const body = { input: scripted('tokens=40 gap=10'), stream: true }
  const key = { 'idempotency-key': 'responses-lost' }
  const abort = new AbortController()
  const lost = await fetch(`${world.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersWith(key) },
    body: JSON.stringify({ model: 'sim-small', ...body }),
    signal: abort.signal,
  })
  await lost.body?.getReader().read()
  abort.abort()
  const tooEarly = await respond(body, key)
  assert.equal(tooEarly.status, 409)
  await until(() => world.simulator.calls[0]?.ended === 'completed')
  await until(async () => (await walletOf(world.store, world.project.id)).openHolds === 0)
  const { balance } = await walletOf(world.store, world.project.id)
  const { status, id } = finalOf(await (await respond(body, key)).text()) as { status: string; id: string }
  assert.deepEqual([status, id], ['completed', lost.headers.get('x-completion-id')])
  assert.equal((await walletOf(world.store, world.project.id)).balance, balance)
  assert.equal(world.simulator.calls.length, 1)
})

function finalOf(text: string): unknown {
  const last = /event: response\.completed\ndata: (.*)\n\n$/.exec(text)?.[1]
  return last === undefined ? JSON.parse(text) : (JSON.parse(last) as { response: unknown }).response
}

test('a key that was used at one endpoint is another request at the other, and logprobs are refused beside one', async () => {
  const key = { 'idempotency-key': 'responses-elsewhere' }
  assert.equal((await respond({ input: 'Hi' }, key)).status, 200)
  const chat = await fetch(`${world.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersWith(key) },
    body: JSON.stringify({ model: 'sim-small', messages: [{ role: 'user', content: 'Hi' }] }),
  })
  assert.equal(chat.status, 422)
  const include = ['message.output_text.logprobs']
  const refused = await respond({ input: 'Hi', include }, { 'idempotency-key': 'responses-logprobs' })
  const { error } = (await refused.json()) as { error: { param: string; message: string } }
  assert.deepEqual(
    [refused.status, error.param, error.message],
    [
      422,
      'include',
      'message.output_text.logprobs are too large to be stored for a retry: leave out logprobs, or the Idempotency-Key.',
    ],
  )
})

test('fields that nobody reads are counted, those of this endpoint are not', async () => {
  const body = { input: 'Hi', instructions: 'Be brief.', text: { verbosity: 'medium' }, top_k: 3 }
  await (await respond(body)).text()
  await until(async () => {
    const rows = await world.store.db.selectFrom('ignored_fields').select('name').execute()
    return rows.some(({ name }) => name === 'top_k')
  })
  const rows = await world.store.db.selectFrom('ignored_fields').select('name').execute()
  assert.deepEqual(
    rows.map(({ name }) => name).filter((name) => name in body && name !== 'top_k'),
    [],
  )
})
