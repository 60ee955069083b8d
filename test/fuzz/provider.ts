/** Answers of providers that went wrong on the way, through transport and adapter: an answer that is right, or an UpstreamError. */
import { createProvider } from '../../src/providers/create-provider.ts'
import { UpstreamError } from '../../src/providers/provider.ts'
import { createTransport, type Transport } from '../../src/providers/transport.ts'
import { FINISH_REASONS, type Chunk } from '../../src/rules/calls/chunk.ts'
import type { Random } from '../support/random.ts'
import { mutatedBytes, pieces, smallerBytes } from './bytes.ts'
import { minimised, textOf, type Part } from './part.ts'
import { answerWith, createPlayer, type Framed, type Play, type Player } from './player.ts'
import { INPUTS, readFormats, type Format } from './streams.ts'

/** So long that only what would wait for ever comes to their end, also on a busy machine. */
const PATIENT = { connectMs: 10_000, firstTokenMs: 8_000, idleMs: 8_000, totalMs: 16_000 }
/** For a provider that stops in the middle. */
const IMPATIENT = { connectMs: 10_000, firstTokenMs: 200, idleMs: 200, totalMs: 1_000 }
const OVER_WITHIN_MS = 2_000
const CALL = { upstreamModel: 'model', apiKey: 'an-id:a-key' }
const CHAT = { model: 'm', messages: [{ role: 'user' as const, content: 'Hello' }], stream: true, includeUsage: true }
const EMBEDDINGS = { model: 'm', inputs: INPUTS, isSingle: false }

interface Outcome {
  chunks: Chunk[]
  /** The kind of the UpstreamError that it ended in, if it did. */
  failed: string | undefined
  /** Any other error. */
  unexpected: string | undefined
  ms: number
}

interface Setting {
  transport: Transport
  player: Player
}

let plays = 0

export async function createProviderPart(): Promise<Part> {
  const formats = await readFormats()
  const setting = { transport: createTransport(), player: await createPlayer() }
  const untouched = await outcomesOf(setting, formats)
  return {
    atOnce: 12,
    async try(random) {
      const format = random.pick(formats)
      const source = random.pick(format.streams)
      const { play, isWhole, bytes } = playOf(random, format, source)
      let outcome = await outcomeOf(setting, format, play)
      // A play that was only slow is tried again.
      if (outcome.ms > OVER_WITHIN_MS) outcome = await outcomeOf(setting, format, play)
      const complaint =
        complaintAbout(format, outcome) ?? (isWhole ? difference(untouched.get(source)!, outcome) : undefined)
      const fails = async (smaller: Buffer) => {
        const again = await outcomeOf(setting, format, { ...play, pieces: [smaller] })
        return complaintAbout(format, again)?.slice(0, 20) === complaint?.slice(0, 20)
      }
      return {
        ending: outcome.failed ?? 'answered',
        complaint,
        async shown() {
          const least = isWhole ? bytes : await minimised(bytes, smallerBytes, fails)
          return `${format.kind}, ${play.ending}: ${JSON.stringify(least.toString('latin1').slice(0, 2_000))}`
        },
      }
    },
    complaints: () => Promise.resolve([]),
    async close() {
      await setting.transport.close()
      setting.player.close()
    },
  }
}

async function outcomesOf(setting: Setting, formats: readonly Format[]): Promise<Map<Buffer, Outcome>> {
  const outcomes = new Map<Buffer, Outcome>()
  for (const format of formats) {
    const { contentType } = format
    for (const stream of format.streams) {
      const whole = answerWith(stream, { contentType, framing: 'length' })
      outcomes.set(stream, await outcomeOf(setting, format, { pieces: [whole], ending: 'ends' }))
    }
    // A format of which every stream fails would be tried for nothing.
    if (format.streams.every((stream) => outcomes.get(stream)?.failed !== undefined))
      throw new Error(`no stream of ${format.kind} is answered`)
  }
  return outcomes
}

function playOf(random: Random, { contentType, streams }: Format, source: Buffer) {
  const framing: Framed = { contentType, framing: random.pick(['length', 'chunks', 'close']) }
  const ending = random.pick<Play['ending']>(['ends', 'ends', 'ends', 'ends', 'ends', 'breaks off'])
  const kind = random.int(10)
  if (kind < 2) {
    const bytes = answerWith(source, framing)
    return { bytes, play: { pieces: pieces(bytes, random, 12), ending: 'ends' as const }, isWhole: true }
  }
  if (kind === 2) {
    const status = random.pick([
      '400 Bad Request',
      '429 Too Many',
      '500 Oops',
      '302 Found',
      '204 No Content',
      '199 X',
      '999 X',
    ])
    const odd =
      random.int(2) === 0 ? { ...framing, status } : { ...framing, contentType: random.pick(['text/html', '', 'x']) }
    const bytes = mutatedBytes(answerWith(mutatedBytes(source, random, streams), odd), random, streams)
    return { bytes, play: { pieces: pieces(bytes, random), ending }, isWhole: false }
  }
  const body = mutatedBytes(source, random, streams)
  const answer = answerWith(body, framing)
  const bytes = kind === 3 ? mutatedBytes(answer, random, streams) : answer
  const stalls = random.int(60) === 0
  return {
    bytes,
    play: { pieces: pieces(bytes, random), ending: stalls ? ('stalls' as const) : ending },
    isWhole: false,
  }
}

async function outcomeOf({ transport, player }: Setting, format: Format, play: Play): Promise<Outcome> {
  const n = plays++
  player.give(n, play)
  const { kind, basePath, settings } = format
  const provider = createProvider({ kind, name: kind, baseUrl: player.urlOf(n) + basePath, settings }, transport)
  const outcome: Outcome = { chunks: [], failed: undefined, unexpected: undefined, ms: 0 }
  const startedMs = performance.now()
  const { signal } = new AbortController()
  const call = { ...CALL, timers: play.ending === 'stalls' ? IMPATIENT : PATIENT }
  try {
    const chunks = format.isEmbedding
      ? provider.embed!({ ...call, request: EMBEDDINGS as never }, signal)
      : provider.stream({ ...call, request: CHAT }, signal)
    for await (const batch of chunks) outcome.chunks.push(...batch)
  } catch (error) {
    if (error instanceof UpstreamError) outcome.failed = error.kind
    else outcome.unexpected = textOf(error)
  } finally {
    player.take(n)
  }
  return { ...outcome, ms: performance.now() - startedMs }
}

function complaintAbout({ isEmbedding }: Format, { chunks, failed, unexpected, ms }: Outcome): string | undefined {
  if (unexpected !== undefined) return `it threw ${unexpected}`
  if (ms > OVER_WITHIN_MS) return `it took ${Math.round(ms)} ms`
  const wrong = chunks.find((chunk) => !isSound(chunk))
  if (wrong) return `an unsound chunk: ${JSON.stringify(wrong)}`
  const types = chunks.map(({ type }) => type)
  if (types.filter((type) => type === 'finish').length > 1) return 'it finished twice'
  if (failed !== undefined) return undefined
  if (isEmbedding) {
    const vectors = types.filter((type) => type === 'embedding').length
    return vectors === INPUTS.length ? undefined : `${vectors} vectors for ${INPUTS.length} inputs`
  }
  if (!types.includes('finish')) return 'it ended without a finish'
  const behind = types.slice(types.indexOf('finish') + 1)
  return behind.every((type) => type === 'usage') && behind.length <= 1
    ? undefined
    : `behind the finish: ${behind.join(', ')}`
}

function isSound(chunk: Chunk): boolean {
  switch (chunk.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return typeof chunk.text === 'string'
    case 'reasoning_signature':
      return typeof chunk.signature === 'string'
    case 'tool_call':
      return (
        [chunk.id ?? '', chunk.name ?? '', chunk.arguments].every((each) => typeof each === 'string') &&
        Number.isSafeInteger(chunk.index) &&
        chunk.index >= 0
      )
    case 'embedding':
      return typeof chunk.vector === 'string' && Number.isSafeInteger(chunk.index)
    case 'finish':
      return FINISH_REASONS.includes(chunk.reason)
    case 'usage':
      // NaN is how adapters say that a count was not to be read: the judge of reports takes our own instead.
      return Object.values(chunk.usage).every((count) => typeof count === 'number')
  }
}

/** However the same bytes are cut, it is the same answer. Ids of calls that a provider left out are made anew. */
function difference(expected: Outcome, seen: Outcome): string | undefined {
  const told = ({ chunks, failed }: Outcome) =>
    JSON.stringify([failed, chunks.map((chunk) => ({ ...chunk, id: undefined }))])
  return told(expected) === told(seen)
    ? undefined
    : `another answer than in one piece: ${told(seen).slice(0, 500)} instead of ${told(expected).slice(0, 500)}`
}
