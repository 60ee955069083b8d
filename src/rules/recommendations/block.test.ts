import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { LABELS, labelOf, renderBlock, withoutBlocks, wordsOfBlock, type Block, type Label } from './block.ts'
import { idOf, idOfLine, TOKEN_CHARS, tokenOf } from './link-token.ts'

const KEY = createSecretKey(Buffer.alloc(32, 3))
const SIGNING = { version: 1, key: KEY }
const keyOf = (version: number) => (version === 1 ? KEY : undefined)
const PROJECT = '01890a5d-ac96-774b-bcce-b302099a8058'
const read = (token: string, words: string) => idOfLine(token, { projectId: PROJECT, words }, keyOf)
const ID = '01890a5d-ac96-774b-bcce-b302099a8057'

const LABEL = labelOf('Ad') as Label
const OFFER = {
  format: 'markdown' as const,
  advertiser: 'Northwind Audio',
  headline: 'Hush 45',
  benefit: 'noise-cancelling headphones for flights',
  price: { amount: '249.00', currency: 'EUR' },
}
const LINE = { projectId: PROJECT, words: wordsOfBlock(OFFER) }
const BLOCK: Block = {
  ...OFFER,
  label: LABEL,
  publicUrl: 'https://api.example.com',
  token: tokenOf(ID, LINE, SIGNING),
}

test('a recommendation is one line: label, advertiser, what it is, its price, and two links', () => {
  const links = (path: string) => `https://api.example.com/${path}/${BLOCK.token}`
  assert.equal(
    renderBlock(BLOCK),
    `**Ad** · Northwind Audio — Hush 45: noise-cancelling headphones for flights, €249.00. [See offer](${links('r')}) · [Why this ad?](${links('w')})`,
  )
  assert.equal(
    renderBlock({ ...BLOCK, format: 'plain', price: undefined, benefit: '' }),
    `Ad · Northwind Audio — Hush 45. See offer: ${links('r')} · Why this ad? ${links('w')}`,
  )
})

test('the advertiser’s own full stop is not doubled, and a price of nothing is no price', () => {
  const line = renderBlock({ ...BLOCK, benefit: 'quiet. ', price: { amount: '0.00', currency: 'EUR' } })
  assert.ok(line.includes('Hush 45: quiet. [See offer]'), line)
})

test('a label is one of the list, or there is none', () => {
  for (const text of ['', ' ', 'ad', 'AD', 'Tip', 'Recommended', 'Ad ', 'Аd', '**Ad**'])
    assert.equal(labelOf(text), undefined)
  assert.equal(LABELS.length, new Set(LABELS.map(({ label }) => label)).size)
})

test('advertisers cannot write Markdown, a second link, or what a reader does not see', () => {
  const hostile = '[x](https://evil.example) ![i](//e) <b>`*_~|#$ www.evil.example a@b.c \u202eTXT\u200b\n\n# H'
  const markdown = renderBlock({ ...BLOCK, headline: hostile, advertiser: '**Ad** · Bose' })
  assert.equal(markdown.match(/(?<!\\)\]\(/g)?.length, 2)
  assert.doesNotMatch(markdown, /[\n\u202e\u200b]|(?<!\\)[<`]|[^\\]:\/\/evil|www\.evil|[^\\]@b/)
  const plain = renderBlock({ ...BLOCK, headline: hostile, format: 'plain' })
  assert.equal(plain.match(/:\/\//g)?.length, 2)
  assert.doesNotMatch(plain, /[\n\u202e\u200b]|www\./)
})

test('without an advertiser’s name there is no recommendation, and none is longer than a line', () => {
  for (const advertiser of ['', ' ', '\u200b\u202e']) assert.throws(() => renderBlock({ ...BLOCK, advertiser }))
  assert.ok(renderBlock({ ...BLOCK, headline: 'x'.repeat(60_000), benefit: '*'.repeat(60_000) }).length < 1_200)
})

test('what is not signed by us, for these words and this project, is not taken away', () => {
  const foreign = renderBlock({
    ...BLOCK,
    token: tokenOf(ID, LINE, { version: 1, key: createSecretKey(Buffer.alloc(32, 4)) }),
  })
  const retired = renderBlock({ ...BLOCK, token: tokenOf(ID, LINE, { version: 2, key: KEY }) })
  const others = renderBlock({ ...BLOCK, token: tokenOf(ID, { ...LINE, projectId: ID }, SIGNING) })
  const reworded = renderBlock({ ...BLOCK, headline: 'Hush 46' })
  const line = renderBlock(BLOCK)
  const [offer = ''] = /https:\S+\/r\/[\w-]+/.exec(line) ?? []
  const kept = [
    foreign,
    retired,
    others,
    reworded,
    'see https://example.com/r/abc for it',
    `/r/${'A'.repeat(TOKEN_CHARS)}`,
    `A line of the model's own, with ${offer} in it.`,
    line.replace('**Ad** · ', ''),
    line.replace('**Ad** · ', '**Ad** · Not to be lost. '),
    line.replace(' [See', ' Not to be lost. [See'),
    line.replace(') · [', ') · Not to be lost. ['),
    line.replace('https://api.example.com/w/', 'https://other.example.com/w/'),
    line.replace('\u2014 ', '\u2014\n'),
  ]
  for (const text of kept) assert.deepEqual(withoutBlocks(text, read), { text, ids: [] })
})

test('several blocks, joined lines and rendered Markdown are taken away too, and nothing else is', () => {
  const line = renderBlock(BLOCK)
  const html = line
    .replaceAll(/\*\*(\w+)\*\*/g, '<strong>$1</strong>')
    .replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, '<a href="$2">$1</a>')
  const cases: [string, string][] = [
    [`One.\n\n${line}\n\nTwo.\n\n${line}`, 'One.\n\nTwo.'],
    [`One.\r\n\r\n${line}`, 'One.'],
    [`One. ${line} Two.`, 'One.  Two.'],
    [`One.\n\n${html}`, 'One.'],
    [`One.\r\n\n${line}`, 'One.\r'],
    [`One.\n\n${html.replaceAll('<a ', '<a target="_blank" ').replaceAll('">', '" rel="noopener">')}.`, 'One..'],
    [`Ad · One. ${line}`, 'Ad · One. '],
    [`${line}${line} Two.`, ' Two.'],
    [
      `One. ${line} Two. https://api.example.com/r/${BLOCK.token} Three.\nFour.`,
      `One.  Two. https://api.example.com/r/${BLOCK.token} Three.\nFour.`,
    ],
  ]
  for (const [said, left] of cases) assert.equal(withoutBlocks(said, read).text, left)
})

test('a token that differs in a single character is nobody’s', () => {
  const { token } = BLOCK
  assert.equal(token.length, TOKEN_CHARS)
  assert.equal(idOf(token, keyOf), ID)
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (let at = 0; at < token.length; at++)
    for (const letter of letters)
      if (letter !== token[at]) assert.equal(idOf(token.slice(0, at) + letter + token.slice(at + 1), keyOf), undefined)
  for (const other of ['', token.slice(1), `${token}A`, `${token}=`, token.replace(/.$/, '+')])
    assert.equal(idOf(other, keyOf), undefined)
})
