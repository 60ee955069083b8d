import type { ReplyChunk } from '../../rules/calls/chunk.ts'
import { inResponsesWords, parseResponsesRequest } from '../../rules/calls/responses/responses-request.ts'
import { chatCompletion } from '../chat-completions.ts'
import type { CallEndpoint } from '../endpoint.ts'
import { createResponsesBody, createResponsesEvents } from '../response/responses-wire.ts'

/** POST /v1/responses: a chat under other names. What is asked, held, charged and stored is what a chat would be. */
export const responses: CallEndpoint = {
  name: 'responses',
  begin(gateway, call) {
    const asked = gateway.work.run(call.caller.publisherId, () => parseResponsesRequest(call.body)) // 400, 422
    return {
      model: asked.chat.model,
      chunks: refusedInOwnWords(chatCompletion(gateway, call, asked.chat)),
      eventsOf: asked.chat.stream ? (head) => createResponsesEvents(head, asked) : undefined,
      body: createResponsesBody(asked),
    }
  },
}

async function* refusedInOwnWords(
  chunks: AsyncGenerator<readonly ReplyChunk[]>,
): AsyncGenerator<readonly ReplyChunk[]> {
  try {
    yield* chunks
  } catch (error) {
    throw inResponsesWords(error)
  }
}
