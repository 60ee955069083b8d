import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createSimulator, type Simulator } from './server.ts'
import { assertSigned, checkThoughtsKept, signatureOf } from './thinking.ts'

let simulator: Simulator
before(async () => {
  simulator = await createSimulator()
})
after(() => simulator.close())

const PROMPT = 'Hi [[sim text=Yes thoughts=Hm asked]]'
const messages = [{ role: 'user', content: PROMPT }]
const converse = { messages: [{ role: 'user', content: [{ text: PROMPT }] }] }
const thinking = { type: 'enabled', budget_tokens: 1024 }

/** How each dialect is asked, and how it is asked to think. */
const DIALECTS = {
  '/v1/chat/completions': [{ model: 'sim', messages }, { reasoning_effort: 'low' }],
  '/v1/messages': [{ model: 'sim', max_tokens: 2048, messages }, { thinking }],
  '/v1beta/models/sim:generateContent': [
    { contents: [{ role: 'user', parts: [{ text: PROMPT }] }] },
    { generationConfig: { thinkingConfig: { includeThoughts: true } } },
  ],
  '/model/sim/converse': [converse, { additionalModelRequestFields: { thinking } }],
} as const

async function ask(path: string, body: object): Promise<string> {
  const response = await fetch(`${simulator.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer key',
      'x-goog-api-key': 'key',
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return text
}

for (const [path, [body, asking]] of Object.entries(DIALECTS)) {
  test(`${path} thinks if it is asked to, and only then`, async () => {
    assert.match(await ask(path, { ...body, ...asking }), /"Hm"/)
    assert.doesNotMatch(await ask(path, body), /"Hm"/)
  })
}

test('a signature of somebody else is refused', () => {
  assertSigned(signatureOf('msg-1'))
  assert.notEqual(signatureOf('msg-1'), signatureOf('msg-2'))
  for (const wrong of [undefined, '', 'c2ltdWxhdGVk', 5]) assert.throws(() => assertSigned(wrong), { status: 400 })
})

test('results of tools need the thoughts before the calls, back to what the user said last, if there is a budget', () => {
  const turns = (...thoughts: string[]) => [
    { role: 'user', kinds: ['text'] },
    { role: 'assistant', kinds: [...thoughts, 'tool_use'] },
    { role: 'user', kinds: ['tool_result'] },
  ]
  checkThoughtsKept(thinking, turns('thinking'))
  checkThoughtsKept(undefined, turns())
  checkThoughtsKept({ type: 'adaptive' }, turns())
  checkThoughtsKept(thinking, [...turns(), { role: 'assistant', kinds: ['text'] }, { role: 'user', kinds: ['text'] }])
  assert.throws(() => checkThoughtsKept(thinking, turns()), { status: 400 })
})

test('a result that says so makes the model call the tool again', async () => {
  const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]
  const given = (content: string) => [
    { role: 'user', content: 'Hi [[sim tool=look]]' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'look' } }] },
    { role: 'tool', tool_call_id: 'a', content },
  ]
  const path = '/v1/chat/completions'
  assert.match(await ask(path, { model: 'sim', tools, messages: given('More? [[sim again]]') }), /"tool_calls":\[/)
  assert.doesNotMatch(await ask(path, { model: 'sim', tools, messages: given('Enough.') }), /"tool_calls":\[/)
})
