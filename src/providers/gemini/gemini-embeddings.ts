import { areTexts } from '../../rules/calls/embeddings-request.ts'
import type { Chunk } from '../../rules/calls/chunk.ts'
import { NO_USAGE, type Usage } from '../../rules/billing/usage.ts'
import { isRecord } from '../../rules/record.ts'
import { withExtra } from '../extra-body.ts'
import { UpstreamError, type EmbedCall } from '../provider.ts'
import { chunksOfVectors, readVectors } from '../read-vectors.ts'
import { countOf } from '../reported-usage.ts'
import type { UpstreamRequest } from '../upstream-request.ts'
import type { Transport } from '../transport.ts'

/** Embeddings in Google's words. */

/** Google takes no more texts at once, so a longer list is asked for in several requests, one after the other. */
const BATCH_MAX = 100

type Address = Pick<UpstreamRequest, 'url' | 'headers' | 'kindOfRefusal'>
/** `path`: what the address calls the model. */
type Asked = Pick<EmbedCall, 'request' | 'timers' | 'onSent' | 'extraBody'> & { path: string }

export async function* embedInBatches(
  transport: Transport,
  to: Address,
  { request, timers, onSent, extraBody, path }: Asked,
  signal: AbortSignal,
): AsyncGenerator<readonly Chunk[]> {
  const { inputs, dimensions } = request
  if (!areTexts(inputs)) throw new UpstreamError('rejected')
  const endsMs = performance.now() + timers.totalMs
  const vectors: string[] = []
  const usages: (Usage | undefined)[] = []
  for (let at = 0; at < inputs.length; at += BATCH_MAX) {
    const texts = inputs.slice(at, at + BATCH_MAX)
    const requests = texts.map((text) =>
      withExtra({ model: path, content: { parts: [{ text }] }, outputDimensionality: dimensions }, extraBody),
    )
    // The time limit is that of all of them together.
    const totalMs = endsMs - performance.now()
    if (totalMs <= 0) throw new UpstreamError('total_timeout')
    const exchange = { ...to, body: JSON.stringify({ requests }), timers: { ...timers, totalMs }, onSent }
    const wanted = { list: 'embeddings', read: valuesIn, count: texts.length, dimensions }
    const batch = await readVectors(transport, exchange, wanted, signal)
    vectors.push(...batch.vectors)
    usages.push(usageIn(batch.rest))
  }
  yield chunksOfVectors(vectors, sumOf(usages))
}

function valuesIn({ values: value }: Record<string, unknown>) {
  return { value }
}

/** Most models report none. */
function usageIn({ usageMetadata: reported }: Record<string, unknown>): Usage | undefined {
  return isRecord(reported) ? { ...NO_USAGE, input: countOf(reported.promptTokenCount) } : undefined
}

/** A sum in which anything is missing is no report. */
function sumOf(usages: readonly (Usage | undefined)[]): Usage | undefined {
  if (usages.some((usage) => usage === undefined)) return undefined
  return { ...NO_USAGE, input: usages.reduce((sum, usage) => sum + (usage?.input ?? 0), 0) }
}
