import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock'
import { FAULT_NAMES } from './faults.ts'
import { ask } from './probe.ts'
import { createSimulator } from './server.ts'

const simulator = await createSimulator()
after(() => simulator.close())

const model = (script = '') =>
  createAmazonBedrock({ apiKey: 'k', region: 'eu-west-1', baseURL: simulator.url })(`amazon.nova-sim?${script}`)
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] }]

function pathOf(script: string, method = 'converse-stream'): string {
  return `/model/${encodeURIComponent(`sim?${script}`)}/${method}`
}

const BODY = { messages: [{ role: 'user', content: [{ text: 'Hello' }] }] }

async function statusOf(body: Record<string, unknown>, path = pathOf(''), headers: Record<string, string> = {}) {
  const seen = await ask(simulator.url, { path, body, headers })
  return seen.status
}

test("the provider's own client reads both kinds of answer", async () => {
  const whole = await model('text=Hello+there&cached=1').doGenerate({ prompt })
  assert.deepEqual(whole.content, [{ type: 'text', text: 'Hello there' }])
  const { stream } = await model('text=Hello+there&thoughts=Hm').doStream({ prompt })
  const said = { text: '', thought: '', finish: '' }
  for await (const part of stream) {
    if (part.type === 'text-delta') said.text += part.delta
    if (part.type === 'reasoning-delta') said.thought += part.delta
    assert.notEqual(part.type, 'error')
    if (part.type === 'finish') said.finish = part.finishReason.unified
  }
  assert.deepEqual(said, { text: 'Hello there', thought: 'Hm', finish: 'stop' })
})

test('what the real one refuses is refused', async () => {
  const text = [{ text: 'Hi' }]
  const toolUse = { toolUseId: 'a', name: 'f', input: {} }
  const called = { role: 'assistant', content: [{ toolUse }] }
  const result = { role: 'user', content: [{ toolResult: { toolUseId: 'a', content: text } }] }
  const toolConfig = { tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }] }
  const user = { role: 'user', content: text }
  assert.equal(await statusOf(BODY), 200)
  assert.equal(await statusOf({ messages: [user, called, result], toolConfig }), 200)
  for (const body of [
    {},
    { messages: [] },
    { messages: [{ role: 'assistant', content: text }] },
    { messages: [user, user] },
    { messages: [{ role: 'user', content: [{ text: ' ' }] }] },
    { messages: [user, called, result] },
    { messages: [user, called, user], toolConfig },
    { ...BODY, stream: true },
    { ...BODY, inferenceConfig: { temperature: 1.5 } },
    { ...BODY, toolConfig: { tools: [] } },
  ]) {
    assert.equal(await statusOf(body), 400, JSON.stringify(body))
  }
  assert.equal(await statusOf(BODY, pathOf(''), { authorization: '' }), 403)
  assert.equal(await statusOf(BODY, pathOf(''), { authorization: 'Bearer bad-key' }), 403)
})

test('faults of server-sent events and of other formats are refused, where they would do nothing, and all others are known', async () => {
  const refused: string[] = []
  for (const fault of FAULT_NAMES) {
    // The first is not for streams, the others end too late.
    if (['U9-bigjson', 'U5', 'U6'].includes(fault)) continue
    if ((await statusOf(BODY, pathOf(`fault=${fault}&tokens=5`))) === 400) refused.push(fault)
  }
  const ofLines = ['bom', 'cr', 'nospace', 'comments', 'multiline', 'unknown-fields', 'noblank'].map((id) => `U7-${id}`)
  const ofOtherFormats = FAULT_NAMES.filter((name) => /^U2[01]-/.test(name))
  assert.deepEqual(refused, [...ofLines, ...ofOtherFormats])
})
