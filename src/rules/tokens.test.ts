import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { parseChatRequest, type ChatRequest } from './chat-request.ts'
import { countPromptTokens, countTextTokens } from './tokens.ts'

const LONGEST_EXACT = 64 * 1024

function requestOf(more: Record<string, unknown>): ChatRequest {
  return parseChatRequest({ model: 'm', messages: [{ role: 'user', content: '' }], ...more })
}

function promptTokensOf(...messages: unknown[]): number {
  return countPromptTokens(requestOf({ messages }))
}

test('ordinary text is counted as the tokenizer counts it', () => {
  for (const text of ['', 'Hello, world!', 'Les élèves naïfs', '日本語のテキスト', '👩‍👩‍👧‍👦 family', 'שלום עולם']) {
    assert.equal(countTextTokens(text), encode(text).length, text)
  }
})

test('text that spells a special token is counted as the text it is', () => {
  for (const text of ['<|endoftext|>', 'a <|endofprompt|> b', '<|im_start|>system']) {
    assert.ok(countTextTokens(text) > 3, text)
    assert.equal(countTextTokens(text), encode(text, { disallowedSpecial: new Set() }).length)
  }
})

test('a very long text is estimated, at once, and rather too high than too low', () => {
  const paragraph = 'The quick brown fox jumps over the lazy dog. '
  const long = paragraph.repeat(Math.ceil(LONGEST_EXACT / paragraph.length) + 1)
  assert.ok(countTextTokens(long) >= encode(long).length)
  const startedMs = performance.now()
  assert.equal(countTextTokens('a'.repeat(8_000_000)), 4_000_000)
  assert.ok(performance.now() - startedMs < 50)
})

test('no text holds up the other streams: also one without a single break is counted in a moment', () => {
  for (const unit of ['a', ' ', '\n', '!', '語', '哈', '👍']) {
    const text = unit.repeat(LONGEST_EXACT / unit.length)
    const startedMs = performance.now()
    countTextTokens(text)
    const tookMs = performance.now() - startedMs
    assert.ok(tookMs < 300, `${text.length} characters of ${JSON.stringify(unit)} took ${Math.round(tookMs)} ms`)
  }
})

test('the chat format adds a frame around each message and the opening of the reply', () => {
  assert.equal(promptTokensOf({ role: 'user', content: '' }), 3 + 4)
  const words = { role: 'user', content: 'Hello, world!' }
  assert.equal(promptTokensOf(words, words), 3 + 2 * (4 + encode(words.content).length))
})

test('parts are counted like the text they hold, and an image as a large one', () => {
  const text = { type: 'text', text: 'Hello, world!' }
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const inParts = promptTokensOf({ role: 'user', content: [text, text] })
  assert.equal(inParts, 3 + 4 + 2 * encode(text.text).length)
  assert.equal(promptTokensOf({ role: 'user', content: [text, text, image, image] }), inParts + 2 * 1_100)
})

test('tools, tool calls and the response format are part of the prompt', () => {
  const empty = countPromptTokens(requestOf({}))
  const tools = [{ type: 'function', function: { name: 'look_up', description: 'Looks something up.' } }]
  const response_format = { type: 'json_schema', json_schema: { name: 'x' } }
  assert.equal(countPromptTokens(requestOf({ tools })), empty + encode(JSON.stringify(tools)).length)
  assert.equal(
    countPromptTokens(requestOf({ response_format })),
    empty + encode(JSON.stringify(response_format)).length,
  )
  const tool_calls = [{ id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"a":1}' } }]
  assert.equal(
    promptTokensOf({ role: 'assistant', content: null, tool_calls }),
    3 + 4 + encode(JSON.stringify(tool_calls)).length,
  )
})
