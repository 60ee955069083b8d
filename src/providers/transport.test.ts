import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { STALL_BLAMED_MS, UPSTREAM_TIMERS, type UpstreamTimers } from '../rules/limits.ts'
import { UpstreamError, type UpstreamErrorKind } from './provider.ts'
import type { BodyReader } from './body-reader.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import { dataReader, isUpstreamError } from './support.test.ts'
import { createTransport } from './transport.ts'

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
    more: Pick<UpstreamRequest, 'onSent'> & Partial<BodyReader<string, string>> = {},
  ) => {
    const request = { url, headers: {}, body: '{}', contentType: 'text/event-stream', onSent: more.onSent }
    const reader = { ...dataReader(), ...more }
    return eachOf(transport.exchange({ ...request, timers: { ...UPSTREAM_TIMERS, ...timers } }, reader, signal))
  }
}

async function* eachOf<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch
}

async function collect(events: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = []
  for await (const data of events) all.push(data)
  return all
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

test('many short breaks of a reader are a long one, unless the upstream was waited for in between', async (t) => {
  const breakMs = STALL_BLAMED_MS / 4 + 50
  const readAt = async (everyMs: number) => {
    const events = await serve(t, async (response) => {
      openStream(response)
      for (let n = 0; n < 4; n++) {
        response.write('data: more\n\n')
        await sleep(everyMs)
      }
      response.socket?.resetAndDestroy()
    })
    for await (const _ of events()) await sleep(breakMs)
  }
  const [quick, slow] = await Promise.allSettled([readAt(50), readAt(2 * breakMs)])
  assert.ok(quick.status === 'rejected' && isUpstreamError('reader_stalled')(quick.reason))
  assert.ok(slow.status === 'rejected' && isUpstreamError('truncated')(slow.reason))
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

test('hundreds of events in one read are passed on in steps, and other work has its turn in between', async (t) => {
  const events = await serve(t, (response) => {
    openStream(response)
    response.end('data: {}\n\n'.repeat(320))
  })
  let rounds = 0
  const count = () => {
    rounds += 1
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const seenIn: number[] = []
  for await (const _ of events()) seenIn.push(rounds)
  clearImmediate(counting)
  assert.equal(seenIn.length, 320)
  const inOneRound = Math.max(...seenIn.map((round) => seenIn.filter((other) => other === round).length))
  assert.ok(inOneRound <= 64, `${inOneRound} events in one round`)
})

test('what comes in one read is handed out together, however it was written', async (t) => {
  const written = ['one', 'two', 'three'].map((data) => `data: ${data}\n\n`)
  const server = createServer((request, response) => {
    request.resume()
    openStream(response)
    response.cork()
    for (const event of written) response.write(event)
    response.uncork()
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const transport = createTransport()
  t.after(async () => {
    await transport.close()
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const request = { url, headers: {}, body: '{}', contentType: 'text/event-stream', timers: UPSTREAM_TIMERS }
  const batches: string[][] = []
  for await (const batch of transport.exchange(request, dataReader(), new AbortController().signal))
    batches.push([...batch])
  assert.deepEqual(batches, [['one', 'two', 'three']])
})

test('what came before something that cannot be read is handed out, and then the failure', async (t) => {
  const events = await serve(t, (response) => {
    openStream(response)
    response.end('data: one\n\ndata: bad\n\ndata: two\n\n')
  })
  const read = (data: string) => {
    if (data === 'bad') throw new UpstreamError('bad_event')
    return [data]
  }
  const seen: string[] = []
  await assert.rejects(async () => {
    for await (const data of events({}, undefined, { read })) seen.push(data)
  }, isUpstreamError('bad_event'))
  assert.deepEqual(seen, ['one'])
})

test('what came before a connection broke is handed out, and then the failure', async (t) => {
  const events = await serve(t, async (response) => {
    openStream(response)
    response.write('data: one\n\n')
    await sleep(20)
    response.write('data: two\n\n')
    setTimeout(() => response.socket?.resetAndDestroy(), 20)
  })
  const seen: string[] = []
  await assert.rejects(async () => {
    for await (const data of events()) {
      seen.push(data)
      if (data === 'one') await sleep(150)
    }
  }, isUpstreamError('truncated'))
  assert.deepEqual(seen, ['one', 'two'])
})

test('an event may take many reads', async (t) => {
  const long = 'x'.repeat(500_000)
  const events = await serve(t, (response) => {
    openStream(response)
    response.end(`data: one\n\ndata: ${long}\n\ndata: [DONE]\n\n`)
  })
  assert.deepEqual(await collect(events()), ['one', long, '[DONE]'])
})

test('a reader that does not come back for more stops the upstream, and has all of it when it does', async (t) => {
  const event = `data: ${'x'.repeat(1_000)}\n\n`
  let written = 0
  const events = await serve(t, async (response) => {
    openStream(response)
    for (; written < 20_000; written++)
      if (!response.write(event)) await new Promise((resolve) => response.once('drain', resolve))
    response.end('data: [DONE]\n\n')
  })
  let seen = 0
  for await (const _ of events()) {
    if (++seen !== 1) continue
    await sleep(300)
    assert.ok(written < 15_000, `${written} events were written for nobody`)
  }
  assert.equal(seen, 20_001)
})
