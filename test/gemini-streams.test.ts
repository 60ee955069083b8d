import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createReader } from '../src/providers/gemini/gemini.ts'
import type { Chunk } from '../src/rules/calls/chunk.ts'
import { completionTokensOf, promptTokensOf } from '../src/rules/billing/usage.ts'
import { finish, text, toolCall, usage } from '../src/providers/support.test.ts'
import { testStoredStreams } from './support/stored-streams.ts'

function signature(format: string, content: unknown): Chunk {
  return {
    type: 'reasoning_signature',
    signature: `${format}.${Buffer.from(JSON.stringify(content)).toString('base64url')}`,
  }
}

const EXPECTED: Record<string, readonly Chunk[]> = {
  text: [text('Hello'), text(', "world"\n'), finish('stop'), usage(9, 4)],
  multibyte: [
    text('e\u0301 日本語 𠮷 שלום\u200F'),
    text('👩\u200D👩'),
    text('\u200D👧\u200D👦🇯🇵'),
    text('a\u2028b\u2029c\u0085d\uFEFF'),
    text('👍日'),
    finish('stop'),
    usage(5, 22),
  ],
  'function-call': [
    text('Let me look.'),
    toolCall(0, '{"city":"Zürich","days":2}', 'call_kX2taP7bLqa_xN8P_0', 'get_weather'),
    finish('tool_calls'),
    usage(62, 19),
  ],
  'parallel-calls': [
    toolCall(0, '{"city":"Bern"}', 'fc7a1', 'get_weather'),
    toolCall(1, '{}', 'fc7a2', 'get_time'),
    toolCall(2, '{}', 'fc7a3', 'ping'),
    signature('gemini', { 0: 'CiQB0e2Kb1x=' }),
    finish('tool_calls'),
    usage(80, 30, { reasoning: 51 }),
  ],
  thinking: [
    { type: 'reasoning', text: '**Adding**\n\nTwo and two…' },
    text('4'),
    signature('gemini', { text: 'CtkBAXLI2nyQ' }),
    finish('stop'),
    usage(11, 1, { reasoning: 58 }),
  ],
  'cached-usage': [text('42'), text('.'), finish('stop'), usage(140, 2, { cachedInput: 2028 })],
  'safety-stop': [text('First, take'), finish('content_filter'), usage(14, 3)],
  'max-tokens': [text('Once upon'), text(' a'), finish('length'), usage(7, 3, { reasoning: 20 })],
  'blocked-prompt': [finish('content_filter'), usage(13, 0)],
  'error-first': [],
  'error-midway': [text('Half')],
}

testStoredStreams({
  folder: 'gemini',
  createReader,
  expected: EXPECTED,
  failures: { 'error-first': 'error_in_200', 'error-midway': 'error_in_200' },
})

test('the buckets of each stored stream add up to the total that the provider reported', () => {
  const folder = join(import.meta.dirname, 'fixtures/gemini')
  const unreported = new Set<string>()
  for (const file of readdirSync(folder)) {
    const last = EXPECTED[file.replace(/\.sse$/, '')]?.at(-1)
    if (last?.type !== 'usage') {
      unreported.add(file)
      continue
    }
    const total = [...readFileSync(join(folder, file), 'utf8').matchAll(/"totalTokenCount": (\d+)/g)].at(-1)?.[1]
    assert.equal(promptTokensOf(last.usage) + completionTokensOf(last.usage), Number(total), file)
  }
  assert.deepEqual(unreported, new Set(['error-first.sse', 'error-midway.sse']))
})
