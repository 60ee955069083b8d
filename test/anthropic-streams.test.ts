import type { Chunk } from '../src/rules/calls/chunk.ts'
import { createReader } from '../src/providers/anthropic/anthropic.ts'
import { finish, reasoning, text, toolCall, usage } from '../src/providers/support.test.ts'
import { testStoredStreams } from './support/stored-streams.ts'

function signature(format: string, content: unknown): Chunk {
  return {
    type: 'reasoning_signature',
    signature: `${format}.${Buffer.from(JSON.stringify(content)).toString('base64url')}`,
  }
}

testStoredStreams({
  folder: 'anthropic',
  createReader,
  expected: {
    text: [text('Hello'), text(', "world"\n'), finish('stop'), usage(25, 15)],
    unicode: [
      text('e\u0301 日本語 𠮷 שלום\u200F'),
      text('👩\u200D👩'),
      text('\u200D👧\u200D👦🇯🇵'),
      text('a\u2028b\u2029c\u0085d\uFEFF'),
      text('👍日'),
      finish('stop'),
      usage(9, 31),
    ],
    tools: [
      text('Let me look.'),
      toolCall(0, '', 'toolu_01A', 'get_weather'),
      toolCall(0, '{"city":'),
      toolCall(0, ' "Zürich"}'),
      toolCall(1, '', 'toolu_01B', 'get_time'),
      toolCall(1, '{}'),
      toolCall(2, '', 'toolu_01C', 'get_weather'),
      toolCall(2, '{"city": "Bern"}'),
      finish('tool_calls'),
      usage(472, 89),
    ],
    thinking: [
      reasoning('27 * 453:\n'),
      reasoning('12,231…'),
      text('27 × 453 = '),
      text('12,231'),
      signature('anthropic', [
        { characters: 17, signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' },
        { redacted: 'EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP' },
      ]),
      finish('stop'),
      usage(44, 17, { reasoning: 41 }),
    ],
    cache: [text('Cached.'), finish('stop'), usage(21, 393, { cachedInput: 185_000, cacheWrite: 3086 })],
    refusal: [text('I can’t'), finish('content_filter'), usage(564, 4)],
    'max-tokens': [text('Once upon'), finish('length'), usage(10, 2)],
    'unknown-events': [text('Found.'), finish('stop'), usage(7, 9)],
    'error-first': [],
    'error-midway': [text('Half an')],
  },
  failures: { 'error-first': 'server_error', 'error-midway': 'error_in_200' },
})
