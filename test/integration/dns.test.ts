import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { createDnsServer, type DnsAnswer, type DnsQuestion } from '../support/dns-server.ts'
import { createDns, type Address, type DnsOptions } from '../../src/providers/exchange/dns.ts'
import { UpstreamError } from '../../src/providers/provider.ts'

const IPV4: Address = { address: '127.0.0.1', family: 4 }
const IPV6: Address = { address: '::1', family: 6 }

/** A system lookup that knows no name that the server does not know, wherever the tests run. */
async function strangerToAll(): Promise<Address[]> {
  throw new Error('ENOTFOUND')
}

/** A resolver that asks a real name server. What the server says, and the time, can be changed on the way. */
async function open(t: TestContext, answer: Answering, options: DnsOptions = {}) {
  const state = { answer, nowMs: 0 }
  const server = await createDnsServer((question) => state.answer(question))
  t.after(() => server.close())
  const dns = createDns({
    servers: [server.address],
    systemLookup: strangerToAll,
    nowMs: () => state.nowMs,
    ...options,
  })
  return { dns, server, state }
}

type Answering = (question: DnsQuestion) => DnsAnswer

function addressOf(ttlSeconds: number, address = '127.0.0.1'): Answering {
  return ({ type }) => ({ records: type === 'A' ? [address] : [], ttlSeconds })
}

const servfail: Answering = () => ({ rcode: 'SERVFAIL' })
const nxdomain: Answering = () => undefined
const dropped: Answering = () => ({ isDropped: true })

function isDnsError(error: unknown): boolean {
  return error instanceof UpstreamError && error.kind === 'dns'
}

test('a name has the addresses of both families, IPv4 first', async (t) => {
  const { dns } = await open(t, ({ type }) => ({ records: type === 'AAAA' ? ['::1', 'fe80::1:2'] : ['127.0.0.1'] }))
  assert.deepEqual(await dns.resolve('api.example'), [IPV4, IPV6, { address: 'fe80::1:2', family: 6 }])
})

test('a name with IPv6 alone has that', async (t) => {
  const { dns } = await open(t, ({ type }) => ({ records: type === 'AAAA' ? ['::1'] : [] }))
  assert.deepEqual(await dns.resolve('six.example'), [IPV6])
})

test('a server that never answers for IPv6 does not hold up IPv4', async (t) => {
  const { dns } = await open(t, ({ type }) => (type === 'A' ? { records: ['127.0.0.1'] } : { isDropped: true }))
  const startedMs = performance.now()
  assert.deepEqual(await dns.resolve('half.example'), [IPV4])
  assert.ok(performance.now() - startedMs < 1_500, 'and not the two seconds of a whole question')
})

for (const [ttlSeconds, keptMs] of [
  [0, 1_000],
  [7, 7_000],
  [86_400, 60_000],
] as const) {
  test(`an address with a TTL of ${ttlSeconds} s is asked for again after ${keptMs / 1_000} s, and not before`, async (t) => {
    const { dns, server, state } = await open(t, addressOf(ttlSeconds))
    await dns.resolve('api.example')
    const asked = server.questions.length
    state.nowMs = keptMs - 1
    assert.deepEqual(await dns.resolve('api.example'), [IPV4])
    assert.equal(server.questions.length, asked)
    state.nowMs = keptMs
    state.answer = addressOf(60, '127.0.0.2')
    assert.deepEqual(await dns.resolve('api.example'), [{ address: '127.0.0.2', family: 4 }])
  })
}

test('a hundred calls that need a name at once ask for it once', async (t) => {
  const { dns, server } = await open(t, addressOf(60))
  await Promise.all(Array.from({ length: 100 }, () => dns.resolve('api.example')))
  assert.deepEqual(server.questions.map(({ type }) => type).toSorted(), ['A', 'AAAA'])
})

for (const [failure, answer] of Object.entries({ NXDOMAIN: nxdomain, SERVFAIL: servfail, silence: dropped })) {
  test(`${failure} is a failure of the kind dns, within two seconds`, async (t) => {
    const { dns } = await open(t, answer)
    const startedMs = performance.now()
    await assert.rejects(dns.resolve('gone.example'), isDnsError)
    assert.ok(performance.now() - startedMs < 3_000)
  })

  test(`an old address outlives ${failure} for a minute, without a wait of two seconds, and no longer`, async (t) => {
    const { dns, state } = await open(t, addressOf(10))
    await dns.resolve('api.example')
    state.answer = answer
    state.nowMs = 10_000 + 59_999
    const startedMs = performance.now()
    assert.deepEqual(await dns.resolve('api.example'), [IPV4])
    assert.ok(performance.now() - startedMs < 1_500)
    state.nowMs = 10_000 + 60_000
    await assert.rejects(dns.resolve('api.example'), isDnsError)
  })
}

test('a name that fails is asked for again only after a second', async (t) => {
  const { dns, server, state } = await open(t, nxdomain)
  await assert.rejects(dns.resolve('late.example'), isDnsError)
  const asked = server.questions.length
  state.answer = addressOf(60)
  state.nowMs = 999
  await assert.rejects(dns.resolve('late.example'), isDnsError)
  assert.equal(server.questions.length, asked)
  state.nowMs = 1_000
  assert.deepEqual(await dns.resolve('late.example'), [IPV4])
})

test('localhost and names in the hosts file work although no name server knows them', async (t) => {
  const hosts = new Map([
    ['gpu-box.lan', [IPV4]],
    ['ollama', [IPV6, IPV4]],
  ])
  const systemLookup = async (name: string) => hosts.get(name) ?? strangerToAll()
  const { dns, server } = await open(t, nxdomain, { systemLookup })
  assert.deepEqual(await dns.resolve('gpu-box.lan'), [IPV4])
  assert.deepEqual(await dns.resolve('ollama'), [IPV4, IPV6])
  assert.ok(!server.questions.some(({ name }) => name === 'ollama'), 'a name without a dot is not the DNS’s')
  const { dns: real } = await open(t, nxdomain, { systemLookup: undefined })
  assert.ok((await real.resolve('localhost')).some(({ address }) => address === '127.0.0.1' || address === '::1'))
})

test('the system is asked for two names at a time, and one that hangs delays the others by two seconds at most', async (t) => {
  let running = 0
  let most = 0
  const hanging = Promise.withResolvers<void>()
  t.after(() => hanging.resolve())
  const systemLookup = async (name: string) => {
    most = Math.max(most, ++running)
    await (name.startsWith('hangs') ? hanging.promise : new Promise((resolve) => setTimeout(resolve, 5)))
    running--
    return [IPV4]
  }
  const { dns } = await open(t, nxdomain, { systemLookup })
  const stuck = assert.rejects(dns.resolve('hangs'), isDnsError)
  const names = Array.from({ length: 20 }, (_, n) => `name-${n}`)
  assert.ok((await Promise.all(names.map((name) => dns.resolve(name)))).every(([first]) => first?.family === 4))
  assert.equal(most, 2)
  await stuck
  await Promise.all(['hangs-too', 'waits'].map((name) => assert.rejects(dns.resolve(name), isDnsError)))
  assert.equal(running, 2, 'a lookup that cannot be cancelled keeps its turn, and no third is started')
})

test('a hundred names without an answer leave the thread pool free', async (t) => {
  const { dns } = await open(t, dropped)
  const names = Array.from({ length: 100 }, (_, n) => `hangs-${n}.example`)
  const waiting = Promise.allSettled(names.map((name) => dns.resolve(name)))
  let isOver = false
  void waiting.then(() => (isOver = true))
  await readFile(import.meta.filename)
  assert.equal(isOver, false, 'a file is read while all of them wait')
  assert.ok((await waiting).every(({ status }) => status === 'rejected'))
})

test('the server also answers with texts, in as many strings as they need', async (t) => {
  const long = 'x'.repeat(600)
  const { server } = await open(t, ({ type }) => ({ records: type === 'TXT' ? ['parley=abc', long] : [] }))
  const resolver = new Resolver()
  resolver.setServers([server.address])
  const texts = (await resolver.resolveTxt('example.com')).map((strings) => strings.join(''))
  assert.deepEqual(texts, ['parley=abc', long])
})
