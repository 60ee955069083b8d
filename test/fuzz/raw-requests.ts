/** Bytes for a socket: requests that are hardly HTTP any more, and those that two servers would read in two ways. */
import type { Random } from '../support/random.ts'
import { mutatedBytes, pieces } from './bytes.ts'
import { CHAT_MODELS } from './world.ts'

export interface TcpInput {
  pieces: Buffer[]
  /** Between two pieces. */
  gapMs: number
  /** The client's behaviour once everything is sent. */
  ending: 'waits' | 'half-closes' | 'leaves'
  /** More answers than this mean that something inside of a body was taken for a request. */
  answersMax: number
}

type Headers = Record<string, string>

/** Names what must never be answered: it stands inside of a body. */
const SMUGGLED = 'GET /v1/credits HTTP/1.1\r\nhost: a\r\n\r\n'

export function tcpInputOf(random: Random, keys: Headers): TcpInput {
  const [text, answersMax] = random.pick(SHAPES)(random, keys)
  const whole = Buffer.from(text, 'latin1')
  const isMutated = random.int(3) === 0
  const bytes = isMutated ? mutatedBytes(whole, random, [Buffer.from(SMUGGLED), Buffer.from(getOf(keys))]) : whole
  const isSlow = random.int(40) === 0
  return {
    pieces: pieces(bytes, random, isSlow ? 4 : 3),
    gapMs: isSlow ? 15 : 0,
    ending: random.pick(['waits', 'waits', 'waits', 'half-closes', 'leaves']),
    // Once it is mutated, there may be as many requests in it as there are beginnings of one.
    answersMax: isMutated ? 1_000 : answersMax,
  }
}

function linesOf(headers: Headers): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

function getOf(keys: Headers, path = '/v1/models'): string {
  return `GET ${path} HTTP/1.1\r\nhost: a\r\n${linesOf(keys)}\r\n`
}

function postOf(keys: Headers, body: string, extra: Headers | string, path = '/v1/chat/completions'): string {
  const more = typeof extra === 'string' ? extra : linesOf(extra)
  return `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${linesOf(keys)}${more}\r\n${body}`
}

function chatOf(random: Random): string {
  const stream = random.int(2) === 0
  return JSON.stringify({ model: random.pick(CHAT_MODELS), messages: [{ role: 'user', content: 'Hi' }], stream })
}

function chunked(text: string, random: Random): string {
  const at = random.int(text.length)
  const parts = [text.slice(0, at), text.slice(at)].filter((part) => part !== '')
  return `${parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\n`
}

type Shape = (random: Random, keys: Headers) => [text: string, answersMax: number]

/** Two lengths of one body: what comes before us may have taken the other. */
const DISAGREEING: Shape = (random, keys) => {
  const length = random.pick([
    '4',
    '0',
    '00',
    '+5',
    '-1',
    '5, 5',
    '5,6',
    '0x5',
    '1e1',
    ' 5',
    '5\t',
    '99999999999999999999',
    '',
  ])
  const encoding =
    random.pick(['chunked', 'Chunked', ' chunked', 'chunked, chunked', 'identity, chunked', 'chunked;q=1', 'x']) +
    random.pick(['', '', ' ', '\t', '\u000b', '\u0000'])
  const named = random.pick([
    'transfer-encoding',
    'Transfer-Encoding',
    'transfer_encoding',
    'transfer-encoding ',
    ' transfer-encoding',
  ])
  const both = `content-length: ${length}\r\n${named}: ${encoding}\r\n`
  const twice = `content-length: 5\r\ncontent-length: ${length}\r\n`
  return [postOf(keys, `0\r\n\r\n${SMUGGLED}`, random.pick([both, twice, both + twice])), 2]
}

const SMUGGLING_BODY: Shape = (_random, keys) => [
  postOf(keys, SMUGGLED, { 'content-length': String(SMUGGLED.length) }),
  1,
]

const BAD_CHUNKS: Shape = (random, keys) => {
  const good = chunked(chatOf(random), random)
  const at = random.int(good.length)
  const bad = random.pick([
    good.slice(0, at),
    good.replace(/^[0-9a-f]+/, (size) =>
      random.pick(['-1', 'ffffffffffffffff', 'g', '', `${size};a=b`, `${size} `, `0x${size}`]),
    ),
    good.replace('\r\n', random.pick(['\n', '\r', '\r\r\n', '\n\r'])),
    good.replace(/0\r\n\r\n$/, random.pick(['0\r\nhost: b\r\n\r\n', '0\r\n', '000000\r\n\r\n', '0\r\nx', '0\n\n'])),
    `1;${'x'.repeat(random.pick([10, 20_000]))}\r\nx\r\n0\r\n\r\n`,
  ])
  return [postOf(keys, bad, { 'transfer-encoding': 'chunked' }), 2]
}

const REQUEST_LINES: Shape = (random, keys) => {
  const line = random.pick([
    'GET',
    'GET ',
    ' GET / HTTP/1.1',
    'GET / HTTP/9.9',
    'GET / HTTP/1.0',
    'GET / HTTP/1.1 x',
    'get / http/1.1',
  ])
  const other = random.pick([
    'GET  /v1/models HTTP/1.1',
    'G\u0000T / HTTP/1.1',
    'GET /\u0000 HTTP/1.1',
    'GET http://a/v1/models HTTP/1.1',
  ])
  const tunnel = random.pick([
    'CONNECT a:1 HTTP/1.1',
    'PRI * HTTP/2.0',
    'OPTIONS * HTTP/1.1',
    'GET /v1/models',
    '\u0016\u0003\u0001\u0002',
  ])
  const long = `GET /${'a'.repeat(random.pick([1_000, 20_000]))} HTTP/1.1`
  return [`${random.pick([line, other, tunnel, long])}\r\nhost: a\r\n${linesOf(keys)}\r\n`, 1]
}

const ODD_HEADERS: Shape = (random, keys) => {
  const odd = random.pick([
    'x: a\u0000b',
    'x',
    ': x',
    ' x: folded',
    'x : y',
    'x: a\rb',
    'x: a\nb: c',
    'host: b',
    'x\u00ff: y',
    'x: \u00ff',
  ])
  const known = random.pick([
    'upgrade: websocket\r\nconnection: upgrade',
    'connection: close, keep-alive',
    'expect: 100-continue',
  ])
  const keep = random.pick([
    'keep-alive: timeout=0',
    'te: trailers',
    'trailer: content-length',
    'content-length: 5',
    'via: x',
  ])
  const many = Array.from({ length: random.pick([50, 3_000]) }, (_, n) => `x-${n}: y`).join('\r\n')
  const long = `x: ${'y'.repeat(random.pick([1_000, 17_000, 70_000]))}`
  const lines = random.pick([odd, known, keep, many, long, `${odd}\r\n${known}`])
  return [`GET /v1/models HTTP/1.1\r\nhost: a\r\n${linesOf(keys)}${lines}\r\n\r\n`, 2]
}

const PIPELINED: Shape = (random, keys) => {
  const count = 2 + random.int(6)
  const body = chatOf(random)
  const requests = Array.from({ length: count }, () =>
    random.pick([
      getOf(keys),
      getOf(keys, '/v1/credits'),
      getOf({}, '/nowhere'),
      postOf(keys, body, { 'content-length': String(body.length) }),
      postOf(keys, chunked(body, random), { 'transfer-encoding': 'chunked' }),
      '\r\n',
    ]),
  )
  return [requests.join(''), count]
}

const CUT_SHORT: Shape = (random, keys) => {
  const body = chatOf(random)
  const whole = postOf(keys, body, { 'content-length': String(body.length + random.int(3)) })
  return [whole.slice(0, random.int(whole.length)), 1]
}

const NOISE: Shape = (random) => {
  const text = Array.from({ length: 1 + random.int(300) }, () => String.fromCharCode(random.int(256))).join('')
  return [text, 1_000]
}

const VALID: Shape = (random, keys) => {
  const body = chatOf(random)
  const post = postOf(keys, body, { 'content-length': String(body.length) })
  return [random.pick([post, getOf(keys), postOf(keys, chunked(body, random), { 'transfer-encoding': 'chunked' })]), 1]
}

const SHAPES: readonly Shape[] = [DISAGREEING, DISAGREEING, SMUGGLING_BODY, BAD_CHUNKS, BAD_CHUNKS].concat([
  REQUEST_LINES,
  ODD_HEADERS,
  PIPELINED,
  CUT_SHORT,
  NOISE,
  VALID,
])
