import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { APIError } from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { addDeployment, addModel, addProvider, createWorld, until, type World } from '../support/world.ts'

let world: World
let client: OpenAI
before(async () => {
  world = await createWorld()
  const { store, secrets, simulator } = world
  await addProvider(store, secrets, 'claude', `${simulator.url}/v1`, { kind: 'anthropic', apiKey: 'sk-ant-test' })
  await addModel(store, { id: 'claude-first', provider: 'claude', deployment: { position: 0 } })
  await addDeployment(store, { id: 'claude-first', provider: 'simulator', deployment: { position: 1 } })
  await addModel(store, { id: 'claude-small', provider: 'claude' })
  client = new OpenAI({
    apiKey: 'unused',
    baseURL: `${world.url}/v1`,
    maxRetries: 0,
    defaultHeaders: { ...world.project.headers, 'x-error-format': 'openai', Authorization: null },
  })
  await until(async () => (await client.models.list()).data.some((model) => model.id === 'claude-small'))
})
after(() => world.close())

const model = 'claude-small'
const LOOK = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

function say(script: string): ChatCompletionMessageParam {
  return { role: 'user', content: `Hello [[sim ${script}]]` }
}

function newestCharge() {
  return world.store.db.selectFrom('charges').selectAll().orderBy('held_at', 'desc').executeTakeFirst()
}

test('a caller of the chat format is answered and charged in the buckets that Anthropic reports', async () => {
  const messages = [say('tokens=9 cached=3 written=2 reasoning=4')]
  const completion = await client.chat.completions.create({ model, messages, max_tokens: 50 })
  assert.equal(completion.choices[0]?.finish_reason, 'stop')
  assert.equal(completion.usage?.completion_tokens, 13)
  assert.equal(completion.usage.prompt_tokens_details?.cached_tokens, 3)
  await until(async () => (await newestCharge()) !== undefined)
  const charge = (await newestCharge()) ?? assert.fail()
  assert.deepEqual(
    [charge.input_tokens, charge.cached_input_tokens, charge.cache_write_tokens, charge.output_tokens],
    [completion.usage.prompt_tokens - 5, 3, 2, 9],
  )
  assert.deepEqual([charge.reasoning_tokens, charge.usage_source], [4, 'reported'])
})

test('what Anthropic has no word for goes to the next route that has, and everything else to Anthropic', async () => {
  const isAnthropicAsked = async (options: { seed?: number }) => {
    const completion = { model: 'claude-first', messages: [say('tokens=2')], max_tokens: 50, ...options }
    await client.chat.completions.create(completion)
    return Object.keys(world.simulator.calls.at(-1)?.headers ?? {}).includes('anthropic-version')
  }
  assert.equal(await isAnthropicAsked({}), true)
  assert.equal(await isAnthropicAsked({ seed: 1 }), false)
})

test('a stream and a round of tools go through', async () => {
  const stream = client.chat.completions.stream({ model, messages: [say('tool=look')], tools: [LOOK] })
  const asked = await stream.finalMessage()
  const call = asked.tool_calls?.[0]
  assert.ok(call?.type === 'function' && call.function.name === 'look')
  assert.equal(typeof JSON.parse(call.function.arguments).city, 'string')
  const messages = [
    say('tool=look text=Rain.'),
    asked,
    { role: 'tool' as const, tool_call_id: call.id, content: 'rain' },
  ]
  const answer = await client.chat.completions.create({ model, messages, tools: [LOOK] })
  assert.equal(answer.choices[0]?.message.content, 'Rain.')
})

test('the key of the provider goes to the provider, and nothing of the caller', async () => {
  world.simulator.reset()
  await client.chat.completions.create({ model, messages: [say('tokens=1')], user: 'u-1', temperature: 0.5 })
  const call = world.simulator.calls.at(-1) ?? assert.fail()
  const userId = (call.body as { metadata: { user_id: string } }).metadata.user_id
  assert.match(userId, /^[0-9a-f-]{36}$/, 'a digest')
  assert.equal(call.authorization, 'sk-ant-test')
  assert.ok(!JSON.stringify(call).includes(world.project.secretKey))
  assert.ok(!JSON.stringify(call).includes('u-1'))
})

test('a field that Anthropic has no place for is refused by name, and the provider is not asked', async () => {
  world.simulator.reset()
  for (const [param, more] of [
    ['seed', { seed: 1 }],
    ['temperature', { temperature: 1.5 }],
    ['response_format', { response_format: { type: 'json_object' as const } }],
  ] as const) {
    const refused = client.chat.completions.create({ model, messages: [say('tokens=1')], ...more })
    await assert.rejects(refused, (error) => error instanceof APIError && error.status === 422 && error.param === param)
  }
  assert.equal(world.simulator.calls.length, 0)
})
