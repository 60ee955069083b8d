import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chunk } from '../../rules/calls/chunk.ts'
import { ParleyError } from '../../rules/errors.ts'
import { createChatEvents } from './chat-wire.ts'
import { respondWithEvents, type RespondOptions } from './respond.ts'

const HEAD = { id: 'chatcmpl-1', created: 1, model: 'm' }
const OPTIONS: RespondOptions = { format: 'plain' }

async function* oneByOne(chunks: AsyncIterable<Chunk>): AsyncGenerator<readonly Chunk[]> {
  for await (const chunk of chunks) yield [chunk]
}

/** Serves one stream on a real socket; resolves to what the caller's raw socket received and how the answer ended. */
async function exchange(
  chunks: AsyncIterable<Chunk>,
  options: Partial<RespondOptions>,
  talk: (socket: Socket) => Promise<unknown>,
) {
  let ended: unknown = 'running'
  const server = createServer((_req, res: ServerResponse) => {
    respondWithEvents(res, oneByOne(chunks), () => HEAD, createChatEvents, { ...OPTIONS, ...options }).then(
      () => (ended = 'ok'),
      (error: unknown) => (ended = error),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
  await talk(socket)
  socket.destroy()
  server.closeAllConnections()
  server.close()
  return ended
}

async function textUntil(socket: Socket, mark: string): Promise<string> {
  let text = ''
  for await (const bytes of socket) {
    text += String(bytes)
    if (text.includes(mark)) break
  }
  return text
}

/** Yields until it is told to stop, as a call does whose caller is gone; then some more, as one that is read to its end. */
function createEndless() {
  const state = { pulled: 0, isStopped: false, isEnded: false }
  async function* chunks(): AsyncGenerator<Chunk> {
    while (!state.isStopped) {
      state.pulled += 1
      yield { type: 'text', text: 'x'.repeat(16_384) }
      await sleep(0)
    }
    for (let n = 0; n < 10; n++) yield { type: 'text', text: 'x' }
    // Not in a `finally`, where whoever is left in the middle also passes.
    state.isEnded = true
  }
  return { state, chunks }
}

test('a caller that does not read stops the upstream, and is cut off when it stays that way', async () => {
  const { state, chunks } = createEndless()
  const stalls: boolean[] = []
  let slowReaders = 0
  const onSlowReader = () => {
    slowReaders += 1
    state.isStopped = true
  }
  const onStall = (isStalled: boolean) => void stalls.push(isStalled)
  const ended = await exchange(chunks(), { slowReaderMs: 500, onSlowReader, onStall }, async (socket) => {
    socket.pause()
    // The sockets' own buffers fill first; then nothing more may be pulled.
    for (let waited = 0; !state.isEnded && waited < 400; waited++) await sleep(50)
  })
  assert.ok(state.pulled * 16_384 < 32 * 1024 * 1024, `only what the sockets buffer was pulled: ${state.pulled} chunks`)
  assert.equal(slowReaders, 1)
  assert.equal(stalls.at(-1), true, 'it had stalled when it was cut off, whenever that is asked')
  assert.ok(state.isEnded, 'the answer was taken to its end')
  assert.equal(ended, 'ok')
})

test('a caller that reads on after a break has not stalled any more', async () => {
  const { state, chunks } = createEndless()
  const stalls: boolean[] = []
  const onStall = (isStalled: boolean) => void stalls.push(isStalled)
  await exchange(chunks(), { slowReaderMs: 60_000, onStall }, async (socket) => {
    socket.pause()
    for (let waited = 0; stalls.length === 0 && waited < 200; waited++) await sleep(20)
    assert.deepEqual(stalls, [true])
    state.isStopped = true
    socket.resume()
    for (let waited = 0; !state.isEnded && waited < 200; waited++) await sleep(20)
  })
  assert.equal(stalls.at(-1), false)
})

test('the chunks of a caller that is gone are taken to their end, without waiting for anybody', async () => {
  const { state, chunks } = createEndless()
  await exchange(chunks(), { slowReaderMs: 60_000 }, async (socket) => {
    socket.pause()
    for (let before = -1; before !== state.pulled; await sleep(200)) before = state.pulled
    const pulled = state.pulled
    socket.destroy()
    for (let waited = 0; state.pulled < pulled + 100 && waited < 100; waited++) await sleep(20)
    assert.ok(state.pulled >= pulled + 100, 'nothing holds them up any more')
    state.isStopped = true
    for (let waited = 0; !state.isEnded && waited < 50; waited++) await sleep(20)
  })
  assert.ok(state.isEnded)
})

/** Time that passes for heartbeats only when told to. Node's own stand-in for timers knows no refresh(). */
function stopClock(t: TestContext) {
  let nowMs = 0
  let ping = { afterMs: 0, dueMs: 0, run: () => {} }
  t.mock.method(globalThis, 'setInterval', (run: () => void, afterMs: number) => {
    ping = { afterMs, dueMs: nowMs + afterMs, run }
    return { refresh: () => void (ping.dueMs = nowMs + afterMs) }
  })
  t.mock.method(globalThis, 'clearInterval', () => {})
  return (ms: number) => {
    for (nowMs += ms; ping.dueMs <= nowMs; ping.dueMs += ping.afterMs) ping.run()
  }
}

test('silence is filled with pings, at event boundaries, and the first ping opens the stream', async (t) => {
  const pass = stopClock(t)
  async function* slow(): AsyncGenerator<Chunk> {
    pass(250)
    yield { type: 'text', text: 'late' }
    yield { type: 'finish', reason: 'stop' }
  }
  let text = ''
  await exchange(slow(), { heartbeatMs: 100 }, async (socket) => (text = await textUntil(socket, '[DONE]')))
  const body = text.slice(text.indexOf('\r\n\r\n') + 4).replaceAll(/[0-9a-f]+\r\n|\r\n/g, '')
  const withoutPings = body.replaceAll(': ping\n', '')
  assert.equal(body.length - withoutPings.length, 2 * ': ping\n'.length)
  assert.ok(
    withoutPings.split('\n\n').every((event) => event === '' || event.startsWith('data: ')),
    body,
  )
})

test('there is no ping while chunks come, however long it takes: each chunk puts the next ping off', async (t) => {
  const pass = stopClock(t)
  async function* paced(): AsyncGenerator<Chunk> {
    for (const ms of [99, 99, 99, 250, 99, 99]) {
      pass(ms)
      yield { type: 'text', text: `after ${ms}` }
    }
    yield { type: 'finish', reason: 'stop' }
  }
  let text = ''
  await exchange(paced(), { heartbeatMs: 100 }, async (socket) => (text = await textUntil(socket, '[DONE]')))
  const seen = text.match(/: ping|after \d+/g)?.join(', ')
  assert.equal(seen, 'after 99, after 99, after 99, : ping, : ping, after 250, after 99, after 99')
})

test('a failure before the first chunk keeps its status; after the first ping it is an event', async () => {
  async function* failing(): AsyncGenerator<Chunk> {
    await sleep(120)
    throw new ParleyError('upstream_failed')
  }
  let early = ''
  await exchange(failing(), {}, async (socket) => (early = await textUntil(socket, '}')))
  assert.match(early, /^HTTP\/1.1 502 Bad Gateway/)
  let late = ''
  await exchange(failing(), { heartbeatMs: 50 }, async (socket) => (late = await textUntil(socket, '"error"')))
  assert.match(late, /^HTTP\/1.1 200 OK/)
  assert.match(late, /: ping\n[^]*"code":"upstream_failed"/)
  assert.ok(!late.includes('[DONE]'))
})
