import type { Chunk } from '../../rules/calls/chunk.ts'
import { createReader, type StreamPart } from './ai-sdk-parts.ts'
import { callOptionsOf, type LanguageModel, type ModelOptions } from './ai-sdk-request.ts'
import { takesCachePoints, withCachePoints } from '../cache-breakpoints.ts'
import type { Endings } from '../endings.ts'
import { UpstreamError, type UpstreamCall, type UpstreamErrorKind } from '../provider.ts'
import type { BodyReader } from '../body-reader.ts'
import type { UpstreamRequest } from '../upstream-request.ts'
import type { Transport } from '../transport.ts'

/**
 * The bridge to the provider packages of the Vercel AI SDK. They know how to say a request and how to read the answer;
 * sockets, timers, retries and errors stay ours: the `fetch` that a package is given goes through our transport.
 */

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Pieces that the package is given at once. */
const PIECES_PER_STEP = 32

export interface BridgeOptions {
  transport: Transport
  call: UpstreamCall
  contentType: string
  /** The package is loaded here, at the first call: gateways without such a provider must not pay for it. */
  modelWith(fetch: Fetch): Promise<LanguageModel>
  /** Cuts the body into what the package reads at once, with a limit for each, because the packages have none. */
  splitter: Pick<BodyReader<Buffer, Buffer>, 'split' | 'splitRest'>
  kindOfRefusal?: UpstreamRequest['kindOfRefusal']
  /** How the model is to think, and what else goes by it, in the package's words. */
  ofModel?: ModelOptions
  /** For the reasons to finish that the package does not know. */
  endings: Endings
}

export async function* streamThrough(options: BridgeOptions, signal: AbortSignal): AsyncGenerator<readonly Chunk[]> {
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
        if (chunks.length === 0) continue
        exchange.begin()
        yield chunks
      }
    }
    yield reader.end()
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
  /** The meaning of a failure inside the package, by how far the answer had come. */
  kindOfMishap(): UpstreamErrorKind
}

function createExchange({ transport, call, contentType, kindOfRefusal, splitter }: BridgeOptions, signal: AbortSignal) {
  const started = Promise.withResolvers<void>()
  let body: AsyncGenerator<Buffer> | undefined
  let failure: Error | undefined
  let progress: 'none' | 'begun' | 'ended' = 'none'
  let hasBegun = false
  const reader: BodyReader<Buffer, Buffer> = {
    ...splitter,
    read: (piece) => [piece],
    end: () => [],
    isLast: () => false,
    hasBegun: () => hasBegun,
    partsPerStep: PIECES_PER_STEP,
  }

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
    }
    try {
      for await (const read of transport.exchange(request, reader, signal)) {
        progress = 'begun'
        yield* read
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
