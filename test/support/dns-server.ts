import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'

/** A name server on a real UDP port of 127.0.0.1, which answers as it is told and remembers what it was asked. */
export interface DnsServer {
  /** As resolvers take it: `127.0.0.1:PORT`. */
  readonly address: string
  /** Oldest first. */
  readonly questions: readonly DnsQuestion[]
  close(): Promise<void>
}

export interface DnsQuestion {
  /** In lower case. */
  name: string
  type: RecordType | 'other'
}

/** Undefined stands for a name that does not exist. An empty list says that the name exists, without such records. */
export type DnsAnswer = Records | { rcode: 'SERVFAIL' | 'NXDOMAIN' | 'REFUSED' } | { isDropped: true } | undefined

interface Records {
  /** Addresses, or texts. */
  records: readonly string[]
  ttlSeconds?: number
  delayMs?: number
}

const RECORD_TYPES = { A: 1, TXT: 16, AAAA: 28 } as const
type RecordType = keyof typeof RECORD_TYPES
const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const

const HEADER_BYTES = 12
/** A response, recursion wanted and available. */
const RESPONSE_FLAGS = 0x8180
/** The name of every record is that of the question, which always stands behind the header. */
const POINTER_TO_QUESTION = 0xc000 | HEADER_BYTES
const CLASS_INTERNET = 1

export async function createDnsServer(answerTo: (question: DnsQuestion) => DnsAnswer): Promise<DnsServer> {
  const socket = createSocket('udp4')
  const questions: DnsQuestion[] = []
  const delayed = new Set<NodeJS.Timeout>()

  socket.on('message', (message, peer) => {
    const question = questionIn(message)
    questions.push(question)
    const answer = answerTo(question)
    if (answer && 'isDropped' in answer) return
    const response = responseTo(message, question, answer)
    const timer = setTimeout(
      () => {
        delayed.delete(timer)
        socket.send(response, peer.port, peer.address)
      },
      answer && 'delayMs' in answer ? answer.delayMs : 0,
    )
    delayed.add(timer)
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind(0, '127.0.0.1', resolve)
  })

  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    async close() {
      for (const timer of delayed) clearTimeout(timer)
      await new Promise<void>((resolve) => socket.close(resolve))
    },
  }
}

function questionIn(message: Buffer): DnsQuestion {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const code = message.readUInt16BE(at + 1)
  const type = Object.entries(RECORD_TYPES).find(([, number]) => number === code)?.[0] as RecordType | undefined
  return { name: labels.join('.').toLowerCase(), type: type ?? 'other' }
}

/** The question goes back byte by byte as it came: resolvers vary the case of its letters to recognise forgeries. */
function responseTo(message: Buffer, question: DnsQuestion, answer: Exclude<DnsAnswer, { isDropped: true }>): Buffer {
  const nameBytes = question.name === '' ? 1 : Buffer.byteLength(question.name, 'latin1') + 2
  const asked = message.subarray(HEADER_BYTES, HEADER_BYTES + nameBytes + 4)
  const records =
    answer && 'records' in answer && question.type !== 'other'
      ? answer.records.map((value) => recordOf(question.type as RecordType, value, answer.ttlSeconds ?? 60))
      : []
  const rcode = answer === undefined ? 'NXDOMAIN' : 'rcode' in answer ? answer.rcode : 'NOERROR'
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt16BE(message.readUInt16BE(0), 0)
  header.writeUInt16BE(RESPONSE_FLAGS | RCODES[rcode], 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, asked, ...records])
}

function recordOf(type: RecordType, value: string, ttlSeconds: number): Buffer {
  const data =
    type === 'A' ? Buffer.from(value.split('.').map(Number)) : type === 'AAAA' ? ipv6Of(value) : textOf(value)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(POINTER_TO_QUESTION, 0)
  head.writeUInt16BE(RECORD_TYPES[type], 2)
  head.writeUInt16BE(CLASS_INTERNET, 4)
  head.writeUInt32BE(ttlSeconds, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function ipv6Of(address: string): Buffer {
  if (!isIPv6(address)) throw new Error(`${address} is not an IPv6 address`)
  const [before = [], after = []] = address.split('::').map((half) => half.split(':').filter(Boolean))
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  const bytes = Buffer.alloc(16)
  for (const [n, group] of [...before, ...zeros, ...after].entries()) bytes.writeUInt16BE(parseInt(group, 16), n * 2)
  return bytes
}

/** One text in as many strings as it needs, each of at most 255 bytes. */
function textOf(value: string): Buffer {
  const bytes = Buffer.from(value)
  const strings: Buffer[] = []
  for (let at = 0; at === 0 || at < bytes.length; at += 255) {
    const part = bytes.subarray(at, at + 255)
    strings.push(Buffer.from([part.length]), part)
  }
  return Buffer.concat(strings)
}
