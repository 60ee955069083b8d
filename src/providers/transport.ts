import { isIP, type Socket } from 'node:net'
import { Pool, buildConnector, type Dispatcher } from 'undici'
import { createDns, type Dns, type DnsOptions } from './exchange/dns.ts'
import { Exchange } from './exchange/exchange.ts'
import type { BodyReader } from './body-reader.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import { UpstreamError } from './provider.ts'

/** POSTs to providers and reads what they answer. Owns the sockets and the four timers; knows no wire format. */
export interface Transport {
  /**
   * Yields what the reader makes of the body, all that came together at once; it ends where the body or the answer does.
   * Leaving the loop early closes the connection at once.
   */
  exchange<Part, Piece>(
    request: UpstreamRequest,
    reader: BodyReader<Part, Piece>,
    signal: AbortSignal,
  ): AsyncIterable<readonly Piece[]>
  close(): Promise<void>
}

/** One undici pool is quadratic when thousands of its streams abort at once (5 s for 8,000), so each origin gets several. */
const POOLS_PER_ORIGIN = 16

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
    exchange(request, reader, signal) {
      const { origin, pathname, search } = new URL(request.url)
      const pool = poolFor(origin, request.timers.connectMs)
      return new Exchange(request, reader, signal, { pool, path: pathname + search })
    },
    async close() {
      await Promise.all([...pools.values()].flat().map((pool) => pool.destroy()))
    },
  }
}

function createPool(origin: string, connectMs: number, options: TransportOptions, dns: Dns): Dispatcher {
  return new Pool(origin, {
    connections: null,
    pipelining: 1,
    // Our own watchdogs time everything: undici's timers are up to half a second late.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: options.keepAliveMs ?? 30_000,
    maxHeaderSize: 16 * 1024,
    connect: connectorWithin(connectMs, dns, options.ca),
  })
}

/** The timer covers finding the address, connecting to it or to the next one, and TLS. */
function connectorWithin(connectMs: number, dns: Dns, ca: string | undefined): buildConnector.connector {
  const connect = buildConnector({
    timeout: 0,
    // The effects that faults of HTTP/1.1 have on a call are known and tested; over HTTP/2 one of them ends a hundred calls.
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
