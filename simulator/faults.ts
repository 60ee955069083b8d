/**
 * The misbehaviours, selected by `fault=NAME`. "Midway" is after the script's `after` content chunks of a stream (or at
 * its last, if it has fewer), and in the middle of a JSON body. Some faults are not made by a request: U1 is
 * `refusedPort` and U2 `createBlackHole` in unreachable.ts, U3 the `tls` option of `createSimulator`.
 *
 * | name                        | for    | what the peer sees                                                              |
 * |-----------------------------|--------|---------------------------------------------------------------------------------|
 * | U5                          | both   | nothing at all; the socket stays open                                           |
 * | U6                          | both   | stalls midway; the socket stays open                                            |
 * | U7-bom                      | stream | legal: a byte order mark first                                                  |
 * | U7-cr                       | stream | legal: lines end in CR alone                                                    |
 * | U7-nospace                  | stream | legal: no space after `data:`                                                   |
 * | U7-comments                 | stream | legal: comments between and inside events                                       |
 * | U7-multiline                | stream | legal: the JSON of an event spread over many `data:` lines                      |
 * | U7-unknown-fields           | stream | legal: `id`, `retry`, unknown fields, a field without a colon                   |
 * | U7-noblank                  | stream | the last event without the blank line after it                                  |
 * | U7-badjson                  | stream | midway an event whose data is not JSON; then the rest, up to the end marker     |
 * | U8                          | both   | one byte per write                                                              |
 * | U9-bigevent                 | stream | midway an event of 10 MB that no blank line ends                                |
 * | U9-bigjson                  | json   | a valid body of 64 MB                                                           |
 * | U10                         | both   | 429, Retry-After: 2                                                             |
 * | U10-date                    | both   | 429, Retry-After: a date in 30 s                                                |
 * | U10-garbage                 | both   | 429, Retry-After: soon                                                          |
 * | U10-huge                    | both   | 429, Retry-After: 1000000000                                                    |
 * | U10-body                    | both   | 429, and the wait, 2 s, in the body alone, as Google says it                    |
 * | U11-500, -503, -529         | both   | that status with an error body                                                  |
 * | U11-502                     | both   | that status with the HTML page of a balancer                                    |
 * | U12-json                    | both   | 200 with a JSON error                                                           |
 * | U12-sse                     | stream | 200, and the first event is an error                                            |
 * | U12-midstream               | stream | midway an error event, then a clean end without end marker                      |
 * | U13                         | both   | no usage, although asked for                                                    |
 * | U14-eof                     | both   | midway a clean end of the chunked body                                          |
 * | U14-close                   | both   | midway the end of a body that only the end of the connection delimits           |
 * | U14-short                   | both   | midway the connection ends, before the content-length is reached                |
 * | U14-rst                     | both   | midway a TCP reset                                                              |
 * | U14-nodone                  | stream | everything but the end marker                                                   |
 * | U15                         | both   | after the complete response the same once more, unsolicited, on the same socket |
 * | U15-late                    | both   | the same 50 ms later, when the socket is idle in the peer's pool                |
 * | U16-gzip                    | both   | the reply, gzipped although nobody asked                                        |
 * | U16-twice                   | both   | the reply, gzipped twice                                                        |
 * | U16-bomb                    | both   | a megabyte that inflates to a gigabyte                                          |
 * | U17-headers                 | both   | the reply below 2,000 headers                                                   |
 * | U17-bigheader               | both   | the reply below a header of 20 KB                                               |
 * | U17-status                  | both   | a status line that is not one                                                   |
 * | U17-chunk                   | both   | midway a chunk size that is no number                                           |
 * | U18                         | both   | 302 to http://169.254.169.254/                                                  |
 * | U19-negative, -huge,        | both   | usage whose counts are negative, 10^15,                                         |
 * | U19-string, -null, -nan     | both   | strings, null, or a bare NaN (which makes the JSON illegal)                     |
 *
 * What real providers were seen to send, each in its own format:
 *
 * | name                        | format | what the peer sees                                                              |
 * |-----------------------------|--------|---------------------------------------------------------------------------------|
 * | U20-parts                   | openai | Mistral: text and `thoughts` as lists of parts                                  |
 * | U20-nofinish                | openai | the end marker, and no reason to finish                                         |
 * | U20-noarguments             | openai | calls without arguments                                                         |
 * | U20-noids                   | openai | calls without ids                                                               |
 * | U20-total                   | openai | Google, xAI: `reasoning` is counted in the total of the usage and nowhere else  |
 * | U20-badcall                 | openai | Groq: 400, code tool_use_failed                                                 |
 * | U20-badcall-event           | openai | the same as the first event of a 200                                            |
 * | U20-filterfirst             | openai | Azure: what its filters found, then silence for `gap` ms, then the reply        |
 * | U21-noprompt                | gemini | usage without the prompt and the total                                          |
 * | U21-undeclared              | gemini | a call of a tool that nobody declared, with the end UNEXPECTED_TOOL_CALL        |
 * | U21-malformed               | gemini | nothing but the end MALFORMED_FUNCTION_CALL                                     |
 *
 * Options play more of them: `cached` may be more than the prompt, and so may `cached` and `written` together.
 */
import { gzipSync } from 'node:zlib'
import type { Dialect, ReportedUsage, Usage } from './dialect.ts'
import { endedBy, inParts, withoutArguments, withoutFinish, withoutIds } from './edits.ts'
import type { Edit } from './edits.ts'
import { Refusal } from './refusal.ts'
import type { Script } from './script.ts'
import type { Wire } from './wire.ts'

export interface Fault {
  readonly for?: 'stream' | 'json'
  /** The only wire format in which it can be. */
  readonly format?: Dialect['format']
  /** The answer in place of the reply is no refusal: the prompt was read, and is billed. */
  readonly isAtWork?: boolean
  /** Answers in place of the reply. */
  readonly instead?: (delivery: Delivery) => Promise<void>
  /** Takes over after the first part of the reply. */
  readonly midway?: (delivery: Delivery) => Promise<void>
  /** Is written midway; the reply goes on behind it. */
  readonly interjection?: string
  /** An event before all others; silence for `gap` follows. */
  readonly opening?: string
  readonly afterwards?: (delivery: Delivery) => void
  readonly headers?: (delivery: Delivery) => Record<string, string>
  readonly unframed?: boolean
  /** `named` is the line that names the event, or nothing. */
  readonly frame?: (data: string, first: boolean, named: string, last: boolean) => string
  readonly newline?: string
  readonly splitBytes?: number
  readonly withoutDone?: boolean
  readonly usage?: (honest: Usage) => ReportedUsage | undefined
  readonly rewrite?: Edit
}

/** The parts of an exchange that a fault can reach to spoil it. */
export interface Delivery {
  readonly wire: Wire
  readonly contentType: string
  readonly errorBody: (status: number, message: string) => string
  readonly errorEvent: (status: number, message: string) => string | Uint8Array
  /** The beginning of an event that is to be this long. */
  readonly eventBeginning: (bytes: number) => string | Uint8Array
  /** The whole body as it would be without the fault. */
  readonly wholeBody: () => Buffer
}

const MEGABYTE = 1_000_000

/** Longer than the patience of any peer, and still an end. */
const STALL_MS_MAX = 600_000

const IN_THE_STREAM = 'simulated failure in the stream'

/** By then the peer has read the first part. A reset or an error in the same read can make it forget that part. */
const READ_WITHIN_MS = 20

const ofOpenAI = { for: 'stream', format: 'openai' } as const
const ofGemini = { for: 'stream', format: 'gemini' } as const

const FILTER_RESULTS = JSON.stringify({
  choices: [],
  created: 0,
  id: '',
  model: '',
  object: '',
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } }],
})

const FAULTS = new Map<string, Fault>(
  Object.entries({
    U5: { instead: stall, isAtWork: true },
    U6: { midway: stall },
    'U7-bom': { for: 'stream', frame: (data, first, named) => `${first ? '\uFEFF' : ''}${named}data: ${data}\n\n` },
    'U7-cr': { for: 'stream', newline: '\r' },
    'U7-nospace': {
      for: 'stream',
      frame: (data, _, named) => `${named.replace(': ', ':')}data:${data}\n\n`,
    },
    'U7-comments': {
      for: 'stream',
      frame: (data, _, named) => `: ping\n\n:\n: before\n${named}data: ${data}\n: behind\n\n`,
    },
    'U7-multiline': { for: 'stream', frame: (data, _, named) => `${named}${dataLines(data)}\n\n` },
    'U7-unknown-fields': {
      for: 'stream',
      frame: (data, _, named) => `id: 7\nretry: 3000\nflavour: plain\n${named}data: ${data}\nlonely\n\n`,
    },
    'U7-noblank': {
      for: 'stream',
      frame: (data, _, named, last) => `${named}data: ${data}${last ? '' : '\n\n'}`,
    },
    'U7-badjson': { for: 'stream', interjection: '{"choices": [{"delta": {"content": "lost' },
    U8: { splitBytes: 1 },
    'U9-bigevent': { for: 'stream', midway: bigEvent },
    'U9-bigjson': { for: 'json', instead: bigJson },
    U10: { instead: rateLimited(() => '2') },
    'U10-date': { instead: rateLimited(() => new Date(Date.now() + 30_000).toUTCString()) },
    'U10-garbage': { instead: rateLimited(() => 'soon') },
    'U10-huge': { instead: rateLimited(() => '1000000000') },
    'U10-body': { instead: waitInBody },
    'U11-500': { instead: failed(500) },
    'U11-502': { instead: badGateway },
    'U11-503': { instead: failed(503) },
    'U11-529': { instead: failed(529) },
    'U12-json': { instead: (delivery) => respond(delivery, 200, 500) },
    'U12-sse': { for: 'stream', instead: errorFirst },
    'U12-midstream': { for: 'stream', midway: errorMidway },
    U13: { usage: () => undefined },
    'U14-eof': { midway: ({ wire }) => wire.end() },
    'U14-close': { unframed: true, midway: ({ wire }) => wire.end() },
    'U14-short': { headers: wholeLength, midway: ({ wire }) => wire.hangUp() },
    'U14-rst': { midway: reset },
    'U14-nodone': { for: 'stream', withoutDone: true },
    U15: { afterwards: unsolicited },
    'U15-late': { afterwards: (delivery) => void setTimeout(unsolicited, 50, delivery).unref() },
    'U16-gzip': { instead: (delivery) => encoded(delivery, 'gzip', gzipSync(delivery.wholeBody())) },
    'U16-twice': {
      instead: (delivery) => encoded(delivery, 'gzip, gzip', gzipSync(gzipSync(delivery.wholeBody()))),
    },
    'U16-bomb': { instead: (delivery) => encoded(delivery, 'gzip', bomb()) },
    'U17-headers': { headers: headerFlood },
    'U17-bigheader': { headers: () => ({ 'x-big': 'b'.repeat(20_000) }) },
    'U17-status': { instead: garbageStatus },
    'U17-chunk': { midway: badChunkSize },
    U18: { instead: redirected },
    'U19-negative': { usage: (honest) => everyCount(honest, (count) => -count - 1) },
    'U19-huge': { usage: (honest) => everyCount(honest, () => 1e15) },
    'U19-string': { usage: (honest) => everyCount(honest, String) },
    'U19-null': { usage: (honest) => everyCount(honest, () => null) },
    'U19-nan': {
      usage: (honest) => everyCount(honest, () => 'NaN'),
      rewrite: (json) => json.replaceAll('"NaN"', 'NaN'),
    },
    'U20-parts': { ...ofOpenAI, rewrite: inParts },
    'U20-nofinish': { ...ofOpenAI, rewrite: withoutFinish },
    'U20-noarguments': { ...ofOpenAI, rewrite: withoutArguments },
    'U20-noids': { ...ofOpenAI, rewrite: withoutIds },
    'U20-total': {
      ...ofOpenAI,
      usage: (honest) => ({ ...honest, completion: honest.completion - honest.reasoning, reasoning: 0 }),
    },
    'U20-badcall': { ...ofOpenAI, instead: (delivery) => respond(delivery, 400, 400, {}, 'tool_use_failed') },
    'U20-badcall-event': { ...ofOpenAI, instead: (delivery) => errorFirst(delivery, 400, 'tool_use_failed') },
    'U20-filterfirst': { ...ofOpenAI, opening: FILTER_RESULTS },
    'U21-noprompt': { ...ofGemini, usage: (honest) => ({ ...honest, prompt: undefined, total: undefined }) },
    'U21-undeclared': {
      ...ofGemini,
      rewrite: endedBy('UNEXPECTED_TOOL_CALL', [{ functionCall: { name: 'undeclared', args: {} } }]),
      usage: thoughtsAlone,
    },
    'U21-malformed': { ...ofGemini, rewrite: endedBy('MALFORMED_FUNCTION_CALL'), usage: thoughtsAlone },
  } satisfies Record<string, Fault>),
)

export const FAULT_NAMES: readonly string[] = [...FAULTS.keys()]

/** The fault that a script asks for. A plain status is one too. */
export function faultOf(script: Script, stream: boolean, { format, framing }: Dialect): Fault | undefined {
  if (script.fault === undefined) return script.status === undefined ? undefined : { instead: failed(script.status) }
  const fault = FAULTS.get(script.fault)
  if (!fault) throw new Refusal(400, `unknown fault "${script.fault}"; known are ${FAULT_NAMES.join(', ')}`)
  // A fault that does nothing would let a test pass that tests nothing.
  if (fault.for && (fault.for === 'stream') !== stream) {
    throw new Refusal(
      400,
      `fault ${script.fault} applies only to ${fault.for === 'stream' ? 'streams' : 'JSON replies'}`,
    )
  }
  if (fault.format && fault.format !== format) {
    throw new Refusal(400, `fault ${script.fault} applies only to the format of ${fault.format}`)
  }
  if (framing && (fault.frame || fault.newline !== undefined)) {
    throw new Refusal(400, `fault ${script.fault} applies only to server-sent events`)
  }
  return fault
}

async function stall({ wire }: Delivery): Promise<void> {
  await wire.pause(STALL_MS_MAX)
  await wire.hangUp()
}

async function respond(
  { wire, errorBody }: Delivery,
  status: number,
  claimedStatus: number,
  headers: Record<string, string> = {},
  message = `simulated failure ${claimedStatus}`,
): Promise<void> {
  await writeWhole(wire, status, errorBody(claimedStatus, message), headers)
}

async function writeWhole(
  wire: Wire,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): Promise<void> {
  wire.head(status, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  })
  await wire.write(body)
  await wire.end()
}

function failed(status: number): (delivery: Delivery) => Promise<void> {
  return (delivery) => respond(delivery, status, status)
}

function rateLimited(retryAfter: () => string): (delivery: Delivery) => Promise<void> {
  return (delivery) => respond(delivery, 429, 429, { 'retry-after': retryAfter() })
}

function waitInBody({ wire }: Delivery): Promise<void> {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' }]
  return writeWhole(wire, 429, JSON.stringify({ error: { code: 429, status: 'RESOURCE_EXHAUSTED', details } }))
}

async function badGateway({ wire }: Delivery): Promise<void> {
  wire.head(502, { 'content-type': 'text/html' })
  await wire.write('<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n')
  await wire.end()
}

async function errorFirst(delivery: Delivery, status = 500, message = IN_THE_STREAM): Promise<void> {
  delivery.wire.head(200, { 'content-type': delivery.contentType })
  await errorMidway(delivery, status, message)
}

async function errorMidway({ wire, errorEvent }: Delivery, status = 500, message = IN_THE_STREAM): Promise<void> {
  await wire.write(errorEvent(status, message))
  await wire.end()
}

async function reset({ wire }: Delivery): Promise<void> {
  await wire.pause(READ_WITHIN_MS)
  wire.reset()
}

async function badChunkSize({ wire }: Delivery): Promise<void> {
  await wire.pause(READ_WITHIN_MS)
  wire.raw('not-a-size\r\nlost\r\n')
  await wire.hangUp()
}

async function garbageStatus({ wire }: Delivery): Promise<void> {
  wire.raw('HTTP/1.1 two-hundred fine\r\ncontent-length: 2\r\n\r\n{}')
  await wire.hangUp()
}

async function redirected({ wire }: Delivery): Promise<void> {
  wire.head(302, { location: 'http://169.254.169.254/', 'content-length': '0' })
  await wire.end()
}

async function encoded({ wire, contentType }: Delivery, encoding: string, bytes: Uint8Array): Promise<void> {
  wire.head(200, { 'content-type': contentType, 'content-encoding': encoding })
  await wire.write(bytes)
  await wire.end()
}

const BOMB_PART_BYTES = 16 * MEGABYTE
const BOMB_PARTS = 64
let bombBytes: Buffer | undefined

/** Gzip data can be concatenated: one small part, many times over, inflates to a gigabyte that never had to be deflated. */
function bomb(): Buffer {
  bombBytes ??= Buffer.concat(Array.from<Buffer>({ length: BOMB_PARTS }).fill(gzipSync(Buffer.alloc(BOMB_PART_BYTES))))
  return bombBytes
}

async function bigEvent({ wire, eventBeginning }: Delivery): Promise<void> {
  await wire.write(eventBeginning(11 * MEGABYTE))
  await writePadding(wire, 10 * MEGABYTE)
  await wire.end()
}

async function bigJson({ wire, contentType, wholeBody }: Delivery): Promise<void> {
  wire.head(200, { 'content-type': contentType })
  await wire.write('{"padding":"')
  await writePadding(wire, 64 * MEGABYTE)
  await wire.write(`",${wholeBody().toString().slice(1)}`)
  await wire.end()
}

async function writePadding(wire: Wire, bytes: number): Promise<void> {
  const block = Buffer.alloc(100_000, 'a')
  for (let written = 0; written < bytes; written += block.length) await wire.write(block)
}

/** A peer that takes it for the answer to its next request hands one caller's answer to another. */
function unsolicited({ wire, contentType, wholeBody }: Delivery): void {
  const body = wholeBody()
  const head = `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\ncontent-length: ${body.length}\r\n\r\n`
  wire.raw(Buffer.concat([Buffer.from(head), body]))
}

function wholeLength({ wholeBody }: Delivery): Record<string, string> {
  return { 'content-length': String(wholeBody().length) }
}

function headerFlood(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`x-flood-${n}`, 'f'.repeat(64)]))
}

/** Line breaks between the members of a JSON value change nothing, so its lines can be data lines. */
function dataLines(data: string): string {
  const lines = data.startsWith('{') ? JSON.stringify(JSON.parse(data), null, 1).split('\n') : [data]
  return lines.map((line) => `data: ${line}`).join('\n')
}

/** The model has thought, and written nothing. */
function thoughtsAlone(honest: Usage): Usage {
  return { ...honest, completion: honest.reasoning, total: honest.prompt + honest.reasoning }
}

function everyCount(honest: Usage, lie: (count: number) => unknown): ReportedUsage {
  return {
    prompt: lie(honest.prompt),
    completion: lie(honest.completion),
    total: lie(honest.total),
    cached: lie(honest.cached),
    cacheWrite: lie(honest.cacheWrite),
    fresh: lie(honest.fresh),
    reasoning: lie(honest.reasoning),
  }
}
