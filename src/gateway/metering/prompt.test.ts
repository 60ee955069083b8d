import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChatRequest } from '../../rules/calls/chat-request.ts'
import { ParleyError } from '../../rules/errors.ts'
import { NO_FIGURES } from '../../rules/catalogue/figures.ts'
import type { Model } from '../../rules/upstreams/routing.ts'
import type { Route } from '../upstreams/catalogue.ts'
import type { Caller } from '../authenticate.ts'
import { createWork } from '../intake/work.ts'
import { createModelStatistics, type ModelStatistics } from './model-statistics.ts'
import { meterRoutes } from './prompt.ts'
import { createTokenMemory, type TokenMemory } from './token-memory.ts'

const MODEL: Model = {
  id: 'm',
  kind: 'chat',
  ownedBy: 'p',
  createdAt: new Date(0),
  contextWindow: 1_000,
  maxOutputTokens: 4_000,
  figures: NO_FIGURES,
  prices: [],
  deployments: [],
}
/** Three for the reply, four for the message. */
const FRAME = 7

interface Remembered {
  statistics: ModelStatistics
  tokenMemory: TokenMemory
  publisherId: string
}

async function metered(content: unknown, model: Partial<Model> = {}, more: Partial<Remembered> = {}) {
  const { statistics = createModelStatistics(), tokenMemory = createTokenMemory(), publisherId = 'p' } = more
  const request = parseChatRequest({ model: 'm', messages: [{ role: 'user', content }] })
  const work = createWork({ accountPercent: 100 })
  const call = { caller: { publisherId } as Caller, bodyBytes: JSON.stringify(request).length }
  const route = { model: { ...MODEL, ...model }, deployments: [] } as unknown as Route
  const [{ prompt }] = await meterRoutes({ statistics, chance: Math.random, work, tokenMemory }, call, request, [route])
  return prompt
}

function isTooLong(message: RegExp) {
  return (error: unknown) =>
    error instanceof ParleyError &&
    error.code === 'prompt_too_long' &&
    error.status === 422 &&
    message.test(error.message)
}

test('a prompt that fills the window passes, and one token more is refused with both numbers', async () => {
  assert.equal((await metered(' word'.repeat(1_000))).tokens, 1_000 + FRAME)
  await assert.rejects(
    metered(' word'.repeat(1_001)),
    isTooLong(/^The prompt has 1001 tokens, but this model reads at most 1000\./),
  )
})

test('a long prompt is refused by its samples, if it is far too long, and else counted', async () => {
  await assert.rejects(metered(' word'.repeat(20_000)), isTooLong(/has about \d+ tokens/))
  const contextWindow = 20_000
  assert.equal((await metered(' word'.repeat(20_000), { contextWindow })).tokens, 20_000 + FRAME)
  await assert.rejects(metered(' word'.repeat(20_001), { contextWindow }), isTooLong(/has 20001 tokens/))
})

test('a model whose window nobody has stated reads everything', async () => {
  assert.ok((await metered(' word'.repeat(50_000), { contextWindow: undefined })).tokens >= 50_000)
})

test('images and files are held for by the figures of the model, and do not count towards the window', async () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const parts = [{ type: 'text', text: 'Look' }, image, image]
  const known = await metered(parts, { figures: { ...NO_FIGURES, image: 25_000 } })
  assert.equal(known.tokens, 50_000 + 1 + FRAME)
  assert.ok(known.isUnknown)
})

test('a model without figures is held to the largest images and files that its window has room for', async () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const file = { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } }
  const tokensOf = async (parts: unknown[], contextWindow: number | undefined) =>
    (await metered([{ type: 'text', text: 'Look' }, ...parts], { contextWindow })).tokens
  assert.equal(await tokensOf([image], undefined), 65_536 + 1 + FRAME)
  assert.equal(await tokensOf([file], undefined), 1_000_000 + 1 + FRAME)
  assert.equal(await tokensOf([file, image], 128_000), 128_000)
  assert.equal(
    await tokensOf([image, image], 1_000),
    2 * 1_600 + 1 + FRAME,
    'a window that is too small is not believed',
  )
})

test('what nobody has reported is counted at what is usual, and at what was held if its caller cancelled it', async () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  const prompt = await metered([{ type: 'text', text: 'Look' }, image], { contextWindow: 30_000 })
  assert.equal(await prompt.count('usual'), 1_600 + 1 + FRAME)
  assert.equal(await prompt.count('held'), 30_000)
})

test('a hold follows the tokenizer of the model, as far as it was learned', async () => {
  const statistics = createModelStatistics()
  const long = ' word'.repeat(300)
  for (let i = 0; i < 16; i++) {
    const tokenRatio = (await metered(long)).ratioTo(450 + FRAME)
    statistics.add(MODEL, 'p', { completionTokens: 1, hasHidden: false, tokenRatio })
  }
  assert.equal((await metered(' word'.repeat(100), {}, { statistics })).tokens, 150 + FRAME)
})

test('nothing is learned from a prompt that is short, sampled, or has anything but text', async () => {
  assert.equal((await metered('Hi')).ratioTo(20), undefined)
  const contextWindow = 1_000_000
  assert.equal((await metered(' word'.repeat(20_000), { contextWindow })).ratioTo(20_000), undefined)
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
  assert.equal((await metered([{ type: 'text', text: ' word'.repeat(300) }, image])).ratioTo(2_000), undefined)
})

test('a sampled prompt is counted to the token when its provider has not', async () => {
  const prompt = await metered(' word'.repeat(20_000), { contextWindow: 1_000_000 })
  assert.ok(prompt.tokens >= 20_000 + FRAME)
  assert.equal(await prompt.count('usual'), 20_000 + FRAME)
})

test('in a script that the model was not seen to read, each byte may be a token: that is held, and our count is charged', async () => {
  const georgian = 'გამარჯობა მსოფლიო '.repeat(50)
  const statistics = createModelStatistics()
  const unknown = await metered(georgian, { contextWindow: 100_000 }, { statistics })
  const ours = (await unknown.count('usual')) - FRAME
  assert.ok(unknown.tokens >= Buffer.byteLength(georgian.replaceAll(' ', '')))
  assert.ok(unknown.tokens <= Buffer.byteLength(georgian) + FRAME)
  assert.equal(unknown.isUnknown, true)

  for (let i = 0; i < 4; i++) {
    const tokenRatio = unknown.ratioTo(4 * ours + FRAME)
    statistics.add(MODEL, 'p', { completionTokens: 1, hasHidden: false, tokenRatio })
  }
  const known = await metered(georgian, { contextWindow: 100_000 }, { statistics })
  assert.equal(known.isUnknown, false)
  assert.equal(await known.count('usual'), 4 * ours + FRAME)
  assert.equal(known.tokens, 5 * ours + FRAME, 'and a quarter more')
})

test('what came again is not counted again: a long conversation stays exact, and each account has its own memory', async () => {
  const message = (n: number) => ({ type: 'text', text: ` word${' more'.repeat(2_000 + n)}` })
  const messages = Array.from({ length: 6 }, (_, n) => message(n))
  const model = { contextWindow: 100_000 }
  const tokenMemory = createTokenMemory()
  for (let turn = 1; turn <= messages.length; turn++) await metered(messages.slice(0, turn), model, { tokenMemory })
  const exact = messages.reduce((sum, _, n) => sum + 2_001 + n, 0)
  assert.equal((await metered(messages, model, { tokenMemory })).tokens, exact + FRAME)
  const others = await metered(messages, model, { tokenMemory, publisherId: 'other' })
  assert.notEqual(others.tokens, exact + FRAME, 'sampled, with its leeway')
})

test('what was remembered of a text keeps its script', async () => {
  const georgian = 'ანბანი '.repeat(60)
  const model = { contextWindow: 100_000 }
  const tokenMemory = createTokenMemory()
  const first = await metered(georgian, model, { tokenMemory })
  const again = await metered(georgian, model, { tokenMemory })
  assert.deepEqual([again.tokens, again.isUnknown], [first.tokens, true])
})
