import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { Refusal } from './refusal.ts'
import { composeReply, promptTokensOf, textOf, tokensIn } from './reply.ts'

test('the same seed and prompt give the same reply; another prompt or seed gives another', () => {
  const reply = composeReply({ seed: 1, prompt: 'hello' })
  assert.deepEqual(composeReply({ seed: 1, prompt: 'hello' }), reply)
  assert.notEqual(textOf(composeReply({ seed: 1, prompt: 'hellp' }).pieces), textOf(reply.pieces))
  assert.notEqual(textOf(composeReply({ seed: 2, prompt: 'hello' }).pieces), textOf(reply.pieces))
})

test('without a length the reply has 20 to 80 tokens', () => {
  const lengths = Array.from({ length: 500 }, (_, n) => composeReply({ seed: 1, prompt: `prompt ${n}` }).tokens)
  assert.equal(Math.min(...lengths), 20)
  assert.equal(Math.max(...lengths), 80)
})

test('a reply has exactly the tokens asked for, and its text tokenizes to as many', () => {
  for (const utf8 of [false, true]) {
    for (let tokens = 0; tokens < 150; tokens++) {
      const reply = composeReply({ seed: tokens, prompt: 'p', tokens, utf8 })
      assert.equal(reply.tokens, tokens)
      assert.equal(encode(textOf(reply.pieces)).length, tokens)
      assert.equal(reply.finish, 'stop')
    }
  }
})

test('a reply cut by its maximum still tokenizes to the count it reports, and is valid text', () => {
  const texts = [
    textOf(composeReply({ seed: 3, prompt: 'p', tokens: 120, utf8: true }).pieces),
    'Undisputable 👩‍👩‍👧‍👦!!!\n\n  x',
    'Two spaces before a number are two tokens, at the end one:  4567 ok',
  ]
  for (const text of texts) {
    for (let tokensMax = 0; tokensMax < encode(text).length; tokensMax++) {
      const reply = composeReply({ seed: 1, prompt: 'p', text, tokensMax })
      const shown = textOf(reply.pieces)
      assert.equal(reply.finish, 'length')
      assert.ok(reply.tokens <= tokensMax)
      assert.equal(encode(shown).length, reply.tokens)
      assert.ok(text.startsWith(shown))
    }
  }
})

test('every piece of a literal reply is whole text, and together they are the text', () => {
  const text = 'naïve e\u0301 👩‍👩‍👧‍👦 日本語 𠮷 \uFEFF <|endoftext|> 🇯🇵'
  const { pieces } = composeReply({ seed: 1, prompt: 'p', text })
  assert.equal(textOf(pieces), text)
  assert.ok(pieces.some((piece) => piece.tokens > 1))
  for (const piece of pieces) assert.ok(piece.text.isWellFormed() && !piece.text.includes('\uFFFD'), piece.text)
})

test('a lone surrogate becomes the replacement character, as it does on the wire', () => {
  assert.equal(textOf(composeReply({ seed: 1, prompt: 'p', text: 'a\uD83Db' }).pieces), 'a\uFFFDb')
})

test('chunks of n tokens carry the same text', () => {
  const single = composeReply({ seed: 1, prompt: 'p', tokens: 50 })
  const grouped = composeReply({ seed: 1, prompt: 'p', tokens: 50, chunkTokens: 8 })
  assert.equal(textOf(grouped.pieces), textOf(single.pieces))
  assert.deepEqual(
    grouped.pieces.map((piece) => piece.tokens),
    [8, 8, 8, 8, 8, 8, 2],
  )
})

test('a prompt costs 3 tokens, and 4 for each message beside its text', () => {
  assert.equal(promptTokensOf(['hello world', 'one two three']), 3 + 4 + 2 + 4 + 3)
  assert.equal(promptTokensOf(['<|endoftext|>']), 3 + 4 + tokensIn('<|endoftext|>'))
})

test('an endless word is counted in a moment', () => {
  const startedAt = performance.now()
  const tokens = tokensIn('a'.repeat(100_000))
  // Counted piece by piece it would take minutes.
  assert.ok(performance.now() - startedAt < 10_000)
  assert.ok(tokens > 5000 && tokens < 50_000)
})

test('the arguments of a tool call are JSON that fits its schema', () => {
  const parameters = {
    type: 'object',
    properties: {
      city: { type: 'string' },
      days: { type: 'integer' },
      unit: { enum: ['celsius', 'kelvin'] },
      hourly: { type: 'boolean' },
      places: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
    },
  }
  const reply = composeReply({ seed: 1, prompt: 'p', tool: { name: 'weather', parameters } })
  const text = textOf(reply.pieces)
  const args = JSON.parse(text)
  assert.equal(typeof args.city, 'string')
  assert.ok(Number.isInteger(args.days))
  assert.equal(args.unit, 'celsius')
  assert.equal(args.hourly, true)
  assert.equal(typeof args.places[0].name, 'string')
  assert.equal(reply.finish, 'tool')
  assert.ok(reply.pieces.length > 3)
  assert.equal(reply.tokens, encode('weather').length + encode(text).length)
})

test('a literal reply that would occupy the tokenizer for seconds is refused', () => {
  assert.throws(() => composeReply({ seed: 1, prompt: 'p', text: 'a'.repeat(16_385) }), Refusal)
})
