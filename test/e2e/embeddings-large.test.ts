import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { addModel, addProvider, createWorld, until, type World } from '../support/world.ts'

/** Answers that are a hundred times as long as their requests: what they take of a gateway. */

const MIB = 1024 * 1024
const BODIES_MIB = 160
/** One project's share of the bodies: a quarter. */
const SHARE_BYTES = (BODIES_MIB / 4) * MIB
const VECTOR_CHARACTERS = 21_848

let world: World
before(async () => {
  world = await createWorld({ env: { PARLEY_BODIES_MIB_MAX: String(BODIES_MIB) } })
  const { store, secrets, simulator } = world
  await addProvider(store, secrets, 'vectors', `${simulator.url}/v1`, { settings: { embeddingFormat: 'base64' } })
  await addModel(store, { id: 'embed', kind: 'embedding', provider: 'vectors' })
  await addModel(store, { id: 'embed-plain', kind: 'embedding', provider: 'simulator' })
  await untilOffered(world.url)
})
after(() => world.close())

/** A gateway that has just started does not know its models yet. */
function untilOffered(url: string): Promise<void> {
  return until(async () => {
    const response = await fetch(`${url}/v1/models`, { headers: world.project.headers })
    return (await response.text()).includes('"embed-plain"')
  })
}

function embed(body: Record<string, unknown>, url = world.url): Promise<Response> {
  return fetch(`${url}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...world.project.headers },
    body: JSON.stringify({ model: 'embed', ...body }),
  })
}

async function reservedBytes(): Promise<number> {
  const metrics = await (await fetch(`${world.opsUrl}/metrics`)).text()
  return Number(/^parley_body_bytes (\d+)/m.exec(metrics)?.[1])
}

test('two thousand inputs are answered in order, as numbers and as base64, from either form', async () => {
  const input = Array.from({ length: 2_048 }, (_, n) => `input ${n}`)
  const vectors: unknown[] = []
  for (const [model, format] of [
    ['embed', 'base64'],
    ['embed-plain', 'base64'],
    ['embed', 'float'],
  ] as const) {
    const response = await embed({ model, input, dimensions: 64, encoding_format: format })
    assert.equal(response.status, 200)
    const { data } = (await response.json()) as { data: { index: number; embedding: string | number[] }[] }
    assert.deepEqual(
      data.map(({ index }) => index),
      input.map((_, n) => n),
    )
    vectors.push(
      data.map(({ embedding }) =>
        typeof embedding === 'string' ? embedding : Buffer.from(Float32Array.from(embedding).buffer).toString('base64'),
      ),
    )
  }
  assert.deepEqual(vectors[1], vectors[0])
  assert.deepEqual(vectors[2], vectors[0])
})

test('memory for an answer is set aside before its provider is asked, and given back', async () => {
  const most = Math.floor((SHARE_BYTES - MIB) / VECTOR_CHARACTERS)
  const asked = world.simulator.calls.length
  const slow = embed({ input: [...Array.from({ length: most - 1 }, () => 'a'), 'a [[sim ttft=4000]]'] })
  await until(() => world.simulator.calls.length > asked)
  assert.ok((await reservedBytes()) >= most * VECTOR_CHARACTERS)
  const refused = await embed({ input: Array.from({ length: 100 }, () => 'a') })
  assert.equal(refused.status, 429)
  assert.match(await refused.text(), /too large together/)
  const short = await embed({ input: Array.from({ length: 100 }, () => 'a'), dimensions: 8 })
  assert.equal(short.status, 200)
  await short.arrayBuffer()
  assert.equal(world.simulator.calls.length, asked + 2, 'who was refused was not asked for')
  assert.equal((await slow).status, 200)
  await (await slow).arrayBuffer()
  await until(async () => (await reservedBytes()) === 0)
})

test('a long answer is read and written in steps: nobody waits for all of it', async () => {
  const gateway = await startGatewayProcess(world.env)
  try {
    await untilOffered(gateway.url)
    const input = [...Array.from({ length: 1_023 }, () => 'a'), 'a [[sim dimensions=1024]]']
    let isOver = false
    const answer = embed({ model: 'embed-plain', input }, gateway.url)
      .then(async (response) => ({ status: response.status, bytes: (await response.arrayBuffer()).byteLength }))
      .finally(() => (isOver = true))
    const waits: number[] = []
    while (!isOver) {
      const startedMs = performance.now()
      await (await fetch(`${gateway.url}/v1/models`, { headers: world.project.headers })).arrayBuffer()
      waits.push(performance.now() - startedMs)
    }
    const { status, bytes } = await answer
    assert.equal(status, 200)
    assert.ok(bytes > 10 * MIB)
    assert.ok(waits.length > 10, `${waits.length} others were answered meanwhile`)
    const usual = waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)] ?? Infinity
    assert.ok(usual < 1_000, `half of them within ${usual} ms`)
  } finally {
    await gateway.kill('SIGTERM')
  }
})
