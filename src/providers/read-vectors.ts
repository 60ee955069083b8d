import type { Usage } from '../rules/billing/usage.ts'
import type { Chunk } from '../rules/calls/chunk.ts'
import { vectorOf } from '../rules/calls/vectors.ts'
import { VECTOR_DIMENSIONS_MAX } from '../rules/limits.ts'
import { fieldsIn, isRecord } from '../rules/record.ts'
import { kindOfErrorEvent } from './endings.ts'
import { createItemSplitter } from './item-splitter.ts'
import { UpstreamError } from './provider.ts'
import { jsonIn } from './read-events.ts'
import type { BodyReader } from './body-reader.ts'
import type { UpstreamRequest } from './upstream-request.ts'
import type { Transport } from './transport.ts'

/** The vectors that an answer is to bring. */
export interface WantedVectors {
  /** The name of the list that they are in. */
  list: string
  /** Where in an item its vector is, and which input it is for, if the format says so. */
  read(item: Record<string, unknown>): { value: unknown; index?: unknown }
  count: number
  /** Undefined: of any length. */
  dimensions: number | undefined
}

export interface ReadVectors {
  /** In the order of the inputs. */
  vectors: string[]
  /** Everything else that the answer says. */
  rest: Record<string, unknown>
}

type Exchange = Omit<UpstreamRequest, 'contentType'>

/** Resolves when the answer is whole. Rejects with an `UpstreamError` where anything of it is missing, twice there or no vector. */
export async function readVectors(
  transport: Transport,
  exchange: Exchange,
  wanted: WantedVectors,
  signal: AbortSignal,
): Promise<ReadVectors> {
  const splitter = createItemSplitter(wanted.list)
  const vectors: (string | undefined)[] = []
  let items = 0
  const take = (text: string) => {
    const { value, index = items } = wanted.read(fieldsIn(jsonIn(text)))
    const read = vectorOf(value)
    if (!read || !isPlace(index, wanted.count) || vectors[index] !== undefined) throw new UpstreamError('bad_event')
    if (!isLength(read.dimensions, wanted)) throw new UpstreamError('bad_event')
    vectors[index] = read.vector
    items += 1
  }
  const reader: BodyReader<Buffer, never> = {
    split: (bytes, parts) => void parts.push(bytes),
    splitRest: () => {},
    read(bytes) {
      splitter.split(bytes).forEach(take)
      return []
    },
    end: () => [],
    isLast: () => false,
    // A body that comes is a provider at work: from then on only its silence counts.
    hasBegun: () => true,
    // Reading numbers takes a millisecond for each piece, and what waits in the socket would come at once.
    partsPerStep: 1,
  }
  const request = { ...exchange, contentType: 'application/json' }
  for await (const _ of transport.exchange(request, reader, signal)) continue
  const rest = jsonIn(splitter.rest())
  if (!isRecord(rest)) throw new UpstreamError('bad_event')
  if (rest.error != null) throw new UpstreamError(kindOfErrorEvent(fieldsIn(rest.error).code))
  if (items !== wanted.count) throw new UpstreamError('bad_event')
  return { vectors: vectors as string[], rest }
}

function isPlace(index: unknown, count: number): index is number {
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < count
}

/** Vectors of another length than was asked for would spoil whatever they are compared with. */
function isLength(dimensions: number, { dimensions: asked }: WantedVectors): boolean {
  return asked === undefined ? dimensions <= VECTOR_DIMENSIONS_MAX : dimensions === asked
}

export function chunksOfVectors(vectors: readonly string[], usage: Usage | undefined): Chunk[] {
  const chunks = vectors.map((vector, index): Chunk => ({ type: 'embedding', index, vector }))
  return usage ? [...chunks, { type: 'usage', usage }] : chunks
}
