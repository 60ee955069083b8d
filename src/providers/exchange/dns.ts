import { Resolver, lookup as lookupOfSystem } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { MINUTE_MS } from '../../rules/durations.ts'
import { UpstreamError } from '../provider.ts'

/**
 * Finds the addresses of providers. Questions go over the network by c-ares, not through getaddrinfo: that one blocks a
 * thread of the pool which files and cryptography share, and four slow names would stop the whole process.
 */
export interface Dns {
  /** At least one address. Rejects with an `UpstreamError` of the kind `dns`. */
  resolve(name: string): Promise<readonly Address[]>
  /** The same in the shape that sockets ask for. */
  readonly lookup: LookupFunction
}

export interface Address {
  address: string
  family: 4 | 6
}

export interface DnsOptions {
  /** `address:port`. Left out: those of the system, read anew for every question. */
  servers?: readonly string[]
  /** Asks the system, which knows the hosts file and search domains. */
  systemLookup?(name: string): Promise<Address[]>
  nowMs?(): number
}

const RESOLVE_MS_MAX = 2_000
/** Twice: the second try waits twice as long. */
const TRY_MS = 600
/**
 * The time that the second family may take once the first has answered, as RFC 8305 has it. Some servers never answer for
 * IPv6.
 */
const OTHER_FAMILY_MS = 50
const TTL_MS = { least: 1_000, most: MINUTE_MS }
/** The system tells no TTL. */
const SYSTEM_TTL_MS = 5_000
/** An old address is better than none for this long, and is used when a new one does not come at once. */
const STALE_MS = MINUTE_MS
const STALE_AFTER_MS = 200
/** A name that fails is not asked for again by every call that needs it. */
const FAILURE_KEPT_MS = 1_000
/** Half of the threads that libuv starts by default: getaddrinfo never has them all. */
const SYSTEM_LOOKUPS_MAX = 2
const ADDRESSES_MAX = 16
/** Providers are named by the operator: there are a handful. */
const NAMES_MAX = 1_000

interface Found {
  addresses: readonly Address[]
  ttlMs: number
}

interface Known {
  addresses: readonly Address[]
  freshUntilMs: number
}

export function createDns(options: DnsOptions = {}): Dns {
  const nowMs = options.nowMs ?? (() => performance.now())
  const askSystem = takeTurns(SYSTEM_LOOKUPS_MAX, options.systemLookup ?? lookUpInSystem)
  const known = new LRUCache<string, Known>({ max: NAMES_MAX })
  const failedUntilMs = new LRUCache<string, number>({ max: NAMES_MAX })
  const asking = new Map<string, Promise<readonly Address[]>>()

  async function find(name: string): Promise<readonly Address[]> {
    const deadline = AbortSignal.timeout(RESOLVE_MS_MAX)
    try {
      const { addresses, ttlMs } = isForSystem(name)
        ? await askSystem(name, deadline)
        : await askServers(name, options.servers, deadline).catch(() => askSystem(name, deadline))
      known.set(name, { addresses, freshUntilMs: nowMs() + ttlMs })
      return addresses
    } catch {
      failedUntilMs.set(name, nowMs() + FAILURE_KEPT_MS)
      throw new UpstreamError('dns')
    }
  }

  /** Everybody who needs a name at the same time waits for the same answer. */
  function ask(name: string): Promise<readonly Address[]> {
    if ((failedUntilMs.get(name) ?? 0) > nowMs()) return Promise.reject(new UpstreamError('dns'))
    let answer = asking.get(name)
    if (!answer) {
      answer = find(name).finally(() => asking.delete(name))
      asking.set(name, answer)
    }
    return answer
  }

  async function resolve(name: string): Promise<readonly Address[]> {
    const last = known.get(name)
    if (last && nowMs() < last.freshUntilMs) return last.addresses
    if (!last || nowMs() >= last.freshUntilMs + STALE_MS) return ask(name)
    return Promise.race([ask(name), sleep(STALE_AFTER_MS, last.addresses)]).catch(() => last.addresses)
  }

  return { resolve, lookup: (name, { all }, callback) => void answerSocket(resolve(name), all === true, callback) }
}

async function answerSocket(
  answer: Promise<readonly Address[]>,
  isForAll: boolean,
  callback: Parameters<LookupFunction>[2],
): Promise<void> {
  const [addresses, failure] = await answer.then(
    (found) => [found, null] as const,
    (error: unknown) => [[], error as Error] as const,
  )
  const [first] = addresses
  if (isForAll && !failure) callback(null, [...addresses])
  else callback(failure, first?.address ?? '', first?.family)
}

/** Names without a dot, and `localhost` below anything, are the hosts file's and the search domains', not the DNS's. */
function isForSystem(name: string): boolean {
  return !name.includes('.') || name.endsWith('.localhost')
}

/** IPv4 first, because more networks lack IPv6 than IPv4; the socket tries one after the other. */
async function askServers(name: string, servers: DnsOptions['servers'], deadline: AbortSignal): Promise<Found> {
  const resolver = new Resolver({ timeout: TRY_MS, tries: 2 })
  if (servers) resolver.setServers(servers)
  const onDeadline = () => resolver.cancel()
  deadline.addEventListener('abort', onDeadline, { once: true })
  const found: (Address & { ttl: number })[] = []
  try {
    const families = ([4, 6] as const).map(async (family) => {
      const withTtl = { ttl: true } as const
      const records = await (family === 4 ? resolver.resolve4(name, withTtl) : resolver.resolve6(name, withTtl))
      found.push(...records.map(({ address, ttl }) => ({ address, ttl, family })))
    })
    await Promise.any(families)
    await Promise.race([Promise.allSettled(families), sleep(OTHER_FAMILY_MS)])
  } finally {
    deadline.removeEventListener('abort', onDeadline)
    resolver.cancel()
  }
  const ttlMs = Math.min(...found.map(({ ttl }) => ttl * 1_000))
  return {
    addresses: inOrder(found),
    ttlMs: Math.min(Math.max(ttlMs, TTL_MS.least), TTL_MS.most),
  }
}

function inOrder(addresses: readonly Address[]): Address[] {
  return addresses
    .map(({ address, family }) => ({ address, family }))
    .toSorted((a, b) => a.family - b.family)
    .slice(0, ADDRESSES_MAX)
}

async function lookUpInSystem(name: string): Promise<Address[]> {
  const addresses = await lookupOfSystem(name, { all: true })
  return addresses.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
}

/** A lookup of the system cannot be cancelled, so its turn lasts until it ends, however long nobody has waited for it. */
function takeTurns(
  turns: number,
  lookUp: (name: string) => Promise<Address[]>,
): (name: string, deadline: AbortSignal) => Promise<Found> {
  let free = turns
  const waiting = new Set<() => void>()

  async function takeTurn(deadline: AbortSignal): Promise<void> {
    if (free > 0) {
      free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      waiting.add(resolve)
      deadline.addEventListener('abort', () => {
        waiting.delete(resolve)
        reject(new UpstreamError('dns'))
      })
    })
  }

  /** The lookup that has waited longest gets the turn; only a turn that none waits for becomes free. */
  function endTurn(): void {
    const [next] = waiting
    if (!next) {
      free++
      return
    }
    waiting.delete(next)
    next()
  }

  return async (name, deadline) => {
    deadline.throwIfAborted()
    await takeTurn(deadline)
    const answer = lookUp(name).finally(endTurn)
    const late = new Promise<never>((_, reject) => {
      deadline.addEventListener('abort', () => reject(new UpstreamError('dns')), { once: true })
    })
    const addresses = await Promise.race([answer, late])
    if (addresses.length === 0) throw new UpstreamError('dns')
    return { addresses: inOrder(addresses), ttlMs: SYSTEM_TTL_MS }
  }
}
