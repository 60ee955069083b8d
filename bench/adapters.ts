/**
 * Compares the cost of our own adapters with that of the Vercel AI SDK packages for the same providers: CPU time for one
 * streamed answer of 100 chunks. Both read the same bytes, which the simulator sent once, from memory: no socket is
 * measured. A second table repeats it over loopback sockets, each with the HTTP client that it uses in production.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { createAnthropic as createTheirAnthropic } from '@ai-sdk/anthropic'
import { createGoogle as createTheirGoogle } from '@ai-sdk/google'
import { createOpenAICompatible as createTheirOpenAICompatible } from '@ai-sdk/openai-compatible'
import { callOptionsOf } from '../src/providers/bedrock/ai-sdk-request.ts'
import { createAnthropic } from '../src/providers/anthropic/anthropic.ts'
import { createGemini } from '../src/providers/gemini/gemini.ts'
import { createOpenAICompatible } from '../src/providers/openai/openai-compatible.ts'
import type { Provider } from '../src/providers/provider.ts'
import type { BodyReader } from '../src/providers/body-reader.ts'
import type { UpstreamRequest } from '../src/providers/upstream-request.ts'
import { createTransport, type Transport } from '../src/providers/transport.ts'
import { parseChatRequest } from '../src/rules/calls/chat-request.ts'
import { UPSTREAM_TIMERS } from '../src/rules/limits.ts'

const CHUNKS = 100
const ANSWERS_PER_ROUND = 60
const WARM_UP_ROUNDS = 5
const ROUNDS = 21
/** A hand-written adapter must earn its keep. */
const RATIO_MAX = 0.5

type Fetch = typeof globalThis.fetch
type LanguageModel = ReturnType<ReturnType<typeof createTheirAnthropic>>
type Options = { baseUrl: string; transport: Transport }

interface Pair {
  name: string
  path: string
  model: string
  ours(options: Options): Provider
  theirs(options: { baseURL: string; fetch?: Fetch }): LanguageModel
}

const apiKey = 'bench-key'
const PAIRS: Pair[] = [
  {
    name: 'openai-compatible',
    path: '/v1',
    model: 'sim',
    ours: (options) => createOpenAICompatible({ name: 'bench', settings: {}, ...options }),
    theirs: (options) => createTheirOpenAICompatible({ name: 'bench', apiKey, includeUsage: true, ...options })('sim'),
  },
  {
    name: 'anthropic',
    path: '/v1',
    model: 'claude-sim',
    ours: (options) => createAnthropic({ name: 'bench', settings: {}, ...options }),
    theirs: (options) => createTheirAnthropic({ apiKey, ...options })('claude-sim'),
  },
  {
    name: 'gemini',
    path: '/v1beta',
    model: 'gemini-sim',
    ours: (options) => createGemini({ name: 'bench', settings: {}, ...options }),
    theirs: (options) => createTheirGoogle({ apiKey, ...options })('gemini-sim'),
  },
]

const request = parseChatRequest({
  model: 'bench',
  messages: [
    { role: 'system', content: 'You are terse.' },
    { role: 'user', content: `Tell me of a quiet river. [[sim tokens=${CHUNKS}]]` },
  ],
  stream: true,
  max_tokens: 1_000,
  temperature: 0.5,
})
const callOptions = callOptionsOf(request) as Parameters<LanguageModel['doStream']>[0]

/** One answer, read to its end. Gives back its text. */
type Answer = () => Promise<string>

function answerOfOurs(provider: Provider, upstreamModel: string): Answer {
  const call = { request, upstreamModel, apiKey, timers: UPSTREAM_TIMERS }
  return async () => {
    let text = ''
    for await (const chunks of provider.stream(call, new AbortController().signal)) {
      for (const chunk of chunks) if (chunk.type === 'text') text += chunk.text
    }
    return text
  }
}

function answerOfTheirs(model: LanguageModel): Answer {
  return async () => {
    let text = ''
    const { stream } = await model.doStream({ ...callOptions, abortSignal: new AbortController().signal })
    for await (const part of stream) {
      if (part.type === 'text-delta') text += part.delta
    }
    return text
  }
}

/** The bytes of an answer, one piece for each event, as they come from a provider that writes token by token. */
async function recordedPieces(pair: Pair, url: string): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  const transport = createTransport()
  const recording: Transport = {
    ...transport,
    exchange<Part, Piece>(wanted: UpstreamRequest, reader: BodyReader<Part, Piece>, signal: AbortSignal) {
      const recorder: BodyReader<Part, Piece> = {
        ...reader,
        split(bytes, parts) {
          pieces.push(bytes)
          reader.split(bytes, parts)
        },
      }
      return transport.exchange(wanted, recorder, signal)
    },
  }
  await answerOfOurs(pair.ours({ baseUrl: url, transport: recording }), pair.model)()
  await transport.close()
  const events = Buffer.concat(pieces)
    .toString()
    .split(/(?<=\n\n)/)
  return events.map((event) => Buffer.from(event))
}

function transportFrom(pieces: readonly Buffer[]): Transport {
  return {
    async *exchange<Part, Piece>(_: UpstreamRequest, reader: BodyReader<Part, Piece>) {
      for (const piece of pieces) {
        const parts: Part[] = []
        reader.split(piece, parts)
        yield parts.flatMap((part) => reader.read(part))
      }
      yield reader.end()
    },
    close: () => Promise.resolve(),
  }
}

function fetchFrom(pieces: readonly Buffer[]): Fetch {
  return () => {
    let at = 0
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        const piece = pieces[at++]
        if (piece) controller.enqueue(piece as Buffer<ArrayBuffer>)
        else controller.close()
      },
    })
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
  }
}

interface Result {
  name: string
  ours: number[]
  theirs: number[]
}

/** In turns, so that both meet the same moods of the machine. */
async function compare(name: string, ours: Answer, theirs: Answer, answersPerRound: number): Promise<Result> {
  const said = await Promise.all([ours(), theirs()])
  if (said[0] !== said[1] || said[0].split(' ').length < CHUNKS / 2) throw new Error(`${name}: the answers differ`)
  const result: Result = { name, ours: [], theirs: [] }
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const order = [
      ['ours', ours],
      ['theirs', theirs],
    ] as const
    for (const [side, answer] of round % 2 === 0 ? order : order.toReversed()) {
      const cpuUs = await cpuPerAnswer(answer, answersPerRound)
      if (round >= 0) result[side].push(cpuUs)
    }
  }
  return result
}

async function cpuPerAnswer(answer: Answer, answers: number): Promise<number> {
  const before = process.cpuUsage()
  for (let i = 0; i < answers; i++) await answer()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / answers
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN
}

function ratioOf({ ours, theirs }: Result): number {
  return quantile(ours, 0.5) / quantile(theirs, 0.5)
}

function shown(values: readonly number[]): string {
  const [low, middle, high] = [0.1, 0.5, 0.9].map((share) => quantile(values, share).toFixed(0))
  return `${middle} (${low} to ${high})`.padEnd(20)
}

function print(title: string, results: readonly Result[]): void {
  console.log(`\n${title}`)
  console.log(`${'adapter'.padEnd(20)}${'ours'.padEnd(20)}${'@ai-sdk'.padEnd(20)}ratio`)
  for (const result of results) {
    const { name, ours, theirs } = result
    console.log(`${name.padEnd(20)}${shown(ours)}${shown(theirs)}${ratioOf(result).toFixed(2)}`)
  }
}

async function startSimulator() {
  const child = spawn(process.execPath, ['simulator/main.ts', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\d.:]+/.exec(line)?.[0]
    if (url) return { child, url }
  }
  throw new Error('the simulator did not start')
}

const { child, url } = await startSimulator()
const transport = createTransport()
try {
  const inMemory: Result[] = []
  const overSockets: Result[] = []
  for (const pair of PAIRS) {
    const baseUrl = `${url}${pair.path}`
    const pieces = await recordedPieces(pair, baseUrl)
    const ours = pair.ours({ baseUrl, transport: transportFrom(pieces) })
    const theirs = pair.theirs({ baseURL: baseUrl, fetch: fetchFrom(pieces) })
    inMemory.push(await compare(pair.name, answerOfOurs(ours, pair.model), answerOfTheirs(theirs), ANSWERS_PER_ROUND))
    const oursOut = answerOfOurs(pair.ours({ baseUrl, transport }), pair.model)
    const theirsOut = answerOfTheirs(pair.theirs({ baseURL: baseUrl }))
    overSockets.push(await compare(pair.name, oursOut, theirsOut, ANSWERS_PER_ROUND / 10))
  }
  const unit = `CPU µs for an answer of ${CHUNKS} chunks, median (p10 to p90) of ${ROUNDS} rounds`
  print(`From memory: ${unit}`, inMemory)
  print(`Over loopback, our transport against fetch: ${unit}`, overSockets)
  const isOk = inMemory.every((result) => ratioOf(result) <= RATIO_MAX)
  console.log(`\nadapters: ${isOk ? 'ok' : 'falls short'}`)
  process.exitCode = isOk ? 0 : 1
} finally {
  await transport.close()
  child.kill('SIGTERM')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}
