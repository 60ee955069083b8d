/** The contract's rules for embeddings. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { callIdOf } from '../../src/rules/billing/receipts.ts'
import { EMBEDDING_PRICE, addProject, chatBody, createWorld, walletOf } from '../support/world.ts'
import { clause } from './clause.ts'
import { addModels, ask, refused, send } from './client.ts'

const world = await createWorld()
after(() => world.close())

await addModels(world, { id: 'vectors', kind: 'embedding', provider: 'simulator', contextWindow: 20 })

interface EmbeddingsBody {
  object: string
  data: { object: string; index: number; embedding: unknown }[]
  model: string
  usage: { prompt_tokens: number; total_tokens: number }
}

function embed<Body = EmbeddingsBody>(body: unknown, headers: Record<string, string> = world.project.headers) {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }
  return send<Body>(world, '/v1/embeddings', init)
}

const valid = { model: 'vectors', input: ['one', 'two'] }

clause('embeddings-body', async () => {
  const { status, body } = await embed(valid)
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body).toSorted(), ['data', 'model', 'object', 'usage'])
  assert.deepEqual([body.object, body.model], ['list', 'vectors'])
  assert.deepEqual(body.usage, { prompt_tokens: 2, total_tokens: 2 })
  assert.deepEqual(
    body.data.map(({ object, index }) => [object, index]),
    [
      ['embedding', 0],
      ['embedding', 1],
    ],
  )
})

clause('embeddings-format', async () => {
  const { body } = await embed({ ...valid, encoding_format: 'base64' })
  const { body: plain } = await embed(valid)
  for (const [n, { embedding }] of body.data.entries()) {
    const bytes = Uint8Array.from(Buffer.from(String(embedding), 'base64'))
    assert.deepEqual([...new Float32Array(bytes.buffer)], plain.data[n]?.embedding)
  }
})

clause('embeddings-authenticated', async () => {
  assert.equal((await embed(valid, {})).status, 401)
})

clause('embeddings-input-400', async () => {
  assert.equal((await embed({ model: 'vectors' })).status, 400)
  assert.equal((await embed({ input: 'one' })).status, 400)
})

clause('embeddings-input-422', async () => {
  for (const input of ['', [], ['one', ''], 7, Array.from({ length: 2_049 }, () => 'a')])
    assert.equal((await embed({ model: 'vectors', input })).status, 422, JSON.stringify(input).slice(0, 40))
})

clause('embeddings-window-422', async () => {
  const asked = world.simulator.calls.length
  assert.equal((await embed({ model: 'vectors', input: 'word '.repeat(21) })).status, 422)
  assert.equal(world.simulator.calls.length, asked)
})

clause('embeddings-kind-422', async () => {
  assert.equal((await embed({ ...valid, model: 'sim-small' })).status, 422)
  assert.equal((await refused(world, { ...chatBody(), model: 'vectors' })).status, 422)
  assert.equal((await ask(world, chatBody('tokens=1'))).status, 200)
})

clause('embeddings-charged', async () => {
  const project = await addProject(world.store, world.secrets)
  const before = await walletOf(world.store, project.id)
  const { headers, body } = await embed(valid, project.headers)
  const cost = (BigInt(body.usage.prompt_tokens) * EMBEDDING_PRICE.input) / 1_000_000n
  assert.equal(before.balance - (await walletOf(world.store, project.id)).balance, cost)
  const id = headers.get('x-completion-id') ?? ''
  assert.ok(id.startsWith('embd-') && callIdOf(id) !== undefined, id)
  const receipt = await send<{ charged_nanos: string }>(world, `/v1/receipts/${id}`, { headers: project.headers })
  assert.equal(receipt.body.charged_nanos, String(cost))
})

clause('embeddings-once', async () => {
  const headers = { ...world.project.headers, 'idempotency-key': 'vectors' }
  const first = await embed(valid, headers)
  const again = await embed(valid, headers)
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
  assert.equal(again.text, first.text)
})
