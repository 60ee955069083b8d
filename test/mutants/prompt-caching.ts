import type { Mutant } from './mutant.ts'

const E2E = 'test/e2e/prompt-caching.test.ts'

/** Bugs of prompt caching: conversations that lose their place, and caches that are written in vain or not at all. */
export const PROMPT_CACHING: Mutant[] = [
  {
    bug: 'a conversation goes to another deployment each time',
    file: 'src/gateway/upstreams/upstreams.ts',
    from: 'conversation === undefined ? random : steadyChance(conversation)',
    to: 'random',
    test: E2E,
    title:
      'openai: of a conversation of 20 turns at least 90 % is read from the cache from the second on, and charged so',
  },
  {
    bug: 'the calls of a conversation take turns with the keys',
    file: 'src/gateway/upstreams/provider-keys.ts',
    from: 'conversation === undefined ? inTurn(deployment) : inSteadyOrder(deployment.keys, conversation)',
    to: 'conversation === "" ? inSteadyOrder(deployment.keys, conversation) : inTurn(deployment)',
    test: 'src/gateway/upstreams/upstreams.test.ts',
    title:
      'a conversation keeps its key and its deployment, whoever else calls in between, and has others when they must rest',
  },
  {
    bug: 'every conversation is taken to come back',
    file: 'src/gateway/conversations/openings.ts',
    from: 'isReturning: known.some((opening) => beginsWith(request, opening, digestKey))',
    to: 'isReturning: known.every((opening) => beginsWith(request, opening, digestKey))',
    test: E2E,
    title: 'anthropic: a conversation that never comes back, or begins otherwise each time, has written nothing',
  },
  {
    bug: 'a prompt that begins otherwise is taken to go on',
    file: 'src/rules/calls/openings.ts',
    from: '.equals(digest)',
    to: '.length === digest.length',
    test: 'src/rules/calls/openings.test.ts',
    title: 'a prompt whose beginning was changed, cut off or is shorter does not begin with the other',
  },
  {
    bug: 'how a conversation began is not stored, so that other gateways do not know it',
    file: 'src/gateway/conversations/turns.ts',
    from: '      opening,\n',
    to: '',
    test: E2E,
    title: 'anthropic: from the third turn on each reads all that the one before has sent',
  },
  {
    bug: 'a deleted conversation keeps how it began',
    file: 'src/store/calls/conversations.ts',
    from: ', opening_messages: null, opening_digest: null',
    to: '',
    test: E2E,
    title: 'a deleted conversation keeps nothing of how it began',
  },
  {
    bug: 'the key of a cache is the same in every project',
    file: 'src/gateway/conversations/openings.ts',
    from: '.update(`${projectId} ${id}`)',
    to: '.update(id)',
    test: E2E,
    title: 'the key of a cache is a digest: never the caller’s words, and another one in each project',
  },
  {
    bug: 'the end of the request before is not marked',
    file: 'src/providers/cache-breakpoints.ts',
    from: 'return [before, turns.length - 1]',
    to: 'return [before - before + turns.length - 1]',
    test: E2E,
    title: 'a turn that adds more than 20 blocks still finds what the one before has written',
  },
  {
    bug: 'a caller’s own marks get company',
    file: 'src/providers/cache-breakpoints.ts',
    from: 'isMarked([body, ...prompt]) || ',
    to: '',
    test: 'src/providers/cache-breakpoints.test.ts',
    title: 'who marks anything itself is left alone',
  },
  {
    bug: 'a hold does not cover what it costs to write a prompt to a cache',
    file: 'src/rules/billing/pricing.ts',
    from: 'price.cacheWrite > price.input',
    to: 'price.cacheWrite > price.input * 2n',
    test: 'src/rules/billing/holds.test.ts',
    title: 'where a prompt that is written to a cache costs more than one that is read, the dearer one is set aside',
  },
  {
    bug: 'a call that cost nothing has saved something',
    file: 'src/rules/billing/receipts.ts',
    from: 'charged === 0n ? 0n : ',
    to: 'charged < 0n ? 0n : ',
    test: 'src/rules/billing/receipts.test.ts',
    title: 'a receipt says what the cache has saved, and of a call that cost nothing, nothing',
  },
  {
    bug: 'what was written to caches is not taken from what they saved',
    file: 'src/rules/billing/costs.ts',
    from: 'return sum + read + tokens.cacheWrite * (price.input - price.cacheWrite)',
    to: 'return sum + read',
    test: 'test/integration/console-usage.test.ts',
    title: 'what caches have saved is summed up for the period, of the calls that were paid for',
  },
]
