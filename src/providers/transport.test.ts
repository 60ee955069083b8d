import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as fc from 'fast-check'
import { EVENT_BYTES_MAX, STALL_BLAMED_MS, UPSTREAM_TIMERS, type UpstreamTimers } from '../rules/limits.ts'
import { UpstreamError, type UpstreamErrorKind } from './provider.ts'
import { createTransport, eventsIn, type EventsRequest } from './transport.ts'

function readAll(pieces: readonly Buffer[]): Promise<string[]> {
  return collect(eventsIn(bodyOf(pieces)))
}

async function collect(events: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const data of events) all.push(data)
  return all
}

async function* bodyOf(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces
}

function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places, bytes.length].toSorted((a, b) => a - b)
  return ends.map((end, i) => bytes.subarray(ends[i - 1] ?? 0, end))
}

/** What the standard says these bytes mean, whatever ends the lines. */
const STREAM = [
  ': a comment ✓',
  'data: one',
  '',
  'data:two',
  'data:  data: 2 ',
  '',
  'event: named',
  'id: 7',
  'retry: 5',
  'data: {"text":"é 👩‍👩‍👧 日本"}',
  '',
  '',
  ':',
  'data',
  '',
  'dat: no',
  'data : no',
  ' data: no',
  '',
  'data: [DONE]',
  '',
  'data: never ended by a blank line',
]
const EVENTS = ['one', 'two\n data: 2 ', '{"text":"é 👩‍👩‍👧 日本"}', '', '[DONE]']

for (const [name, newline] of [
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
] as const) {
  for (const mark of ['', '\uFEFF']) {
    const bytes = Buffer.from(mark + STREAM.join(newline) + newline)

    test(`lines that end in ${name}${mark && ', after a byte order mark,'} are the same events at every cut`, async () => {
      assert.deepEqual(await readAll([bytes]), EVENTS)
      for (let at = 0; at <= bytes.length; at++) {
        assert.deepEqual(await readAll(cutAt(bytes, [at])), EVENTS, `cut at byte ${at}`)
      }
      assert.deepEqual(await readAll(cutAt(bytes, [...bytes.keys()])), EVENTS, 'one byte at a time')
    })
  }
}

test('any bytes at all, legal or not, are the same events wherever they are cut', async () => {
  const words = fc.constantFrom(
    'data:',
    'data: ',
    'x',
    '\r',
    '\n',
    '\r\n',
    ':',
    'é',
    '👍',
    '\uFEFF',
    'event: e',
    '\u2028',
  )
  const legal = fc.array(words, { maxLength: 40 }).map((parts) => Buffer.from(parts.join('')))
  const illegal = fc.array(fc.constantFrom(0x0a, 0x0d, 0x20, 0x3a, 0x64, 0xc3, 0xe2, 0xf0, 0x9f, 0xff, 0x00))
  const prefixed = illegal.map((codes) => Buffer.from([...Buffer.from('data: '), ...codes, 10, 10]))
  const cuts = fc.array(fc.nat(), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(fc.oneof(legal, prefixed), cuts, async (bytes, places) => {
      const pieces = cutAt(
        bytes,
        places.map((place) => place % (bytes.length + 1)),
      )
      assert.deepEqual(await readAll(pieces), await readAll([bytes]))
    }),
    { numRuns: 1_000 },
  )
})

test('an event beyond the limit is an error, not memory without end', async () => {
  const endless = Buffer.from(`data: ${'x'.repeat(EVENT_BYTES_MAX + 1)}`)
  const lines = Buffer.from(`data: ${'x'.repeat(1_000)}\n`.repeat(EVENT_BYTES_MAX / 1_000 + 1))
  for (const bytes of [endless, lines, Buffer.concat([Buffer.from('data: fine\n\n'), endless])]) {
    for (const size of [bytes.length, 65_536, 1_000]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      )
      await assert.rejects(readAll(pieces), isUpstreamError('event_too_big'))
    }
  }
})

test('a comment may be of any length, because nothing of it is kept', async () => {
  const comment = Buffer.from(`: ${'x'.repeat(65_534)}`)
  const pieces = [...Array.from({ length: 64 }, () => comment), Buffer.from('\ndata: fine\n\n')]
  assert.deepEqual(await readAll(pieces), ['fine'])
})

function isUpstreamError(kind: UpstreamErrorKind) {
  return (error: unknown) => {
    assert.ok(error instanceof UpstreamError, String(error))
    assert.equal(error.kind, kind)
    return true
  }
}

// Over real sockets, from here on.

type Answer = (response: ServerResponse, request: IncomingMessage) => void | Promise<void>

async function serve(t: TestContext, answer: Answer) {
  const server = createServer((request, response) => {
    request.resume()
    void answer(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const transport = createTransport()
  t.after(async () => {
    await transport.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`
  return (
    timers: Partial<UpstreamTimers> = {},
    signal = new AbortController().signal,
    more: Partial<EventsRequest> = {},
  ) => {
    const request = { url, headers: {}, body: '{}', timers: { ...UPSTREAM_TIMERS, ...timers } }
    return transport.events({ ...request, isLast: (data) => data === '[DONE]', hasBegun: () => true, ...more }, signal)
  }
}

function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
}

/** Reads an answer with a break after each chunk. The next one is sent when the break is over: what had come during it
 * would be read in any case. */
async function readWithBreaks(t: TestContext, timers: Partial<UpstreamTimers>, breakMs: number): Promise<string[]> {
  let sendNext = () => {}
  const events = await serve(t, async (response) => {
    openStream(response)
    for (const data of ['one', 'two', '[DONE]']) {
      response.write(`data: ${data}\n\n`)
      await new Promise<void>((resolve) => (sendNext = resolve))
    }
  })
  const seen: string[] = []
  for await (const data of events(timers)) {
    seen.push(data)
    if (data !== '[DONE]') await sleep(breakMs)
    sendNext()
  }
  return seen
}

test('a caller that reads slowly is not taken for an upstream that is silent', async (t) => {
  assert.deepEqual(await readWithBreaks(t, { firstTokenMs: 700, idleMs: 700 }, 900), ['one', 'two', '[DONE]'])
})

test('silence after a chunk is an idle timeout, and before the first chunk a first-token timeout', async (t) => {
  const midway = await serve(t, (response) => {
    openStream(response)
    response.write('data: one\n\n')
  })
  const seen: string[] = []
  await assert.rejects(async () => {
    for await (const data of midway({ idleMs: 60 })) seen.push(data)
  }, isUpstreamError('idle_timeout'))
  assert.deepEqual(seen, ['one'])
  const silent = await serve(t, () => {})
  await assert.rejects(collect(silent({ firstTokenMs: 60 })), isUpstreamError('first_token_timeout'))
  const commenting = await serve(t, (response) => {
    openStream(response)
    const timer = setInterval(() => response.write(': still there\n\n'), 20)
    response.once('close', () => clearInterval(timer))
  })
  await assert.rejects(collect(commenting({ firstTokenMs: 100 })), isUpstreamError('first_token_timeout'))
})

test('an answer that never ends is cut at the total timer, however lively it is', async (t) => {
  const events = await serve(t, (response) => {
    openStream(response)
    const timer = setInterval(() => response.write('data: more\n\n'), 10)
    response.once('close', () => clearInterval(timer))
  })
  await assert.rejects(collect(events({ totalMs: 150 })), isUpstreamError('total_timeout'))
})

test("time in which the caller does not read is not the upstream's, also for the total timer", async (t) => {
  assert.deepEqual(await readWithBreaks(t, { totalMs: 800 }, 900), ['one', 'two', '[DONE]'])
})

test('events that bring nothing of the answer do not end the wait for its first chunk', async (t) => {
  const events = await serve(t, (response) => {
    openStream(response)
    const timer = setInterval(() => response.write('data: \n\n'), 20)
    response.once('close', () => clearInterval(timer))
  })
  const nothingYet = events({ firstTokenMs: 150, idleMs: 60_000 }, undefined, { hasBegun: () => false })
  await assert.rejects(collect(nothingYet), isUpstreamError('first_token_timeout'))
})

test('an upstream that gives up during a long break of its reader was given up on by the reader', async (t) => {
  const events = await serve(t, (response) => {
    openStream(response)
    response.write('data: one\n\ndata: two\n\n')
    setTimeout(() => response.socket?.resetAndDestroy(), 100)
  })
  const readWithBreakOf = async (ms: number) => {
    for await (const data of events()) if (data === 'one') await sleep(ms)
  }
  await assert.rejects(readWithBreakOf(300), isUpstreamError('truncated'))
  await assert.rejects(readWithBreakOf(STALL_BLAMED_MS + 50), isUpstreamError('reader_stalled'))
})

test('a request is sent when the upstream has all of it, and not before it is connected', async (t) => {
  const order: string[] = []
  const events = await serve(t, (response) => {
    order.push('asked')
    openStream(response)
    response.end('data: [DONE]\n\n')
  })
  await collect(events({}, undefined, { onSent: () => order.push('sent') }))
  assert.deepEqual(order.toSorted(), ['asked', 'sent'])
  const reason = new Error('the caller is gone')
  const unsent = events({}, AbortSignal.abort(reason), { onSent: () => order.push('sent again') })
  await assert.rejects(collect(unsent), (error) => error === reason)
  assert.equal(order.length, 2)
})

test('leaving the loop, or aborting, closes the connection at once', async (t) => {
  const closed: Promise<unknown>[] = []
  const events = await serve(t, (response) => {
    closed.push(new Promise((resolve) => response.once('close', resolve)))
    openStream(response)
    response.write('data: one\n\n')
  })
  for await (const data of events()) {
    assert.equal(data, 'one')
    break
  }
  const hangUp = new AbortController()
  const reason = new Error('the caller is gone')
  await assert.rejects(
    async () => {
      for await (const data of events({}, hangUp.signal)) {
        assert.equal(data, 'one')
        setTimeout(() => hangUp.abort(reason), 10)
      }
    },
    (error) => error === reason,
  )
  assert.equal(closed.length, 2)
  await Promise.all(closed)
})

test('an abort before the request was sent sends nothing', async (t) => {
  let requests = 0
  const events = await serve(t, () => void requests++)
  const reason = new Error('the caller is gone')
  await assert.rejects(collect(events({}, AbortSignal.abort(reason))), (error) => error === reason)
  assert.equal(requests, 0)
})

test('the end marker ends the answer, also when the upstream then neither ends nor closes', async (t) => {
  const events = await serve(t, (response) => {
    openStream(response)
    response.write('data: one\n\ndata: [DONE]\n\ndata: ignored\n\n')
  })
  const startedMs = performance.now()
  assert.deepEqual(await collect(events()), ['one', '[DONE]'])
  assert.ok(performance.now() - startedMs < UPSTREAM_TIMERS.idleMs, 'not when the silence was too long')
})

test('a connection whose answer ended in time is used again', async (t) => {
  const ports = new Set<number | undefined>()
  const events = await serve(t, (response, request) => {
    ports.add(request.socket.remotePort)
    openStream(response)
    response.end('data: [DONE]\n\n')
  })
  // More calls than there are pools per origin.
  for (let i = 0; i < 64; i++) await collect(events())
  assert.ok(ports.size <= 16, `${ports.size} connections`)
})

const REFUSALS: [kind: UpstreamErrorKind, answer: Answer, status?: number][] = [
  ['rate_limited', (r) => void r.writeHead(429, { 'retry-after': '7' }).end('{}'), 429],
  ['server_error', (r) => void r.writeHead(503).end(), 503],
  ['key_rejected', (r) => void r.writeHead(401, { 'content-type': 'text/event-stream' }).end('data: no\n\n'), 401],
  ['redirect', (r) => void r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), 302],
  ['error_in_200', (r) => void r.writeHead(200, { 'content-type': 'application/json' }).end('{"error":{}}'), 200],
  [
    'encoding',
    (r) => void r.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end('x'),
  ],
  ['reset', (r) => void r.socket?.destroy()],
  ['protocol', (r) => void r.socket?.end('HTTP/9.9 what\r\n\r\n')],
]

for (const [kind, answer, status] of REFUSALS) {
  test(`an upstream that answers so is told apart as "${kind}"${status ? ` with its status ${status}` : ''}`, async (t) => {
    const events = await serve(t, answer)
    await assert.rejects(collect(events()), (error) => {
      isUpstreamError(kind)(error)
      assert.equal((error as UpstreamError).status, status)
      return true
    })
  })
}

test('a Retry-After is believed within reason, as seconds or as a date', async (t) => {
  const inTenSeconds = new Date(Date.now() + 10_000).toUTCString()
  let header = ''
  const events = await serve(t, (response) => void response.writeHead(429, { 'retry-after': header }).end())
  for (const [sent, least, most] of [
    ['7', 7, 7],
    ['0', 1, 1],
    ['1000000000', 60, 60],
    [inTenSeconds, 8, 10],
    ['soon', undefined, undefined],
  ] as const) {
    header = sent
    const error: unknown = await collect(events()).catch((caught: unknown) => caught)
    assert.ok(error instanceof UpstreamError)
    const seconds = error.retryAfterSeconds
    if (least === undefined) assert.equal(seconds, undefined)
    else assert.ok(seconds !== undefined && seconds >= least && seconds <= most, `${sent} became ${seconds}`)
  }
})

test('what Google says of the wait, in the body of its refusal, is believed where there is no header', async (t) => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '33.2s' }]
  const body = JSON.stringify({ error: { code: 429, details } }, null, 2)
  let headers = {}
  const events = await serve(t, (response) => void response.writeHead(429, headers).end(body))
  const secondsOf = async () => (await collect(events()).catch((error: UpstreamError) => error)) as UpstreamError
  assert.equal((await secondsOf()).retryAfterSeconds, 34)
  headers = { 'retry-after': '5' }
  assert.equal((await secondsOf()).retryAfterSeconds, 5)
})

test('the last event counts without the blank line after it, unless it was cut', async () => {
  const ends = (text: string) => readAll([Buffer.from(`data: {"a":1}\n\n${text}`)])
  assert.deepEqual(await ends('data: {"b":"é"}'), ['{"a":1}', '{"b":"é"}'])
  assert.deepEqual(await ends('data: [DONE]\n'), ['{"a":1}', '[DONE]'])
  for (const cut of ['data: {"b":"', 'data: [DO', 'dat', ': a comment', 'data: '])
    assert.deepEqual(await ends(cut), ['{"a":1}'])
})

test('hundreds of events in one piece are passed on in steps, and other work has its turn in between', async () => {
  let rounds = 0
  const count = () => {
    rounds += 1
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const piece = Buffer.from('data: {}\n\n'.repeat(320))
  const seenIn: number[] = []
  for await (const _ of eventsIn(bodyOf([piece]))) seenIn.push(rounds)
  clearImmediate(counting)
  assert.equal(seenIn.length, 320)
  const inOneRound = Math.max(...seenIn.map((round) => seenIn.filter((other) => other === round).length))
  assert.ok(inOneRound <= 64, `${inOneRound} events in one round`)
})
