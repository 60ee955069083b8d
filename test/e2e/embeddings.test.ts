import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { DIMENSIONS, base64Of, vectorFor } from '../../simulator/vectors.ts'
import { tokensIn } from '../../simulator/reply.ts'
import { fieldsIn } from '../../src/rules/record.ts'
import {
  EMBEDDING_PRICE,
  addDeployment,
  addKeyPair,
  addModel,
  addProject,
  addProvider,
  chatBody,
  complete,
  createWorld,
  until,
  walletOf,
  type TestProject,
  type World,
} from '../support/world.ts'

/** POST /v1/embeddings, by the providers that make them: what comes back, what it costs, and how it fails. */

const SEED = 1
/** The embedding models of this test; its setup waits until the last one is offered. */
const MODELS = ['embed', 'embed-gemini', 'embed-narrow', 'embed-claude', 'embed-twice', 'embed-plain'] as const

let world: World
before(async () => {
  world = await createWorld()
  const { store, secrets, simulator } = world
  const settings = { embeddingFormat: 'base64' }
  await addProvider(store, secrets, 'vectors', `${simulator.url}/v1`, { settings })
  await addProvider(store, secrets, 'vectors-spare', `${simulator.url}/v1`, { settings })
  await addProvider(store, secrets, 'google', `${simulator.url}/v1beta`, { kind: 'gemini' })
  await addProvider(store, secrets, 'claude', `${simulator.url}/v1`, { kind: 'anthropic' })
  const kind = 'embedding'
  await addModel(store, { id: 'embed', kind, provider: 'vectors', contextWindow: 8_192 })
  await addModel(store, { id: 'embed-plain', kind, provider: 'simulator', contextWindow: 8_192 })
  await addModel(store, { id: 'embed-gemini', kind, provider: 'google', contextWindow: 2_048 })
  await addModel(store, { id: 'embed-claude', kind, provider: 'claude' })
  const deployment = { unsupportedFields: ['dimensions'] }
  await addModel(store, { id: 'embed-narrow', kind, provider: 'vectors', contextWindow: 16, deployment })
  await addModel(store, { id: 'embed-twice', kind, provider: 'vectors', upstreamModel: 'sim?fault=U14-eof' })
  await addDeployment(store, { id: 'embed-twice', provider: 'vectors-spare', deployment: { position: 1 } })
  await until(async () => (await modelIds()).includes(MODELS.at(-1) ?? ''))
})
after(() => world.close())

async function modelIds(): Promise<string[]> {
  const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
  return ((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)
}

interface EmbedOptions {
  headers?: Record<string, string>
  project?: TestProject
  signal?: AbortSignal
}

function embed(body: unknown, { headers, project = world.project, signal }: EmbedOptions = {}): Promise<Response> {
  return fetch(`${world.url}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...project.headers, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal,
  })
}

interface Embeddings {
  object: string
  data: { object: string; index: number; embedding: number[] | string }[]
  model: string
  usage: { prompt_tokens: number; total_tokens: number }
}

async function embedded(body: unknown, options: EmbedOptions = {}): Promise<Embeddings> {
  const response = await embed(body, options)
  assert.equal(response.status, 200, await response.clone().text())
  return (await response.json()) as Embeddings
}

async function refusalOf(body: unknown, options: EmbedOptions = {}) {
  const response = await embed(body, { ...options, headers: { 'x-error-format': 'openai', ...options.headers } })
  const { error } = (await response.json()) as { error: { message: string; code: string; param: string | null } }
  return { status: response.status, code: error.code, param: error.param, message: error.message }
}

async function callOf(response: Response) {
  const id = response.headers.get('x-completion-id') ?? ''
  const receipt = await fetch(`${world.url}/v1/receipts/${id}`, { headers: world.project.headers })
  assert.equal(receipt.status, 200)
  return { id, receipt: fieldsIn(await receipt.json()) }
}

const TEXTS = ['Bonjour, 世界 👋', 'the second text', 'a third']
/** Texts for which the amount held equals the cost, as their number of tokens is certain. */
const PLAIN = ['a plain text', 'and another one']
const tokensOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + tokensIn(text), 0)

test('vectors come in the order of the inputs, as numbers or in base64, and are the same', async () => {
  for (const model of ['embed', 'embed-plain', 'embed-gemini']) {
    const body = await embedded({ model, input: TEXTS })
    const vectors = TEXTS.map((text) => vectorFor(text, DIMENSIONS, SEED))
    const usage = { prompt_tokens: tokensOf(TEXTS), total_tokens: tokensOf(TEXTS) }
    const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }))
    assert.deepEqual(body, { object: 'list', data, model, usage })
    const base64 = await embedded({ model, input: TEXTS, encoding_format: 'base64' })
    assert.deepEqual(
      base64.data,
      vectors.map((vector, index) => ({ ...data[index], embedding: base64Of(vector) })),
    )
    const one = await embedded({ model, input: TEXTS[0], dimensions: 3, user: 'u', encoding_format: 'float' })
    assert.deepEqual(one.data, [{ ...data[0], embedding: vectorFor(TEXTS[0] ?? '', 3, SEED) }])
  }
})

test('a provider is asked for base64 where it knows it, and told only a digest of whom it is for', async () => {
  await embedded({ model: 'embed', input: 'a', user: 'somebody', encoding_format: 'float', store: true })
  const asked = fieldsIn(world.simulator.calls.at(-1)?.body)
  assert.deepEqual(
    { ...asked, user: typeof asked.user },
    { model: 'sim', input: ['a'], encoding_format: 'base64', user: 'string' },
  )
  assert.notEqual(asked.user, 'somebody')
  await embedded({ model: 'embed-plain', input: 'a' })
  assert.deepEqual(world.simulator.calls.at(-1)?.body, { model: 'sim', input: ['a'] })
  await until(async () => {
    const rows = await world.store.db.selectFrom('ignored_fields').select('name').execute()
    return rows.some(({ name }) => name === 'store') && rows.every(({ name }) => name !== 'input' && name !== 'user')
  })
})

test('token ids are passed on and counted, and refused where the format has none', async () => {
  const input = [
    [1, 2, 3],
    [4, 5],
  ]
  const body = await embedded({ model: 'embed', input })
  assert.equal(body.usage.prompt_tokens, 5)
  assert.deepEqual(
    body.data.map(({ embedding }) => embedding),
    input.map((ids) => vectorFor(ids, DIMENSIONS, SEED)),
  )
  assert.equal((await embedded({ model: 'embed', input: [7, 8] })).data.length, 1)
  const { status, param, message } = await refusalOf({ model: 'embed-gemini', input })
  assert.deepEqual([status, param], [422, 'input'])
  assert.match(message, /token ids/)
})

test('what it costs is its prompt, to the nano, and the receipt says so', async () => {
  const before = await walletOf(world.store, world.project.id)
  const response = await embed({ model: 'embed', input: PLAIN })
  await response.arrayBuffer()
  const { id, receipt } = await callOf(response)
  assert.match(id, /^embd-[0-9a-f]{32}$/)
  assert.equal(receipt.id, id)
  const cost = (BigInt(tokensOf(PLAIN)) * EMBEDDING_PRICE.input) / 1_000_000n
  const after = await walletOf(world.store, world.project.id)
  assert.deepEqual([before.balance - after.balance, after.held], [cost, 0n])
  assert.deepEqual(
    [receipt.outcome, receipt.finish_reason, fieldsIn(receipt.usage).source, receipt.charged_nanos, receipt.held_nanos],
    ['completed', null, 'reported', String(cost), String(cost)],
  )
  const row = await world.store.db
    .selectFrom('calls')
    .select(['endpoint', 'finish_reason', 'conversation_id', 'streamed'])
    .where('request_id', '=', response.headers.get('x-request-id') ?? '')
    .executeTakeFirst()
  assert.deepEqual(row, { endpoint: 'embeddings', finish_reason: null, conversation_id: null, streamed: false })
})

test('a provider that reports nothing is charged by our own count, within the hold', async () => {
  const texts = [...TEXTS, 'word '.repeat(10_000).trim()]
  const response = await embed({ model: 'embed-gemini', input: TEXTS })
  const body = (await response.json()) as Embeddings
  const { receipt } = await callOf(response)
  assert.equal(body.usage.prompt_tokens, tokensOf(TEXTS))
  const cost = (BigInt(tokensOf(TEXTS)) * EMBEDDING_PRICE.input) / 1_000_000n
  assert.deepEqual([fieldsIn(receipt.usage).source, receipt.charged_nanos], ['estimated', String(cost)])
  const { status, param } = await refusalOf({ model: 'embed-gemini', input: texts })
  assert.deepEqual([status, param], [422, 'input[3]'])
})

test('more inputs than Google takes at once are asked for in several requests, and come back in order', async () => {
  const input = Array.from({ length: 250 }, (_, n) => `text number ${n}`)
  const before = world.simulator.calls.length
  const body = await embedded({ model: 'embed-gemini', input, dimensions: 4 })
  assert.equal(world.simulator.calls.length - before, 3)
  assert.deepEqual(
    body.data.map(({ embedding }) => embedding),
    input.map((text) => vectorFor(text, 4, SEED)),
  )
  assert.equal(body.usage.prompt_tokens, tokensOf(input))
})

test('a wrong value is refused by its name, before anything is held', async () => {
  const wrong: [body: Record<string, unknown>, status: number, param: string | null][] = [
    [{ model: 'embed' }, 400, 'input'],
    [{ input: 'a' }, 400, 'model'],
    [{ model: 'embed', input: '' }, 422, 'input'],
    [{ model: 'embed', input: [] }, 422, 'input'],
    [{ model: 'embed', input: ['a', ''] }, 422, 'input[1]'],
    [{ model: 'embed', input: ['a', 7] }, 422, 'input[1]'],
    [{ model: 'embed', input: [7, 'a'] }, 422, 'input[1]'],
    [{ model: 'embed', input: [[1], []] }, 422, 'input[1]'],
    [{ model: 'embed', input: [[1], [1.5]] }, 422, 'input[1][0]'],
    [{ model: 'embed', input: [[1], 'a'] }, 422, 'input[1]'],
    [{ model: 'embed', input: 7 }, 422, 'input'],
    [{ model: 'embed', input: Array.from({ length: 2_049 }, () => 'a') }, 422, 'input'],
    [{ model: 'embed', input: 'a', dimensions: 0 }, 422, 'dimensions'],
    [{ model: 'embed', input: 'a', dimensions: 4_097 }, 422, 'dimensions'],
    [{ model: 'embed', input: 'a', encoding_format: 'int8' }, 422, 'encoding_format'],
    [{ model: 'embed-narrow', input: 'a', dimensions: 4 }, 422, 'dimensions'],
    [{ model: 'embed-claude', input: 'a' }, 422, 'model'],
    [{ model: 'nobody', input: 'a' }, 422, 'model'],
    [{ model: 'embed-narrow', input: ['a', 'word '.repeat(17)] }, 422, 'input[1]'],
    [{ model: 'embed-narrow', input: [Array.from({ length: 17 }, () => 1)] }, 422, 'input[0]'],
    [{ model: 'embed', input: 'word '.repeat(8_193) }, 422, 'input'],
    [{ model: 'embed', input: Array.from({ length: 300_001 }, () => 1) }, 422, 'input'],
    [{ model: 'embed', input: Array.from({ length: 600 }, () => 'word '.repeat(1_000)) }, 422, 'input'],
  ]
  const before = await walletOf(world.store, world.project.id)
  const asked = world.simulator.calls.length
  for (const [body, status, param] of wrong) {
    const refusal = await refusalOf(body)
    assert.deepEqual([refusal.status, refusal.param], [status, param], JSON.stringify(body).slice(0, 100))
  }
  assert.equal((await refusalOf('[]')).status, 400)
  assert.deepEqual(await walletOf(world.store, world.project.id), before)
  assert.equal(world.simulator.calls.length, asked)
  assert.equal(
    (await embedded({ model: 'embed-narrow', input: 'word '.repeat(15).trim(), dimensions: null })).data.length,
    1,
  )
})

test('each kind of model is at its own endpoint, and who asks at the other is told which', async () => {
  const wrong = await refusalOf({ model: 'sim-small', input: 'a' })
  assert.deepEqual([wrong.status, wrong.code], [422, 'model_not_found'])
  assert.equal(wrong.message, 'The model sim-small answers chats: use POST /v1/chat/completions.')
  const response = await complete(world, { ...chatBody(), model: 'embed' })
  assert.equal(response.status, 422)
  assert.match(await response.text(), /The model embed makes embeddings: use POST \/v1\/embeddings\./)
})

test('a key pair that may not use the model is told that there is none', async () => {
  const project = await addProject(world.store, world.secrets)
  await world.store.db
    .updateTable('projects')
    .set({ allowed_models: ['sim-small'] })
    .where('id', '=', project.id)
    .execute()
  const pair = await addKeyPair(world.store, world.secrets, project.id)
  const refusal = await refusalOf({ model: 'embed', input: 'a' }, { project: { ...project, ...pair } })
  assert.deepEqual([refusal.status, refusal.code], [422, 'model_not_found'])
})

test('a wallet that does not pay for the prompt is not asked for it', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0.000001' })
  const refusal = await refusalOf({ model: 'embed', input: TEXTS }, { project })
  assert.deepEqual([refusal.status, refusal.code], [403, 'credit_insufficient'])
  assert.equal((await embedded({ model: 'embed', input: 'a' }, { project })).usage.prompt_tokens, 1)
  assert.equal((await walletOf(world.store, project.id)).balance, 0n)
})

test('an answer that is cut is no answer: the next provider is asked, and one of them is paid', async () => {
  const response = await embed({ model: 'embed-twice', input: TEXTS })
  const body = (await response.json()) as Embeddings
  assert.equal(body.data.length, TEXTS.length)
  const { receipt } = await callOf(response)
  assert.deepEqual(
    (receipt.attempts as { failed?: string }[]).map(({ failed }) => failed ?? null),
    ['truncated', null],
  )
})

test('vectors of another length than was asked for, or that are none, are a failure of the provider and cost nothing', async () => {
  const before = await walletOf(world.store, world.project.id)
  for (const [script, more] of [
    ['dimensions=5', { dimensions: 4 }],
    ['dimensions=4097', {}],
    ['dimensions=0', {}],
  ] as const) {
    const refusal = await refusalOf({ model: 'embed', input: `a [[sim ${script}]]`, ...more })
    assert.deepEqual([refusal.status, refusal.code], [502, 'upstream_failed'], script)
  }
  assert.deepEqual(await walletOf(world.store, world.project.id), before)
})

test('a field of chats that is ignored here says nothing of what can be stored', async () => {
  const headers = { 'idempotency-key': 'vectors-logprobs' }
  const answer = await embed({ model: 'embed', input: 'Hi', logprobs: true }, { headers })
  assert.equal(answer.status, 200)
})

test('a repeated Idempotency-Key gets the same vectors and is charged once; one that cannot be stored is refused', async () => {
  const headers = { 'idempotency-key': 'vectors-1' }
  const first = await embed({ model: 'embed', input: TEXTS }, { headers })
  const vectors = await first.text()
  const before = await walletOf(world.store, world.project.id)
  const again = await embed({ model: 'embed', input: TEXTS }, { headers })
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(again.headers.get('x-completion-id'), first.headers.get('x-completion-id'))
  assert.equal(await again.text(), vectors)
  assert.deepEqual(await walletOf(world.store, world.project.id), before)
  const other = await refusalOf({ model: 'embed', input: TEXTS, dimensions: 4 }, { headers })
  assert.deepEqual([other.status, other.code], [422, 'idempotency_mismatch'])
  const many = Array.from({ length: 192 }, (_, n) => `text ${n}`)
  const key = { headers: { 'idempotency-key': 'vectors-2' } }
  const large = await refusalOf({ model: 'embed', input: many }, key)
  assert.deepEqual([large.status, large.param], [422, 'Idempotency-Key'])
  const [, most = ''] = /at most (\d+) inputs/.exec(large.message) ?? []
  assert.equal(most, '11', 'of 4,096 numbers each: 256 KiB')
  const script = '[[sim dimensions=4096]]'
  const fitting = [...many.slice(0, Number(most) - 1), script]
  assert.equal((await embedded({ model: 'embed', input: fitting }, key)).data.length, Number(most))
  const replayed = await embed({ model: 'embed', input: fitting }, key)
  assert.equal(replayed.headers.get('idempotent-replayed'), 'true')
  assert.equal(((await replayed.json()) as Embeddings).data.length, Number(most))
})

test('a conversation is not begun, none is asked for, and the call belongs to none', async () => {
  const headers = { 'x-conversation-id': 'not-a-conversation-of-vectors' }
  const response = await embed({ model: 'embed', input: 'a' }, { headers })
  assert.equal(response.status, 200)
  await response.arrayBuffer()
  const { db } = world.store
  const begun = await db
    .selectFrom('conversations')
    .select('id')
    .where('id', '=', headers['x-conversation-id'])
    .execute()
  assert.deepEqual(begun, [])
  const requestId = response.headers.get('x-request-id') ?? ''
  const calls = await db.selectFrom('calls').select('conversation_id').where('request_id', '=', requestId).execute()
  assert.deepEqual(calls, [{ conversation_id: null }])
})

test('who hangs up pays for the prompt that was sent, and nothing is left held', async () => {
  const project = await addProject(world.store, world.secrets)
  const { balance } = await walletOf(world.store, project.id)
  const text = 'slow [[sim ttft=3000]]'
  const asked = world.simulator.calls.length
  const caller = new AbortController()
  const answer = embed({ model: 'embed', input: text }, { project, signal: caller.signal })
  await until(() => world.simulator.calls.length > asked)
  caller.abort()
  await assert.rejects(answer)
  await until(async () => (await walletOf(world.store, project.id)).held === 0n)
  const cost = (BigInt(tokensIn(text)) * EMBEDDING_PRICE.input) / 1_000_000n
  assert.equal(balance - (await walletOf(world.store, project.id)).balance, cost)
})
