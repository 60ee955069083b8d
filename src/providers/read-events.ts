import type { Chunk } from '../rules/calls/chunk.ts'
import { isRecord } from '../rules/record.ts'
import { UpstreamError } from './provider.ts'
import { createEventSplitter } from './exchange/event-splitter.ts'
import type { BodyReader } from './body-reader.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import type { Transport } from './transport.ts'

/** Turns the data of a provider's events, in order, into chunks. */
export interface EventReader {
  read(data: string): Chunk[]
  /** The body has ended: throws if the answer has not, and returns what is left of it. */
  end(): Chunk[]
  /** Asked after an event was read: whether nothing of interest comes after it. */
  isLast(data: string): boolean
}

const EVENT_STREAM = 'text/event-stream'

/** Enough for what comes in one read of a model that writes fast, few enough that nobody waits for them. */
const EVENTS_PER_STEP = 64

export function readEvents(
  transport: Transport,
  request: Omit<UpstreamRequest, 'contentType'>,
  reader: EventReader,
  signal: AbortSignal,
): AsyncIterable<readonly Chunk[]> {
  return transport.exchange({ ...request, contentType: EVENT_STREAM }, bodyReaderOf(reader), signal)
}

/** Exported for tests of readers: bytes to events, events to chunks, as in a real exchange. */
export function bodyReaderOf(reader: EventReader): BodyReader<string, Chunk> {
  let hasBegun = false
  return {
    ...createEventSplitter(),
    read(data) {
      const chunks = reader.read(data)
      hasBegun ||= chunks.length > 0
      return chunks
    },
    end: () => reader.end(),
    isLast: (data) => reader.isLast(data),
    hasBegun: () => hasBegun,
    partsPerStep: EVENTS_PER_STEP,
  }
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
