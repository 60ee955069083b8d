/** The gateway's reading of a capture: its own transport and adapter read it over a socket, from a server that plays it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createProvider } from '../../src/providers/create-provider.ts'
import { UpstreamError, type Provider } from '../../src/providers/provider.ts'
import { createTransport } from '../../src/providers/transport.ts'
import { judgeReport } from '../../src/rules/billing/reported-usage.ts'
import { completionTokensOf, NO_USAGE, promptTokensOf, type Usage } from '../../src/rules/billing/usage.ts'
import type { Chunk } from '../../src/rules/calls/chunk.ts'
import { FORMATS, type Capture, type Format } from './captures.ts'
import type { Call, Reading } from './reading.ts'

export interface Made extends Pick<Reading, 'text' | 'reasoning' | 'refusal' | 'calls' | 'ending' | 'usage'> {
  /** The kind of the error that it ended in. */
  failedWith: string | undefined
  status: number | undefined
  retryAfterSeconds: number | undefined
}

export interface Replayer {
  replay(capture: Capture): Promise<Made>
  close(): Promise<void>
}

/** An odd size, so that events are cut anywhere. */
const PIECE_BYTES = 1_371
const TIMERS = { connectMs: 2_000, firstTokenMs: 5_000, idleMs: 5_000, totalMs: 20_000 }
const REQUEST = {
  model: 'm',
  messages: [{ role: 'user' as const, content: 'Hello' }],
  stream: true,
  includeUsage: true,
}

export async function createReplayer(): Promise<Replayer> {
  let playing: Capture | undefined
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      if (!playing) return response.destroy()
      response.writeHead(playing.status, { 'content-type': playing.contentType })
      for (let from = 0; from < playing.body.length; from += PIECE_BYTES)
        response.write(playing.body.subarray(from, from + PIECE_BYTES))
      response.end()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const transport = createTransport()
  const providers = new Map<Format, Provider>(
    FORMATS.map((kind) => {
      const settings = kind === 'bedrock' ? { region: 'us-east-1' } : {}
      return [kind, createProvider({ kind, name: kind, baseUrl, settings }, transport)]
    }),
  )
  return {
    async replay(capture) {
      playing = capture
      const call = { request: REQUEST, upstreamModel: 'model', apiKey: 'an-id:a-key', timers: TIMERS }
      return collect(providers.get(capture.format)!.stream(call, new AbortController().signal))
    },
    async close() {
      await transport.close()
      server.close()
    },
  }
}

async function collect(chunks: AsyncIterable<readonly Chunk[]>): Promise<Made> {
  const calls = new Map<number, Call>()
  const made: Made = {
    text: '',
    reasoning: '',
    refusal: '',
    calls: [],
    ending: undefined,
    usage: undefined,
    failedWith: undefined,
    status: undefined,
    retryAfterSeconds: undefined,
  }
  try {
    for await (const batch of chunks) for (const chunk of batch) add(made, calls, chunk)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    // Unusable text from a model is its answer if another try gives nothing better.
    for (const chunk of error.answerAsIs ?? []) add(made, calls, chunk)
    made.failedWith = error.answerAsIs ? undefined : error.kind
    made.status = error.status
    made.retryAfterSeconds = error.retryAfterSeconds
  }
  made.calls = [...calls.values()]
  return made
}

function add(made: Made, calls: Map<number, Call>, chunk: Chunk): void {
  if (chunk.type === 'finish') made.ending = chunk.reason
  else if (chunk.type === 'usage') made.usage = usageIn(chunk.usage)
  else if (chunk.type !== 'tool_call') {
    if (chunk.type !== 'reasoning_signature' && chunk.type !== 'embedding') made[chunk.type] += chunk.text
  } else {
    const call = calls.get(chunk.index) ?? { id: '', name: '', arguments: '' }
    calls.set(chunk.index, call)
    call.id ||= chunk.id ?? ''
    call.name ||= chunk.name ?? ''
    call.arguments += chunk.arguments
  }
}

/** As it would be charged, where anything is possible. */
function usageIn(reported: Usage): Reading['usage'] {
  const most = Number.MAX_SAFE_INTEGER
  const bounds = { prompt: most, visible: most, reasoning: most, output: most, isAnswered: false }
  const { usage } = judgeReport(reported, NO_USAGE, bounds)
  return { prompt: promptTokensOf(usage), cached: usage.cachedInput, completion: completionTokensOf(usage) }
}
