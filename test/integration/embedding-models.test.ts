import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { asked, here, refused, told } from '../support/operator.ts'
import { addModel, addProvider, createWorld, type World } from '../support/world.ts'

/** How an operator offers embeddings: the kind of a model, its price, its routes, and how they are tried. */

let world: World
let dir: string
before(async () => {
  world = await createWorld()
  dir = await mkdtemp(join(tmpdir(), 'parley-embeddings-'))
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  Object.assign(process.env, { DATABASE_URL, PARLEY_SECRET })
  const { store, secrets, simulator } = world
  await addProvider(store, secrets, 'claude', `${simulator.url}/v1`, { kind: 'anthropic' })
  await addProvider(store, secrets, 'google', `${simulator.url}/v1beta`, { kind: 'gemini' })
})
after(async () => {
  await world.close()
  await rm(dir, { recursive: true })
})

const ADD = ['--owned-by', 'us', '--kind', 'embedding', '--context-window', '512']

test('an embedding model has a price of input and no other, wherever it is written', async () => {
  await told('model', 'add', 'vectors', ...ADD, '--input', '0.02')
  assert.match(await told('model', 'show', 'vectors'), /^kind +embedding$/m)
  const [price] = await world.store.db
    .selectFrom('price_versions')
    .selectAll()
    .where('model_id', '=', 'vectors')
    .execute()
  assert.deepEqual(
    [price?.input, price?.cached_input, price?.cache_write, price?.output, price?.reasoning],
    [20_000_000n, 20_000_000n, 20_000_000n, 0n, 0n],
  )
  for (const more of [
    ['--output', '0.1'],
    ['--reasoning', '0.1'],
    ['--output', '0.1', '--reasoning', '0'],
  ]) {
    assert.match(await refused('model', 'add', 'wrong', ...ADD, '--input', '1', ...more), /must be 0\. Leave out/)
    assert.match(await refused('model', 'price', 'vectors', '--input', '1', ...more), /must be 0\. Leave out/)
  }
  await told('model', 'price', 'vectors', '--input', '0.03')
  assert.match(await refused('model', 'add', 'chatty', '--owned-by', 'us', '--input', '1'), /Give --output/)
  assert.match(await refused('model', 'price', 'sim-small', '--input', '1'), /Give --output/)
  const odd = await here(['model', 'add', 'odd', '--owned-by', 'us', '--kind', 'image', '--input', '1'])
  assert.notEqual(odd.code, 0)
  const listed = (await asked('model', 'list')) as { id: string; kind: string }[]
  assert.deepEqual(Object.fromEntries(listed.map(({ id, kind }) => [id, kind])), {
    'sim-small': 'chat',
    vectors: 'embedding',
  })
})

test('a route leads only to a provider that makes embeddings, and is tried as what it is', async () => {
  const route = ['model', 'route', 'vectors', '--upstream-model', 'sim', '--provider']
  assert.match(
    await refused(...route, 'claude'),
    /does not offer embeddings\. These kinds do: openai-compatible, gemini/,
  )
  await told(...route, 'simulator', '--unsupported', 'dimensions,token_ids')
  await told(...route, 'google')
  const before = world.simulator.calls.length
  assert.match(await told('provider', 'test', 'google'), /google answers/)
  assert.match(await told('provider', 'test', 'simulator', '--upstream-model', 'sim', '--kind', 'embedding'), /answers/)
  assert.deepEqual(
    world.simulator.calls.slice(before).map(({ body }) => body),
    [{ requests: [{ model: 'models/sim', content: { parts: [{ text: 'OK' }] } }] }, { model: 'sim', input: ['OK'] }],
  )
  const request = join(dir, 'request.json')
  await writeFile(request, JSON.stringify({ model: 'vectors', input: ['a', 'b'], user: 'somebody' }))
  const shown = await told('provider', 'test', 'simulator', '--request', request)
  assert.match(shown, /POST http:.*\/v1\/embeddings/)
  assert.match(shown, /"input": \[\s+"a",\s+"b"\s+\]/)
  await writeFile(request, JSON.stringify({ model: 'vectors', input: 'a', dimensions: 7 }))
  const { code, stdout } = await here(['provider', 'test', 'simulator', '--request', request])
  assert.equal(code, 1)
  assert.match(stdout, /422 \(invalid_value\): dimensions is not supported by this model/)
})

test('a price file says which models make embeddings, and is refused where it contradicts itself or the catalogue', async () => {
  const file = async (models: Record<string, object>) => {
    const path = join(dir, 'prices.json')
    await writeFile(path, JSON.stringify({ as_of: '2026-11-18', providers: { p: models } }))
    return ['model', 'import', '--yes', '--file', path, '--provider']
  }
  const embedding = { owned_by: 'x', kind: 'embedding', context_window: 8_192, input: '0.02' }
  const fine = await file({ imported: embedding })
  assert.match(await refused(...fine, 'claude=p'), /claude does not offer embeddings/)
  assert.match(await told(...fine, 'simulator=p'), /imported +embedding/)
  assert.match(await told(...fine, 'simulator=p'), /Unchanged models: 1/)
  assert.match(await refused(...(await file({ imported: { ...embedding, output: '1' } })), 'simulator=p'), /must be 0/)
  assert.match(
    await refused(...(await file({ imported: { owned_by: 'x', input: '1' } })), 'simulator=p'),
    /no output price/,
  )
  const other = await file({ imported: { owned_by: 'x', input: '0.02', output: '0.02' } })
  const { code, stdout } = await here([...other, 'simulator=p'])
  assert.equal(code, 1)
  assert.match(stdout, /Refused: imported: it is of the kind embedding, and listed as another/)
})

test('the price file that comes with Parley has embedding models, and they can be imported', async () => {
  await addProvider(world.store, world.secrets, 'openai', `${world.simulator.url}/v1`)
  await told('model', 'import', '--yes', '--provider', 'openai=openai', '--only', 'text-embedding-*')
  await told('model', 'import', '--yes', '--provider', 'google=gemini', '--only', 'gemini-embedding-*')
  const rows = await world.store.db
    .selectFrom('price_versions')
    .select(['model_id', 'input', 'output'])
    .where('model_id', 'like', '%-embedding-%')
    .orderBy('model_id')
    .execute()
  assert.deepEqual(
    rows.map(({ model_id, input, output }) => [model_id, input, output]),
    [
      ['gemini-embedding-001', 150_000_000n, 0n],
      ['text-embedding-3-large', 130_000_000n, 0n],
      ['text-embedding-3-small', 20_000_000n, 0n],
    ],
  )
})

test('a model that is there stays of its kind', async () => {
  await addModel(world.store, { id: 'kept', kind: 'embedding', provider: 'simulator' })
  await addModel(world.store, { id: 'kept', provider: 'simulator', price: null })
  const row = await world.store.db.selectFrom('models').select('kind').where('id', '=', 'kept').executeTakeFirst()
  assert.deepEqual(row, { kind: 'embedding' })
})
