/** The contract's optional fields: passed on, refused, or ignored, and never silently dropped. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { addDeployment, chatBody, createWorld, until } from '../support/world.ts'
import { clause } from './clause.ts'
import { addModels, ask, refused, stream, upstreamBody } from './client.ts'

const world = await createWorld()
after(() => world.close())

const tools = [
  {
    type: 'function',
    function: {
      name: 'look_up',
      description: 'Looks a word up.',
      parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    },
  },
]
const image = { type: 'image_url', image_url: { url: 'https://example.com/cat.png', detail: 'low' } }
const withImage = { messages: [{ role: 'user', content: [{ type: 'text', text: '[[sim tokens=2]]' }, image] }] }

/** Both ways of answering must pass it on, and exactly as it was. */
async function assertPassedOn(field: string, ...values: unknown[]): Promise<void> {
  for (const value of values) {
    for (const stream of [false, true]) {
      const { status, text } = await ask(world, chatBody('tokens=2', { stream, [field]: value }))
      assert.equal(status, 200, text)
      assert.deepEqual(upstreamBody(world)[field], value)
    }
  }
  await ask(world, chatBody('tokens=2'))
  assert.ok(!(field in upstreamBody(world)), 'not made up when it was not sent')
}

clause('optional-stop', () => assertPassedOn('stop', 'END', ['one', 'two']))
clause('optional-seed', () => assertPassedOn('seed', 0, 42, -7))
clause('optional-presence-penalty', () => assertPassedOn('presence_penalty', 0, -1.5, 2))
clause('optional-frequency-penalty', () => assertPassedOn('frequency_penalty', 0, -2, 1.5))

clause('optional-response-format', () =>
  assertPassedOn(
    'response_format',
    { type: 'json_object' },
    { type: 'json_schema', json_schema: { name: 'word', strict: true, schema: { type: 'object', properties: {} } } },
  ),
)

clause('optional-logit-bias', () => assertPassedOn('logit_bias', { '50256': -100, '11': 5 }))
clause('optional-verbosity', () => assertPassedOn('verbosity', 'low', 'high'))
clause('optional-reasoning-effort', () => assertPassedOn('reasoning_effort', 'none', 'low', 'xhigh'))
clause('optional-prediction', () => assertPassedOn('prediction', { type: 'content', content: 'One two three.' }))

clause('optional-end-user', async () => {
  for (const user of ['reader-17', 'ada@example.com', 'x'.repeat(2_000), 17, {}]) {
    for (const field of ['user', 'safety_identifier']) {
      const { status, text } = await ask(world, chatBody('tokens=2', { [field]: user }))
      assert.equal(status, 200, text)
      assert.ok(!JSON.stringify(upstreamBody(world)).includes(typeof user === 'string' ? user : 'user":17'))
    }
  }
  await ask(world, chatBody('tokens=2', { user: 'reader-17' }))
  const digest = upstreamBody(world).user
  assert.match(String(digest), /^[0-9a-f-]{36}$/)
  await ask(world, chatBody('tokens=2', { safety_identifier: 'reader-17' }))
  assert.equal(upstreamBody(world).user, digest)
})

clause('optional-metadata', async () => {
  for (const metadata of [{ a: 'b' }, { a: 1 }, 'x', [], 17]) {
    assert.equal((await ask(world, chatBody('tokens=2', { metadata }))).status, 200)
    assert.ok(!('metadata' in upstreamBody(world)))
  }
})

clause('optional-developer', async () => {
  const question = { role: 'user', content: 'Hello [[sim tokens=2]]' }
  const { status } = await ask(
    world,
    chatBody('', { messages: [{ role: 'developer', content: 'Be brief.' }, question] }),
  )
  assert.equal(status, 200)
  assert.deepEqual(upstreamBody(world).messages, [{ role: 'system', content: 'Be brief.' }, question])
})

clause('optional-reasoning-json', async () => {
  const { chunks } = await stream(world, chatBody('tokens=3 thoughts=Well+then'))
  const joined = chunks.map((chunk) => (chunk.choices[0]?.delta.reasoning_content as string | undefined) ?? '').join('')
  const { body } = await ask(world, chatBody('tokens=3 thoughts=Well+then'))
  const message = body.choices[0]?.message
  assert.ok(joined !== '')
  assert.equal(message?.reasoning_content, joined)
  const again = [{ role: 'user', content: 'Hello' }, message, { role: 'user', content: 'And? [[sim tokens=2]]' }]
  assert.equal((await ask(world, chatBody('', { messages: again }))).status, 200)
})

clause('optional-parallel-tool-calls', async () => {
  for (const parallel_tool_calls of [true, false]) {
    assert.equal((await ask(world, chatBody('tokens=2', { tools, parallel_tool_calls }))).status, 200)
    assert.equal(upstreamBody(world).parallel_tool_calls, parallel_tool_calls)
  }
})

clause('optional-logprobs', async () => {
  const asked = { logprobs: true, top_logprobs: 2 }
  const { body } = await ask(world, chatBody('tokens=3', asked))
  assert.deepEqual([upstreamBody(world).logprobs, upstreamBody(world).top_logprobs], [true, 2])
  const whole = body.choices[0]?.logprobs?.content ?? []
  assert.equal(whole.map(({ token }) => token).join(''), body.choices[0]?.message.content)
  assert.ok(whole.every(({ top_logprobs }) => top_logprobs.length === 2))
  const { chunks } = await stream(world, chatBody('tokens=3', asked))
  assert.deepEqual(
    chunks.flatMap((chunk) => chunk.choices[0]?.logprobs?.content ?? []),
    whole,
  )
})

clause('optional-cache-control', async () => {
  const part = { type: 'text', text: 'Hello [[sim tokens=2]]' }
  const messages = [{ role: 'user', content: [{ ...part, cache_control: { type: 'ephemeral' } }] }]
  const { status, text } = await ask(world, chatBody('', { messages, prompt_cache_key: 'guide' }))
  assert.equal(status, 200, text)
  assert.deepEqual(upstreamBody(world).messages, [{ role: 'user', content: [part] }])
  assert.ok(!JSON.stringify(upstreamBody(world)).includes('guide'))
})

clause('optional-nothing', async () => {
  const fields = [...uses.map(([field]) => field), 'verbosity', 'logprobs', 'parallel_tool_calls']
  await addModels(world, { id: 'plainer', provider: 'simulator', deployment: { unsupportedFields: fields } })
  const nothing = {
    temperature: 1,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    stop: '',
    logit_bias: {},
    response_format: { type: 'text' },
    tool_choice: 'auto',
    verbosity: 'medium',
    logprobs: false,
    n: 1,
    service_tier: 'auto',
    modalities: ['text'],
    store: false,
    seed: null,
    tools: null,
    audio: null,
  }
  const { status, text } = await ask(world, chatBody('tokens=2', { model: 'plainer', ...nothing }))
  assert.equal(status, 200, text)
  const sent = upstreamBody(world)
  for (const field of Object.keys(nothing)) assert.ok(!(field in sent), field)
})

clause('optional-instead', async () => {
  for (const [field, value, instead] of [
    ['service_tier', 'flex', /auto or default/],
    ['modalities', ['audio'], /text/],
    ['audio', { voice: 'alloy', format: 'mp3' }, /text/],
    ['web_search_options', {}, /tools/],
    ['store', true, /x-conversation-id/],
    ['functions', [{ name: 'f' }], /tools/],
    ['function_call', 'auto', /tool_choice/],
  ] as const) {
    const { status, body } = await refused(world, chatBody('', { [field]: value }))
    assert.equal(status, 422, field)
    assert.match(body.message, new RegExp(`^${field}\\b`))
    assert.match(body.message, instead)
  }
})

clause('optional-max-completion-tokens', async () => {
  const { body } = await ask(world, chatBody('tokens=30', { max_completion_tokens: 5 }))
  assert.equal(body.usage.completion_tokens, 5)
  assert.equal(body.choices[0]?.finish_reason, 'length')
  for (const max_completion_tokens of [0, -1, 1.5, '5']) {
    assert.equal((await refused(world, chatBody('', { max_completion_tokens }))).status, 422)
  }
})

clause('optional-max-completion-tokens-both', async () => {
  const both = (a: number, b: number) => ask(world, chatBody('tokens=30', { max_tokens: a, max_completion_tokens: b }))
  assert.equal((await both(5, 6)).status, 422)
  assert.equal((await both(6, 5)).status, 422)
  const { status, body } = await both(5, 5)
  assert.deepEqual([status, body.usage.completion_tokens], [200, 5])
})

clause('optional-include-usage', async () => {
  const usageOf = async (include_usage: boolean) =>
    (await stream(world, chatBody('tokens=2', { stream_options: { include_usage } }))).chunks.at(-1)?.usage
  assert.equal((await usageOf(true))?.completion_tokens, 2)
  assert.equal(await usageOf(false), undefined)
  assert.equal((await refused(world, chatBody('', { stream_options: { include_usage: 'yes' } }))).status, 422)
})

clause('optional-n-1', async () => {
  const { status, body } = await ask(world, chatBody('tokens=2', { n: 1 }))
  assert.deepEqual([status, body.choices.length], [200, 1])
})

clause('optional-n-more', async () => {
  for (const n of [2, 10, 0, 1.5, '1']) assert.equal((await refused(world, chatBody('', { n }))).status, 422, String(n))
})

clause('optional-tools', async () => {
  const choices = ['auto', 'required', 'none', { type: 'function', function: { name: 'look_up' } }]
  for (const tool_choice of choices) {
    const { status } = await ask(world, chatBody('tokens=2', { tools, tool_choice }))
    assert.equal(status, 200)
    assert.deepEqual(upstreamBody(world).tools, tools)
    assert.deepEqual(upstreamBody(world).tool_choice, tool_choice)
  }
})

clause('optional-tools', 'and the calls come back', async () => {
  const { body } = await ask(world, chatBody('tool=look_up', { tools }))
  const call = body.choices[0]?.message.tool_calls?.[0]
  assert.deepEqual([call?.type, call?.function.name], ['function', 'look_up'])
  assert.equal(typeof (JSON.parse(call?.function.arguments ?? '') as { word: unknown }).word, 'string')
  const { chunks } = await stream(world, chatBody('tool=look_up', { tools }))
  const pieces = chunks.flatMap(
    (chunk) => (chunk.choices[0]?.delta.tool_calls ?? []) as { index: number; function: { arguments: string } }[],
  )
  assert.ok(pieces.length > 1 && pieces.every((piece) => piece.index === 0))
  assert.equal(pieces.map((piece) => piece.function.arguments).join(''), call?.function.arguments)
})

clause('optional-tool-messages', async () => {
  const toolCall = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"word":"sea"}' } }
  const messages = [
    { role: 'user', content: 'What is a sea? [[sim tokens=2]]' },
    { role: 'assistant', content: null, tool_calls: [toolCall] },
    { role: 'tool', content: 'Much water.', tool_call_id: 'call_1' },
  ]
  const { status, text } = await ask(world, chatBody('', { tools, messages }))
  assert.equal(status, 200, text)
  assert.deepEqual(upstreamBody(world).messages, messages)
})

clause('optional-parts', async () => {
  const messages = [
    { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
    { role: 'user', content: [{ type: 'text', text: 'What is this? [[sim tokens=2]]' }, image] },
  ]
  const { status, text } = await ask(world, chatBody('', { messages }))
  assert.equal(status, 200, text)
  assert.deepEqual(upstreamBody(world).messages, messages)
})

const uses: [field: string, use: Record<string, unknown>][] = [
  ['temperature', { temperature: 0.9 }],
  ['top_p', { top_p: 0.9 }],
  ['stop', { stop: 'END' }],
  ['seed', { seed: 1 }],
  ['presence_penalty', { presence_penalty: 0.1 }],
  ['frequency_penalty', { frequency_penalty: -0.1 }],
  ['response_format', { response_format: { type: 'json_object' } }],
  ['logit_bias', { logit_bias: { '11': 5 } }],
  ['tools', { tools }],
  ['tool_choice', { tool_choice: 'required' }],
  ['images', withImage],
]

clause('optional-unsupported', async () => {
  const unsupportedFields = uses.map(([field]) => field)
  await addModels(world, { id: 'plain', provider: 'simulator', deployment: { unsupportedFields } })
  assert.equal((await ask(world, chatBody('tokens=2', { model: 'plain', max_tokens: 5 }))).status, 200)
  for (const [field, use] of uses) {
    const { status, body } = await refused(world, chatBody('', { model: 'plain', ...use }))
    assert.equal(status, 422, field)
    assert.match(body.message, new RegExp(`^${field}\\b`), field)
  }
})

clause('optional-unsupported', 'unless another route of the model can', async () => {
  await addModels(world, { id: 'either', provider: 'simulator', deployment: { unsupportedFields: ['seed'] } })
  await addDeployment(world.store, {
    id: 'either',
    provider: 'simulator',
    upstreamModel: 'sim-mini',
    deployment: { position: 1 },
  })
  await until(async () => (await ask(world, chatBody('tokens=2', { model: 'either', seed: 7 }))).status === 200)
  assert.deepEqual([upstreamBody(world).model, upstreamBody(world).seed], ['sim-mini', 7])
})

clause('optional-unknown', async () => {
  const unknown = { metadata: { a: 1 }, best_of: 3, x_custom: 'y', constructor: 1 }
  const messages = [{ role: 'user', content: 'Hello [[sim tokens=2]]', name: 'Ada', extra: { b: 2 } }]
  const { status, text } = await ask(world, chatBody('', { ...unknown, messages }))
  assert.equal(status, 200, text)
  const sent = upstreamBody(world)
  for (const field of Object.keys(unknown)) assert.ok(!Object.hasOwn(sent, field), field)
  assert.deepEqual(sent.messages, [{ role: 'user', content: 'Hello [[sim tokens=2]]' }])
})
