import type { Mutant } from './mutant.ts'

/** Bugs in the handling of money. */
const MONEY: Mutant[] = [
  {
    bug: 'a missing report lets a completed answer cost more than was held',
    file: 'src/rules/billing/charging.ts',
    from: "charge: source === 'reported' ? worth : least(worth, held) }",
    to: 'charge: worth }',
    test: 'src/rules/billing/charging.test.ts',
    title:
      'a completed answer without a report never takes more than was held: the missing report is not its caller’s doing',
  },
  {
    bug: 'where thoughts are dearer, an amount buys too many tokens',
    file: 'src/rules/billing/pricing.ts',
    from: "price.output > price.reasoning ? 'output' : 'reasoning'",
    to: "'output'",
    test: 'src/rules/billing/pricing.test.ts',
    title: 'an amount buys as many answer tokens as it can pay for, and not one more',
  },
  {
    bug: 'a free model needs no balance',
    file: 'src/rules/billing/holds.ts',
    from: 'return cost > 0n ? cost : 1n',
    to: 'return cost',
    test: 'src/rules/billing/holds.test.ts',
    title: 'even a free model needs a positive balance',
  },
  {
    bug: 'max_tokens beyond what the model can write locks the wallet',
    file: 'src/rules/billing/holds.ts',
    from: 'Math.min(maxTokens ?? unasked, outputTokensMax)',
    to: 'maxTokens ?? unasked',
    test: 'src/rules/billing/holds.test.ts',
    title: 'max_tokens beyond what the model can write does not lock more of the wallet',
  },
  {
    bug: 'an answer is charged for more than it was allowed to be',
    file: 'src/rules/billing/reported-usage.ts',
    from: 'Math.min(visible, bounds.visible, bounds.output)',
    to: 'Math.min(visible, bounds.visible)',
    test: 'src/rules/billing/reported-usage.test.ts',
    title: 'no answer is longer than it was allowed to be: what exceeds it is taken off the thoughts first',
  },
]

/** Bugs in keys and requests. */
const REQUESTS: Mutant[] = [
  {
    bug: 'some characters of keys are likelier than others',
    file: 'src/rules/projects/keys.ts',
    from: '.filter((byte) => byte < 248)',
    to: '.filter((byte) => byte < 256)',
    test: 'src/rules/projects/keys.test.ts',
    title: 'every byte value maps to its character without favouring any',
  },
  {
    bug: 'five stop sequences are accepted',
    file: 'src/rules/calls/chat-request.ts',
    from: 'z.array(text).min(1).max(4)',
    to: 'z.array(text).min(1).max(5)',
    test: 'src/rules/calls/chat-request.test.ts',
    title: 'a field with a wrong value is 422, named, and never coerced',
  },
  {
    bug: 'too many messages are 400, as if there were none',
    file: 'src/rules/calls/request-errors.ts',
    from: " && issue?.code !== 'too_big'",
    to: '',
    test: 'src/rules/calls/chat-request.test.ts',
    title: 'a message that is not valid is 422 and named by its position',
  },
  {
    bug: 'an assistant message with nothing but a refusal is 422',
    file: 'src/rules/calls/message.ts',
    from: 'm.content != null || m.refusal != null || m.tool_calls != null',
    to: 'm.content != null || m.tool_calls != null',
    test: 'src/rules/calls/chat-request.test.ts',
    title: 'an assistant message needs a content, a refusal or a tool call, and any one of them is enough',
  },
  {
    bug: 'a message of any number of parts is accepted',
    file: 'src/rules/calls/message.ts',
    from: 'z.array(contentPart).min(1).max(1_000)',
    to: 'z.array(contentPart).min(1)',
    test: 'src/rules/calls/chat-request.test.ts',
    title: 'a message that is not valid is 422 and named by its position',
  },
  {
    bug: 'a message may have any number of tool calls',
    file: 'src/rules/calls/message.ts',
    from: 'z.array(toolCall).min(1).max(128)',
    to: 'z.array(toolCall).min(1)',
    test: 'src/rules/calls/chat-request.test.ts',
    title: 'a message that is not valid is 422 and named by its position',
  },
  {
    bug: 'the name of a file may be of any length',
    file: 'src/rules/calls/message.ts',
    from: '      .max(255)\n',
    to: '',
    test: 'src/rules/calls/chat-request.test.ts',
    title: 'a message that is not valid is 422 and named by its position',
  },
  {
    bug: 'a bias of less than -100 is accepted',
    file: 'src/rules/calls/chat-request.ts',
    from: 'z.number().min(-100).max(100)',
    to: 'z.number().max(100)',
    test: 'src/rules/calls/chat-request.test.ts',
    title: 'a field with a wrong value is 422, named, and never coerced',
  },
  {
    bug: 'one message fewer is accepted than may be sent',
    file: 'src/rules/calls/message.ts',
    from: '.max(MESSAGES_MAX)',
    to: '.max(MESSAGES_MAX - 1)',
    test: 'src/rules/calls/chat-request.test.ts',
    title: 'the most of everything that may be sent is accepted',
  },
]

/** Bugs in routes and recommendations. */
const CHOICES: Mutant[] = [
  {
    bug: 'a breaker opens when exactly half have failed',
    file: 'src/rules/upstreams/breaker.ts',
    from: 'failures * 2 > attempts',
    to: 'failures * 2 >= attempts',
    test: 'src/rules/upstreams/breaker.test.ts',
    title: 'it opens when more than half of at least 20 attempts of the last 10 seconds have failed',
  },
  {
    bug: 'a lone bidder pays less than the floor',
    file: 'src/rules/recommendations/auction.ts',
    from: 'larger(floorNanos, neededNanos) + 1n',
    to: 'neededNanos + 1n',
    test: 'src/rules/recommendations/auction.test.ts',
    title: 'a lone bidder pays the floor and a nano',
  },
  {
    bug: 'a campaign runs in the moment in which it has ended',
    file: 'src/rules/recommendations/eligibility.ts',
    from: 'nowMs < endsAtMs',
    to: 'nowMs <= endsAtMs',
    test: 'src/rules/recommendations/eligibility.test.ts',
    title: 'a campaign runs from its first moment until just before its last',
  },
  {
    bug: 'the distance to a recommendation of the history is measured in our own numbers',
    file: 'src/rules/recommendations/caps.ts',
    from: 'distance(history.turns + 1, history.recommended',
    to: 'distance(turn, history.recommended',
    test: 'src/rules/recommendations/caps.test.ts',
    title:
      'a turn of the history is measured in the history’s own numbers, also where we remember more turns than it has',
  },
  {
    bug: 'a request that ends with the assistant’s words may have a recommendation',
    file: 'src/rules/recommendations/gates.ts',
    from: "  if (turns.at(-1)?.role !== 'user') return 'format'\n",
    to: '',
    test: 'src/rules/recommendations/gates.test.ts',
    title: 'whatever a program reads, or has no room for more, has none',
  },
]

export const RULES: Mutant[] = [...MONEY, ...REQUESTS, ...CHOICES]
