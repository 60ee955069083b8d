import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { parseChatRequest, type ChatRequest } from './chat-request.ts'
import { HELD_FIGURES, NO_FIGURES, TYPICAL_FIGURES } from '../catalogue/figures.ts'
import {
  countPromptInTurns,
  countTextTokens,
  countTextsInTurns,
  estimateTexts,
  promptOf,
  promptTokensMax,
  tokensBesideText,
  type Prompt,
} from './tokens.ts'

function requestOf(more: Record<string, unknown>): ChatRequest {
  return parseChatRequest({ model: 'm', messages: [{ role: 'user', content: '' }], ...more })
}

/** Numbers that look drawn and are the same each time. */
function createDraws(seed = 1): () => number {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

function estimateOf(prompt: Prompt, seed = 1): number {
  return estimateTexts(prompt, createDraws(seed)).tokens
}

/** For short prompts, which are counted exactly. */
function tokensOf(more: Record<string, unknown>): number {
  const prompt = promptOf(requestOf(more))
  const { tokens, isExact } = estimateTexts(prompt, () => 0)
  assert.ok(isExact)
  return tokens + tokensBesideText(prompt, NO_FIGURES, TYPICAL_FIGURES)
}

function promptTokensOf(...messages: unknown[]): number {
  return tokensOf({ messages })
}

function textPrompt(text: string): Prompt {
  return promptOf(requestOf({ messages: [{ role: 'user', content: text }] }))
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

test('a longer prompt is estimated from samples of all of it, close to the truth and rather too high', () => {
  const mixed = PROSE.repeat(600) + 'Žluťoučký kůň. '.repeat(4_000) + '日本語のテキスト。'.repeat(4_000)
  for (const text of [PROSE.repeat(800), mixed]) {
    const truth = encode(text).length
    for (let seed = 1; seed <= 20; seed++) {
      const ratio = estimateOf(textPrompt(text), seed) / truth
      assert.ok(ratio >= 1 && ratio < 1.25, String(ratio))
    }
  }
})

test('where a prompt is sampled is drawn anew for each call: no text can be cheap just there', () => {
  // Blanks exactly where 32 evenly spread slices were once taken: 120 times too low, in those days.
  const length = 400_000
  const letters = 'kitchen table and a '.repeat(length / 20).split('')
  for (let i = 0; i < 32; i++)
    letters.fill(' ', Math.floor((i * (length - 512)) / 31), Math.floor((i * (length - 512)) / 31) + 512)
  const text = letters.join('')
  const truth = countTextTokens(text)
  for (let seed = 1; seed <= 20; seed++) assert.ok(estimateOf(textPrompt(text), seed) >= truth, String(seed))
  assert.notEqual(estimateOf(textPrompt(text), 1), estimateOf(textPrompt(text), 2))
})

test('a dense passage in a sea of blanks is found: of a hundred estimates hardly one is far too low', () => {
  // Three percent of the text, in one place, with thirty times the tokens of all the rest.
  const passage = Array.from({ length: 12_000 }, (_, i) => String.fromCharCode(0x4e00 + ((i * 7_919) % 20_000))).join(
    '',
  )
  const text = ' '.repeat(250_000) + passage + ' '.repeat(138_000)
  const truth = countTextTokens(text)
  const low = Array.from({ length: 100 }, (_, i) => estimateOf(textPrompt(text), i + 1)).filter((n) => n < truth * 0.9)
  assert.ok(low.length <= 2, `${low.length} of 100 are too low`)
})

/** Not by the clock, on which a busy machine also works for others. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

test('an exact count of a long prompt lets the others have their turn, and equals the tokenizer’s', async () => {
  const text = PROSE.repeat(2_000)
  let turns = 0
  const parts: number[] = []
  let sinceMs = cpuMs()
  const counted = await countTextsInTurns([text, text], async () => {
    turns += 1
    parts.push(cpuMs() - sinceMs)
    sinceMs = cpuMs()
  })
  assert.equal(counted, 2 * encode(text).length)
  assert.ok(turns > 50, `${turns} turns`)
  const longest = Math.max(...parts) / parts.reduce((sum, ms) => sum + ms)
  assert.ok(longest < 0.2, `${Math.round(longest * 100)} % of the work is one turn`)
})

test('the limit holds for the whole request, however many messages it is spread over', () => {
  const content = PROSE.repeat(190)
  const prompt = promptOf(requestOf({ messages: Array.from({ length: 500 }, () => ({ role: 'user', content })) }))
  const ratio = estimateOf(prompt) / (500 * encode(content).length)
  assert.ok(ratio >= 1 && ratio < 1.25, String(ratio))
})

test('the chat format adds a frame around each message and the opening of the reply', () => {
  assert.equal(promptTokensOf({ role: 'user', content: '' }), 3 + 4)
  const words = { role: 'user', content: 'Hello, world!' }
  assert.equal(promptTokensOf(words, words), 3 + 2 * (4 + encode(words.content).length))
})

test('parts are counted like the text they hold; images, files and tools by the figures of the model', () => {
  const text = { type: 'text', text: 'Hello, world!' }
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const file = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } }
  const inParts = promptTokensOf({ role: 'user', content: [text, text] })
  assert.equal(inParts, 3 + 4 + 2 * encode(text.text).length)
  assert.equal(promptTokensOf({ role: 'user', content: [text, text, image, image] }), inParts + 2 * 1_600)
  const tools = [{ type: 'function', function: { name: 'look_up' } }]
  const prompt = promptOf(requestOf({ tools, messages: [{ role: 'user', content: [text, image, image, file] }] }))
  const figures = { image: 25_000, file: 90_000, tool: 300, reasoning: undefined }
  assert.equal(tokensBesideText(prompt, figures, TYPICAL_FIGURES), 3 + 4 + 2 * 25_000 + 90_000 + 300)
})

test('a recording is held for as the longest, whatever a document of the model comes to', () => {
  const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }
  const prompt = promptOf(requestOf({ messages: [{ role: 'user', content: [sound, sound] }] }))
  const figures = { ...NO_FIGURES, file: 300 }
  assert.equal(tokensBesideText(prompt, figures, HELD_FIGURES), 3 + 4 + 2 * 1_000_000)
  assert.equal(tokensBesideText(prompt, figures, TYPICAL_FIGURES), 3 + 4 + 2 * 8_000)
  assert.equal(promptTokensMax(prompt, figures), 1_024 + 16 + 2 * 1_000_000)
})

function textFile(text: string) {
  const file_data = `data:text/plain;base64,${Buffer.from(text).toString('base64')}`
  return { type: 'file', file: { filename: 'a.txt', file_data } }
}

test('a file of plain text is text, and no more than that', () => {
  const prompt = promptOf(requestOf({ messages: [{ role: 'user', content: [textFile('Hello, world!')] }] }))
  assert.deepEqual(prompt.texts, ['Hello, world!', 'a.txt'])
  assert.equal(prompt.files, 0)
})

test('every string that is sent on is counted', () => {
  const long = 'A long story, told in a place where nobody looks. '.repeat(40)
  const tokens = encode(long).length
  const call = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } }
  const places: Record<string, Record<string, unknown>> = {
    'a message': { messages: [{ role: 'user', content: long }] },
    'a part': { messages: [{ role: 'user', content: [{ type: 'text', text: long }] }] },
    instructions: { messages: [{ role: 'system', content: long }] },
    'a refusal': { messages: [{ role: 'assistant', refusal: long }] },
    'a text file': { messages: [{ role: 'user', content: [textFile(long)] }] },
    'the id of a result': { messages: [{ role: 'tool', tool_call_id: long, content: '' }] },
    'the id of a call': { messages: [{ role: 'assistant', tool_calls: [{ ...call, id: long }] }] },
    'the arguments of a call': {
      messages: [{ role: 'assistant', tool_calls: [{ ...call, function: { name: 'a', arguments: long } }] }],
    },
    'a tool': { tools: [{ type: 'function', function: { name: 'look_up', description: long } }] },
    'a schema': { response_format: { type: 'json_schema', json_schema: { name: 'x', description: long } } },
  }
  for (const [place, more] of Object.entries(places))
    assert.ok(tokensOf(more) >= tokens, `${place}: ${tokensOf(more)} of ${tokens}`)
})

test('tools, tool calls and the response format are counted as they are sent', () => {
  const empty = tokensOf({})
  const tools = [{ type: 'function', function: { name: 'look_up', description: 'Looks something up.' } }]
  const response_format = { type: 'json_schema', json_schema: { name: 'x' } }
  assert.equal(tokensOf({ tools }), empty + encode(JSON.stringify(tools)).length)
  assert.equal(tokensOf({ response_format }), empty + encode(JSON.stringify(response_format)).length)
  const tool_calls = [{ id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"a":1}' } }]
  assert.equal(
    promptTokensOf({ role: 'assistant', content: null, tool_calls }),
    3 + 4 + encode(JSON.stringify(tool_calls)).length,
  )
})

test('no provider can have read more tokens than bytes were sent, and what its figures allow', () => {
  for (const text of ['', 'Hello', '日本語のテキスト', PROSE.repeat(400), '\u{1F469}\u200D\u{1F467}']) {
    const most = promptTokensMax(textPrompt(text), NO_FIGURES)
    assert.ok(most >= encode(text).length + 3 + 4)
    assert.ok(most <= Buffer.byteLength(text) + 1_024 + 16)
  }
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } }
  const prompt = promptOf(requestOf({ messages: [{ role: 'user', content: [image] }] }))
  assert.equal(promptTokensMax(prompt, { ...NO_FIGURES, image: 85 }), 85 + 1_024 + 16, 'not the bytes of the image')
})

test('a long prompt is counted by random stretches of it, to a percent, and not whole', async () => {
  const words = 'The quiet clock follows a small map beside the village and nobody knows where it leads. '
  const texts = [words.repeat(6_000), words.toUpperCase().repeat(3_000)]
  const prompt = { texts, messages: 1, images: 0, files: 0, recordings: 0, tools: 0 }
  let turns = 0
  const counted = await countPromptInTurns(prompt, Math.random, async () => void (turns += 1))
  const exact = await countTextsInTurns(texts, async () => {})
  assert.ok(Math.abs(counted.tokens / exact - 1) < 0.02, `${counted.tokens} of ${exact}`)
  assert.equal(counted.isExact, false)
  assert.ok(turns <= 129, `${turns} turns`)
  const short = { ...prompt, texts: [words.repeat(1_000)] }
  const whole = await countPromptInTurns(short, Math.random, async () => {})
  assert.deepEqual(whole, { tokens: await countTextsInTurns(short.texts, async () => {}), isExact: true })
})
