import type { Chunk } from '../rules/calls/chunk.ts'
import { isRecord } from '../rules/record.ts'
import { UpstreamError } from './provider.ts'
import type { EventsRequest, Transport } from './transport.ts'

/** Turns the data of a provider's events, in order, into chunks. */
export interface EventReader {
  read(data: string): Chunk[]
  /** The body has ended: throws if the answer has not, and returns what is left of it. */
  end(): Chunk[]
  /** Asked after an event was read: whether nothing of interest comes after it. */
  isLast(data: string): boolean
}

type Exchange = Omit<EventsRequest, 'isLast' | 'hasBegun'>

export async function* readEvents(
  transport: Transport,
  exchange: Exchange,
  reader: EventReader,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  let hasBegun = false
  const request: EventsRequest = { ...exchange, isLast: (data) => reader.isLast(data), hasBegun: () => hasBegun }
  for await (const data of transport.events(request, signal)) {
    const chunks = reader.read(data)
    hasBegun ||= chunks.length > 0
    yield* chunks
  }
  yield* reader.end()
}

/** For readers of formats in which all data is JSON. */
export function jsonIn(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    throw new UpstreamError('bad_event')
  }
}

/** Undefined for what is no JSON, or no object. */
export function parseObject(data: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
