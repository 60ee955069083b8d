import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { readPriceFile } from '../../src/cli/catalogue/price-file.ts'
import { presetNamed } from '../../src/providers/presets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { insertDeployment } from '../../src/store/catalogue/models.ts'
import { findProvider, insertProvider } from '../../src/store/catalogue/providers.ts'
import { asked, here, refused, told } from '../support/operator.ts'
import { addModel, addProvider, chatBody, complete, createWorld, until, type World } from '../support/world.ts'

/** Routes that were made before a field was passed on: who tells, and what adds it. */

let world: World
let dir: string
before(async () => {
  world = await createWorld()
  dir = await mkdtemp(join(tmpdir(), 'parley-fields-'))
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  Object.assign(process.env, { DATABASE_URL, PARLEY_SECRET })
})
after(async () => {
  await world.close()
  await rm(dir, { recursive: true })
})

async function fieldsOf(modelId: string): Promise<string[][]> {
  const routes = world.store.db.selectFrom('deployments').where('model_id', '=', modelId).orderBy('id')
  return (await routes.select('unsupported_fields').execute()).map((route) => route.unsupported_fields)
}

async function prices() {
  const { db } = world.store
  return Promise.all([
    db.selectFrom('models').selectAll().orderBy('id').execute(),
    db.selectFrom('price_versions').selectAll().orderBy('id').execute(),
    db.selectFrom('deployments').select(['id', 'cost_input', 'position', 'enabled']).orderBy('id').execute(),
  ])
}

/** A route to a provider that was made from a preset of before, whose settings do not list what they do now. */
async function addOldRoute(
  preset: string,
  provider: string,
  route: { id: string; upstreamModel: string; unsupportedFields: string[] },
) {
  const { kind = '', baseUrl = 'https://api.example/v1' } = presetNamed(preset) ?? {}
  if (!(await findProvider(world.store.db, provider))) {
    await insertProvider(world.store.db, { id: uuidv7(), name: provider, kind, baseUrl, settings: {} })
  }
  const { id, upstreamModel, unsupportedFields } = route
  await addModel(world.store, { id, provider, upstreamModel, deployment: { unsupportedFields } })
}

const hintsOf = async (model: string) => {
  const { stdout } = await here(['doctor', '--offline'])
  return stdout.split('\n').filter((line) => line.includes(`route ${model} `))
}

const listedFor = async (preset: string, upstreamModel: string) => {
  const { providers } = await readPriceFile(undefined)
  return providers.get(preset)?.find((model) => model.upstreamModel === upstreamModel)?.unsupportedFields ?? []
}

test('the doctor hints at a route that lacks what the price file says of its model, and its command mends that and nothing else', async () => {
  const listed = await listedFor('openai', 'gpt-5')
  assert.ok(listed.includes('logprobs') && listed.includes('temperature'))
  await addOldRoute('openai', 'openai', {
    id: 'our-gpt',
    upstreamModel: 'gpt-5',
    unsupportedFields: ['temperature', 'seed'],
  })
  const [line, ...more] = await hintsOf('our-gpt')
  assert.deepEqual(more, [])
  const lacking = listed.filter((field) => field !== 'temperature')
  assert.match(
    line ?? '',
    new RegExp(`^hint .* openai/gpt-5 may refuse: ${lacking.join(', ')}\\. Run: parley model import`),
  )
  const command = (line ?? '').split('Run: parley ')[1]?.replaceAll('"', '').split(' ') ?? []
  const before = await prices()

  const shown = await here(command)
  assert.equal(shown.code, 1)
  assert.match(shown.stdout, /^Added to what routes do not support\n[^]*^our-gpt +openai\/gpt-5 +top_p, .*logprobs/m)
  assert.doesNotMatch(shown.stdout, /New models|Changed|Unchanged|temperature|seed/)
  assert.deepEqual(await fieldsOf('our-gpt'), [['temperature', 'seed']])

  assert.match(await told(...command, '--yes'), /Applied\.\n$/)
  assert.deepEqual(await fieldsOf('our-gpt'), [['temperature', 'seed', ...lacking]])
  assert.deepEqual(await prices(), before)
  assert.deepEqual(await hintsOf('our-gpt'), [])
  assert.match(await told(...command, '--yes'), /There is nothing to change\.\n$/)
})

test('a provider of another name is known by its address, and what its preset says is added where its settings do not say it', async () => {
  await addOldRoute('groq', 'fast', { id: 'ours', upstreamModel: 'not-in-the-file', unsupportedFields: ['seed'] })
  const { unsupportedFields = [] } = (presetNamed('groq')?.settings ?? {}) as { unsupportedFields?: string[] }
  const [line = ''] = await hintsOf('ours')
  assert.match(
    line,
    /fast\/not-in-the-file may refuse: .*verbosity.* --unsupported-only --provider fast=groq --only "ours"$/,
  )
  const done = await asked('model', 'import', '--unsupported-only', '--only', 'our*', '--yes')
  assert.partialDeepStrictEqual(done, {
    applied: true,
    changes: [],
    added_unsupported_fields: [{ model: 'ours', provider: 'fast', fields: unsupportedFields }],
  })
  assert.deepEqual(await fieldsOf('ours'), [['seed', ...unsupportedFields]])
  const { stdout } = await here(['audit-log', '--json'])
  assert.match(stdout, /prices_imported[^]*unsupportedFields[^]*verbosity/)
})

test('a provider made from the preset of today, one of no preset and a route that was taken away are no hint', async () => {
  const { kind = '', baseUrl = '', settings = {} } = presetNamed('groq') ?? {}
  await insertProvider(world.store.db, { id: uuidv7(), name: 'groq', kind, baseUrl, settings })
  await addModel(world.store, { id: 'fresh', provider: 'groq', upstreamModel: 'anything' })
  await addOldRoute('groq', 'fast', { id: 'gone', upstreamModel: 'gone', unsupportedFields: [] })
  await world.store.db.updateTable('deployments').set({ enabled: false }).where('model_id', '=', 'gone').execute()
  for (const model of ['fresh', 'gone', 'sim-small']) assert.deepEqual(await hintsOf(model), [], model)
})

test('an import of prices adds the fields of its file to routes that are there, shows them first and takes none away', async () => {
  const path = join(dir, 'prices.json')
  const listed = { owned_by: 'sim', input: '1', output: '3', unsupported_fields: ['logprobs', 'verbosity'] }
  const old = { owned_by: 'sim', input: '1', output: '3' }
  const write = (sim: object) =>
    writeFile(path, JSON.stringify({ as_of: '2026-11-15', providers: { simulated: { 'sim-x': sim } } }))
  const command = ['model', 'import', '--file', path, '--provider', 'sims=simulated']
  await addProvider(world.store, world.secrets, 'sims', `${world.simulator.url}/v1`)
  await write(old)
  await told(...command, '--yes')
  const provider = await findProvider(world.store.db, 'sims')
  await insertDeployment(world.store.db, {
    id: uuidv7(),
    modelId: 'sim-small',
    providerId: String(provider?.id),
    upstreamModel: 'sim-x',
    position: 1,
    unsupportedFields: ['tools', 'verbosity'],
  })
  await write(listed)
  const { code, stdout } = await here(command)
  assert.equal(code, 1)
  assert.match(stdout, /^sim-x +sims\/sim-x +logprobs, verbosity$/m)
  assert.match(stdout, /^sim-small +sims\/sim-x +logprobs$/m)
  assert.deepEqual(await fieldsOf('sim-x'), [[]])
  assert.equal((await complete(world, chatBody('tokens=2', { model: 'sim-x', logprobs: true }))).status, 200)

  await told(...command, '--yes')
  assert.deepEqual(await fieldsOf('sim-x'), [['logprobs', 'verbosity']])
  assert.deepEqual((await fieldsOf('sim-small')).at(-1), ['tools', 'verbosity', 'logprobs'])
  const statusOf = async () => (await complete(world, chatBody('tokens=2', { model: 'sim-x', logprobs: true }))).status
  await until(async () => (await statusOf()) === 422)
  await write(old)
  assert.match(await told(...command, '--yes'), /Unchanged models: 1\.\n\nThere is nothing to change\.\n$/)
  assert.deepEqual(await fieldsOf('sim-x'), [['logprobs', 'verbosity']])
})

test('--unsupported-only takes no prices and no preset that nobody knows', async () => {
  const of = (...args: string[]) => refused('model', 'import', '--unsupported-only', ...args)
  assert.match(await of('--margin', '20'), /changes no price\. Leave out --margin/)
  assert.match(await of('--provider', 'sims=nobody'), /has no prices for nobody/)
  assert.match(await of('--provider', 'nobody=openai'), /no provider nobody/)
})
