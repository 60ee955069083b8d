import { request, type IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import {
  connectPublicly,
  isAboutCertificate,
  responseTo,
  type ConnectionRefusal,
  type PublicConnectionOptions,
} from '../public-connection.ts'
import { FeedError } from '../../rules/offers/feed-error.ts'
import { MINUTE_MS, SECOND_MS } from '../../rules/durations.ts'
import { feedUrlOf } from '../../rules/offers/feed-schedule.ts'

/** The validators that a server sent with a file the last time. */
export interface Validators {
  etag: string | null
  lastModified: string | null
}

export interface FetchingFeed extends Validators {
  /** As they are sent, packed or not. Fails with a FeedError. */
  bytes: AsyncIterable<Buffer>
  /** To be called in any case. */
  close(): void
}

export type FetchedFeed = FetchingFeed | { isUnchanged: true } | { problem: string }

/**
 * Begins to fetch a feed from an address that an advertiser has chosen, without ever being led to a machine of ours: see
 * public-connection.ts. Never throws: what went wrong is told in words.
 */
export type FetchFeed = (feed: Validators & { url: string }, stopping: AbortSignal) => Promise<FetchedFeed>

export interface FetchFeedOptions extends PublicConnectionOptions {
  /** Until the head of the answer is there, for each address on the way. */
  headMs?: number
  /** Between two pieces of the file. */
  pieceMs?: number
  /** For all of it. */
  wholeMs?: number
  bytesMax?: number
}

const HEAD_MS = 30 * SECOND_MS
const PIECE_MS = 30 * SECOND_MS
export const WHOLE_MS = 30 * MINUTE_MS
/** As it is sent. What it unpacks to has a limit of its own: recommend/feeds/feed-text.ts. */
const BYTES_MAX = 1_000_000_000
const REDIRECTS_MAX = 5
const HEADER_BYTES_MAX = 16 * 1024
/** The importer knows by the bytes whether they are packed. */
const ENCODINGS = new Set(['', 'identity', 'gzip', 'x-gzip'])
const REDIRECTS = new Set([301, 302, 303, 307, 308])

const REFUSALS: Record<ConnectionRefusal, string> = {
  address_not_public: 'leads to no public address',
  no_address: 'has no address',
  dns: 'was not found: no name server answered',
}

type Limits = Required<Pick<FetchFeedOptions, 'headMs' | 'pieceMs' | 'bytesMax'>> & { whole: AbortSignal }

export function createFetchFeed(options: FetchFeedOptions): FetchFeed {
  const { headMs = HEAD_MS, pieceMs = PIECE_MS, wholeMs = WHOLE_MS, bytesMax = BYTES_MAX, ...through } = options
  return async (feed, stopping) => {
    const whole = AbortSignal.any([stopping, AbortSignal.timeout(wholeMs)])
    const limits = { headMs, pieceMs, bytesMax, whole }
    let { url } = feed
    for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
      const reached = await reach(through, url, feed, limits)
      if (!('redirectsTo' in reached)) return reached
      const next = feedUrlOf(reached.redirectsTo)
      if ('problem' in next) return { problem: `It redirects to an address that cannot be used. ${next.problem}` }
      url = next.url
    }
    return { problem: `It redirects more than ${REDIRECTS_MAX} times.` }
  }
}

/** One address on the way. Each is looked up, and looked at, by itself. */
async function reach(
  through: PublicConnectionOptions,
  url: string,
  validators: Validators,
  limits: Limits,
): Promise<FetchedFeed | { redirectsTo: string }> {
  const { hostname, port } = new URL(url)
  const startDeadline = () => AbortSignal.any([limits.whole, AbortSignal.timeout(limits.headMs)])
  let socket: TLSSocket | undefined
  let isBeingRead = false
  try {
    const place = { ...through, port: through.port ?? (port === '' ? undefined : Number(port)) }
    const connection = await connectPublicly(place, hostname, startDeadline)
    if ('refusal' in connection) return { problem: `${hostname} ${REFUSALS[connection.refusal]}.` }
    ;({ socket } = connection)
    const response = await ask(socket, url, validators, connection.deadline, limits)
    const answer = readHead(response, url, validators, limits.bytesMax)
    if (answer !== undefined) return answer
    isBeingRead = true
    const opened = socket
    return {
      bytes: bytesOf(response, limits),
      etag: headerOf(response, 'etag', 300),
      lastModified: headerOf(response, 'last-modified', 100),
      close: () => opened.destroy(),
    }
  } catch (error) {
    return { problem: `${hostname} ${reasonOf(error)}.` }
  } finally {
    if (!isBeingRead) socket?.destroy()
  }
}

async function ask(
  socket: TLSSocket,
  url: string,
  { etag, lastModified }: Validators,
  deadline: AbortSignal,
  { whole }: Limits,
): Promise<IncomingMessage> {
  const { hostname, host, pathname, search } = new URL(url)
  const asking = request({
    createConnection: () => socket,
    host: hostname,
    path: `${pathname}${search}`,
    maxHeaderSize: HEADER_BYTES_MAX,
    signal: whole,
    headers: {
      host,
      'user-agent': 'Parley-Feeds',
      accept: '*/*',
      'accept-encoding': 'identity',
      connection: 'close',
      ...(etag !== null && { 'if-none-match': etag }),
      ...(lastModified !== null && { 'if-modified-since': lastModified }),
    },
  })
  asking.end()
  return responseTo(asking, deadline)
}

/** Returns the result where the head alone decides it; undefined when the file follows. */
function readHead(
  { statusCode: status = 0, headers }: IncomingMessage,
  url: string,
  { etag, lastModified }: Validators,
  bytesMax: number,
): Exclude<FetchedFeed, FetchingFeed> | { redirectsTo: string } | undefined {
  if (REDIRECTS.has(status)) {
    const target = URL.parse(headers.location ?? '', url)?.href
    return target === undefined ? { problem: 'It redirects without an address.' } : { redirectsTo: target }
  }
  if (status === 304 && (etag !== null || lastModified !== null)) return { isUnchanged: true }
  if (status !== 200) return { problem: `Its server answered with status ${status}.` }
  if (!ENCODINGS.has((headers['content-encoding'] ?? '').trim().toLowerCase()))
    return { problem: 'Its server compresses the file in an unknown way. Use a plain file or gzip.' }
  // Without either, a file that was cut off looks like a whole one, and its last offers would be taken for removed.
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
    return { problem: 'Its server does not say where the file ends (content-length).' }
  return Number(headers['content-length'] ?? 0) > bytesMax ? { problem: tooLarge(bytesMax) } : undefined
}

async function* bytesOf(response: IncomingMessage, limits: Limits): AsyncGenerator<Buffer> {
  const { whole, pieceMs, bytesMax } = limits
  const pieces = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  let bytes = 0
  try {
    for (;;) {
      // Only while somebody waits for it: what we do with a piece takes as long as it takes.
      const timer = setTimeout(() => response.destroy(new FeedError('Its server stopped midway.')), pieceMs)
      const piece = await pieces.next().finally(() => clearTimeout(timer))
      if (piece.done) return
      bytes += piece.value.length
      if (bytes > bytesMax) throw new FeedError(tooLarge(bytesMax))
      yield piece.value
    }
  } catch (error) {
    if (error instanceof FeedError) throw error
    if (whole.aborted) throw new FeedError('It took too long to fetch.')
    throw new FeedError('The connection broke in the middle of the file.')
  } finally {
    response.destroy()
  }
}

function tooLarge(bytesMax: number): string {
  return `The file has more than ${bytesMax} bytes. Divide it into several feeds.`
}

/** It is sent back as it came, so nothing else than what a header may hold is kept. */
function headerOf({ headers }: IncomingMessage, name: 'etag' | 'last-modified', charsMax: number): string | null {
  const value = headers[name]
  return value !== undefined && value.length <= charsMax && /^[\x20-\x7e]+$/.test(value) ? value : null
}

function reasonOf(error: unknown): string {
  const { name } = error as { name?: unknown }
  if (name === 'AbortError' || name === 'TimeoutError') return 'did not answer in time'
  return isAboutCertificate(error) ? 'has no valid certificate' : 'could not be connected to, or answered no HTTP'
}
