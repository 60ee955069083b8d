import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import {
  createFetchFeed,
  type FetchedFeed,
  type FetchFeedOptions,
  type Validators,
} from '../../src/actions/offers/fetch-feed.ts'
import { createAuthority } from '../support/certificates.ts'

/** Feeds from addresses that advertisers choose, over real sockets: what is fetched, and what nobody is led to. */

const SHOP = 'shop.example.com'
const FILES = 'files.example.com'
const authority = createAuthority()
const NEVER = new AbortController().signal
const NOTHING: Validators = { etag: null, lastModified: null }

type Answer = (request: IncomingMessage, response: ServerResponse) => void

let servers: Server[]
let shopUrl: string
let filesUrl: string
const asked: { host: string; path: string; headers: IncomingMessage['headers'] }[] = []
const answers: Record<string, Answer> = {}
let zone: Record<string, string[]> = {}

before(async () => {
  const urls = await Promise.all(
    [SHOP, FILES].map(async (host) => {
      const server = createServer(authority.issue(host), (request, response) => {
        asked.push({ host, path: request.url ?? '', headers: request.headers })
        answers[`${host}${request.url}`]?.(request, response)
      })
      servers = [...(servers ?? []), server]
      await once(server.listen(0, '127.0.0.1'), 'listening')
      return `https://${host}:${(server.address() as AddressInfo).port}`
    }),
  )
  ;[shopUrl = '', filesUrl = ''] = urls
  zone = { [SHOP]: ['127.0.0.1'], [FILES]: ['127.0.0.1'] }
})
after(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

const addresses = (name: string) => Promise.resolve(zone[name] ?? [])
const isLoopback = (address: string) => address === '127.0.0.1'

function fetchFrom(url: string, options: Partial<FetchFeedOptions> = {}, validators = NOTHING): Promise<FetchedFeed> {
  const fetchFeed = createFetchFeed({ resolver: { addresses }, isAllowed: isLoopback, ca: authority.cert, ...options })
  return fetchFeed({ url, ...validators }, NEVER)
}

async function bytesOf(fetched: FetchedFeed): Promise<Buffer> {
  assert.ok('bytes' in fetched, JSON.stringify(fetched))
  try {
    const pieces: Buffer[] = []
    for await (const piece of fetched.bytes) pieces.push(piece)
    return Buffer.concat(pieces)
  } finally {
    fetched.close()
  }
}

async function problemOf(url: string, options: Partial<FetchFeedOptions> = {}): Promise<string> {
  const fetched = await fetchFrom(url, options)
  assert.ok('problem' in fetched)
  return fetched.problem
}

const send =
  (body: string | Buffer, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(200, { 'content-length': Buffer.byteLength(body), ...headers }).end(body)
  }
const redirect =
  (location: string): Answer =>
  (_, response) =>
    void response.writeHead(302, { location }).end()

test('a feed is fetched as it is sent, and what its server said of it is sent back the next time', async () => {
  answers[`${SHOP}/feed?key=7`] = (request, response) => {
    if (request.headers['if-none-match'] === '"v1"') return void response.writeHead(304).end()
    send('id\ttitle\n', { etag: '"v1"', 'last-modified': 'Wed, 18 Nov 2026 10:00:00 GMT' })(request, response)
  }
  const fetched = await fetchFrom(`${shopUrl}/feed?key=7`)
  assert.ok('bytes' in fetched)
  const { etag, lastModified } = fetched
  assert.deepEqual({ etag, lastModified }, { etag: '"v1"', lastModified: 'Wed, 18 Nov 2026 10:00:00 GMT' })
  assert.equal(String(await bytesOf(fetched)), 'id\ttitle\n')
  assert.deepEqual(await fetchFrom(`${shopUrl}/feed?key=7`, {}, { etag, lastModified }), { isUnchanged: true })
  assert.equal(asked.at(-1)?.headers['if-modified-since'], lastModified)
  assert.equal(asked.at(-2)?.headers['if-none-match'], undefined)
})

test('a server that says "unchanged" to one who has nothing is not believed', async () => {
  answers[`${SHOP}/never`] = (_, response) => void response.writeHead(304).end()
  assert.match(await problemOf(`${shopUrl}/never`), /status 304/)
})

test('a redirect is followed to where its name leads then, and is looked at like the first address', async () => {
  answers[`${SHOP}/moved`] = redirect(`${filesUrl}/feed`)
  answers[`${FILES}/feed`] = send('all of it')
  assert.equal(String(await bytesOf(await fetchFrom(`${shopUrl}/moved`))), 'all of it')
  answers[`${SHOP}/relative`] = redirect('/moved')
  assert.equal(String(await bytesOf(await fetchFrom(`${shopUrl}/relative`))), 'all of it')
  const before = asked.length
  zone = { ...zone, 'inside.example.com': ['10.0.0.7'], 'both.example.com': ['127.0.0.1', '169.254.169.254'] }
  const elsewhere: [string, RegExp][] = [
    ['https://inside.example.com/feed', /inside\.example\.com leads to no public address/],
    ['https://both.example.com/feed', /leads to no public address/],
    ['https://10.0.0.7/feed', /leads to no public address/],
    ['https://localhost/feed', /leads to no public address/],
    [`http://${FILES}/feed`, /cannot be used\. It must be an https address/],
    ['file:///etc/passwd', /It must be an https address/],
    [`https://me:secret@${FILES}/feed`, /user name/],
    ['https://nowhere.example.com/', /nowhere\.example\.com has no address/],
  ]
  for (const [location, reason] of elsewhere) {
    answers[`${SHOP}/away`] = redirect(location)
    assert.match(await problemOf(`${shopUrl}/away`), reason, location)
  }
  assert.equal(asked.length - before, elsewhere.length, 'nobody else was asked for anything')
})

test('the very first address is looked at, too', async () => {
  for (const url of ['https://10.0.0.7/', 'https://localhost/', 'https://both.example.com/'])
    assert.match(await problemOf(url), /no public address/)
  // Without the tests’ own leave, this machine is none of the public.
  const fetchFeed = createFetchFeed({ resolver: { addresses }, ca: authority.cert })
  const fetched = await fetchFeed({ url: `${shopUrl}/moved`, ...NOTHING }, NEVER)
  assert.deepEqual(fetched, { problem: `${SHOP} leads to no public address.` })
})

test('redirects end, also in a circle', async () => {
  answers[`${SHOP}/circle`] = redirect('/circle')
  const before = asked.length
  assert.match(await problemOf(`${shopUrl}/circle`), /more than 5 times/)
  assert.equal(asked.length - before, 6)
})

test('a file has an end: in bytes, in time and as its server says it', async () => {
  answers[`${SHOP}/long`] = send('x'.repeat(5_000))
  assert.match(await problemOf(`${shopUrl}/long`, { bytesMax: 4_999 }), /more than 4999 bytes/)
  answers[`${SHOP}/endless`] = (_, response) => {
    response.writeHead(200, { 'transfer-encoding': 'chunked' })
    const more = setInterval(() => response.write('x'.repeat(1_000)), 1)
    response.on('close', () => clearInterval(more))
  }
  await assert.rejects(bytesOf(await fetchFrom(`${shopUrl}/endless`, { bytesMax: 20_000 })), /more than 20000 bytes/)
  await assert.rejects(bytesOf(await fetchFrom(`${shopUrl}/endless`, { wholeMs: 300 })), /too long to fetch/)
  answers[`${SHOP}/stops`] = (_, response) => void response.writeHead(200, { 'content-length': 9 }).write('x')
  await assert.rejects(bytesOf(await fetchFrom(`${shopUrl}/stops`, { pieceMs: 100 })), /stopped midway/)
  answers[`${SHOP}/cut`] = (_, response) => {
    response.writeHead(200, { 'content-length': 9 }).write('x')
    setTimeout(() => response.destroy(), 50)
  }
  await assert.rejects(bytesOf(await fetchFrom(`${shopUrl}/cut`)), /broke in the middle/)
  answers[`${SHOP}/silent`] = () => {}
  assert.match(await problemOf(`${shopUrl}/silent`, { headMs: 100 }), /did not answer in time/)
  answers[`${SHOP}/no-end`] = (request) => {
    request.socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nid\ttitle')
  }
  assert.match(await problemOf(`${shopUrl}/no-end`), /does not say where the file ends/)
})

test('a server without a valid certificate, with another status or in another packing is told of in words', async () => {
  assert.match(await problemOf(`${shopUrl}/long`, { ca: createAuthority().cert }), /no valid certificate/)
  answers[`${SHOP}/gone`] = (_, response) => void response.writeHead(404).end()
  assert.match(await problemOf(`${shopUrl}/gone`), /status 404/)
  answers[`${SHOP}/brotli`] = send('?', { 'content-encoding': 'br' })
  assert.match(await problemOf(`${shopUrl}/brotli`), /compresses the file in an unknown way/)
})
