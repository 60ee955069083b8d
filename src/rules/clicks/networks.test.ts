import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { clickNetworkOf, createNetworkList } from './networks.ts'

test('a click’s network is a /24 of IPv4 or a /48 of IPv6, however the address is written', () => {
  const networks: [address: string, network: string][] = [
    ['203.0.113.7', '203.0.113.0/24'],
    ['203.0.113.255', '203.0.113.0/24'],
    ['::ffff:203.0.113.7', '203.0.113.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:DB8:1:ffff::', '2001:db8:1::/48'],
    ['2001:db8::1', '2001:db8:0::/48'],
    ['no address', 'no address'],
  ]
  for (const [address, network] of networks) assert.equal(clickNetworkOf(address), network)
})

test('a list has the addresses of its networks and no others', () => {
  const list = createNetworkList([
    '# a cloud',
    '',
    '198.51.100.0/24 # the first',
    '198.51.100.16/28 # inside of it',
    '  192.0.2.8/29\t; the second',
    '192.0.2.200',
    '203.0.113.77/25\r',
    '2001:db8:a::/48',
    '2001:db8:b::1',
    '::ffff:10.0.0.0/104',
  ])
  assert.deepEqual(list.rejected, [])
  assert.equal(list.size, 8)
  const inside = `198.51.100.0 198.51.100.255 192.0.2.8 192.0.2.15 192.0.2.200 203.0.113.0 203.0.113.127 2001:db8:a::
    2001:db8:a:ffff:ffff:ffff:ffff:ffff 2001:DB8:B::1 ::ffff:198.51.100.9 ::ffff:c633:6409 10.1.2.3 2001:db8:a::1%eth0`
  const outside = `198.51.99.255 198.51.101.0 192.0.2.7 192.0.2.16 192.0.2.199 203.0.113.128 2001:db8:9:ffff:: 2001:db8:b::
    2001:db8:b::2 11.0.0.0 ::198.51.100.9 198.51.100 198.51.100.9.1 0198.51.100.9 words 198.51.100.9/32`
  for (const address of inside.split(/\s+/)) assert.equal(list.has(address), true, address)
  for (const address of [...outside.split(/\s+/), '']) assert.equal(list.has(address), false, address)
})

test('a line that is no network is reported with its number, and the others are kept', () => {
  const wrong = `10.0.0.0/33 10.0.0/8 10.0.0.256 010.0.0.1 10.0.0.0/ 10.0.0.0/8/8 10.0.0.0/-1 2001:db8::/129 2001:db8:::/32
    1:2:3:4:5:6:7/64 1:2:3:4:5:6:7:8:9 1::2::3 12345:: :1:2:3:4:5:6:7 fe80::1%eth0 words <html> 0.0.0.0/0 ::/0 1.2.3.4::`
  const lines = ['198.51.100.0/24', ...wrong.split(/\s+/), '2001:db8::/32']
  const list = createNetworkList(lines)
  assert.deepEqual(
    list.rejected,
    lines.slice(1, -1).map((text, n) => ({ line: n + 2, text })),
  )
  assert.equal(list.size, 2)
  assert.ok(list.has('198.51.100.1') && list.has('2001:db8::1') && !list.has('10.0.0.1'))
})

const byte = fc.nat(255)
const ipv4 = fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join('.'))
/** Without the old form `::1.2.3.4`, which ipaddr.js takes for the IPv4 address and which is none. */
const ipv6 = fc.ipV6().filter((text) => !/^::\d+\./.test(text))
const network = fc.oneof(
  fc.tuple(ipv4, fc.integer({ min: 1, max: 32 })).map(([address, length]) => `${address}/${length}`),
  fc.tuple(ipv6, fc.integer({ min: 97, max: 128 })).map(([address, length]) => `${address}/${length}`),
)

test('overlapping and touching networks in any order are found as ipaddr.js finds them', () => {
  fc.assert(
    fc.property(fc.array(network, { maxLength: 12 }), fc.array(fc.oneof(ipv4, ipv6)), (networks, others) => {
      const list = createNetworkList(networks)
      assert.deepEqual(list.rejected, [])
      const ranges = networks.map((text) => ipaddr.parseCIDR(text))
      for (const address of [...others, ...networks.map((text) => text.split('/')[0]!)]) {
        const parsed = ipaddr.process(address)
        const isInside = ranges.some(([base, length]) => {
          const isMapped = base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && length >= 96
          const [from, bits] = isMapped ? [base.toIPv4Address(), length - 96] : [base, length]
          return parsed.kind() === from.kind() && parsed.match(from, bits)
        })
        assert.equal(list.has(address), isInside, address)
      }
    }),
  )
})

test('100,000 networks are read within a second, and an address is found in microseconds', () => {
  const lines = Array.from({ length: 100_000 }, (_, n) =>
    n % 4 === 3
      ? `2a0${n % 9}:${(n & 0xffff).toString(16)}:${((n * 7) & 0xffff).toString(16)}::/48`
      : `${(n % 200) + 1}.${(n >> 3) & 255}.${(n * 7) & 255}.${(n & 15) * 16}/28`,
  )
  const millisecondsOf = (work: () => void): number => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  let list = createNetworkList([])
  const builtMs = millisecondsOf(() => (list = createNetworkList(lines)))
  assert.equal(list.size, lines.length)
  let found = 0
  const lookedUpMs = millisecondsOf(() => {
    for (const line of lines) if (list.has(line.slice(0, line.indexOf('/')))) found += 1
  })
  assert.equal(found, lines.length)
  // In processor time, which another process on the same core can still double.
  assert.ok(builtMs < 2_000, `${builtMs} ms to build`)
  assert.ok(lookedUpMs / lines.length < 0.01, `${(lookedUpMs / lines.length) * 1_000} µs to look up`)
})
