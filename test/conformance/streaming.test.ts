/** The contract's rules for event streams, among them 15 seconds of real silence. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { APIError, OpenAI } from 'openai'
import { addLoneModel, chatBody, complete, createWorld, eventsOf, until } from '../support/world.ts'
import { clause } from './clause.ts'
import { addModels, connectTo, contentOf, refused, requestText, stream, type ChunkBody } from './client.ts'

const world = await createWorld()
after(() => world.close())

const PING = ': ping\n'
const PING_MS = 15_000
// Both silences pass while the other tests run; the tests that wait for them come last.
const silentFromStart = timedStream('silent-from-start fault=U5')
const silentMidway = timedStream('silent-midway tokens=3 gap=16000')

await addModels(world, { id: 'impatient', provider: 'simulator', deployment: { idleTimeoutMs: 150 } })
const streamed = await stream(world, chatBody('tokens=5'))
const withUsage = await stream(world, chatBody('tokens=5', { stream_options: { include_usage: true } }))

const BREAKING = ['U14-rst', 'U14-eof', 'U14-close', 'U14-short', 'U12-midstream', 'U7-badjson']
const broken: { fault: string; text: string }[] = []
for (const fault of [...BREAKING, 'U17-chunk', 'U9-bigevent']) {
  broken.push({ fault, text: (await stream(world, chatBody(`tokens=9 fault=${fault}`))).text })
}
const timedOut = await stream(world, chatBody('tokens=9 fault=U6', { model: 'impatient' }))
broken.push({ fault: 'U6', text: timedOut.text })

clause('streaming-content-type', () =>
  assert.equal(streamed.headers.get('content-type'), 'text/event-stream; charset=utf-8'),
)
clause('streaming-cache-control', () => assert.equal(streamed.headers.get('cache-control'), 'no-cache, no-transform'))
clause('streaming-accel-buffering', () => assert.equal(streamed.headers.get('x-accel-buffering'), 'no'))

clause('streaming-first-chunk', () =>
  assert.deepEqual(streamed.chunks[0]?.choices, [
    { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null },
  ]),
)

clause('streaming-order', () => {
  const { chunks, events } = streamed
  const deltas = chunks.map((chunk) => chunk.choices[0]?.delta)
  assert.equal(events.length, 8, 'the opening, five of content, the finish and [DONE]')
  for (const delta of deltas.slice(1, 6)) assert.deepEqual(Object.keys(delta ?? {}), ['content'])
  assert.deepEqual(chunks[6]?.choices, [{ index: 0, delta: {}, finish_reason: 'stop' }])
  assert.equal(events[7], '[DONE]')
})

clause('streaming-order', 'also of an answer that is empty', async () => {
  const { events, chunks } = await stream(world, chatBody('tokens=0'))
  assert.equal(events.length, 3)
  assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: 'assistant', content: '' })
  assert.deepEqual(chunks[1]?.choices, [{ index: 0, delta: {}, finish_reason: 'stop' }])
})

clause('streaming-order', 'also when the provider writes one byte at a time, in its own line ends', async () => {
  for (const directive of [
    'utf8 tokens=9 split=1',
    'utf8 tokens=9 newline=crlf split=7',
    'tokens=9 fault=U7-comments',
  ]) {
    const { text, chunks } = await stream(world, chatBody(directive))
    assert.match(text, /^(data: [^\n\r]+\n\n)+$/, directive)
    assert.ok(contentOf(chunks).isWellFormed() && !contentOf(chunks).includes('\ufffd'), directive)
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop', directive)
  }
})

clause('streaming-usage-chunk', () => {
  const [finish, usage, done] = withUsage.events.slice(-3)
  assert.equal((JSON.parse(finish ?? '') as ChunkBody).choices[0]?.finish_reason, 'stop')
  const chunk = JSON.parse(usage ?? '') as ChunkBody
  assert.deepEqual(chunk.choices, [])
  assert.equal(chunk.object, 'chat.completion.chunk')
  const { prompt_tokens = 0, completion_tokens, total_tokens } = chunk.usage ?? {}
  assert.ok(prompt_tokens > 0)
  assert.deepEqual([completion_tokens, total_tokens], [5, prompt_tokens + 5])
  assert.equal(done, '[DONE]')
  assert.equal(withUsage.chunks.filter((candidate) => candidate.choices.length === 0).length, 1)
})

clause('streaming-usage-only-asked', async () => {
  const told = await stream(world, chatBody('tokens=5', { stream_options: { include_usage: false } }))
  for (const { chunks } of [streamed, told]) {
    assert.notEqual(contentOf(chunks), '')
    for (const { choices, usage } of chunks) assert.deepEqual([choices.length, usage], [1, undefined])
  }
})

clause('streaming-same-head', async () => {
  // Longer than a second, so that a clock read for each chunk would show.
  const slow = await stream(world, chatBody('tokens=12 gap=120', { stream_options: { include_usage: true } }))
  for (const { chunks } of [slow, withUsage]) {
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1)
    assert.equal(new Set(chunks.map(({ created }) => created)).size, 1)
    assert.equal(new Set(chunks.map(({ model }) => model)).size, 1)
  }
})

clause('streaming-error-event', () => {
  for (const { fault, text } of broken) {
    const events = eventsOf(text)
    assert.ok(contentOf(events.slice(0, -1).map((data) => JSON.parse(data) as ChunkBody)) !== '', fault)
    const last = JSON.parse(events.at(-1) ?? '') as { error: Record<string, unknown> }
    assert.deepEqual(Object.keys(last), ['error'], fault)
    assert.deepEqual(Object.keys(last.error).toSorted(), ['code', 'message', 'type'], fault)
    assert.ok(
      Object.values(last.error).every((value) => typeof value === 'string' && value !== ''),
      fault,
    )
    assert.equal(events.filter((data) => data.startsWith('{"error"')).length, 1, fault)
  }
})

clause('streaming-error-no-done', () => {
  for (const { fault, text } of broken) {
    assert.ok(!text.includes('[DONE]'), fault)
    assert.ok(!text.includes('"finish_reason":"stop"'), `${fault}: a broken answer must not look finished`)
  }
})

clause('streaming-error-closes', async () => {
  const connection = connectTo(world)
  connection.write(requestText(world.project, JSON.stringify(chatBody('tokens=9 fault=U14-rst', { stream: true }))))
  await until(() => connection.isClosed)
  assert.match(connection.text, /data: \{"error":\{[^\n]+\}\}\n\n/)
})

clause('streaming-error-sdk', async () => {
  const client = new OpenAI({
    apiKey: 'unused',
    baseURL: `${world.url}/v1`,
    defaultHeaders: world.project.headers,
    maxRetries: 0,
  })
  const messages = [{ role: 'user' as const, content: 'Hello [[sim tokens=9 fault=U12-midstream]]' }]
  const events = await client.chat.completions.create({ model: 'sim-small', messages, stream: true })
  let chunks = 0
  await assert.rejects(async () => {
    for await (const event of events) chunks += event.choices.length
  }, APIError)
  assert.ok(chunks > 1, 'what came before the error was delivered')
})

clause('streaming-hang-up-midway', async () => {
  for (const stream of [true, false]) {
    const marker = `midway-${String(stream)}`
    const hangUp = new AbortController()
    const running = reading(chatBody(`tokens=1000 gap=20 mark=${marker}`, { stream }), hangUp.signal)
    await until(() => (callOf(marker)?.generatedTokens ?? 0) > 3)
    hangUp.abort()
    await until(() => callOf(marker)?.ended === 'cancelled')
    await running
  }
})

clause('streaming-hang-up-early', async () => {
  for (const stream of [true, false]) {
    const marker = `early-${String(stream)}`
    const hangUp = new AbortController()
    const running = reading(chatBody(`fault=U5 mark=${marker}`, { stream }), hangUp.signal)
    await until(() => callOf(marker) !== undefined)
    hangUp.abort()
    await until(() => callOf(marker)?.ended === 'cancelled')
    await running
  }
})

clause('streaming-hang-up-retry', async () => {
  await assertRetried()
  const hangUp = new AbortController()
  const running = reading(chatBody('fault=U11-500 mark=given-up', { stream: true }), hangUp.signal)
  await until(() => callOf('given-up')?.ended === 'fault')
  hangUp.abort()
  await running
  await sleep(700)
  assert.equal(callsOf('given-up').length, 1)
})

clause('streaming-headers-wait', async () => {
  const connection = connectTo(world)
  connection.write(requestText(world.project, JSON.stringify(chatBody('tokens=2 ttft=600', { stream: true }))))
  await sleep(400)
  assert.equal(connection.text, '')
  await until(() => connection.text.includes('[DONE]'))
  connection.destroy()
})

clause('streaming-early-failure-status', async () => {
  for (const fault of ['U11-500', 'U10', 'U12-json', 'U12-sse', 'U18', 'U14-rst after=0', 'U14-eof after=0']) {
    const model = await addLoneModel(world)
    const { status, headers, body } = await refused(world, chatBody(`tokens=5 fault=${fault}`, { model, stream: true }))
    // A provider that limits us is one that is temporarily unavailable.
    const expected = fault === 'U10' ? 503 : 502
    assert.equal(status, expected, fault)
    assert.match(headers.get('content-type') ?? '', /^application\/json\b/, fault)
    assert.equal(body.statusCode, expected, fault)
  }
})

clause('streaming-ping', async () => {
  const { arrivals, text } = await silentMidway.untilText(PING)
  assert.ok(text.includes(PING) && !text.includes(`${PING}\n`), 'one newline: a blank line would be an empty event')
  const at = arrivals.findIndex((arrival) => arrival.text.includes(PING))
  const silenceMs = (arrivals[at]?.ms ?? 0) - (arrivals[at - 1]?.ms ?? 0)
  assert.ok(silenceMs > PING_MS - 200 && silenceMs < PING_MS + 1_500, `a ping after ${silenceMs} ms`)
})

clause('streaming-ping-opens', async () => {
  const { status, arrivals } = await silentFromStart.untilText(PING)
  silentFromStart.hangUp()
  assert.equal(status, 200)
  const first = arrivals[0]?.ms ?? 0
  assert.ok(first > PING_MS - 200 && first < PING_MS + 1_500, `the first byte after ${first} ms`)
})

clause('streaming-ping-boundary', async () => {
  const { text } = await silentMidway.untilText('"content":" ')
  silentMidway.hangUp()
  assert.match(text, /^(data: \{[^\n]+\}\n\n|: ping\n)+$/)
  assert.match(text, /\n\n: ping\ndata: \{/)
})

function callsOf(marker: string) {
  return world.simulator.calls.filter((call) => JSON.stringify(call.body).includes(`mark=${marker}`))
}

function callOf(marker: string) {
  return callsOf(marker)[0]
}

/** A caller that reads what comes and does not mind being cut off by its own signal. */
async function reading(body: object, signal: AbortSignal): Promise<void> {
  await complete(world, body, { signal })
    .then((response) => response.text())
    .catch(() => undefined)
}

/** Without this, a gateway that never tries again would pass the test of hanging up between two tries. */
async function assertRetried(): Promise<void> {
  const { status } = await stream(world, chatBody('tokens=2 fault=U11-500 times=1 mark=retried'))
  assert.equal(status, 200)
  assert.equal(callsOf('retried').length, 2)
}

/** A stream that is read in the background, with the time at which each chunk came. */
function timedStream(directive: string) {
  const hangUp = new AbortController()
  const arrivals: { ms: number; text: string }[] = []
  let status = 0
  const text = () => arrivals.map((arrival) => arrival.text).join('')
  async function read(): Promise<void> {
    const startedMs = performance.now()
    const body = { ...chatBody(directive.replace(/^\S+ /, '')), stream: true }
    const response = await complete(world, body, { signal: hangUp.signal })
    status = response.status
    const decoder = new TextDecoder()
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      arrivals.push({ ms: performance.now() - startedMs, text: decoder.decode(bytes, { stream: true }) })
    }
  }
  void read().catch(() => undefined)
  return {
    hangUp: () => hangUp.abort(),
    async untilText(wanted: string) {
      await until(() => text().includes(wanted), PING_MS + 5_000)
      return { status, arrivals, text: text() }
    },
  }
}
