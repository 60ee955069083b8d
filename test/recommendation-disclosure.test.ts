import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { answerGate } from '../src/rules/recommendations/gates.ts'
import {
  LABELS,
  renderBlock,
  SEPARATOR,
  withoutBlocks,
  wordsOfBlock,
  type Block,
  type Label,
  type ShownOffer,
} from '../src/rules/recommendations/block.ts'
import { idOfLine, TOKEN_CHARS, tokenOf } from '../src/rules/recommendations/link-token.ts'
import { createRandom, type Random } from './support/random.ts'

const KEY = createSecretKey(Buffer.alloc(32, 3))
const SIGNING = { version: 1, key: KEY }
const projectId = '01890a5d-ac96-774b-bcce-b302099a8058'
const read = (token: string, words: string) => idOfLine(token, { projectId, words }, () => KEY)

/** Pieces of what Markdown, our own template, chats and Unicode make difficult: texts are made of these, and of letters. */
const PIECES = [
  '**Ad** · ',
  ' · ',
  ' — ',
  '/r/',
  '/w/',
  '\n',
  '\n\n',
  '\r\n',
  '](',
  '[',
  ')',
  '```',
  '`',
  '*',
  '_',
  '<',
  '>',
  '|',
  '#',
  '\\',
  '$$',
  '<!--',
  '<script>',
  'https://',
  'www.',
  'a@b.c',
  '\u202e',
  '\u2066',
  '\u200b',
  '\u2028',
  '\u0000',
  '\u001b',
  '\ufeff',
  'Ad',
  'Anzeige',
  '広告',
  '…',
  ' ',
  '.',
  ':',
  ',',
  'é',
  'e\u0301',
  '👩‍👩‍👧',
  'ﷺ',
  '𝔘',
  'data: [DONE]',
  '<|im_start|>',
  '{"a":1}',
  '-',
  '1.',
  '\t',
  '"',
  "'",
  '&amp;',
  '!',
  '~',
  '^',
  '=',
]

function generated(random: Random, most: number): string {
  return Array.from({ length: random.int(most) }, () =>
    random.next() < 0.5
      ? random.pick(PIECES)
      : String.fromCodePoint(33 + random.int(random.next() < 0.8 ? 94 : 40_000)),
  ).join('')
}

/** A letter that nothing else here has. */
const NAME = '𝒩'

function generatedBlock(random: Random): Block & { id: string } {
  const price = {
    amount: (random.int(1e7) / 100).toFixed(2),
    currency: random.pick(['EUR', 'USD', 'GBP', 'JPY', 'PLN']),
  }
  const bytes = Array.from({ length: 16 }, () => random.int(256))
  const hex = Buffer.from(bytes).toString('hex')
  const id = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  const offer: ShownOffer = {
    format: random.pick(['markdown', 'plain']),
    advertiser: `${generated(random, 6)}${NAME}${generated(random, 6)}`,
    headline: generated(random, 12),
    benefit: generated(random, 16),
    price: random.next() < 0.5 ? price : undefined,
  }
  return {
    ...offer,
    label: random.pick(LABELS).label as Label,
    publicUrl: random.pick(['https://api.example.com', 'http://127.0.0.1:8080']),
    token: tokenOf(id, { projectId, words: wordsOfBlock(offer) }, SIGNING),
    id,
  }
}

test('in 100,000 generated recommendations the label comes first, then the advertiser, then the link; and taken away, the answer is as it was', () => {
  const random = createRandom(7)
  for (let n = 0; n < 100_000; n++) {
    const block = generatedBlock(random)
    const line = renderBlock(block)
    const shownLabel = block.format === 'markdown' ? `**${block.label}** · ` : `${block.label} · `
    const link = line.indexOf(`${block.publicUrl}/r/${block.token}`)
    const name = line.indexOf(NAME)
    const answer = `Some answer.${generated(random, 12)}`
    const { text, ids } = withoutBlocks(answer + SEPARATOR + line, read)
    const isRight =
      line.startsWith(shownLabel) &&
      !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(line) &&
      name >= shownLabel.length &&
      line.indexOf(' — ', name) < link &&
      name < link &&
      !line.includes('/r/', link + block.publicUrl.length + 1) &&
      text === answer &&
      ids.length === 1 &&
      ids[0] === block.id
    if (!isRight) assert.fail(`number ${n}: ${JSON.stringify({ block, line, answer, text })}`)
  }
})

/** Without its types, which would declare a browser to all tests. */
const load = (name: string): Promise<Record<string, (...values: unknown[]) => unknown>> => import(name)
const [react, dom, markdown, gfm] = await Promise.all(
  ['react', 'react-dom/server', 'react-markdown', 'remark-gfm'].map(load),
)

/** As most chats show it. */
function shown(text: string): string {
  const element = react?.createElement?.(markdown?.default, { remarkPlugins: [gfm?.default] }, text)
  return String(dom?.renderToStaticMarkup?.(element))
}

const ANSWER =
  'Look for over-ear headphones with active noise cancelling, a long battery life and a case that folds flat.'
const BLOCK: Block = {
  label: 'Ad' as Label,
  format: 'markdown',
  advertiser: 'Northwind',
  headline: 'Hush 45',
  benefit: '',
  price: undefined,
  publicUrl: 'https://api.example.com',
  token: 'A'.repeat(TOKEN_CHARS),
}

test('however an answer ends that may be followed, readers see a label, a name and two links in a paragraph of their own', () => {
  const fence = '```'
  const ends = [
    '- a\n- b',
    '- a\n    - b',
    '1. a\n\n   b',
    '> quoted',
    `> ${fence}\n> x`,
    '| a | b |\n|---|---|\n| 1 | 2 |',
    'a | b\n---|---\n1 | 2',
    '# Head',
    'Head\n---',
    '---',
    '[a]: https://example.com "t"',
    '[^1]: note',
    'text\\',
    'text  ',
    '`open',
    '**open',
    '[open](',
    '![open](',
    'Term\n: meaning',
    `1. x\n\n   ${fence}js\n   a`,
    `- ${fence}\n  a\n  ${fence}\n\n${fence}\ncode`,
    `${fence}x${fence} y\n\n${fence}\ncode`,
    `    ${fence}`,
    `${fence}\na\n${fence}\t`,
    '~~~\nx',
    '<?php echo',
    '<!A',
    '<![CDATA[ x',
    '<!-- a',
    '<div hidden>',
    'x <span hidden>',
    '<pre>',
    '<b>x</b>',
    'x<br>',
  ]
  const line = '<p><strong>Ad</strong> · Northwind — Hush 45. <a href="https://api.example.com/r/'
  const followed = ends.filter((end) => {
    const text = `${ANSWER}\n\n${end}`
    if (answerGate({ text, finishReason: 'stop', hasRefusal: false, hasToolCalls: false })) return false
    assert.ok(shown(text + SEPARATOR + renderBlock(BLOCK)).includes(line), JSON.stringify(end))
    return true
  })
  assert.ok(followed.length >= 18, `${followed.length}`)
})

test('what an advertiser writes is no formula, and no address that chats make a link of, escaped or not', () => {
  const headline = 'Hush (2nd gen) [black] https://evil.example www.evil.example a@evil.example'
  const line = renderBlock({ ...BLOCK, headline })
  assert.doesNotMatch(line, /\\[[\]()]/)
  for (const text of [line, renderBlock({ ...BLOCK, headline, format: 'plain' })])
    assert.deepEqual(
      [...shown(text).matchAll(/href="([^"]*)\/[rw]\/[\w-]{56}"|href/g)].map(([, origin]) => origin),
      ['https://api.example.com', 'https://api.example.com'],
    )
})
