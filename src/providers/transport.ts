import { isIP, type Socket } from 'node:net'
import { createParser } from 'eventsource-parser'
import { Pool, buildConnector, type Dispatcher } from 'undici'
import { createWatchdog } from '../platform/timer.ts'
import { EVENT_BYTES_MAX, STALL_BLAMED_MS, type UpstreamTimers } from '../rules/limits.ts'
import { createDns, type Dns, type DnsOptions } from './dns.ts'
import { UpstreamError, type UpstreamErrorKind } from './provider.ts'

/** POSTs to providers and reads server-sent events back. Owns the sockets and the four timers; knows no wire format. */
export interface Transport {
  /** Yields the data of each event; ends where the body ends. Leaving the loop early closes the connection at once. */
  events(request: EventsRequest, signal: AbortSignal): AsyncGenerator<string>
  /** The same for a body that is not server-sent events: yields its bytes as they come. */
  bytes(request: BytesRequest, signal: AbortSignal): AsyncGenerator<Buffer>
  close(): Promise<void>
}

export interface UpstreamRequest {
  url: string
  headers: Record<string, string>
  body: string
  timers: UpstreamTimers
  /** Told when all of it has been handed to the connection. */
  onSent?: (() => void) | undefined
  /** Asked after each piece: whether it brought anything of the answer. Until then the first-token timer runs. */
  hasBegun(): boolean
  /** What a status means at this provider, where it differs from what it means everywhere. `body` is cut at 16 KiB. */
  kindOfRefusal?(status: number, body: string): UpstreamErrorKind | undefined
}

export interface EventsRequest extends UpstreamRequest {
  /** The event after which nothing of interest comes. */
  isLast(data: string): boolean
}

export interface BytesRequest extends UpstreamRequest {
  /** The content type that is asked for and expected. */
  contentType: string
}

/** One undici pool is quadratic when thousands of its streams abort at once (5 s for 8,000), so each origin gets several. */
const POOLS_PER_ORIGIN = 16
/** What an upstream may take to close its side after the last event, so that the connection can be used again. */
const TRAILER_MS = 250
/** How soon after a break of its reader an upstream is found to have given up, if it did so because of the break. What was
 * already on its way comes first, so only the time that is spent waiting for the upstream counts. */
const FOUND_WITHIN_MS = 2_000

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
    events: (request, signal) =>
      readPieces({ ...request, contentType: 'text/event-stream' }, signal, poolFor, eventsIn),
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
    throw clock.isAfterBreak() ? new UpstreamError('reader_stalled') : classified(error, isStarted)
  } finally {
    clock.stop()
    signal.removeEventListener('abort', onHangUp)
    body?.destroy()
  }
}

/** The timers of one exchange. A caller that reads slowly is not an upstream that is silent or slow: none of them runs
 * while a piece is with its reader. */
function createCallClock(timers: UpstreamTimers, onExpire: (kind: UpstreamErrorKind) => void) {
  const total = createWatchdog(timers.totalMs, () => onExpire('total_timeout'))
  let silence = createWatchdog(timers.firstTokenMs, () => onExpire('first_token_timeout'))
  let hasBegun = false
  let pausedAtMs = 0
  let resumedAtMs = performance.now()
  let waitedSinceBreakMs = Infinity
  return {
    pause() {
      pausedAtMs = performance.now()
      waitedSinceBreakMs += pausedAtMs - resumedAtMs
      total.pause(pausedAtMs)
      silence.pause(pausedAtMs)
    },
    resume(hasBegunNow: boolean) {
      const nowMs = performance.now()
      if (nowMs - pausedAtMs >= STALL_BLAMED_MS) waitedSinceBreakMs = 0
      resumedAtMs = nowMs
      total.resume(nowMs)
      if (hasBegun) silence.restart()
      else if (hasBegunNow) {
        hasBegun = true
        silence.stop()
        silence = createWatchdog(timers.idleMs, () => onExpire('idle_timeout'))
      } else silence.resume(nowMs)
    },
    /** The reader has just come back from a long break. */
    isAfterBreak: () => waitedSinceBreakMs + performance.now() - resumedAtMs < FOUND_WITHIN_MS,
    stopAfter(ms: number, onEnd: () => void) {
      silence.stop()
      silence = createWatchdog(ms, onEnd)
    },
    stop() {
      silence.stop()
      total.stop()
    },
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
    headers: {
      ...request.headers,
      'content-type': 'application/json',
      accept: request.contentType,
      'accept-encoding': 'identity',
    },
    body: request.body,
    signal,
    opaque: request.onSent,
  })
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
    yield* ready
    ready = []
  }
}

async function refuseUnlessAnswer(response: Dispatcher.ResponseData<unknown>, request: BytesRequest): Promise<void> {
  const { statusCode: status, headers } = response
  if (status !== 200) {
    const said = request.kindOfRefusal?.(status, await beginningOf(response.body))
    throw new UpstreamError(said ?? kindOfStatus(status), {
      status,
      retryAfterSeconds: retryAfterOf(headers['retry-after']),
    })
  }
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
    throw new UpstreamError('encoding')
  // A 200 that is not a stream is an error in disguise: we asked for one.
  if (!String(headers['content-type'] ?? '').startsWith(request.contentType))
    throw new UpstreamError('error_in_200', { status })
}

function kindOfStatus(status: number): UpstreamErrorKind {
  if (status === 429) return 'rate_limited'
  if (status === 401 || status === 402 || status === 403) return 'key_rejected'
  if (status >= 500) return 'server_error'
  return status >= 400 ? 'rejected' : status >= 300 ? 'redirect' : 'protocol'
}

const REFUSAL_BYTES_MAX = 16 * 1024
const REFUSAL_MS = 500

/** A refusal that does not end in time is judged by what has come of it. */
async function beginningOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  let text = ''
  const timer = setTimeout(() => body.destroy(), REFUSAL_MS)
  try {
    const decoder = new TextDecoder()
    for await (const bytes of body as AsyncIterable<Buffer>) {
      text += decoder.decode(bytes, { stream: true })
      if (text.length >= REFUSAL_BYTES_MAX) break
    }
  } catch {
    // The status stands, however the body ends.
  } finally {
    clearTimeout(timer)
  }
  return text
}

const RETRY_AFTER_SECONDS_MAX = 60

function retryAfterOf(header: string | string[] | undefined): number | undefined {
  const text = String(header ?? '')
  const seconds = /^\d{1,10}$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 1), RETRY_AFTER_SECONDS_MAX) : undefined
}

function classified(error: unknown, isStarted: boolean): Error {
  if (error instanceof UpstreamError) return error
  const cause = error instanceof Error && error.cause instanceof UpstreamError ? error.cause : undefined
  if (cause) return cause
  const { code, name } = error as { code?: unknown; name?: unknown }
  // Some parser errors have a name and no code.
  return new UpstreamError(kindOf(typeof code === 'string' ? code : String(name), isStarted))
}

function kindOf(code: string, isStarted: boolean): UpstreamErrorKind {
  if (code === 'ECONNREFUSED' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return 'refused'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout'
  if (TLS_CODES.test(code)) return 'tls'
  if (/^HPE_|^HTTPParserError$|^UND_ERR_HEADERS_OVERFLOW$/.test(code)) return isStarted ? 'truncated' : 'protocol'
  if (isStarted) return 'truncated'
  return 'reset'
}

/** What OpenSSL and Node call a certificate, or a peer, that they do not accept. */
const TLS_CODES =
  /CERT|TLS|SSL|CRL|SIGNATURE|EPROTO|^INVALID_(?:CA|PURPOSE)$|^PATH_LENGTH_EXCEEDED$|^HOSTNAME_MISMATCH$/
