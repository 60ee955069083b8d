import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { STREAM, ask, chatBody, chunksIn, contentIn, eventsIn, eventually } from './probe.ts'
import { createSimulator } from './server.ts'
import type { Simulator } from './server.ts'

let simulator: Simulator
before(async () => {
  simulator = await createSimulator()
})
after(() => simulator.close())
beforeEach(() => simulator.reset())

async function json(model: string, more: Record<string, unknown> = {}) {
  const seen = await ask(simulator.url, { body: chatBody(model, more) })
  assert.equal(seen.status, 200, seen.text)
  return JSON.parse(seen.text)
}

function stream(model: string, more: Record<string, unknown> = {}) {
  return ask(simulator.url, { body: chatBody(model, { ...STREAM, ...more }) })
}

test('a stream opens with the role, carries the text token by token, and ends with finish, usage and [DONE]', async () => {
  const seen = await stream('sim?tokens=5')
  assert.equal(seen.headers['content-type'], 'text/event-stream; charset=utf-8')
  const chunks = chunksIn(seen.text)
  assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: 'assistant', content: '' })
  const contents = chunks.slice(1, 6).map((chunk) => chunk.choices[0]?.delta.content ?? '')
  assert.equal(encode(contents.join('')).length, 5)
  assert.deepEqual(chunks[6]?.choices, [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }])
  assert.deepEqual(chunks[7]?.choices, [])
  assert.deepEqual(chunks[7]?.usage, {
    prompt_tokens: 3 + 4 + encode('What is the capital of France?').length,
    completion_tokens: 5,
    total_tokens: 3 + 4 + encode('What is the capital of France?').length + 5,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  })
  assert.equal(chunks.length, 8)
  assert.equal(eventsIn(seen.text).at(-1), '[DONE]')
  assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1)
  assert.match(chunks[0]?.id ?? '', /^chatcmpl-sim-/)
})

test('usage is streamed only to those who asked', async () => {
  const seen = await ask(simulator.url, { body: chatBody('sim', { stream: true }) })
  assert.ok(!seen.text.includes('usage'))
  assert.equal(eventsIn(seen.text).at(-1), '[DONE]')
})

test('JSON and stream say the same', async () => {
  const text = (await json('sim')).choices[0].message.content
  assert.equal(contentIn((await stream('sim')).text), text)
})

test('simulators with the same seed answer the same requests with the same bytes, others do not', async () => {
  const answers = []
  for (const seed of [7, 7, 8]) {
    const fresh = await createSimulator({ seed })
    const whole = await ask(fresh.url, { body: chatBody('sim') })
    const streamed = await ask(fresh.url, { body: chatBody('sim', STREAM) })
    answers.push([whole.text, streamed.text])
    await fresh.close()
  }
  assert.deepEqual(answers[0], answers[1])
  assert.notEqual(contentIn(answers[0]?.[1] ?? ''), contentIn(answers[2]?.[1] ?? ''))
})

test('reported completion tokens are what a tokenizer counts in the text', async () => {
  for (const model of ['sim', 'sim?utf8=1&tokens=70', 'sim?text=Hello%20%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7']) {
    const answer = await json(model)
    assert.equal(answer.usage.completion_tokens, encode(answer.choices[0].message.content).length)
    assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
  }
})

test('either maximum of tokens cuts the reply', async () => {
  for (const maximum of ['max_tokens', 'max_completion_tokens']) {
    const answer = await json('sim?tokens=50', { [maximum]: 7 })
    assert.equal(answer.choices[0].finish_reason, 'length')
    assert.equal(answer.usage.completion_tokens, 7)
    const chunks = chunksIn((await stream('sim?tokens=50', { [maximum]: 7 })).text)
    assert.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'length')
  }
})

test('cached and reasoning tokens are reported as scripted, and reasoning spends the maximum first', async () => {
  const { usage } = await json('sim?tokens=10&cached=4&reasoning=100')
  assert.equal(usage.prompt_tokens_details.cached_tokens, 4)
  assert.equal(usage.completion_tokens_details.reasoning_tokens, 100)
  assert.equal(usage.completion_tokens, 110)
  const cut = await json('sim?tokens=10&reasoning=100', { max_completion_tokens: 50 })
  assert.equal(cut.choices[0].message.content, '')
  assert.equal(cut.choices[0].finish_reason, 'length')
  assert.equal(cut.usage.completion_tokens, 50)
})

test('thoughts are said before the reply, and count as reasoning', async () => {
  const model = 'sim?thoughts=First%20I%20think&text=Done'
  const whole = await json(model)
  assert.equal(whole.choices[0].message.reasoning_content, 'First I think')
  assert.equal(whole.choices[0].message.content, 'Done')
  assert.equal(whole.usage.completion_tokens_details.reasoning_tokens, 3)
  const deltas = chunksIn((await stream(model)).text).map((chunk) => chunk.choices[0]?.delta)
  assert.deepEqual(deltas.slice(1, 5), [
    { reasoning_content: 'First' },
    { reasoning_content: ' I' },
    { reasoning_content: ' think' },
    { content: 'Done' },
  ])
})

test('echo repeats the last user message, in parts or whole', async () => {
  const parts = [
    { type: 'text', text: 'one ' },
    { type: 'image_url', image_url: { url: 'data:' } },
    { type: 'text', text: 'two 👍🏽' },
  ]
  const messages = [
    { role: 'user', content: 'no' },
    { role: 'user', content: parts },
  ]
  assert.equal((await json('sim?echo', { messages })).choices[0].message.content, 'one two 👍🏽')
})

test('a tool is called in fragments, and not again once its result was given', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } }
  const tools = [{ type: 'function', function: { name: 'weather', parameters } }]
  const chunks = chunksIn((await stream('sim?tool=weather', { tools })).text)
  const calls = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
  assert.equal(calls[0]?.function.name, 'weather')
  assert.match(calls[0]?.id ?? '', /^call_/)
  const fragments = calls.map((call) => call.function.arguments)
  assert.ok(fragments.length > 3)
  assert.equal(typeof JSON.parse(fragments.join('')).city, 'string')
  assert.equal(chunks.at(-2)?.choices[0]?.finish_reason, 'tool_calls')

  const whole = await json('sim?tool=weather', { tools })
  assert.equal(whole.choices[0].message.tool_calls[0].function.arguments, fragments.join(''))
  assert.equal(whole.choices[0].message.content, null)

  const messages = [
    { role: 'user', content: 'weather?' },
    { role: 'assistant', content: null, tool_calls: [] },
    { role: 'tool', tool_call_id: 'x', content: 'sunny' },
  ]
  assert.equal((await json('sim?tool=weather', { tools, messages })).choices[0].finish_reason, 'stop')
  const refused = await ask(simulator.url, { body: chatBody('sim?tool=other', { tools }) })
  assert.equal(refused.status, 400)
})

test('newline, split and chunk change the bytes, never the text', async () => {
  const text = contentIn((await stream('sim?utf8=1&tokens=40')).text)
  for (const script of ['newline=crlf', 'newline=cr', 'split=7', 'chunk=5', 'split=3&newline=crlf&chunk=2']) {
    const seen = await stream(`sim?utf8=1&tokens=40&${script}`)
    assert.equal(contentIn(seen.text), text, script)
    assert.equal(eventsIn(seen.text).at(-1), '[DONE]')
  }
  const split = await stream('sim?utf8=1&tokens=5&split=7')
  assert.ok(split.reads > split.bytes.length / 8, `${split.reads} reads`)
})

test('ttft delays the first byte and gap each further chunk', async () => {
  const startedAt = performance.now()
  await stream('sim?tokens=5&ttft=50&gap=20')
  const streamMs = performance.now() - startedAt
  await json('sim?tokens=5&ttft=50&gap=20')
  const jsonMs = performance.now() - startedAt - streamMs
  for (const ms of [streamMs, jsonMs]) assert.ok(ms > 125 && ms < 5_000, `${ms} ms`)
})

test('a caller who hangs up stops the generation at once, and the tokens written so far are known', async () => {
  await ask(simulator.url, {
    body: chatBody('sim?tokens=1000&gap=20', STREAM),
    leaveWhen: (text) => chunksIn(text).length >= 4,
  })
  await eventually(() => simulator.openCalls() === 0, 'the call ends')
  const call = simulator.calls.at(-1)
  assert.equal(call?.ended, 'cancelled')
  const tokens = call?.generatedTokens ?? 0
  assert.ok(tokens >= 3 && tokens <= 6, `${tokens} tokens`)
  await eventually(() => simulator.openSockets() === 0, 'the socket closes')
})

test('a caller who does not read is not written to without end', async () => {
  const outgoing = request(`${simulator.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer test' },
    agent: false,
  })
  outgoing.on('error', () => {})
  outgoing.end(JSON.stringify(chatBody('sim?tokens=100000', { stream: true })))
  await eventually(() => (simulator.calls.at(-1)?.generatedTokens ?? 0) > 0, 'the stream starts')
  await new Promise((resolve) => setTimeout(resolve, 200))
  const written = simulator.calls.at(-1)?.generatedTokens ?? 0
  assert.ok(written < 90_000, `${written} tokens were written to a socket that nobody reads`)
  outgoing.destroy()
  await eventually(() => simulator.openCalls() === 0, 'the call ends')
  assert.equal(simulator.calls.at(-1)?.ended, 'cancelled')
})

test('times limits how often a script misbehaves, per script and model', async () => {
  const statuses = []
  for (const model of [
    'a?status=503&times=2',
    'a?status=503&times=2',
    'b?status=503&times=2',
    'a?status=503&times=2',
  ]) {
    statuses.push((await ask(simulator.url, { body: chatBody(model) })).status)
  }
  assert.deepEqual(statuses, [503, 503, 503, 200])
})

test('a plain status has an error body', async () => {
  for (const status of [400, 401, 402, 403, 404, 422, 429]) {
    const seen = await ask(simulator.url, { body: chatBody(`sim?status=${status}`, STREAM) })
    assert.equal(seen.status, status)
    assert.equal(typeof JSON.parse(seen.text).error.message, 'string')
  }
})

test('a missing key and a bad key are 401, any other will do', async () => {
  const bad = await ask(simulator.url, { body: chatBody('sim'), headers: { authorization: 'Bearer a-bad-key' } })
  assert.equal(bad.status, 401)
  assert.equal(JSON.parse(bad.text).error.code, 'invalid_api_key')
  const none = await ask(simulator.url, { body: chatBody('sim'), headers: { authorization: 'Basic abc' } })
  assert.equal(none.status, 401)
  assert.equal(simulator.calls.at(-1)?.ended, 'fault')
})

test('what is not a chat request is 400, and so is an unknown option', async () => {
  const bodies = [
    undefined,
    { messages: [] },
    { model: 'sim' },
    chatBody('sim', { messages: [] }),
    chatBody('sim', { messages: ['hi'] }),
    chatBody('sim', { max_tokens: 0 }),
    chatBody('sim', { stream_options: { include_usage: true } }),
    chatBody('sim?toknes=4'),
  ]
  for (const body of bodies) {
    const seen = await ask(simulator.url, body ? { body } : {})
    assert.equal(seen.status, 400, JSON.stringify(body))
    assert.equal(typeof JSON.parse(seen.text).error.message, 'string')
  }
})

test('a body that is too large is refused without reading it all, and the connection ends', async () => {
  const seen = await ask(simulator.url, { body: chatBody('sim', { padding: 'x'.repeat(17 * 1024 * 1024) }) })
  // The client may still be writing when the connection ends, and then sees that instead of the answer.
  assert.ok(seen.status === 413 || seen.end === 'broken', `${seen.status}`)
  assert.equal(simulator.calls.length, 0)
})

test('calls and counts can be asked for over HTTP, without credentials, and be reset', async () => {
  await ask(simulator.url, { body: chatBody('sim?tokens=4'), headers: { authorization: 'Bearer very-secret' } })
  assert.equal(simulator.calls.at(-1)?.authorization, 'Bearer very-secret')
  const text = await (await fetch(`${simulator.url}/_simulator/calls`)).text()
  assert.ok(!text.includes('very-secret'))
  const [call] = JSON.parse(text)
  assert.equal(call.model, 'sim?tokens=4')
  assert.equal(call.generatedTokens, 4)
  assert.equal(call.ended, 'completed')
  assert.equal(call.body.messages[0].role, 'user')
  const stats = JSON.parse(await (await fetch(`${simulator.url}/_simulator/stats`)).text())
  assert.equal(stats.openCalls, 0)
  assert.ok(stats.openSockets >= 1 && stats.total >= 1)
  await fetch(`${simulator.url}/_simulator/reset`, { method: 'POST' })
  assert.equal(simulator.calls.length, 0)
})

test('models are listed for whoever has a key; other paths are 404', async () => {
  const listed = await fetch(`${simulator.url}/v1/models`, { headers: { authorization: 'Bearer x' } })
  assert.equal(JSON.parse(await listed.text()).data[0].id, 'sim')
  assert.equal((await fetch(`${simulator.url}/v1/models`)).status, 401)
  assert.equal((await fetch(`${simulator.url}/v1/embeddings`)).status, 404)
})

test('hundreds of slow streams run side by side, and closing ends them all', async (t) => {
  const crowded = await createSimulator()
  t.after(() => crowded.close())
  const asked = Array.from({ length: 300 }, () =>
    ask(crowded.url, { body: chatBody('sim?tokens=1000&gap=1000', STREAM) }),
  )
  await eventually(() => crowded.openCalls() === 300, 'all are open')
  assert.equal(crowded.openSockets(), 300)
  await crowded.close()
  assert.deepEqual(new Set((await Promise.all(asked)).map((seen) => seen.end)), new Set(['broken']))
  await eventually(() => crowded.openCalls() === 0, 'all have ended')
})

test('over TLS it shows the certificate it was given', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'simulator-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  execFileSync(
    'openssl',
    // prettier-ignore
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
     '-subj', '/CN=localhost', '-keyout', key, '-out', cert],
    { stdio: 'ignore' },
  )
  const secure = await createSimulator({ tls: { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') } })
  t.after(() => secure.close())
  assert.match(secure.url, /^https:/)
  const outcome = (ca?: string) =>
    new Promise((resolve) => {
      const options = { ca, servername: 'localhost', agent: false, headers: { authorization: 'Bearer x' } }
      const outgoing = httpsRequest(`${secure.url}/v1/models`, options, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      outgoing.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
      outgoing.end()
    })
  assert.equal(await outcome(readFileSync(cert, 'utf8')), 200)
  assert.equal(await outcome(), 'DEPTH_ZERO_SELF_SIGNED_CERT')
})
