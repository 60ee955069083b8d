import type { Chunk, FinishChunk } from '../../rules/calls/chunk.ts'
import type { Usage } from '../../rules/billing/usage.ts'
import { callOptionsOf, SIGNED_BY, type LanguageModel, type ModelOptions } from './ai-sdk-request.ts'
import { takesCachePoints, withCachePoints } from '../cache-breakpoints.ts'
import { finishOf, isBlockedOutput, kindOfErrorEvent, oddFinish, type Endings } from '../endings.ts'
import { UpstreamError, type UpstreamCall, type UpstreamErrorKind } from '../provider.ts'
import { createSignedThoughts } from '../reasoning-signature.ts'
import type { BytesRequest, Transport } from '../transport.ts'

/**
 * The bridge to the provider packages of the Vercel AI SDK. They know how to say a request and how to read the answer;
 * sockets, timers, retries and errors stay ours: the `fetch` that a package is given goes through our transport.
 */

type Parts = Awaited<ReturnType<LanguageModel['doStream']>>['stream']
type StreamPart = Parts extends ReadableStream<infer Part> ? Part : never
type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>

export interface BridgeOptions {
  transport: Transport
  call: UpstreamCall
  contentType: string
  /** The package is loaded here, at the first call: gateways without such a provider must not pay for it. */
  modelWith(fetch: Fetch): Promise<LanguageModel>
  /** Cuts the body into what the package reads at once, with a limit for each, because the packages have none. */
  piecesIn(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer>
  kindOfRefusal?: BytesRequest['kindOfRefusal']
  /** What this model is told in another way than others, in the package's words. */
  ofModel?: ModelOptions
  /** For the reasons to finish that the package does not know. */
  endings: Endings
}

export async function* streamThrough(options: BridgeOptions, signal: AbortSignal): AsyncGenerator<Chunk> {
  const stop = new AbortController()
  const onHangUp = () => stop.abort(signal.reason)
  signal.addEventListener('abort', onHangUp, { once: true })
  if (signal.aborted) onHangUp()
  const exchange = createExchange(options, stop.signal)
  let parts: ReadableStreamDefaultReader<StreamPart> | undefined
  try {
    const model = await options.modelWith(exchange.fetch)
    const { request, upstreamModel, cache } = options.call
    const asked = callOptionsOf(request, { ...options.ofModel, hasMarks: takesCachePoints(upstreamModel) })
    const { stream } = await model.doStream(withCachePoints(asked, upstreamModel, cache))
    parts = stream.getReader()
    const reader = createReader(options.endings)
    for (let next = await parts.read(); !next.done; next = await parts.read()) {
      if (next.value.type === 'stream-start') {
        refuseIfDropped(next.value)
        exchange.start()
      } else {
        const chunks = reader.read(next.value)
        if (chunks.length > 0) exchange.begin()
        yield* chunks
      }
    }
    yield* reader.end()
  } catch (error) {
    throw exchange.failure() ?? (error instanceof UpstreamError ? error : new UpstreamError(exchange.kindOfMishap()))
  } finally {
    // First, and not waited for: what is still piped inside the package would delay the end of the connection.
    stop.abort()
    exchange.close()
    parts?.cancel().catch(() => {})
    signal.removeEventListener('abort', onHangUp)
  }
}

interface Exchange {
  fetch: Fetch
  /** Nothing is sent before: the package tells what it would leave out only after it has called `fetch`. */
  start(): void
  /** Something of the answer is there. */
  begin(): void
  /** Ends what waits for the package to read on, and its timers with it. */
  close(): void
  /** The transport's error, which the package wraps into its own. */
  failure(): Error | undefined
  /** What a failure inside the package means, by how far the answer had come. */
  kindOfMishap(): UpstreamErrorKind
}

function createExchange({ transport, call, contentType, kindOfRefusal, piecesIn }: BridgeOptions, signal: AbortSignal) {
  const started = Promise.withResolvers<void>()
  let body: AsyncGenerator<Buffer> | undefined
  let failure: Error | undefined
  let progress: 'none' | 'begun' | 'ended' = 'none'
  let hasBegun = false

  async function* pieces(url: string, init: RequestInit): AsyncGenerator<Buffer> {
    await started.promise
    const headers = Object.fromEntries(new Headers(init.headers))
    const { timers, onSent } = call
    const request = {
      url,
      headers,
      // The packages serialize every body of a chat.
      body: init.body as string,
      timers,
      onSent,
      contentType,
      kindOfRefusal,
      hasBegun: () => hasBegun,
    }
    try {
      for await (const piece of piecesIn(transport.bytes(request, signal))) {
        progress = 'begun'
        yield piece
      }
      progress = 'ended'
    } catch (error) {
      failure = error as Error
      throw error
    }
  }

  const exchange: Exchange = {
    fetch(url, init = {}) {
      body = pieces(url instanceof Request ? url.url : url.toString(), init)
      return Promise.resolve(new Response(readableOf(body)))
    },
    start: started.resolve,
    begin: () => void (hasBegun = true),
    close: () => void body?.return(undefined).catch(() => {}),
    failure: () => failure,
    kindOfMishap: () => (progress === 'none' ? 'rejected' : progress === 'begun' ? 'bad_event' : 'truncated'),
  }
  return exchange
}

/** Reads only when asked to: a slow caller must slow the upstream down, not fill our memory. */
function readableOf(pieces: AsyncGenerator<Buffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await pieces.next()
        if (done) controller.close()
        else controller.enqueue(value as Buffer<ArrayBuffer>)
      },
    },
    { highWaterMark: 0 },
  )
}

/** A package leaves out what its provider cannot do and only warns. We said that nothing is dropped silently. */
function refuseIfDropped({ warnings }: Extract<StreamPart, { type: 'stream-start' }>): void {
  // Without `strict` a tool is still called as it should be, only without the guarantee.
  const dropped = warnings.some((warning) => warning.type === 'unsupported' && warning.feature !== 'strict')
  if (dropped) throw new UpstreamError('rejected')
}

/** Turns the parts of a stream, in order, into chunks. The finish is given out last, when the stream has ended. */
export function createReader(endings: Endings): { read(part: StreamPart): Chunk[]; end(): Chunk[] } {
  const calls = createCalls()
  const thoughts = createSignedThoughts(SIGNED_BY)
  let last: Extract<StreamPart, { type: 'finish' }> | undefined
  let blocked: FinishChunk | undefined
  let hasBegun = false

  /** What was already said stays said: an answer that is blocked midway was written, and has ended. */
  function readError(error: unknown): Chunk[] {
    if (isMalformed(error)) throw new UpstreamError('bad_event')
    const { message, statusCode } = Object(error) as { message?: unknown; statusCode?: unknown }
    if (!hasBegun || !isBlockedOutput(message)) throw new UpstreamError(kindOfErrorEvent(statusCode))
    blocked = oddFinish('content_filter', 'output_blocked')
    return []
  }

  function chunksOf(part: StreamPart): Chunk[] {
    switch (part.type) {
      case 'text-delta':
        return part.delta === '' ? [] : [{ type: 'text', text: part.delta }]
      case 'reasoning-start':
      case 'reasoning-end':
        noteSignature(part, thoughts)
        return []
      case 'reasoning-delta':
        thoughts.addText(part.id, part.delta)
        noteSignature(part, thoughts)
        return part.delta === '' ? [] : [{ type: 'reasoning', text: part.delta }]
      case 'tool-input-start':
        return calls.start(part.id, part.toolName)
      case 'tool-input-delta':
        return calls.goOn(part.id, part.delta)
      case 'tool-call':
        return calls.whole(part.toolCallId, part.toolName, part.input)
      case 'error':
        return readError(part.error)
      case 'finish':
        last = part
        return []
      default:
        return []
    }
  }

  return {
    read(part) {
      const chunks = chunksOf(part)
      hasBegun ||= chunks.length > 0
      return chunks
    },
    end() {
      if (!last) throw new UpstreamError('truncated')
      const signature = thoughts.signature()
      const end: Chunk[] = signature === undefined ? [] : [{ type: 'reasoning_signature', signature }]
      end.push(blocked ?? finishIn(last.finishReason, endings))
      const usage = usageFromAiSdk(last.usage)
      return usage ? [...end, { type: 'usage', usage }] : end
    },
  }
}

/** The calls of one answer, by the package's ids. */
function createCalls() {
  const calls = new Map<string, { index: number; hasArguments: boolean }>()

  function start(id: string, name: string): Chunk[] {
    const index = calls.size
    if (calls.has(id)) throw new UpstreamError('bad_event')
    calls.set(id, { index, hasArguments: false })
    return [{ type: 'tool_call', index, id, name, arguments: '' }]
  }

  function goOn(id: string, fragment: string): Chunk[] {
    const call = calls.get(id)
    if (!call) throw new UpstreamError('bad_event')
    if (fragment === '') return []
    call.hasArguments = true
    return [{ type: 'tool_call', index: call.index, id: undefined, name: undefined, arguments: fragment }]
  }

  return {
    start,
    goOn,
    /** The whole call, once more or for the first time. Without arguments it comes without fragments. */
    whole(id: string, name: string, input: string): Chunk[] {
      const opening = calls.has(id) ? [] : start(id, name)
      return calls.get(id)?.hasArguments ? opening : [...opening, ...goOn(id, input)]
    },
  }
}

interface Signed {
  id: string
  providerMetadata?: Record<string, Record<string, unknown>>
}

function noteSignature({ id, providerMetadata }: Signed, thoughts: ReturnType<typeof createSignedThoughts>): void {
  const { signature, redactedContent } = providerMetadata?.amazonBedrock ?? {}
  if (typeof signature === 'string') thoughts.addSignature(id, signature)
  if (typeof redactedContent === 'string') thoughts.addRedacted(id, redactedContent)
}

/** The package could not read an event, as opposed to one that tells of an error. */
function isMalformed(error: unknown): boolean {
  return error instanceof Error && /^AI_(?:JSONParseError|TypeValidationError)$/.test(error.name)
}

type Finish = Extract<StreamPart, { type: 'finish' }>

function finishIn({ unified, raw }: Finish['finishReason'], endings: Endings): FinishChunk {
  switch (unified) {
    case 'stop':
    case 'length':
      return { type: 'finish', reason: unified }
    case 'content-filter':
      return { type: 'finish', reason: 'content_filter' }
    case 'tool-calls':
      return { type: 'finish', reason: 'tool_calls' }
    case 'error':
      throw new UpstreamError('error_in_200')
    default:
      // A package makes up a finish where none came.
      if (raw === undefined) throw new UpstreamError('truncated')
      return finishOf(raw, endings)
  }
}

function usageFromAiSdk({ inputTokens, outputTokens }: Finish['usage']): Usage | undefined {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return undefined
  const cachedInput = inputTokens.cacheRead ?? 0
  const cacheWrite = inputTokens.cacheWrite ?? 0
  const reasoning = outputTokens.reasoning ?? 0
  return {
    // What is missing becomes NaN, which no plausibility check lets through.
    input: (inputTokens.total ?? Number.NaN) - cachedInput - cacheWrite,
    cachedInput,
    cacheWrite,
    output: (outputTokens.total ?? Number.NaN) - reasoning,
    reasoning,
  }
}
