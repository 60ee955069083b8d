import { networkOf } from '../accounts/addresses.ts'

/** The network that a click comes from: a /24 of IPv4, a /48 of IPv6. A household or an office seldom has more. */
export function clickNetworkOf(address: string): string {
  const network = networkOf(address)
  const groups = network.split(':')
  if (groups.length > 1) return `${groups.slice(0, 3).join(':')}::/48`
  return network.replace(/\.\d+$/, '.0/24')
}

export interface RejectedLine {
  /** From 1. */
  line: number
  text: string
}

export interface NetworkList {
  has(address: string): boolean
  /** How many networks were read. */
  readonly size: number
  readonly rejected: readonly RejectedLine[]
}

/**
 * Lines of CIDR networks and single addresses; what follows # or ; is a comment. A line that is neither is rejected, and so is a
 * network of all addresses there are.
 *
 * Not node's net.BlockList: it finds an address about as quickly, but throws at what it cannot read, counts nothing, and is of a
 * module of sockets, which rules do not import.
 */
export function createNetworkList(lines: Iterable<string>): NetworkList {
  const ranges: Range[] = []
  const rejected: RejectedLine[] = []
  let line = 0
  for (const text of lines) {
    line += 1
    const network = text.replace(/[#;].*$/s, '').trim()
    if (network === '') continue
    const range = rangeOf(network)
    if (range) ranges.push(range)
    else rejected.push({ line, text })
  }
  const { firsts, lasts } = mergedOf(ranges)
  return {
    size: ranges.length,
    rejected,
    has(address) {
      const place = placeOf(address)
      if (place === undefined) return false
      const last = lasts[lastAtMost(firsts, place)]
      return last !== undefined && place <= last
    },
  }
}

/** Places of addresses among all of IPv6, where those of IPv4 are `::ffff:a.b.c.d`: then both are one kind. */
interface Range {
  first: bigint
  last: bigint
}

const IPV4_AT = 0xffff_0000_0000n
const BITS = { ipv4: 32, ipv6: 128 } as const

const NETWORK = /^([\d.]+|[\da-f:]*:[\da-f:.]*)(?:\/(\d{1,3}))?$/i

function rangeOf(network: string): Range | undefined {
  const [, address = '', length] = NETWORK.exec(network) ?? []
  const place = placeOf(address)
  const bits = address.includes(':') ? BITS.ipv6 : BITS.ipv4
  const free = length === undefined ? 0 : bits - Number(length)
  if (place === undefined || free < 0 || free === bits) return undefined
  const first = (place >> BigInt(free)) << BigInt(free)
  return { first, last: first + (1n << BigInt(free)) - 1n }
}

function placeOf(address: string): bigint | undefined {
  if (!address.includes(':')) {
    const place = ipv4Of(address)
    return place === undefined ? undefined : IPV4_AT + BigInt(place)
  }
  // The part after % says which of this machine's own networks the address is in.
  return ipv6Of(address.replace(/%.*$/s, ''))
}

/** By hand, because with ipaddr.js a list of 100,000 takes seconds. Four decimals and no other way of writing it. */
function ipv4Of(address: string): number | undefined {
  const parts = address.split('.')
  if (parts.length !== 4) return undefined
  let place = 0
  for (const part of parts) {
    if (!/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined
    place = place * 256 + Number(part)
  }
  return place
}

const GROUPS = 8
/** How many values a group has. */
const GROUP = 65_536

function ipv6Of(address: string): bigint | undefined {
  const sides = address.split('::')
  if (sides.length > 2) return undefined
  const [head, tail] = [groupsOf(sides[0] ?? '', sides.length === 1), groupsOf(sides[1] ?? '', true)]
  if (!head || !tail) return undefined
  const zeros = GROUPS - head.length - tail.length
  if (sides.length === 2 ? zeros < 1 : zeros !== 0) return undefined
  const groups = [...head, ...Array.from({ length: zeros }, () => 0), ...tail]
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups
  // Two at a time are still plain numbers.
  const words = [a * GROUP + b, c * GROUP + d, e * GROUP + f, g * GROUP + h]
  return words.reduce((place, word) => (place << 32n) | BigInt(word), 0n)
}

/** Reads the groups on one side of `::`. `isEnd`: the last two may be written as an IPv4 address. */
function groupsOf(text: string, isEnd: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [n, part] of parts.entries()) {
    if (/^[\da-f]{1,4}$/i.test(part)) {
      groups.push(Number.parseInt(part, 16))
      continue
    }
    const place = isEnd && n === parts.length - 1 ? ipv4Of(part) : undefined
    if (place === undefined) return undefined
    groups.push(Math.floor(place / GROUP), place % GROUP)
  }
  return groups
}

/** In order, and none touches the next. */
function mergedOf(ranges: Range[]): { firsts: bigint[]; lasts: bigint[] } {
  const firsts: bigint[] = []
  const lasts: bigint[] = []
  for (const { first, last } of ranges.toSorted((a, b) => (a.first < b.first ? -1 : 1))) {
    const lastBefore = lasts.at(-1)
    if (lastBefore === undefined || first > lastBefore + 1n) {
      firsts.push(first)
      lasts.push(last)
    } else if (last > lastBefore) {
      lasts[lasts.length - 1] = last
    }
  }
  return { firsts, lasts }
}

/** Where the last number is that is not above this one; -1 if there is none. */
function lastAtMost(sorted: readonly bigint[], wanted: bigint): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? wanted) <= wanted) low = middle + 1
    else high = middle
  }
  return low - 1
}
