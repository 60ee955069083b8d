import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { SimulatedCall } from './calls.ts'
import { ask, chatBody, chunksIn, eventually, STREAM } from './probe.ts'
import { createSimulator, type Simulator } from './server.ts'

/** The simulated provider's bills: the side of the exactness run that must be right by itself. */

let simulator: Simulator
const told: SimulatedCall[] = []
before(async () => {
  simulator = await createSimulator({ onCall: (call) => told.push(call) })
})
after(() => simulator.close())
beforeEach(() => simulator.reset())

interface Usage {
  prompt_tokens: number
  completion_tokens: number
}

async function billFor(model: string, more: Record<string, unknown> = {}) {
  const seen = await ask(simulator.url, { body: chatBody(model, { ...STREAM, ...more }) })
  await eventually(() => simulator.openCalls() === 0, 'the call is over')
  return { seen, bill: simulator.calls.at(-1)?.bill, usage: chunksIn(seen.text).at(-1)?.usage as Usage | undefined }
}

test('what is billed is what is reported, each token in one place', async () => {
  const { bill, usage } = await billFor('sim?tokens=7&cached=4&reasoning=30')
  const prompt = usage?.prompt_tokens ?? 0
  assert.deepEqual(bill, { fresh: prompt - 4, cached: 4, cacheWrite: 0, completion: 7, reasoning: 30 })
  assert.equal(usage?.completion_tokens, 37)
})

test('what is billed does not depend on what is reported', async () => {
  for (const fault of ['U13', 'U19-huge']) {
    const { bill } = await billFor(`sim?tokens=7&fault=${fault}`)
    assert.equal(bill?.completion, 7, fault)
  }
})

test('a request that is refused costs nothing, and one that is hung on to costs its prompt', async () => {
  assert.equal((await billFor('sim?fault=U11-500')).bill, undefined)
  await ask(simulator.url, { body: chatBody('sim?fault=U5', STREAM), patienceMs: 100 })
  await eventually(() => simulator.openCalls() === 0, 'the call is over')
  const hungUp = simulator.calls.at(-1)
  assert.deepEqual(hungUp?.bill, {
    fresh: hungUp?.promptTokens,
    cached: 0,
    cacheWrite: 0,
    completion: 0,
    reasoning: 0,
  })
})

test('images, files and every text of the prompt are counted', async () => {
  const promptOf = async (...messages: unknown[]) => (await billFor('sim?tokens=1', { messages })).bill?.fresh ?? 0
  const hi = { role: 'user', content: 'Hi' }
  const plain = await promptOf(hi)
  const image = (detail: string) => ({ type: 'image_url', image_url: { url: 'https://example.com/a.png', detail } })
  const pdf = { type: 'file', file: { file_data: `data:application/pdf;base64,${'A'.repeat(10_000)}` } }
  const textPart = { type: 'text', text: 'Hi' }
  assert.equal(await promptOf({ role: 'user', content: [textPart, image('low')] }), plain + 85)
  assert.equal(await promptOf({ role: 'user', content: [textPart, image('high')] }), plain + 1_105)
  const large = { type: 'image_url', image_url: { url: 'https://example.com/a.png?tokens=25000', detail: 'low' } }
  assert.equal(await promptOf({ role: 'user', content: [textPart, large] }), plain + 25_000)
  assert.equal(await promptOf({ role: 'user', content: [textPart, pdf] }), plain + 1_510)
  const long = ' word'.repeat(500)
  assert.ok((await promptOf(hi, { role: 'assistant', refusal: long })) >= plain + 500)
  assert.ok((await promptOf(hi, { role: 'tool', tool_call_id: long, content: '' })) >= plain + 500)
})

test('a call is told of while it runs, with its mark, and its tools are called as often as asked', async () => {
  const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }]
  const { seen } = await billFor('sim?tool=look_up&calls=130&mark=m7', { tools })
  assert.equal(told.at(-1)?.mark, 'm7')
  assert.ok(seen.text.includes('"index":129'))
  assert.ok(!seen.text.includes('"index":130'))
})

test('another tokenizer counts each token several times, and thoughts may be counted as output', async () => {
  const once = (await billFor('sim?tokens=7')).bill
  const { bill } = await billFor('sim?tokens=7&factor=3')
  assert.deepEqual([bill?.fresh, bill?.completion], [3 * (once?.fresh ?? 0), 21])
  const untold = (await billFor('sim?tokens=7&reasoning=100&untold')).bill
  assert.deepEqual([untold?.completion, untold?.reasoning], [107, 0])
})
