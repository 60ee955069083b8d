import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, before, beforeEach, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { FAULT_NAMES } from './faults.ts'
import { STREAM, ask, askRaw, chatBody, chunksIn, contentIn, eventsIn, eventually } from './probe.ts'
import type { Question, Seen } from './probe.ts'
import { createSimulator } from './server.ts'
import type { Simulator } from './server.ts'

let simulator: Simulator
let healthy: string
const tested = new Set<string>()

before(async () => {
  simulator = await createSimulator()
  healthy = contentIn((await streamed('sim?tokens=12')).text)
})
after(() => simulator.close())
beforeEach(() => simulator.reset())

function streamed(model: string, more: Question = {}): Promise<Seen> {
  return ask(simulator.url, { ...more, body: chatBody(model, STREAM) })
}

function asked(model: string, more: Question = {}): Promise<Seen> {
  return ask(simulator.url, { ...more, body: chatBody(model) })
}

function scriptOf(fault: string, more = ''): string {
  tested.add(fault)
  return `sim?tokens=12&fault=${fault}${more}`
}

/** Both ways of asking, for faults that look the same to both. */
async function bothWays(fault: string, look: (seen: Seen) => void, more: Question = {}): Promise<void> {
  look(await streamed(scriptOf(fault), more))
  look(await asked(scriptOf(fault), more))
}

function ended(): string | undefined {
  return simulator.calls.at(-1)?.ended
}

/** The stream up to the fault: complete chunks of the healthy text, but no end of any kind. */
function assertCutAfter(seen: Seen, chunks: number): void {
  assert.equal(contentIn(seen.text), healthy.split(/(?= )/).slice(0, chunks).join(''))
  assert.ok(!seen.text.includes('[DONE]'))
  assert.ok(chunksIn(seen.text).every((chunk) => chunk.choices?.[0]?.finish_reason == null))
}

test('U5 sends nothing and keeps the socket', async () => {
  await bothWays(
    'U5',
    (seen) => {
      assert.equal(seen.end, 'stalled')
      assert.equal(seen.status, undefined)
    },
    { patienceMs: 500 },
  )
  await eventually(() => simulator.openCalls() === 0, 'the calls end with their peers')
  assert.equal(ended(), 'cancelled')
})

test('U6 stalls after the chunks asked for and keeps the socket', async () => {
  const seen = await streamed(scriptOf('U6', '&after=5'), { patienceMs: 500 })
  assert.equal(seen.end, 'stalled')
  assertCutAfter(seen, 5)
  await eventually(() => ended() === 'cancelled', 'the call ends with its peer')
  assert.equal(simulator.calls.at(-1)?.generatedTokens, 5)
  const half = await asked(scriptOf('U6'), { patienceMs: 500 })
  assert.equal(half.end, 'stalled')
  assert.throws(() => JSON.parse(half.text))
})

test('a fault that would strike behind the last chunk strikes at the last chunk', async () => {
  const seen = await streamed(scriptOf('U14-eof', '&after=1000'))
  assertCutAfter(seen, 12)
})

test('the legal U7 forms look different and say the same', async () => {
  const marks: Record<string, RegExp> = {
    'U7-bom': /^\uFEFFdata: /,
    'U7-cr': /^data: [^\n]*\r\rdata: [^\n]*$/,
    'U7-nospace': /^data:\{/,
    'U7-comments': /^: ping\n\n/,
    'U7-multiline': /^data: \{\ndata:  "id"/,
    'U7-unknown-fields': /\nflavour: plain\n[^]*\nlonely\n/,
  }
  for (const [fault, mark] of Object.entries(marks)) {
    const seen = await streamed(scriptOf(fault))
    assert.match(seen.bytes.toString(), mark, fault)
    assert.equal(contentIn(seen.text), healthy, fault)
    assert.equal(eventsIn(seen.text).at(-1), '[DONE]', fault)
    assert.equal(ended(), 'completed')
  }
})

test('U7-badjson puts one illegal event into an otherwise complete stream', async () => {
  const events = eventsIn((await streamed(scriptOf('U7-badjson', '&after=2'))).text)
  // The opening, two content chunks, and then the illegal one.
  assert.throws(() => JSON.parse(events[3] ?? ''))
  const legal = events.toSpliced(3, 1)
  assert.equal(contentIn(legal.map((data) => `data: ${data}\n\n`).join('')), healthy)
  assert.equal(legal.at(-1), '[DONE]')
})

test('U7-noblank leaves out the blank line after the last event, and nothing else', async () => {
  const { text } = await streamed(scriptOf('U7-noblank'))
  assert.ok(text.endsWith('\n\ndata: [DONE]'))
  assert.equal(contentIn(text), healthy)
})

test('U8 writes single bytes, inside characters too', async () => {
  const model = `${scriptOf('U8')}&utf8=1`
  const seen = await streamed(model)
  assert.ok(seen.reads > seen.bytes.length * 0.8, `${seen.reads} reads for ${seen.bytes.length} bytes`)
  assert.equal(contentIn(seen.text), contentIn((await streamed('sim?tokens=12&utf8=1')).text))
  const whole = await asked(model)
  assert.ok(whole.reads > whole.bytes.length * 0.8)
  assert.equal(JSON.parse(whole.text).choices[0].message.content, contentIn(seen.text))
})

test('U9-bigevent sends 10 MB that no blank line ends', async () => {
  const seen = await streamed(scriptOf('U9-bigevent'))
  assert.ok(seen.bytes.length > 10_000_000)
  assert.equal(seen.bytes.lastIndexOf('\n\n') + '\n\ndata: {"padding":"'.length, seen.bytes.indexOf('aaaa'))
  assertCutAfter(seen, 3)
  assert.equal(ended(), 'fault')
})

test('U9-bigevent is not written to a peer that has gone', async () => {
  const seen = await streamed(scriptOf('U9-bigevent'), { leaveWhen: (text) => text.includes('padding') })
  assert.ok(seen.bytes.length < 5_000_000)
  await eventually(() => ended() === 'cancelled', 'the call is cancelled')
})

test('U9-bigjson is a valid body of 64 MB', async () => {
  const seen = await asked(scriptOf('U9-bigjson'))
  assert.ok(seen.bytes.length > 64_000_000)
  assert.equal(JSON.parse(seen.text).choices[0].message.content, healthy)
})

test('U10 is 429 with every kind of Retry-After', async () => {
  const expected: Record<string, (value: string) => boolean> = {
    U10: (value) => value === '2',
    'U10-date': (value) => Math.abs(Date.parse(value) - Date.now() - 30_000) < 5000,
    'U10-garbage': (value) => Number.isNaN(Date.parse(value)) && Number.isNaN(Number(value)),
    'U10-huge': (value) => value === '1000000000',
  }
  for (const [fault, isExpected] of Object.entries(expected)) {
    await bothWays(fault, (seen) => {
      assert.equal(seen.status, 429)
      assert.ok(isExpected(seen.headers['retry-after'] ?? ''), `${fault}: ${seen.headers['retry-after']}`)
      assert.equal(JSON.parse(seen.text).error.code, 'rate_limit_exceeded')
    })
  }
})

test('U10-body says in the body alone how long to wait', async () => {
  await bothWays('U10-body', (seen) => {
    assert.deepEqual([seen.status, seen.headers['retry-after']], [429, undefined])
    assert.equal(JSON.parse(seen.text).error.details[0].retryDelay, '2s')
  })
})

test('U11 is a 5xx, and 502 comes from a balancer that speaks HTML', async () => {
  for (const status of [500, 503, 529]) {
    await bothWays(`U11-${status}`, (seen) => {
      assert.equal(seen.status, status)
      assert.equal(JSON.parse(seen.text).error.type, 'server_error')
    })
  }
  await bothWays('U11-502', (seen) => {
    assert.equal(seen.status, 502)
    assert.match(seen.text, /^<html>/)
  })
})

test('U12 puts an error into a 200', async () => {
  await bothWays('U12-json', (seen) => {
    assert.equal(seen.status, 200)
    assert.equal(seen.headers['content-type'], 'application/json')
    assert.equal(typeof JSON.parse(seen.text).error.message, 'string')
  })
  const first = await streamed(scriptOf('U12-sse'))
  assert.equal(first.status, 200)
  assert.match(first.headers['content-type'] ?? '', /event-stream/)
  assert.deepEqual(
    chunksIn(first.text).map((chunk) => typeof chunk.error?.message),
    ['string'],
  )
  const midway = await streamed(scriptOf('U12-midstream', '&after=2'))
  assertCutAfter(midway, 2)
  assert.equal(typeof chunksIn(midway.text).at(-1)?.error?.message, 'string')
  assert.equal(midway.end, 'complete')
})

test('U13 withholds the usage', async () => {
  await bothWays('U13', (seen) => {
    assert.equal(seen.end, 'complete')
    assert.ok(!seen.text.includes('usage'))
  })
})

test('U14-eof ends the chunked body cleanly, too early', async () => {
  const seen = await streamed(scriptOf('U14-eof'))
  assert.equal(seen.end, 'complete')
  assert.equal(seen.headers['transfer-encoding'], 'chunked')
  assertCutAfter(seen, 3)
  assert.equal(ended(), 'fault')
  const half = await asked(scriptOf('U14-eof'))
  assert.equal(half.end, 'complete')
  assert.throws(() => JSON.parse(half.text))
})

test('U14-close ends a body that nothing but the connection delimits', async () => {
  const seen = await streamed(scriptOf('U14-close'))
  assert.equal(seen.end, 'complete')
  assert.equal(seen.headers['transfer-encoding'], undefined)
  assert.equal(seen.headers['content-length'], undefined)
  assert.equal(seen.headers.connection, 'close')
  assertCutAfter(seen, 3)
  const half = await asked(scriptOf('U14-close'))
  assert.equal(half.headers['content-length'], undefined)
  assert.throws(() => JSON.parse(half.text))
})

test('U14-short ends the connection before the content-length is reached', async () => {
  await bothWays('U14-short', (seen) => {
    assert.equal(seen.end, 'broken')
    assert.ok(Number(seen.headers['content-length']) > seen.bytes.length)
    assert.ok(seen.bytes.length > 0)
  })
  assertCutAfter(await streamed(scriptOf('U14-short')), 3)
})

test('U14-rst resets the connection after the first part', async () => {
  assertCutAfter(await streamed(scriptOf('U14-rst')), 3)
  for (const more of [{}, STREAM]) {
    const raw = await askRaw(simulator.port, chatBody(scriptOf('U14-rst'), more), () => false)
    assert.equal(raw.errorCode, 'ECONNRESET')
    assert.match(raw.text, /"choices":/)
  }
})

test('U14-nodone leaves out only the end marker', async () => {
  const seen = await streamed(scriptOf('U14-nodone'))
  assert.equal(contentIn(seen.text), healthy)
  assert.equal(chunksIn(seen.text).at(-2)?.choices[0]?.finish_reason, 'stop')
  assert.ok(!seen.text.includes('[DONE]'))
  assert.equal(seen.end, 'complete')
})

function responsesIn(raw: string): string[] {
  return raw.split('HTTP/1.1 200 OK').slice(1)
}

test('U15 repeats the response unsolicited on the same socket', async () => {
  for (const fault of ['U15', 'U15-late']) {
    for (const more of [{}, STREAM]) {
      const body = chatBody(scriptOf(fault), more)
      const raw = await askRaw(simulator.port, body, (text) => responsesIn(text).length === 2)
      const [first, second] = responsesIn(raw.text)
      assert.match(first ?? '', /"finish_reason":"stop"/, fault)
      assert.match(second ?? '', /content-length/, fault)
      assert.equal(ended(), 'completed')
    }
  }
})

test('U15 reaches a client of the pool only as a broken socket', async () => {
  const agent = new Agent({ keepAlive: true })
  const seen = await asked(scriptOf('U15'), { agent })
  assert.equal(seen.end, 'complete')
  await eventually(() => simulator.openSockets() === 0, 'the client gives the socket up')
  agent.destroy()
})

test('U16-gzip compresses although nobody asked', async () => {
  const seen = await streamed(scriptOf('U16-gzip'))
  assert.equal(seen.headers['content-encoding'], 'gzip')
  assert.equal(contentIn(gunzipSync(seen.bytes).toString()), healthy)
  const whole = await asked(scriptOf('U16-gzip'))
  assert.equal(JSON.parse(gunzipSync(whole.bytes).toString()).choices[0].message.content, healthy)
})

test('U16-twice compresses what is compressed, and says so', async () => {
  const seen = await streamed(scriptOf('U16-twice'))
  assert.equal(seen.headers['content-encoding'], 'gzip, gzip')
  assert.equal(contentIn(gunzipSync(gunzipSync(seen.bytes)).toString()), healthy)
})

test('U16-bomb is a megabyte that inflates to a gigabyte', async () => {
  const { headers, bytes } = await streamed(scriptOf('U16-bomb'))
  assert.equal(headers['content-encoding'], 'gzip')
  assert.ok(bytes.length < 2_000_000, `${bytes.length} bytes on the wire`)
  // Inflating all of it would take seconds: it is one part many times over.
  const part = bytes.subarray(0, bytes.indexOf(bytes.subarray(0, 10), 10))
  assert.deepEqual(bytes, Buffer.concat(Array.from<Buffer>({ length: bytes.length / part.length }).fill(part)))
  assert.ok((bytes.length / part.length) * gunzipSync(part).length > 1_000_000_000)
})

test('U17 breaks the protocol where a parser must notice', async () => {
  await bothWays('U17-headers', (seen) => assert.equal(seen.errorCode, 'HPE_HEADER_OVERFLOW'))
  await bothWays('U17-bigheader', (seen) => assert.equal(seen.errorCode, 'HPE_HEADER_OVERFLOW'))
  await bothWays('U17-status', (seen) => assert.equal(seen.errorCode, 'HPE_INVALID_STATUS'))
  await bothWays('U17-chunk', (seen) => {
    assert.equal(seen.end, 'broken')
    assert.equal(seen.errorCode, 'HPE_INVALID_CHUNK_SIZE')
  })
  // Looked at in the raw: what arrives in one piece with it is lost to whoever parses.
  const cut = await askRaw(simulator.port, chatBody(scriptOf('U17-chunk')), () => false)
  assert.match(cut.text, /\r\n\r\n[0-9a-f]+\r\n[^]+\r\n/, 'something came before it')
  const flood = await askRaw(simulator.port, chatBody(scriptOf('U17-headers')), (text) => text.includes('\r\n\r\n'))
  assert.equal(flood.text.match(/x-flood-/g)?.length, 2000)
})

test('U18 redirects to the metadata service', async () => {
  await bothWays('U18', (seen) => {
    assert.equal(seen.status, 302)
    assert.equal(seen.headers.location, 'http://169.254.169.254/')
  })
})

test('U19 lies about every count', async () => {
  const isLie: Record<string, (count: unknown) => boolean> = {
    'U19-negative': (count) => typeof count === 'number' && count < 0,
    'U19-huge': (count) => count === 1e15,
    'U19-string': (count) => typeof count === 'string',
    'U19-null': (count) => count === null,
  }
  for (const [fault, lies] of Object.entries(isLie)) {
    const whole: { usage: Record<string, unknown> } = JSON.parse((await asked(scriptOf(fault))).text)
    const last: unknown = chunksIn((await streamed(scriptOf(fault))).text).at(-1)?.usage
    assert.deepEqual(last, whole.usage)
    for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens']) assert.ok(lies(whole.usage[name]), fault)
  }
})

test('U19-nan writes a bare NaN, as careless serializers do', async () => {
  await bothWays('U19-nan', (seen) => assert.match(seen.text, /"completion_tokens":NaN/))
})

function deltasIn(seen: Seen): unknown[] {
  return chunksIn(seen.text).flatMap(({ choices }) => choices.map(({ delta }) => delta))
}

test('U20-parts puts text and thoughts into lists', async () => {
  const [role, thought, word] = deltasIn(await streamed(scriptOf('U20-parts', '&thoughts=Hm')))
  assert.deepEqual(role, { role: 'assistant', content: '' })
  assert.deepEqual(thought, { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] })
  assert.deepEqual(word, { content: [{ type: 'text', text: healthy.split(' ')[0] }] })
})

test('U20-nofinish has an end marker and no reason to finish', async () => {
  const { text } = await streamed(scriptOf('U20-nofinish'))
  assert.equal(contentIn(text), healthy)
  assert.ok(chunksIn(text).every(({ choices }) => choices.every(({ finish_reason: reason }) => reason === null)))
  assert.equal(eventsIn(text).at(-1), '[DONE]')
})

test('U20-noarguments and U20-noids leave out of a call what they say', async () => {
  const tools = [{ type: 'function', function: { name: 'now', parameters: { type: 'object' } } }]
  for (const [fault, kept] of [
    ['U20-noarguments', { id: /^call_/, arguments: undefined }],
    ['U20-noids', { id: undefined, arguments: '{}' }],
  ] as const) {
    const { text } = await ask(simulator.url, { body: chatBody(scriptOf(fault, '&tool=now'), { ...STREAM, tools }) })
    const calls = chunksIn(text).flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []))
    if (kept.id) assert.match(calls[0]?.id ?? '', kept.id)
    else assert.ok(calls.every(({ id }) => id === undefined))
    assert.equal(calls[0]?.function.name, 'now')
    const given = calls.map((call) => call.function.arguments)
    if (kept.arguments === undefined) assert.ok(given.every((piece) => piece === undefined))
    else assert.equal(given.join(''), kept.arguments)
  }
})

test('U20-total counts thoughts in the total alone', async () => {
  const usage = chunksIn((await streamed(scriptOf('U20-total', '&reasoning=30'))).text).at(-1)?.usage
  const prompt = simulator.calls.at(-1)?.promptTokens ?? 0
  assert.deepEqual(usage, {
    prompt_tokens: prompt,
    completion_tokens: 12,
    total_tokens: prompt + 12 + 30,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  })
})

test('U20-badcall refuses what the model wrote, with a status or as an event', async () => {
  const refused = await streamed(scriptOf('U20-badcall'))
  assert.equal(refused.status, 400)
  const event = await streamed(scriptOf('U20-badcall-event'))
  assert.equal(event.status, 200)
  for (const body of [refused.text, eventsIn(event.text)[0] ?? ''])
    assert.equal(JSON.parse(body).error.code, 'tool_use_failed')
  assert.equal(simulator.calls.at(-1)?.bill, undefined, 'nothing is asked for it')
})

test('U20-filterfirst tells what filters found, and then nothing for a while', async () => {
  const silent = await streamed(scriptOf('U20-filterfirst', '&gap=60000'), { patienceMs: 500 })
  assert.equal(silent.end, 'stalled')
  assert.deepEqual(
    chunksIn(silent.text).map(({ choices }) => choices),
    [[]],
  )
  assert.equal(contentIn((await streamed(scriptOf('U20-filterfirst'))).text), healthy)
})

test('more may be reported as cached and written than the prompt has', async () => {
  const model = 'sim?tokens=1&cached=5000&written=4000'
  const usage = chunksIn((await streamed(model)).text).at(-1)?.usage as { prompt_tokens_details: unknown }
  assert.deepEqual(usage.prompt_tokens_details, { cached_tokens: 5000, cache_write_tokens: 4000 })
})

test('an unknown fault is refused with the known ones, and one that cannot apply is refused too', async () => {
  const unknown = await asked('sim?fault=U99')
  assert.equal(unknown.status, 400)
  for (const name of FAULT_NAMES) assert.ok(unknown.text.includes(name))
  assert.equal((await asked('sim?fault=U7-bom')).status, 400)
  assert.equal((await streamed('sim?fault=U21-noprompt')).status, 400)
  assert.equal((await streamed('sim?fault=U9-bigjson')).status, 400)
})

test('a fault strikes only the first times, and then the same script is healthy', async () => {
  const statuses = []
  for (let n = 0; n < 3; n++) statuses.push((await streamed('sim?fault=U11-503&times=2')).status)
  assert.deepEqual(statuses, [503, 503, 200])
  simulator.reset()
  assert.equal((await streamed('sim?fault=U11-503&times=2')).status, 503)
})

test('every fault has been tested', () => {
  // The faults of Gemini's format are tested in gemini.test.ts.
  const here = FAULT_NAMES.filter((name) => !name.startsWith('U21-'))
  assert.deepEqual([...tested].toSorted(), here.toSorted())
})
