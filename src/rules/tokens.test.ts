import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { parseChatRequest, type ChatRequest } from './chat-request.ts'
import { countPromptTokens, countTextTokens } from './tokens.ts'

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

const PROSE = 'The quick brown fox jumps over the lazy dog, twice. Then it rests; nobody asks why!\n'

test('a text of many words is counted in slices, and to the same number', () => {
  for (const text of [PROSE.repeat(50), 'naïve 日本語 text, '.repeat(300), `${'x'.repeat(400)} `.repeat(20)]) {
    assert.equal(countTextTokens(text), encode(text).length)
  }
})

test('a text without a break is counted to within a token per slice', () => {
  const text = 'xyzzyplugh'.repeat(500)
  const difference = countTextTokens(text) - encode(text).length
  assert.ok(difference >= 0 && difference <= 2 * Math.ceil(text.length / 512), String(difference))
})

test('a longer text is estimated from samples of all of it, close to the truth and rather too high', () => {
  const mixed = PROSE.repeat(600) + 'Žluťoučký kůň. '.repeat(4_000) + '日本語のテキスト。'.repeat(4_000)
  for (const text of [PROSE.repeat(800), mixed]) {
    const ratio = countTextTokens(text) / encode(text).length
    assert.ok(ratio > 0.97 && ratio < 1.2, String(ratio))
  }
})

test('no text holds up the other streams: also one without a single break is counted in a moment', () => {
  for (const unit of ['a', ' ', '\n', '!', '語', '👍']) {
    const tookMs = timeOf(() => countTextTokens(unit.repeat(8_000_000 / unit.length)))
    assert.ok(tookMs < 500, `${JSON.stringify(unit)} took ${Math.round(tookMs)} ms`)
  }
})

test('random text without any pattern is no way to hold up the others either', () => {
  let state = 1
  const next = () => (state = (state * 48_271) % 2_147_483_647)
  const text = Array.from({ length: 1_000_000 }, () => String.fromCharCode(0x4e00 + (next() % 20_000))).join('')
  assert.ok(timeOf(() => countTextTokens(text)) < 500)
})

test('the limit holds for the whole request, however many messages it is spread over', () => {
  const content = PROSE.repeat(190)
  const request = requestOf({ messages: Array.from({ length: 500 }, () => ({ role: 'user', content })) })
  assert.ok(timeOf(() => countPromptTokens(request)) < 500)
  const ratio = countPromptTokens(request) / (500 * (encode(content).length + 4))
  assert.ok(ratio > 0.97 && ratio < 1.2, String(ratio))
})

function timeOf(work: () => unknown): number {
  const startedMs = performance.now()
  work()
  return performance.now() - startedMs
}

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
