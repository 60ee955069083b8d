import { UpstreamError } from '../../providers/provider.ts'
import type { ContentChunk, ReplyChunk } from '../../rules/calls/chunk.ts'
import {
  answerCharactersMax,
  parseEmbeddingsRequest,
  type EmbeddingsRequest,
} from '../../rules/calls/embeddings-request.ts'
import { ParleyError } from '../../rules/errors.ts'
import { EMBEDDINGS_JSON_LIMITS } from '../../rules/limits.ts'
import type { Call } from '../call.ts'
import type { CallEndpoint } from '../endpoint.ts'
import type { Gateway } from '../gateway.ts'
import { meterInputs } from '../metering/embedding-prompt.ts'
import { paidCall } from '../paid-call.ts'
import { createEmbeddingsBody } from '../response/embeddings-wire.ts'

/** Vectors of texts: a call whose answer has no tokens. Its prompt is all that it costs. */
export async function* embed(
  gateway: Gateway,
  call: Call,
  request: EmbeddingsRequest,
): AsyncGenerator<readonly ReplyChunk[]> {
  const route = gateway.catalogue.embeddingRouteFor(call.caller, request) // 422
  call.progress.model = route.model.id
  const prompt = await meterInputs(gateway, call, request, route.model) // 422
  // An answer may be a hundred times as long as its request.
  await call.reserve(answerCharactersMax(request)) // 429, 503
  yield* paidCall(gateway, call, {
    routes: [{ ...route, prompt }],
    terms: {},
    ask: () => ({
      stream({ provider }, upstream, signal) {
        if (!provider.embed) throw new UpstreamError('rejected')
        return provider.embed({ ...upstream, request }, signal)
      },
    }),
    reply: vectorsOf(),
    unstorable: unstorableOf(request),
  })
}

function vectorsOf() {
  const vectors: string[] = []
  return {
    add(chunk: ContentChunk): void {
      if (chunk.type === 'embedding') vectors[chunk.index] = chunk.vector
    },
    stored: () => ({ vectors }),
  }
}

/**
 * Far less than an answer in words may have: vectors cost next to nothing, and all tenants share the statement that stores
 * them, and its disk.
 */
const STORED_VECTORS_CHARACTERS_MAX = 256 * 1024

/** A key is for getting the same answer again, and one that is too long is not kept. */
function unstorableOf(request: EmbeddingsRequest): ParleyError | undefined {
  const perInput = answerCharactersMax(request) / request.inputs.length + '"",'.length
  const most = Math.floor(STORED_VECTORS_CHARACTERS_MAX / perInput)
  if (request.inputs.length <= most) return undefined
  const message = `With an Idempotency-Key, you can send at most ${most} inputs: a longer answer is too large to be stored for a retry. Send fewer, or shorter dimensions, or leave out the Idempotency-Key.`
  return new ParleyError('invalid_value', { message, param: 'Idempotency-Key' })
}

export const embeddings: CallEndpoint = {
  name: 'embeddings',
  jsonLimits: EMBEDDINGS_JSON_LIMITS,
  isStandalone: true,
  begin(gateway, call) {
    const work = <T>(doing: () => T): T => gateway.work.run(call.caller.publisherId, doing)
    const request = work(() => parseEmbeddingsRequest(call.body)) // 400, 422
    const { model, format } = request
    const body = createEmbeddingsBody(format, work)
    return { model, chunks: embed(gateway, call, request), eventsOf: undefined, body }
  },
}
