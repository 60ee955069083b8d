import type { Mutant } from './mutant.ts'

const STREAMS = 'test/responses-streams.test.ts'
const SAME_BODY =
  'whatever comes in whatever order, the official SDK puts events together to the very body of one answer'

/** Bugs of `POST /v1/responses`. */
export const RESPONSES: readonly Mutant[] = [
  {
    bug: 'a response is said to be whole before it has been charged for',
    file: 'src/gateway/response/responses-wire.ts',
    from: '    event(chunk) {\n      answer.add(chunk)\n',
    to: "    event(chunk) {\n      answer.add(chunk)\n      if (chunk.type === 'usage') write('response.completed', { response: answer.response('completed') })\n",
    test: STREAMS,
    title: 'a response is said to be whole only at the very end, when it has been charged for',
  },
  {
    bug: 'a call of a tool ends when another one begins',
    file: 'src/gateway/response/responses-output.ts',
    from: '    end(message)\n    return begin((slot) => openCall',
    to: '    end(message)\n    end(last)\n    return begin((slot) => openCall',
    test: STREAMS,
    title: 'calls of tools that come in turns stay open, each with its own place, until the answer is over',
  },
  {
    bug: 'what proves thoughts stands in an item of its own',
    file: 'src/gateway/response/responses-output.ts',
    from: '    if (!showsSignature) end(thoughts)\n    return (message',
    to: '    end(thoughts)\n    return (message',
    test: STREAMS,
    title: 'thoughts that are to be sent back are one item with what proves them, also where there are no others',
  },
  {
    bug: 'a refusal has the place of the words before it',
    file: 'src/gateway/response/responses-items.ts',
    from: 'content_index: item.content.length - 1 })',
    to: 'content_index: 0 })',
    test: STREAMS,
    title: SAME_BODY,
  },
  {
    bug: 'thoughts are shown to who has not asked for them',
    file: 'src/gateway/response/responses-output.ts',
    from: 'if (showsReasoning) thoughtsFor()',
    to: 'thoughtsFor()',
    test: STREAMS,
    title: 'thoughts and their proof are shown only to who asks for them',
  },
  {
    bug: 'the order in which an answer came is not kept for its retry',
    file: 'src/gateway/response/reply.ts',
    from: ', ...order.ifUnusual() }',
    to: ' }',
    test: STREAMS,
    title: 'an answer that is kept for a retry becomes the same response again, in whatever order it came',
  },
  {
    bug: 'an answer that was cut off has only whole items',
    file: 'src/gateway/response/responses-output.ts',
    from: "isCut && open === last ? 'incomplete'",
    to: "isCut && open === message ? 'incomplete'",
    test: STREAMS,
    title: 'an answer that was cut off is incomplete, and so is the item in which it was',
  },
  {
    bug: 'thoughts are attached to the turn after the one that they belong to',
    file: 'src/rules/calls/responses/responses-input.ts',
    from: "    if (type === 'reasoning') turn.think(item, at)\n",
    to: "    if (type === 'reasoning') {\n      endTurn()\n      turn.think(item, at)\n    }\n",
    test: 'src/rules/calls/responses/responses-request.test.ts',
    title:
      'thoughts, words and calls that follow each other are one message of the assistant, and results are of tools',
  },
  {
    bug: 'a tool that may not be called is offered to the model',
    file: 'src/rules/calls/responses/responses-tools.ts',
    from: 'if (new Set(chosen.map(({ function: { name } }) => name)).size === allowed.size) return chosen',
    to: 'if (new Set(chosen.map(({ function: { name } }) => name)).size === allowed.size) return offered',
    test: 'src/rules/calls/responses/responses-request.test.ts',
    title: 'where only some tools may be called, the model is told of no others',
  },
  {
    bug: 'answers may be asked to be stored, and are not',
    file: 'src/rules/calls/responses/responses-request.ts',
    from: "    .literal(false, 'must be false: answers are not stored.",
    to: "    .boolean('must be false: answers are not stored.",
    test: 'src/rules/calls/responses/responses-request.test.ts',
    title: 'what needs something stored, or a tool of a provider, is refused by name with what to do instead',
  },
  {
    bug: 'logprobs of a response are stored for a retry',
    file: 'src/gateway/idempotency.ts',
    from: 'if (unstorable) throw unstorable',
    to: '',
    test: 'test/e2e/responses.test.ts',
    title: 'a key that was used at one endpoint is another request at the other, and logprobs are refused beside one',
  },
  {
    bug: 'a receipt of a response is shown as one of a chat',
    file: 'src/store/billing/receipts.ts',
    from: 'endpoint: endpointOf(row.endpoint)',
    to: "endpoint: endpointOf('chat')",
    test: 'test/e2e/responses.test.ts',
    title: 'a response has its output, its usage and its id, which is also in the headers and finds its receipt',
  },
  {
    bug: 'findEndpoints reads what other sites have',
    file: 'src/store/calls/calls.ts',
    from: 'c.endpoint from calls c where c.project_id = ${projectId} and c.id',
    to: 'c.endpoint from calls c where c.id',
    test: 'test/integration/store-scopes.test.ts',
    title: 'findEndpoints reads nothing of another site',
  },
  {
    bug: 'whatever is said of its user comes back in a response, however long',
    file: 'src/rules/calls/responses/responses-request.ts',
    from: 'value.length <= END_USER_CHARACTERS_MAX',
    to: 'value.length > 0',
    test: 'src/rules/calls/responses/responses-request.test.ts',
    title: 'an answer has nothing of its request that is long and not paid for',
  },
]
