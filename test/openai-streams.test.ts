import type { Chunk } from '../src/rules/calls/chunk.ts'
import { createReader } from '../src/providers/openai/openai-events.ts'
import { finish, text, toolCall, usage } from '../src/providers/support.test.ts'
import { testStoredStreams } from './support/stored-streams.ts'

function refusal(value: string): Chunk {
  return { type: 'refusal', text: value }
}

testStoredStreams({
  folder: 'openai',
  createReader,
  // With the reason to finish.
  endOf: (bytes) => bytes.indexOf('\n', bytes.indexOf('"finish_reason":"')),
  expected: {
    text: [text('Hello'), text(', "world"\n'), finish('stop'), usage(9, 4)],
    multibyte: [
      text('e\u0301 日本語 𠮷 שלום\u200F'),
      text('👩\u200D👩'),
      text('\u200D👧\u200D👦🇯🇵'),
      text('a\u2028b\u2029c\u0085d\uFEFF'),
      text('👍日'),
      finish('stop'),
    ],
    'tool-calls': [
      toolCall(0, '', 'call_a', 'get_weather'),
      toolCall(0, '{"city":"'),
      toolCall(0, 'Zürich"}'),
      toolCall(1, '', 'call_b', 'get_time'),
      toolCall(1, '{}'),
      finish('tool_calls'),
      usage(50, 20),
    ],
    refusal: [refusal('I can’t'), refusal(' help with that.'), finish('stop'), usage(12, 7)],
    'usage-details': [
      { type: 'reasoning', text: 'Hmm…' },
      text('42'),
      finish('length'),
      usage(104, 2, { cachedInput: 896, reasoning: 58 }),
    ],
    comments: [text('still'), text(' here'), finish('content_filter')],
    'without-space': [text(' data: x'), finish('stop')],
    'multi-line': [text('多行 text'), finish('stop')],
  },
})
