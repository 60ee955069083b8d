import { createParser } from 'eventsource-parser'
import { Pool, buildConnector, type Dispatcher } from 'undici'
import { createWatchdog } from '../platform/timer.ts'
import { EVENT_BYTES_MAX, type UpstreamTimers } from '../rules/limits.ts'
import { UpstreamError, type UpstreamErrorKind } from './provider.ts'

/** POSTs to providers and reads server-sent events back. Owns the sockets and the four timers; knows no wire format. */
export interface Transport {
  /** Yields the data of each event; ends where the body ends. Leaving the loop early closes the connection at once. */
  events(request: EventsRequest, signal: AbortSignal): AsyncGenerator<string>
  close(): Promise<void>
}

export interface EventsRequest {
  url: string
  headers: Record<string, string>
  body: string
  timers: UpstreamTimers
  /** The event after which nothing of interest comes. */
  isLast(data: string): boolean
}

/** One undici pool is quadratic when thousands of its streams abort at once (5 s for 8,000), so each origin gets several. */
const POOLS_PER_ORIGIN = 16
/** What an upstream may take to close its side after the last event, so that the connection can be used again. */
const TRAILER_MS = 250

export interface TransportOptions {
  keepAliveMs?: number
  /** Extra certificate authorities, in PEM. */
  ca?: string
}

export function createTransport(options: TransportOptions = {}): Transport {
  const pools = new Map<string, Pool[]>()
  let turn = 0

  function poolFor(origin: string, connectMs: number): Pool {
    // The connect timer belongs to a connection, and connections to a pool: another timer is another set of pools.
    const key = `${origin} ${connectMs}`
    let shards = pools.get(key)
    if (!shards) {
      shards = Array.from({ length: POOLS_PER_ORIGIN }, () => createPool(origin, connectMs, options))
      pools.set(key, shards)
    }
    turn = (turn + 1) % POOLS_PER_ORIGIN
    return shards[turn] as Pool
  }

  return {
    events: (request, signal) => readEvents(request, signal, poolFor),
    async close() {
      await Promise.all([...pools.values()].flat().map((pool) => pool.destroy()))
    },
  }
}

function createPool(origin: string, connectMs: number, options: TransportOptions): Pool {
  return new Pool(origin, {
    connections: null,
    pipelining: 1,
    // Our own watchdogs time everything: undici's timers are up to half a second late.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: options.keepAliveMs ?? 30_000,
    maxHeaderSize: 16 * 1024,
    connect: connectorWithin(connectMs, options.ca),
  })
}

function connectorWithin(connectMs: number, ca: string | undefined): buildConnector.connector {
  const connect = buildConnector({ timeout: 0, ...(ca === undefined ? {} : { ca }) })
  return (target, callback) => {
    let isOver = false
    const finish: buildConnector.Callback = (...outcome) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      callback(...outcome)
    }
    const timer = setTimeout(() => {
      finish(new UpstreamError('connect_timeout'), null)
      socket?.destroy()
    }, connectMs)
    const socket = connect(target, (...outcome) => {
      if (isOver) outcome[1]?.destroy()
      else finish(...outcome)
    }) as unknown as { destroy(): void } | undefined
  }
}

async function* readEvents(
  request: EventsRequest,
  signal: AbortSignal,
  poolFor: (origin: string, connectMs: number) => Pool,
): AsyncGenerator<string> {
  const { timers } = request
  const stop = new AbortController()
  const stopWith = (kind: UpstreamErrorKind) => () => stop.abort(new UpstreamError(kind))
  const onHangUp = () => stop.abort(signal.reason)
  signal.addEventListener('abort', onHangUp, { once: true })
  if (signal.aborted) onHangUp()
  const total = createWatchdog(timers.totalMs, stopWith('total_timeout'))
  let silence = createWatchdog(timers.firstTokenMs, stopWith('first_token_timeout'))
  let body: Dispatcher.ResponseData['body'] | undefined
  let isStarted = false
  let isOver = false
  try {
    const response = await send(request, stop.signal, poolFor)
    body = response.body
    // After an abort the body fails once more, with nobody listening.
    body.on('error', () => {})
    refuseUnlessEvents(response)
    for await (const data of eventsIn(body)) {
      if (isOver) continue
      if (!isStarted) {
        isStarted = true
        silence.stop()
        silence = createWatchdog(timers.idleMs, stopWith('idle_timeout'))
      }
      // A caller that reads slowly is not an upstream that is silent.
      silence.pause()
      yield data
      silence.restart()
      if (request.isLast(data)) {
        isOver = true
        silence.stop()
        silence = createWatchdog(TRAILER_MS, () => body?.destroy())
      }
    }
  } catch (error) {
    if (isOver) return
    throw stop.signal.aborted ? (stop.signal.reason as Error) : classified(error, isStarted)
  } finally {
    silence.stop()
    total.stop()
    signal.removeEventListener('abort', onHangUp)
    body?.destroy()
  }
}

function send(request: EventsRequest, signal: AbortSignal, poolFor: (origin: string, connectMs: number) => Pool) {
  const url = new URL(request.url)
  return poolFor(url.origin, request.timers.connectMs).request({
    method: 'POST',
    path: url.pathname + url.search,
    headers: {
      ...request.headers,
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
    },
    body: request.body,
    signal,
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

function refuseUnlessEvents({ statusCode, headers }: Dispatcher.ResponseData): void {
  if (statusCode >= 300 && statusCode < 400) throw new UpstreamError('redirect', { status: statusCode })
  if (statusCode === 429) {
    throw new UpstreamError('rate_limited', { status: 429, retryAfterSeconds: retryAfterOf(headers['retry-after']) })
  }
  if (statusCode >= 500) throw new UpstreamError('server_error', { status: statusCode })
  if (statusCode !== 200) throw new UpstreamError('rejected', { status: statusCode })
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
    throw new UpstreamError('encoding')
  const contentType = String(headers['content-type'] ?? '')
  // A 200 that is not a stream is an error in disguise: we asked for events.
  if (!contentType.startsWith('text/event-stream')) throw new UpstreamError('error_in_200', { status: 200 })
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
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns'
  if (/CERT|TLS|SSL|SELF_SIGNED|EPROTO/.test(code)) return 'tls'
  if (/^HPE_|^HTTPParserError$|^UND_ERR_HEADERS_OVERFLOW$/.test(code)) return isStarted ? 'truncated' : 'protocol'
  if (isStarted) return 'truncated'
  return 'reset'
}
