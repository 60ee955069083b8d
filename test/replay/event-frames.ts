/** AWS's event stream, as bytes: written with the simulator's own hand, and read here by another. */
import { frameOf } from '../../simulator/bedrock.ts'
import type { Json } from './json.ts'

export function eventFrame(name: string, payload: Json): Buffer {
  return frameOf({ name, data: JSON.stringify(payload) })
}

export interface EventFrame {
  type: string
  isException: boolean
  payload: Json
}

/** Two lengths and their checksum, the headers, the payload, and the checksum of it all. */
export function framesOf(body: Buffer): EventFrame[] {
  const frames: EventFrame[] = []
  for (let from = 0; from + 16 <= body.length;) {
    const length = body.readUInt32BE(from)
    const payloadFrom = from + 12 + body.readUInt32BE(from + 4)
    const headers = headersIn(body.subarray(from + 12, payloadFrom))
    const payload: Json = JSON.parse(body.toString('utf8', payloadFrom, from + length - 4))
    const exception = headers.get(':exception-type')
    frames.push({ type: exception ?? headers.get(':event-type') ?? '', isException: exception !== undefined, payload })
    from += length
  }
  return frames
}

/** All are strings: a byte of length and the name, a 7, two bytes of length and the value. */
function headersIn(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>()
  for (let from = 0; from < bytes.length;) {
    const nameEnd = from + 1 + (bytes[from] ?? 0)
    const valueFrom = nameEnd + 3
    const valueEnd = valueFrom + bytes.readUInt16BE(nameEnd + 1)
    headers.set(bytes.toString('utf8', from + 1, nameEnd), bytes.toString('utf8', valueFrom, valueEnd))
    from = valueEnd
  }
  return headers
}
