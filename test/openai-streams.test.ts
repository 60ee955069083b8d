import type { Chunk } from '../src/rules/chunk.ts'
import type { Usage } from '../src/rules/usage.ts'
import { createReader } from '../src/providers/openai-compatible.ts'
import { testStoredStreams } from './support/stored-streams.ts'

function text(value: string): Chunk {
  return { type: 'text', text: value }
}

function refusal(value: string): Chunk {
  return { type: 'refusal', text: value }
}

function toolCall(index: number, fragment: string, id?: string, name?: string): Chunk {
  return { type: 'tool_call', index, id, name, arguments: fragment }
}

function finish(reason: 'stop' | 'length' | 'content_filter' | 'tool_calls'): Chunk {
  return { type: 'finish', reason }
}

function usage(input: number, output: number, more: Partial<Usage> = {}): Chunk {
  return { type: 'usage', usage: { input, cachedInput: 0, cacheWrite: 0, output, reasoning: 0, ...more } }
}

testStoredStreams({
  folder: 'openai',
  createReader,
  endOf: (bytes) => bytes.indexOf('[DONE]\n\n') + '[DONE]\n\n'.length,
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
