import { NO_USAGE, promptTokensOf } from '../../rules/billing/usage.ts'
import type { EmbeddingsRequest } from '../../rules/calls/embeddings-request.ts'
import { numbersOfVector } from '../../rules/calls/vectors.ts'
import { LongBody, type AnswerHead, type BodyWriter } from './wire.ts'

/**
 * How embeddings are written: as base64, or as numbers, which are made one vector at a time when they are sent. `work` does that on
 * the caller's account: all the numbers of one answer take seconds.
 */
export function createEmbeddingsBody(
  format: EmbeddingsRequest['format'],
  work: (makeText: () => string) => string,
): BodyWriter {
  const vectors: string[] = []
  let usage = NO_USAGE

  function* pieces(model: string): Generator<string> {
    yield '{"object":"list","data":['
    for (const [index, vector] of vectors.entries()) {
      // Base64 has nothing in it that JSON would escape.
      const embedding = format === 'base64' ? `"${vector}"` : work(() => `[${numbersOfVector(vector).join()}]`)
      yield `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":${embedding}}`
    }
    const tokens = promptTokensOf(usage)
    yield `],"model":${JSON.stringify(model)},"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}}`
  }

  return {
    add(chunk) {
      if (chunk.type === 'embedding') vectors[chunk.index] = chunk.vector
      else if (chunk.type === 'usage') usage = chunk.usage
    },
    body: ({ model }: AnswerHead) => new LongBody(pieces(model)),
  }
}
