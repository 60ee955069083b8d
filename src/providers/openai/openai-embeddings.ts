import { NO_USAGE, type Usage } from '../../rules/billing/usage.ts'
import { isRecord } from '../../rules/record.ts'
import type { EmbedCall } from '../provider.ts'
import type { WantedVectors } from '../read-vectors.ts'
import { countOf } from '../reported-usage.ts'
import type { OpenAICompatibleSettings } from './openai-settings.ts'

/** Embeddings in OpenAI's format: as they were asked for, but for the form of the numbers, which is ours to choose. */

type Asked = Pick<EmbedCall, 'request' | 'upstreamModel' | 'endUser'>

export function embeddingsBodyOf(
  { request, upstreamModel, endUser }: Asked,
  { embeddingFormat, endUserField }: OpenAICompatibleSettings,
): Record<string, unknown> {
  return {
    model: upstreamModel,
    input: request.inputs,
    dimensions: request.dimensions,
    // The other one is what nobody has to ask for.
    encoding_format: embeddingFormat === 'base64' ? embeddingFormat : undefined,
    // The newer name is known to chat alone.
    user: endUserField === 'none' ? undefined : endUser,
  }
}

export function wantedOf({ request: { inputs, dimensions } }: Asked): WantedVectors {
  return {
    list: 'data',
    read: ({ embedding: value, index }) => ({ value, index: index ?? undefined }),
    count: inputs.length,
    dimensions,
  }
}

export function usageOfEmbeddings({ usage }: Record<string, unknown>): Usage | undefined {
  return isRecord(usage) ? { ...NO_USAGE, input: countOf(usage.prompt_tokens) } : undefined
}
