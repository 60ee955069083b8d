/** The specification's part 2: every field of what is sent and what comes back. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setKeyPairActive } from '../support/key-pairs.ts'
import { listConversations } from '../../src/store/calls/conversations.ts'
import { addKeyPair, addProject, chatBody, createWorld, until } from '../support/world.ts'
import { clause } from './clause.ts'
import { ask, contentOf, listModels, refused, stream, upstreamBody, type ChunkBody } from './client.ts'

const world = await createWorld()
after(() => world.close())

const valid = chatBody('tokens=4')
const statusOf = async (body: unknown) => (await refused(world, body)).status
const without = (field: keyof typeof valid) => ({ ...valid, [field]: undefined })

const secondsBefore = Math.floor(Date.now() / 1000)
const completion = await ask(world, chatBody('tokens=7'))
const streamed = await stream(world, chatBody('tokens=7'))
const secondsAfter = Math.floor(Date.now() / 1000)
const models = await listModels(world)
const refusal = await refused(world, { ...valid, model: undefined })

const isAboutNow = (created: number) => Number.isInteger(created) && created >= secondsBefore && created <= secondsAfter
const onEveryChunk = (check: (chunk: ChunkBody) => void) => {
  assert.ok(streamed.chunks.length > 7, `too few chunks to judge by: ${streamed.text}`)
  for (const chunk of streamed.chunks) check(chunk)
}

clause('2.1-model-required', async () => assert.equal(await statusOf(without('model')), 400))

clause('2.1-model-string', async () => {
  for (const model of [7, null, true, ['sim-small'], { id: 'sim-small' }]) {
    assert.equal(await statusOf({ ...valid, model }), 400, JSON.stringify(model))
  }
})

clause('2.1-model-from-list', async () => {
  assert.ok(models.body.data.length > 0)
  for (const { id } of models.body.data) {
    const { status, body } = await ask(world, { ...valid, model: id })
    assert.equal(status, 200)
    assert.equal(body.model, id)
  }
})

clause('2.1-messages-required', async () => assert.equal(await statusOf(without('messages')), 400))

clause('2.1-messages-array', async () => {
  for (const messages of ['Hello', { role: 'user', content: 'Hello' }, null, 1]) {
    assert.equal(await statusOf({ ...valid, messages }), 400, JSON.stringify(messages))
  }
  for (const messages of [['Hello'], [null], [[]]]) {
    assert.equal(await statusOf({ ...valid, messages }), 422, JSON.stringify(messages))
  }
})

clause('2.1-messages-history', async () => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'My name is Ada.' },
    { role: 'assistant', content: 'Hello Ada.' },
    { role: 'user', content: 'Who am I? [[sim tokens=2]]' },
  ]
  assert.equal((await ask(world, { ...valid, messages })).status, 200)
  assert.deepEqual(upstreamBody(world).messages, messages)
})

clause('2.1-messages-not-empty', async () => assert.equal(await statusOf({ ...valid, messages: [] }), 400))

clause('2.1-stream-boolean', async () => {
  for (const value of ['true', 1, 0, null, {}]) {
    assert.equal(await statusOf({ ...valid, stream: value }), 422, JSON.stringify(value))
  }
})

clause('2.1-stream-default', async () => {
  const { headers, body } = await ask(world, valid)
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/)
  assert.equal(body.object, 'chat.completion')
})

clause('2.1-stream-true', () => {
  assert.equal(streamed.status, 200)
  assert.match(streamed.headers.get('content-type') ?? '', /^text\/event-stream\b/)
})

clause('2.1-temperature-number', async () => {
  for (const temperature of ['1', true, [1], {}]) {
    assert.equal(await statusOf({ ...valid, temperature }), 422, JSON.stringify(temperature))
  }
})

clause('2.1-temperature-optional', async () => {
  assert.equal((await ask(world, valid)).status, 200)
  assert.ok(!('temperature' in upstreamBody(world)))
  assert.equal((await ask(world, { ...valid, temperature: 0.7 })).status, 200)
  assert.equal(upstreamBody(world).temperature, 0.7)
})

clause('2.1-temperature-range', async () => {
  for (const temperature of [0, 0.01, 1, 2]) assert.equal(await statusOf({ ...valid, temperature }), 200)
  for (const temperature of [-0.01, 2.01, 3, -1, 1e9]) assert.equal(await statusOf({ ...valid, temperature }), 422)
})

clause('2.1-max-tokens-number', async () => {
  for (const max_tokens of ['5', true, [5], {}]) {
    assert.equal(await statusOf({ ...valid, max_tokens }), 422, JSON.stringify(max_tokens))
  }
})

clause('2.1-max-tokens-optional', async () => {
  const { status, body } = await ask(world, chatBody('tokens=30'))
  assert.equal(status, 200)
  assert.equal(body.usage.completion_tokens, 30)
})

clause('2.1-max-tokens-maximum', async () => {
  const { body } = await ask(world, chatBody('tokens=30', { max_tokens: 5 }))
  assert.equal(upstreamBody(world).max_tokens, 5)
  assert.equal(body.usage.completion_tokens, 5)
  assert.equal(world.simulator.calls.at(-1)?.generatedTokens, 5)
})

clause('2.1-top-p-number', async () => {
  for (const top_p of ['1', true, [1], {}]) {
    assert.equal(await statusOf({ ...valid, top_p }), 422, JSON.stringify(top_p))
  }
})

clause('2.1-top-p-optional', async () => {
  assert.equal((await ask(world, valid)).status, 200)
  assert.ok(!('top_p' in upstreamBody(world)))
  assert.equal((await ask(world, { ...valid, top_p: 0.9 })).status, 200)
  assert.equal(upstreamBody(world).top_p, 0.9)
})

const say = (message: unknown) => ({ ...valid, messages: [message, { role: 'user', content: '[[sim tokens=2]]' }] })

clause('2.2-role-values', async () => {
  for (const role of ['system', 'user', 'assistant']) {
    assert.equal(await statusOf(say({ role, content: 'Hello' })), 200, role)
  }
  for (const role of ['robot', 'User', 'SYSTEM', 'function', '']) {
    assert.equal(await statusOf(say({ role, content: 'Hello' })), 422, role)
  }
})

clause('2.2-role-string', async () => {
  for (const role of [1, null, ['user'], undefined]) {
    assert.equal(await statusOf(say({ role, content: 'Hello' })), 422, JSON.stringify(role))
  }
})

clause('2.2-content-string', async () => {
  for (const role of ['system', 'user', 'assistant']) {
    assert.equal(await statusOf(say({ role, content: '' })), 200, `${role}: an empty text is a text`)
    for (const content of [1, true, {}, undefined, null]) {
      assert.equal(await statusOf(say({ role, content })), 422, `${role} ${JSON.stringify(content)}`)
    }
  }
})

clause('2.2-content-unchanged', async () => {
  const content = '  "quoted" \\ back\tslash\n\n日本語 e\u0301 👩‍👩‍👧‍👦 </script> \u2028 [[sim tokens=2]]'
  assert.equal(await statusOf({ ...valid, messages: [{ role: 'user', content }] }), 200)
  assert.deepEqual(upstreamBody(world).messages, [{ role: 'user', content }])
})

clause('2.3-id', () => assert.match(completion.body.id, /^\S+$/))
clause('2.3-object', () => assert.equal(completion.body.object, 'chat.completion'))
clause('2.3-created', () => assert.ok(isAboutNow(completion.body.created), String(completion.body.created)))
clause('2.3-model', () => assert.equal(completion.body.model, 'sim-small'))
clause('2.3-choices', () => assert.equal(completion.body.choices.length, 1))
clause('2.3-index', () => assert.equal(completion.body.choices[0]?.index, 0))

clause('2.3-message', () => {
  const message = completion.body.choices[0]?.message
  assert.equal(message?.role, 'assistant')
  assert.equal(message?.content?.split(' ').length, 7, 'the simulator says one word per token')
})

clause('2.3-finish-reason', () => assert.equal(completion.body.choices[0]?.finish_reason, 'stop'))

clause('2.3-usage', () => {
  const { prompt_tokens, completion_tokens, total_tokens } = completion.body.usage
  assert.ok(Number.isInteger(prompt_tokens) && prompt_tokens > 0)
  assert.equal(completion_tokens, 7)
  assert.equal(total_tokens, prompt_tokens + completion_tokens)
})

clause('2.4-same-id', () => {
  assert.match(streamed.chunks[0]?.id ?? '', /^\S+$/)
  onEveryChunk((chunk) => assert.equal(chunk.id, streamed.chunks[0]?.id))
})

clause('2.4-object', () => onEveryChunk((chunk) => assert.equal(chunk.object, 'chat.completion.chunk')))
clause('2.4-created', () => onEveryChunk((chunk) => assert.ok(isAboutNow(chunk.created), String(chunk.created))))
clause('2.4-model', () => onEveryChunk((chunk) => assert.equal(chunk.model, 'sim-small')))

clause('2.4-choices', () =>
  onEveryChunk(({ choices }) => {
    assert.equal(choices.length, 1)
    assert.deepEqual(Object.keys(choices[0] ?? {}).toSorted(), ['delta', 'finish_reason', 'index'])
    assert.equal(choices[0]?.index, 0)
    assert.ok(typeof choices[0]?.delta === 'object' && choices[0].delta !== null)
    assert.ok(choices[0].finish_reason === null || typeof choices[0].finish_reason === 'string')
  }),
)

clause('2.4-delta-role', () => {
  assert.equal(streamed.chunks[0]?.choices[0]?.delta.role, 'assistant')
  for (const chunk of streamed.chunks.slice(1)) assert.ok(!('role' in (chunk.choices[0]?.delta ?? {})))
})

clause('2.4-delta-content', () => {
  for (const { choices } of streamed.chunks.slice(1, -1)) assert.match(String(choices[0]?.delta.content), /\S/)
  assert.equal(contentOf(streamed.chunks).split(' ').length, 7)
})

clause('2.4-delta-empty', () => {
  const choice = streamed.chunks.at(-1)?.choices[0]
  assert.deepEqual([choice?.delta, choice?.finish_reason], [{}, 'stop'])
})

clause('2.4-earlier-null', () => {
  for (const chunk of streamed.chunks.slice(0, -1)) assert.equal(chunk.choices[0]?.finish_reason, null)
})

clause('2.5-object', () => assert.equal(models.body.object, 'list'))

clause('2.5-data', () =>
  assert.deepEqual(
    models.body.data.map(({ id }) => id),
    ['sim-small'],
  ),
)

clause('2.5-id', async () => {
  for (const { id } of models.body.data) assert.equal(await statusOf({ ...valid, model: id }), 200)
})

clause('2.5-model-object', () => assert.equal(models.body.data[0]?.object, 'model'))

clause('2.5-created', () => {
  const created = models.body.data[0]?.created ?? 0
  assert.ok(Number.isInteger(created) && Math.abs(created - secondsBefore) < 60, String(created))
})

clause('2.5-owned-by', () => assert.equal(models.body.data[0]?.owned_by, 'simulator'))

clause('2.6-status-code', () => {
  assert.equal(refusal.status, 400)
  assert.equal(refusal.body.statusCode, 400)
})

clause('2.6-message', () => assert.match(refusal.body.message, /^\w+ .*\w/))

clause('2.6-error', async () => {
  assert.equal(refusal.body.error, 'Bad Request')
  const { body } = await refused(world, valid, { headers: { 'x-secret-key': '' } })
  assert.equal(body.error, 'Unauthorized')
})

clause('2.7-pair-together', async () => {
  const one = await addKeyPair(world.store, world.secrets, world.project.id)
  const two = await addKeyPair(world.store, world.secrets, world.project.id)
  const pairing = (publishable: typeof one, secret: typeof one) =>
    ask(world, valid, {
      headers: { 'x-publishable-key': publishable.publishableKey, 'x-secret-key': secret.secretKey },
    })
  assert.equal((await pairing(one, one)).status, 200)
  assert.equal((await pairing(two, two)).status, 200)
  assert.equal((await pairing(one, two)).status, 401)
  assert.equal((await pairing(two, one)).status, 401)
})

clause('2.7-pair-active-or-inactive', async () => {
  const project = await addProject(world.store, world.secrets)
  const status = async () => (await ask(world, valid, { project })).status
  assert.equal(await status(), 200)
  await setKeyPairActive(world.store.db, project.publishableKey, false)
  assert.equal(await status(), 401)
  await setKeyPairActive(world.store.db, project.publishableKey, true)
  await until(async () => (await status()) === 200)
})

clause('2.7-conversation-identity', async () => {
  const say = (id: string) => ask(world, valid, { headers: { 'x-conversation-id': id } })
  for (const id of ['identity-a', 'identity-a', 'identity-b']) assert.equal((await say(id)).status, 200)
  const counts = async () =>
    Object.fromEntries(
      (await listConversations(world.store.db, world.project.id, 10)).map(({ id, calls }) => [id, calls]),
    )
  await until(async () => (await counts())['identity-b'] === 1)
  assert.deepEqual(await counts(), { 'identity-a': 2, 'identity-b': 1 })
})
