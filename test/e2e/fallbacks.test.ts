import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { perClass } from '../../src/rules/billing/usage.ts'
import {
  addModel,
  addProject,
  addProvider,
  chatBody,
  complete,
  createWorld,
  eventsOf,
  PRICE,
  until,
  walletOf,
  type World,
} from '../support/world.ts'

/** The caller's own fallbacks: `npm run faults` tries them against each fault, this file against everything else. */

const TOKENS = 5
const DEARER = perClass((name) => 3n * PRICE[name])

let world: World
before(async () => {
  world = await createWorld()
  const { store, secrets, simulator } = world
  await addProvider(store, secrets, 'broken', `${simulator.url}/v1`)
  const failing = { provider: 'broken', upstreamModel: 'sim?fault=U11-500' }
  await addModel(store, { id: 'failing', ...failing })
  await addModel(store, { id: 'failing-dear', ...failing, price: DEARER })
  await addModel(store, { id: 'breaking', provider: 'simulator', upstreamModel: 'sim?tokens=9&fault=U12-midstream' })
  await addModel(store, { id: 'short', provider: 'simulator', contextWindow: 20 })
  await addModel(store, { id: 'dear', provider: 'simulator', price: DEARER })
  const unsupportedFields = ['seed']
  await addModel(store, { id: 'seedless', provider: 'simulator', deployment: { unsupportedFields } })
  await until(async () => (await modelsOf()).includes('"seedless"'))
})
after(() => world.close())

const modelsOf = async () => (await fetch(`${world.url}/v1/models`, { headers: world.project.headers })).text()

interface Answered {
  id: string
  model: string
  usage: { prompt_tokens: number; completion_tokens: number }
}

async function ask(model: string, models: string[], extra: object = {}, options: Parameters<typeof complete>[2] = {}) {
  const body = { ...chatBody(`tokens=${TOKENS}`), model, models, ...extra }
  const response = await complete(world, body, options)
  return { response, status: response.status, body: (await response.json()) as Answered & Record<string, string> }
}

interface ReceiptBody {
  model: string
  held_nanos: string
  charged_nanos: string
  price: Record<string, string>
  recomputed: { matches: boolean }
  attempts: { model: string; failed: string | null }[]
}

async function receiptOf(id: string): Promise<ReceiptBody> {
  const response = await fetch(`${world.url}/v1/receipts/${id}`, { headers: world.project.headers })
  return (await response.json()) as ReceiptBody
}

test('when every route of the first model fails, the next one answers, is named, and is charged at its own price', async () => {
  const { status, body } = await ask('failing', ['failing-dear', 'dear'])
  assert.equal(status, 200)
  assert.equal(body.model, 'dear')
  const receipt = await receiptOf(body.id)
  const { prompt_tokens: read, completion_tokens: written } = body.usage
  const cost = (BigInt(read) * DEARER.input + BigInt(written) * DEARER.output) / 1_000_000n
  assert.equal(receipt.model, 'dear')
  assert.equal(BigInt(receipt.charged_nanos), cost)
  assert.equal(receipt.price.output, DEARER.output.toString())
  assert.ok(receipt.recomputed.matches)
  const tried = receipt.attempts.map(({ model, failed }) => `${model} ${failed ?? 'answered'}`)
  assert.deepEqual([...new Set(tried)], ['failing server_error', 'failing-dear server_error', 'dear answered'])
})

test('credit is held for the dearest, whichever is asked first', async () => {
  const maxTokens = { max_tokens: 100 }
  const alone = await receiptOf((await ask('dear', [], maxTokens)).body.id)
  const asFallback = await receiptOf((await ask('sim-small', ['dear'], maxTokens)).body.id)
  assert.equal(asFallback.model, 'sim-small')
  assert.equal(asFallback.held_nanos, alone.held_nanos)
})

test('a wallet that cannot pay for the dearest is told so before anything is sent', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0.00005' })
  const calls = world.simulator.calls.length
  const { status } = await ask('sim-small', ['dear'], {}, { project })
  assert.equal(status, 403)
  assert.equal(world.simulator.calls.length, calls)
  assert.deepEqual((await ask('sim-small', [], { max_tokens: 1 }, { project })).status, 200)
})

test('a model that cannot read so long a prompt is left out while another one can', async () => {
  const long = { messages: [{ role: 'user', content: 'word '.repeat(50) }] }
  assert.equal((await ask('short', ['sim-small'], long)).body.model, 'sim-small')
  assert.equal((await ask('sim-small', ['short'], long)).body.model, 'sim-small')
  const { status, body } = await ask('short', ['short'], long)
  assert.equal(status, 422)
  assert.match(String(body.message), /reads at most 20/)
})

test('a model that cannot honour a field is left out while another one can', async () => {
  assert.equal((await ask('seedless', ['sim-small'], { seed: 7 })).body.model, 'sim-small')
  const { status, body } = await ask('seedless', [], { seed: 7 })
  assert.equal(status, 422)
  assert.match(String(body.message), /^seed is not supported/)
})

test('an id that is not there is refused, whether or not it would be needed', async () => {
  for (const models of [['nobody'], ['dear', 'nobody']]) {
    const { status, body } = await ask('sim-small', models, {}, { headers: { 'x-error-format': 'openai' } })
    assert.equal(status, 422)
    const { code, param, message } = body.error as unknown as Record<string, string>
    assert.deepEqual([code, param], ['model_not_found', 'models'])
    assert.match(String(message), /^The model "nobody" of models /)
  }
  assert.equal(
    (
      await ask(
        'sim-small',
        Array.from({ length: 9 }, () => 'dear'),
      )
    ).status,
    422,
  )
})

test('after the first byte nobody else is asked', async () => {
  const body = {
    messages: [{ role: 'user', content: 'Hello' }],
    model: 'breaking',
    models: ['sim-small'],
    stream: true,
  }
  const events = eventsOf(await (await complete(world, body)).text())
  assert.match(events.at(-1) ?? '', /upstream_failed/)
  assert.ok(!events.join('').includes('sim-small'))
})

test('the events of a stream name the model that answers', async () => {
  const body = { ...chatBody(`tokens=${TOKENS}`), model: 'failing', models: ['sim-small'], stream: true }
  const events = eventsOf(await (await complete(world, body)).text()).slice(0, -1)
  assert.deepEqual([...new Set(events.map((event) => (JSON.parse(event) as Answered).model))], ['sim-small'])
})

test('a retry with the same Idempotency-Key is told the model that answered, and charged once', async () => {
  const options = { headers: { 'idempotency-key': 'fallbacks-1' } }
  const first = await ask('failing', ['sim-small'], {}, options)
  const { balance } = await walletOf(world.store, world.project.id)
  const again = await ask('failing', ['sim-small'], {}, options)
  assert.equal(again.response.headers.get('idempotent-replayed'), 'true')
  assert.deepEqual(again.body, first.body)
  assert.equal(again.body.model, 'sim-small')
  assert.equal((await walletOf(world.store, world.project.id)).balance, balance)
})

test('a model that keeps failing is passed over while its route is closed, and asked again where it is the only one', async () => {
  await addModel(world.store, { id: 'down', provider: 'broken', upstreamModel: 'sim?fault=U11-503' })
  await until(async () => (await modelsOf()).includes('"down"'))
  const attemptsOf = async () => (await receiptOf((await ask('down', ['dear'])).body.id)).attempts
  await until(async () => (await attemptsOf()).length === 1)
  assert.deepEqual(
    (await attemptsOf()).map(({ model, failed }) => [model, failed]),
    [['dear', null]],
  )
  assert.equal((await ask('down', [])).status, 502)
})

test('providers are told nothing of the other models', () => {
  assert.ok(world.simulator.calls.every(({ body }) => !JSON.stringify(body).includes('"models"')))
})

test('a response falls back as a chat does, and its receipt names both models', async () => {
  const response = await fetch(`${world.url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...world.project.headers },
    body: JSON.stringify({ model: 'failing', models: ['dear'], input: `[[sim tokens=${TOKENS}]] Hi` }),
  })
  const body = (await response.json()) as { id: string; model: string }
  assert.deepEqual([response.status, body.model], [200, 'dear'])
  const { model, attempts } = await receiptOf(body.id)
  assert.deepEqual([model, ...new Set(attempts.map((attempt) => attempt.model))], ['dear', 'failing', 'dear'])
})
