import { isIP, type Socket } from 'node:net'
import { createParser } from 'eventsource-parser'
import { Pool, buildConnector, type Dispatcher } from 'undici'
import { createTurns } from '../platform/turns.ts'
import { EVENT_BYTES_MAX, type UpstreamTimers } from '../rules/limits.ts'
import { createCallClock } from './exchange/call-clock.ts'
import { createDns, type Dns, type DnsOptions } from './exchange/dns.ts'
import { UpstreamError } from './provider.ts'
import { refuseUnlessAnswer, upstreamErrorOf, type ExpectedAnswer } from './exchange/upstream-failures.ts'

/** POSTs to providers and reads server-sent events back. Owns the sockets and the four timers; knows no wire format. */
export interface Transport {
  /** Yields the data of each event; ends where the body ends. Leaving the loop early closes the connection at once. */
  events(request: EventsRequest, signal: AbortSignal): AsyncGenerator<string>
  /** The same for a body that is not server-sent events: yields its bytes as they come. */
  bytes(request: BytesRequest, signal: AbortSignal): AsyncGenerator<Buffer>
  close(): Promise<void>
}

export interface UpstreamRequest extends Pick<ExpectedAnswer, 'kindOfRefusal'> {
  url: string
  headers: Record<string, string>
  body: string
  timers: UpstreamTimers
  /** Told when all of it has been handed to the connection. */
  onSent?: (() => void) | undefined
  /** Asked after each piece: whether it brought anything of the answer. Until then the first-token timer runs. */
  hasBegun(): boolean
}

export interface EventsRequest extends UpstreamRequest {
  /** The event after which nothing of interest comes. */
  isLast(data: string): boolean
}

export type BytesRequest = UpstreamRequest & ExpectedAnswer

export const EVENT_STREAM = 'text/event-stream'

/** One undici pool is quadratic when thousands of its streams abort at once (5 s for 8,000), so each origin gets several. */
const POOLS_PER_ORIGIN = 16
/** What an upstream may take to close its side after the last event, so that the connection can be used again. */
const TRAILER_MS = 250

export interface TransportOptions {
  keepAliveMs?: number
  /** Extra certificate authorities, in PEM. */
  ca?: string
  dns?: DnsOptions
}

export function createTransport(options: TransportOptions = {}): Transport {
  const pools = new Map<string, Dispatcher[]>()
  const dns = createDns(options.dns)
  let turn = 0

  function poolFor(origin: string, connectMs: number): Dispatcher {
    // The connect timer belongs to a connection, and connections to a pool: another timer is another set of pools.
    const key = `${origin} ${connectMs}`
    let shards = pools.get(key)
    if (!shards) {
      shards = Array.from({ length: POOLS_PER_ORIGIN }, () => createPool(origin, connectMs, options, dns))
      pools.set(key, shards)
    }
    turn = (turn + 1) % POOLS_PER_ORIGIN
    return shards[turn] as Dispatcher
  }

  return {
    events: (request, signal) => readPieces({ ...request, contentType: EVENT_STREAM }, signal, poolFor, eventsIn),
    bytes: (request, signal) => readPieces({ ...request, isLast: () => false }, signal, poolFor, (body) => body),
    async close() {
      await Promise.all([...pools.values()].flat().map((pool) => pool.destroy()))
    },
  }
}

function createPool(origin: string, connectMs: number, options: TransportOptions, dns: Dns): Dispatcher {
  const pool = new Pool(origin, {
    connections: null,
    pipelining: 1,
    // Our own watchdogs time everything: undici's timers are up to half a second late.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: options.keepAliveMs ?? 30_000,
    maxHeaderSize: 16 * 1024,
    connect: connectorWithin(connectMs, dns, options.ca),
  })
  return pool.compose(tellingWhenSent)
}

/** undici tells its handlers when a request has been written, but not whoever asked for it. */
const tellingWhenSent: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  handler.onRequestSent = (options as { opaque?: () => void }).opaque
  return dispatch(options, handler)
}

/** The timer covers finding the address, connecting to it or to the next one, and TLS. */
function connectorWithin(connectMs: number, dns: Dns, ca: string | undefined): buildConnector.connector {
  const connect = buildConnector({
    timeout: 0,
    // What the faults of HTTP/1.1 do to a call is known and tested; over HTTP/2 one of them ends a hundred calls.
    allowH2: false,
    lookup: dns.lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Math.max(Math.ceil(connectMs / ADDRESSES_TRIED), ATTEMPT_MS_MIN),
    ...(ca === undefined ? {} : { ca }),
  })
  return (target, callback) => {
    let isOver = false
    let isResolving = isIP(target.hostname) === 0
    let socket: Socket | undefined
    const finish: buildConnector.Callback = (...outcome) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      callback(...outcome)
    }
    const timer = setTimeout(() => {
      finish(new UpstreamError(isResolving ? 'dns' : 'connect_timeout'), null)
      socket?.destroy()
    }, connectMs)
    socket = connect(target, (...outcome) => {
      if (isOver) outcome[1]?.destroy()
      else finish(...outcome)
    }) as unknown as Socket | undefined
    socket?.once('lookup', () => (isResolving = false))
  }
}

/** How many addresses that do not answer fit into the connect timer. Node's own 250 ms would give up on far continents. */
const ADDRESSES_TRIED = 3
const ATTEMPT_MS_MIN = 10

type PoolFor = (origin: string, connectMs: number) => Dispatcher
type PiecesRequest<Piece> = Omit<BytesRequest, 'isLast'> & { isLast(piece: Piece): boolean }

async function* readPieces<Piece>(
  request: PiecesRequest<Piece>,
  signal: AbortSignal,
  poolFor: PoolFor,
  piecesIn: (body: AsyncIterable<Buffer>) => AsyncIterable<Piece>,
): AsyncGenerator<Piece> {
  const stop = new AbortController()
  const onHangUp = () => stop.abort(signal.reason)
  signal.addEventListener('abort', onHangUp, { once: true })
  if (signal.aborted) onHangUp()
  const clock = createCallClock(request.timers, (kind) => stop.abort(new UpstreamError(kind)))
  let body: Dispatcher.ResponseData['body'] | undefined
  let isStarted = false
  let isOver = false
  try {
    const response = await sendOrLeave(request, stop.signal, poolFor)
    body = response.body
    // After an abort the body fails once more, with nobody listening.
    body.on('error', () => {})
    await refuseUnlessAnswer(response, request)
    for await (const piece of piecesIn(body)) {
      if (isOver) continue
      isStarted = true
      clock.pause()
      yield piece
      clock.resume(request.hasBegun())
      if (request.isLast(piece)) {
        isOver = true
        clock.stopAfter(TRAILER_MS, () => body?.destroy())
      }
    }
  } catch (error) {
    if (isOver) return
    if (stop.signal.aborted) throw stop.signal.reason as Error
    throw clock.isAfterBreak() ? new UpstreamError('reader_stalled') : upstreamErrorOf(error, isStarted)
  } finally {
    clock.stop()
    signal.removeEventListener('abort', onHangUp)
    body?.destroy()
  }
}

/** undici notices an abort only when there is a connection; whoever has hung up does not wait for one. */
async function sendOrLeave(request: BytesRequest, signal: AbortSignal, poolFor: PoolFor) {
  const sending = send(request, signal, poolFor)
  const left = Promise.withResolvers<never>()
  const onAbort = () => left.reject(signal.reason as Error)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([sending, left.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
    if (signal.aborted) void sending.then(({ body }) => body.on('error', () => {}).destroy()).catch(() => {})
  }
}

function send(request: BytesRequest, signal: AbortSignal, poolFor: PoolFor) {
  const url = new URL(request.url)
  return poolFor(url.origin, request.timers.connectMs).request({
    method: 'POST',
    path: url.pathname + url.search,
    headers: wireHeadersOf(request),
    body: request.body,
    signal,
    opaque: request.onSent,
  })
}

export function wireHeadersOf({ headers, contentType }: Pick<BytesRequest, 'headers' | 'contentType'>) {
  return { ...headers, 'content-type': 'application/json', accept: contentType, 'accept-encoding': 'identity' }
}

/**
 * A provider that sends faster than a model can write (a whole answer at once, or what waited for a slow caller) brings
 * hundreds of events in one piece: they are passed on in steps, and other calls get their turns in between.
 */
const EVENTS_PER_STEP = 32

/** One for all streams: together they do one step in each round of the event loop. */
export const nextStep = createTurns()

/** Whether a step ends before event number `n` of one piece. */
export function endsStep(n: number): boolean {
  return n > 0 && n % EVENTS_PER_STEP === 0
}

/** Exported for its test: wherever the bytes are cut, the events must be the same. */
export async function* eventsIn(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let ready: string[] = []
  let isTooBig = false
  const parser = createParser({
    maxBufferSize: EVENT_BYTES_MAX,
    onEvent: (event) => ready.push(event.data),
    onError: (error) => (isTooBig ||= error.type === 'max-buffer-size-exceeded'),
  })
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    if (isTooBig) throw new UpstreamError('event_too_big')
    if (ready.length === 0) continue
    for (const [n, data] of ready.entries()) {
      if (endsStep(n)) await nextStep()
      yield data
    }
    ready = []
  }
  // Some leave out the blank line after the last event. One that was cut is none.
  parser.feed(`${decoder.decode()}\n\n`)
  yield* ready.filter(isWhole)
}

function isWhole(data: string): boolean {
  try {
    JSON.parse(data)
    return true
  } catch {
    return data === '[DONE]'
  }
}
