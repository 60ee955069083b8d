import { parseChatRequest, type ChatRequest } from '../rules/calls/chat-request.ts'
import type { ReplyChunk } from '../rules/calls/chunk.ts'
import { ParleyError } from '../rules/errors.ts'
import type { Call } from './call.ts'
import type { CallEndpoint } from './endpoint.ts'
import type { Gateway } from './gateway.ts'
import { meterRoutes } from './metering/prompt.ts'
import { paidCall } from './paid-call.ts'
import { createChatBody, createChatEvents } from './response/chat-wire.ts'
import { replyOf } from './response/reply.ts'
import { boundBy } from './sessions/bounds.ts'

/**
 * The request path, from the checked request to the last chunk. Read this file first, and `paid-call.ts` next: that is the part
 * which costs money, and which every endpoint shares.
 */
export async function* chatCompletion(
  gateway: Gateway,
  call: Call,
  asked: ChatRequest,
): AsyncGenerator<readonly ReplyChunk[]> {
  const bounded = boundBy(call.caller, asked) // 422
  const { request, history } = gateway.recommendations.strip(call.caller, bounded)
  call.progress.cache = await gateway.conversations.check(call, request) // 404, 503
  const possible = gateway.catalogue.routesFor(call.caller, request) // 422
  call.progress.model = possible[0].model.id
  const routes = await meterRoutes(gateway, call, request, possible) // 422
  const reply = replyOf()
  yield* paidCall(gateway, call, {
    routes,
    terms: request,
    ask(maxTokens) {
      const affordable = { ...request, max_tokens: maxTokens }
      return {
        effort: request.reasoning_effort,
        stream: ({ provider }, upstream, signal) => provider.stream({ ...upstream, request: affordable }, signal),
      }
    },
    reply,
    unstorable: request.logprobs ? tooLargeLogprobs() : undefined,
    recommend() {
      const pending = gateway.recommendations.begin(call, request, history)
      return { ...pending, conclude: (finishReason) => pending.conclude(reply.message(), finishReason) }
    },
    record(isWorkedOn, isAnswered) {
      gateway.conversations.record(call, request, isWorkedOn, isAnswered ? reply.message() : undefined)
    },
  })
}

function tooLargeLogprobs(): ParleyError {
  const message = 'logprobs are too large to be stored for a retry: leave out logprobs, or the Idempotency-Key.'
  return new ParleyError('invalid_value', { message, param: 'logprobs' })
}

export const chatCompletions: CallEndpoint = {
  name: 'chat',
  begin(gateway, call) {
    const asked = gateway.work.run(call.caller.publisherId, () => parseChatRequest(call.body)) // 400, 422
    const { model, stream, includeUsage } = asked
    return {
      model,
      chunks: chatCompletion(gateway, call, asked),
      eventsOf: stream ? (head) => createChatEvents(head, { includeUsage }) : undefined,
      body: createChatBody(),
    }
  },
}
