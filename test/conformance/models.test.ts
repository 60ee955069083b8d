/** The contract's rules for the model list, and the specification's part 8 on it. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { insertPrice } from '../../src/store/catalogue/models.ts'
import { PRICE, addModel, addProject, chatBody, createWorld, credit, until, walletOf } from '../support/world.ts'
import { clause } from './clause.ts'
import { addModels, ask, listModels, refused, send } from './client.ts'
import { costOf } from './money.ts'

const world = await createWorld()
after(() => world.close())

const valid = chatBody('tokens=2')
const models = await listModels(world)
const ids = async () => (await listModels(world)).body.data.map(({ id }) => id)

await addModel(world.store, { id: 'priceless', provider: 'simulator', price: null })
const tomorrow = { effectiveFrom: new Date(Date.now() + 24 * 3_600_000) }
await addModel(world.store, { id: 'tomorrow', provider: 'simulator', price: tomorrow })
const nothing = { input: 0n, cachedInput: 0n, cacheWrite: 0n, output: 0n, reasoning: 0n }
await addModels(world, { id: 'free', provider: 'simulator', price: nothing })

clause('models-cache-control', () => assert.equal(models.headers.get('cache-control'), 'private, max-age=600'))

clause('models-etag', async () => {
  const etag = (await listModels(world)).headers.get('etag') ?? ''
  assert.match(etag, /^(W\/)?"[^"]+"$/)
  const again = await listModels(world, { headers: { 'if-none-match': etag } })
  assert.deepEqual([again.status, again.text], [304, ''])
  assert.equal(again.headers.get('etag'), etag)
  assert.equal(again.headers.get('cache-control'), 'private, max-age=600')
})

clause('models-etag', 'which changes with the list', async () => {
  const etag = models.headers.get('etag') ?? ''
  const { status, headers } = await listModels(world, { headers: { 'if-none-match': etag } })
  assert.equal(status, 200)
  assert.notEqual(headers.get('etag'), etag)
})

clause('models-etag', 'but is told to nobody who may not see it', async () => {
  const project = await addProject(world.store, world.secrets, { isVerified: false })
  const headers = { 'if-none-match': models.headers.get('etag') ?? '' }
  assert.equal((await listModels(world, { project, headers })).status, 403)
})

clause('models-new-model', async () => {
  await addModel(world.store, { id: 'newcomer', provider: 'simulator' })
  await until(async () => (await ids()).includes('newcomer'), 10_000)
  assert.equal((await ask(world, { ...valid, model: 'newcomer' })).status, 200)
})

clause('models-entries', () => {
  const required = ['created', 'id', 'object', 'owned_by']
  const extra = new Set(['context_window', 'max_output_tokens', 'pricing'])
  for (const entry of models.body.data) {
    const fields = Object.keys(entry)
    assert.deepEqual(fields.filter((field) => !extra.has(field)).toSorted(), required)
  }
  assert.equal(models.body.data.length, 1)
})

const oneModel = (id: string) => send(world, `/v1/models/${id}`, { headers: world.project.headers })

clause('models-one', async () => {
  const [entry] = models.body.data
  const { status, headers, body } = await oneModel(entry?.id ?? '')
  assert.equal(status, 200)
  assert.deepEqual(body, entry)
  assert.equal(headers.get('cache-control'), 'private, max-age=600')
  const missing = await oneModel('priceless')
  assert.equal(missing.status, 404)
  assert.match(missing.body.message, /no model with this id/)
})

clause('models-one', 'also where its id has a slash', async () => {
  await addModel(world.store, { id: 'maker/model', provider: 'simulator' })
  await until(async () => (await ids()).includes('maker/model'), 10_000)
  assert.equal((await oneModel('maker/model')).status, 200)
  assert.equal((await oneModel('maker%2Fmodel')).status, 200)
})

clause('models-pricing', () => {
  const { cachedInput, cacheWrite, ...same } = PRICE
  const price = { ...same, cached_input: cachedInput, cache_write: cacheWrite }
  const texts = Object.fromEntries(Object.entries(price).map(([name, nanos]) => [name, nanos.toString()]))
  assert.deepEqual(models.body.data[0]?.pricing, { unit: 'nanos per million tokens', ...texts })
})

clause('models-no-price-unserved', async () => {
  const calls = world.simulator.calls.length
  assert.equal((await refused(world, { ...valid, model: 'priceless' })).status, 422)
  assert.equal(world.simulator.calls.length, calls)
})

clause('models-no-price-unlisted', async () => {
  assert.ok(!(await ids()).includes('priceless'))
  await insertPrice(world.store.db, { ...PRICE, modelId: 'priceless', effectiveFrom: new Date() })
  await until(async () => (await ids()).includes('priceless'))
})

clause('models-no-price-unlisted', 'nor is one whose price is not yet in force', async () => {
  assert.ok(!(await ids()).includes('tomorrow'))
  assert.equal((await refused(world, { ...valid, model: 'tomorrow' })).status, 422)
})

clause('8-model-cache', () => assert.match(models.headers.get('cache-control') ?? '', /(^|[ ,])max-age=600($|[ ,])/))

clause('8-new-model', async () => {
  await addModel(world.store, { id: 'latest', provider: 'simulator' })
  await until(async () => (await ids()).includes('latest'), 10_000)
})

clause('8-temperature', async () => {
  for (const temperature of [0, 2]) assert.equal((await ask(world, { ...valid, temperature })).status, 200)
  for (const temperature of [-1e-9, 2.000001]) {
    assert.equal((await refused(world, { ...valid, temperature })).status, 422)
  }
})

clause('8-charged', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '1' })
  const { body } = await ask(world, chatBody('tokens=10'), { project })
  const { balance, held } = await walletOf(world.store, project.id)
  assert.equal(balance, 1_000_000_000n - costOf(body.usage.prompt_tokens, 10))
  assert.equal(held, 0n)
})

clause('8-positive-balance', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  assert.equal((await refused(world, valid, { project })).status, 403)
  await credit(world.store, project.id, 1_000_000n)
  assert.equal((await ask(world, valid, { project })).status, 200)
})

clause('8-positive-balance', 'also for a model that costs nothing', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  assert.equal((await refused(world, { ...valid, model: 'free' }, { project })).status, 403)
  await credit(world.store, project.id, 1n)
  assert.equal((await ask(world, { ...valid, model: 'free' }, { project })).status, 200)
})
