import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { after, before, beforeEach, test } from 'node:test'
import { createCheckDomain } from '../../src/actions/projects/domain-check/check.ts'
import {
  createPublicFiles,
  type FetchedFile,
  type PublicFileOptions,
} from '../../src/actions/projects/domain-check/public-file.ts'
import { createDomainResolver } from '../../src/actions/projects/domain-check/resolver.ts'
import { createAuthority } from '../support/certificates.ts'
import { createDnsServer, type DnsAnswer, type DnsQuestion, type DnsServer } from '../support/dns-server.ts'

const NAME = 'news.example.com'
const TOKEN = '0123456789abcdef0123456789abcdef'
const RECORD = `_parley-verify.${NAME}`
const VALUE = `parley-verify=${TOKEN}`

const authority = createAuthority()
let zone: Record<string, DnsAnswer | ((question: DnsQuestion) => DnsAnswer)> = {}
let dns: DnsServer
let website: Server
let respond: RequestListener
let visits: IncomingMessage[] = []

before(async () => {
  dns = await createDnsServer((question) => {
    const answer = zone[`${question.type} ${question.name}`]
    return typeof answer === 'function' ? answer(question) : answer
  })
  website = createServer(authority.issue(NAME), (request, response) => {
    visits.push(request)
    respond(request, response)
  })
  await once(website.listen(0, '127.0.0.1'), 'listening')
})
after(async () => {
  website.closeAllConnections()
  website.close()
  await dns.close()
})
beforeEach(() => {
  zone = { [`A ${NAME}`]: { records: ['127.0.0.1'] }, [`AAAA ${NAME}`]: { records: [] } }
  respond = (_, response) => response.setHeader('content-type', 'text/plain').end(`${VALUE}\n`)
  visits = []
})

function files(options: Partial<PublicFileOptions> = {}) {
  const { port } = website.address() as AddressInfo
  const resolver = createDomainResolver([dns.address])
  return createPublicFiles({
    resolver,
    isAllowed: (address) => address === '127.0.0.1',
    port,
    ca: authority.cert,
    ...options,
  })
}
const fetched = (options?: Partial<PublicFileOptions>): Promise<FetchedFile> =>
  files(options).fetch(NAME, '/.well-known/parley.txt')

function checker() {
  const { port } = website.address() as AddressInfo
  const isAllowed = (address: string) => address === '127.0.0.1'
  return createCheckDomain({ dnsServers: [dns.address], files: { isAllowed, port, ca: authority.cert } })
}

test('the right TXT record proves the domain, among others and however it is split or quoted, and no website is asked', async () => {
  for (const value of [VALUE, `"${VALUE}"`, ` ${VALUE} `]) {
    zone[`TXT ${RECORD}`] = { records: ['v=spf1 -all', value] }
    const findings = await checker()({ name: NAME, token: TOKEN })
    assert.equal(findings.dns.outcome, 'match', value)
    assert.equal(findings.file.outcome, 'not_needed')
  }
  assert.equal(visits.length, 0)
})

test('a token that only looks like the right one proves nothing, and what was found is told', async () => {
  respond = (_, response) => response.writeHead(404).end()
  zone[`TXT ${RECORD}`] = { records: [`${VALUE}0`, TOKEN, 'x\u{7}y'] }
  const { dns: seen, file } = await checker()({ name: NAME, token: TOKEN })
  assert.deepEqual(seen, { outcome: 'other', values: [`${VALUE}0`, TOKEN, 'x\u{fffd}y'], misplacedAt: null })
  assert.deepEqual(file, { outcome: 'absent', reason: 'status', status: 404 })
})

test('a record at one of the usual wrong places is found and named', async () => {
  respond = (_, response) => response.writeHead(404).end()
  for (const place of [NAME, `${RECORD}.example.com`]) {
    zone[`TXT ${place}`] = { records: [VALUE] }
    const { dns: seen } = await checker()({ name: NAME, token: TOKEN })
    assert.deepEqual([seen.outcome, seen.misplacedAt], ['absent', place])
    delete zone[`TXT ${place}`]
  }
})

test('a name server that fails is told apart from a record that is not there', async () => {
  respond = (_, response) => response.writeHead(404).end()
  zone[`TXT ${RECORD}`] = { rcode: 'SERVFAIL' }
  assert.equal((await checker()({ name: NAME, token: TOKEN })).dns.outcome, 'unanswered')
  zone[`TXT ${RECORD}`] = { records: [] }
  assert.equal((await checker()({ name: NAME, token: TOKEN })).dns.outcome, 'absent')
})

test('the file proves the domain, is asked for without cookies, and over the name it was looked up by', async () => {
  const { file } = await checker()({ name: NAME, token: TOKEN })
  assert.equal(file.outcome, 'match')
  const [visit] = visits
  assert.equal(visit?.url, '/.well-known/parley.txt')
  assert.equal(visit?.headers.host, NAME)
  assert.equal(visit?.headers['user-agent'], 'Parley domain check')
  assert.deepEqual([visit?.headers.cookie, visit?.headers.authorization], [undefined, undefined])
})

test('a page in which strangers can write proves nothing, wherever in it the token stands', async () => {
  const page = `<!doctype html><p>Latest comment: ${VALUE}</p>`
  const notProofs: [string, string, string][] = [
    ['text/html; charset=utf-8', page, 'refused'],
    // Nothing but the token, and still a page of a site whose users name its paths.
    ['text/html', VALUE, 'refused'],
    ['application/json', JSON.stringify(VALUE), 'refused'],
    ['', VALUE, 'refused'],
    ['text/plain', page, 'other'],
    ['text/plain', `Comments:\n${VALUE}\n`, 'other'],
    ['text/plain', `${VALUE}\n${VALUE}`, 'other'],
    ['text/plain', `${VALUE}0`, 'other'],
    ['text/plain', `x${VALUE}`, 'other'],
    ['text/plain', VALUE.toUpperCase(), 'other'],
    ['text/plain', '', 'other'],
    ['text/plain', `${VALUE}${' '.repeat(2_000)}`, 'refused'],
  ]
  for (const [type, body, outcome] of notProofs) {
    respond = (_, response) => response.writeHead(200, type === '' ? {} : { 'content-type': type }).end(body)
    const { file } = await checker()({ name: NAME, token: TOKEN })
    assert.equal(file.outcome, outcome, `${type}: ${body.slice(0, 80)}`)
  }
})

test('the token alone, as text or as a file to download and however an editor ends it, proves the domain', async () => {
  for (const type of ['text/plain', 'Text/Plain; charset=utf-8', 'application/octet-stream'])
    for (const body of [VALUE, `${VALUE}\n`, `\u{feff}${VALUE}\r\n`, ` ${VALUE} `, TOKEN]) {
      respond = (_, response) => response.writeHead(200, { 'content-type': type }).end(body)
      assert.equal((await checker()({ name: NAME, token: TOKEN })).file.outcome, 'match', `${type}: ${body}`)
    }
})

test('a name server that fails for one family of addresses does not hide those of the other', async () => {
  zone[`AAAA ${NAME}`] = { rcode: 'SERVFAIL' }
  const resolver = createDomainResolver([dns.address])
  assert.deepEqual(await resolver.addresses(NAME), ['127.0.0.1'])
  zone[`A ${NAME}`] = { rcode: 'SERVFAIL' }
  assert.equal(await resolver.addresses(NAME), undefined)
})

test('the production rules refuse a website on this machine, without connecting to it', async () => {
  const { port } = website.address() as AddressInfo
  const strict = createPublicFiles({ resolver: createDomainResolver([dns.address]), port, ca: authority.cert })
  assert.deepEqual(await strict.fetch(NAME, '/'), { refusal: 'address_not_public' })
  assert.equal(visits.length, 0)
})

test('one private address among public ones refuses them all', async () => {
  const strict = createPublicFiles({ resolver: createDomainResolver([dns.address]) })
  const mixed: [string[], string[]][] = [
    [['93.184.216.34', '10.0.0.7'], []],
    [['93.184.216.34'], ['::1']],
    [[], ['::ffff:169.254.169.254'.replace('169.254.169.254', 'a9fe:a9fe')]],
    [[], ['64:ff9b::a9fe:a9fe']],
    [[], ['2002:7f00:1::']],
    [['168.63.129.16'], []],
    [['100.100.100.200'], []],
  ]
  for (const [v4, v6] of mixed) {
    zone[`A ${NAME}`] = { records: v4 }
    zone[`AAAA ${NAME}`] = { records: v6 }
    assert.deepEqual(await strict.fetch(NAME, '/'), { refusal: 'address_not_public' }, [...v4, ...v6].join())
  }
})

test('names that are addresses, or exist only inside a network, are not even looked up', async () => {
  const asked = dns.questions.length
  const names = [
    '127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 0 0.0.0.0 [::1] ::1 [::] [::ffff:127.0.0.1] [64:ff9b::7f00:1]',
    '169.254.169.254 10.0.0.1 192.168.0.1 172.16.0.1 %3127.0.0.1 １２７.0.0.1 xn--.com _x.example.com',
    'localhost intranet a.localhost db.internal printer.local nas.home.arpa metadata.google.internal',
    'example.com. user@example.com example.com:8443 example.com/x EXAMPLE.com example.com#x example.com?x',
  ]
    .flatMap((some) => some.split(' '))
    .concat('', 'a b.com')
  assert.ok(names.length > 31)
  for (const name of names) assert.deepEqual(await files().fetch(name, '/'), { refusal: 'address_not_public' }, name)
  assert.equal(dns.questions.length, asked)
})

test('a name that leads elsewhere at the second look is still connected to where it led at the first', async () => {
  let looks = 0
  zone[`A ${NAME}`] = () => ({ records: [(looks += 1) === 1 ? '127.0.0.1' : '127.0.0.2'], ttlSeconds: 0 })
  assert.deepEqual(await fetched(), { text: `${VALUE}\n` })
  assert.equal(looks, 1)
})

test('what the connection itself says about its other end is looked at again', async () => {
  let looks = 0
  const isAllowed = () => (looks += 1) === 1
  assert.deepEqual(await fetched({ isAllowed }), { refusal: 'address_not_public' })
  assert.deepEqual([looks, visits.length], [2, 0])
})

test('redirects are not followed, to wherever they lead', async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    visits = []
    respond = (_, response) => response.writeHead(status, { location: 'http://169.254.169.254/latest' }).end()
    assert.deepEqual(await fetched(), { refusal: 'redirect', status })
    assert.equal(visits.length, 1)
  }
})

test('a file of more than 1 KB is not read to its end, one of 1 KB is', async () => {
  respond = (_, response) => response.setHeader('content-type', 'text/plain').end('x'.repeat(1024))
  assert.equal(((await fetched()) as { text: string }).text.length, 1024)
  let hasEnded = false
  respond = (_, response) => {
    response.setHeader('content-type', 'text/plain')
    const write = () => !hasEnded && response.write('x'.repeat(16 * 1024)) && setImmediate(write)
    response.on('drain', write).on('close', () => (hasEnded = true))
    write()
  }
  assert.deepEqual(await fetched(), { refusal: 'too_large' })
})

test('a website that never answers, or never finishes, is given up', async () => {
  respond = () => {}
  assert.deepEqual(await fetched({ withinMs: 300 }), { isUnanswered: true })
  respond = (_, response) => void response.setHeader('content-type', 'text/plain').write('parley')
  assert.deepEqual(await fetched({ withinMs: 300 }), { isUnanswered: true })
})

test(
  'a website that changes the protocol, or hangs up without a word, is given up at once',
  { timeout: 10_000 },
  async () => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'
    const sockets: Socket[] = []
    for (const answer of [(socket: Socket) => socket.write(upgrade), (socket: Socket) => socket.end()]) {
      respond = ({ socket }) => {
        sockets.push(socket)
        answer(socket)
      }
      const beganMs = performance.now()
      assert.deepEqual(await fetched({ withinMs: 5_000 }), { isUnanswered: true })
      assert.ok(performance.now() - beganMs < 3_000)
    }
    assert.equal(sockets.length, 2)
    for (const socket of sockets) socket.destroy()
  },
)

test('a certificate of another name, of nobody, or of the past proves nothing', async () => {
  const bad = [
    authority.issue('other.example.com'),
    authority.selfSigned(NAME),
    authority.issue(NAME, { isExpired: true }),
  ]
  for (const certificate of bad) {
    const impostor = createServer(certificate, (_, response) => response.end(VALUE))
    await once(impostor.listen(0, '127.0.0.1'), 'listening')
    const { port } = impostor.address() as AddressInfo
    const answer = await fetched({ port })
    impostor.closeAllConnections()
    impostor.close()
    assert.deepEqual(answer, { refusal: 'certificate' })
  }
})
