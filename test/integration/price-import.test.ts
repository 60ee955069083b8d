import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { NO_FIGURES } from '../../src/rules/catalogue/figures.ts'
import { PARLEY } from '../../src/actions/actor.ts'
import { importPrices } from '../../src/actions/catalogue/models.ts'
import { readPriceFile } from '../../src/cli/catalogue/price-file.ts'
import type { Facts } from '../../src/rules/catalogue/price-import.ts'
import { oddities } from '../../src/rules/catalogue/margins.ts'
import { presetNamed } from '../../src/providers/presets.ts'
import { catalogueVersion } from '../../src/store/catalogue/catalogue.ts'
import { inTransaction } from '../../src/store/database.ts'
import { parley } from '../support/commands.ts'
import { asked, here, refused, told } from '../support/operator.ts'
import { chatBody, complete, createWorld, until, type World } from '../support/world.ts'

let world: World
let dir: string

before(async () => {
  world = await createWorld()
  dir = await mkdtemp(join(tmpdir(), 'parley-prices-'))
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  Object.assign(process.env, { DATABASE_URL, PARLEY_SECRET })
})
after(async () => {
  await world.close()
  await rm(dir, { recursive: true })
})

interface Listed {
  input: string
  output: string
  [field: string]: unknown
}

const SMALL: Listed = { owned_by: 'sim', context_window: 8_000, max_output_tokens: 1_000, input: '1', output: '3' }

async function fileOf(name: string, models: Record<string, Listed>): Promise<string> {
  const path = join(dir, name)
  await writeFile(path, JSON.stringify({ as_of: '2026-11-15', providers: { simulated: models } }))
  return path
}

const FROM = ['--provider', 'simulator=simulated']

async function etag(): Promise<string | null> {
  const response = await fetch(`${world.url}/v1/models`, { headers: world.project.headers })
  await response.arrayBuffer()
  return response.headers.get('etag')
}

async function rows() {
  const { db } = world.store
  const [models, prices, routes] = await Promise.all([
    db.selectFrom('models').selectAll().orderBy('id').execute(),
    db.selectFrom('price_versions').selectAll().orderBy('id').execute(),
    db.selectFrom('deployments').selectAll().orderBy('id').execute(),
  ])
  return { models, prices, routes }
}

test('the price file that comes with Parley is whole, for presets that exist, and nothing in it looks like a mistake', async () => {
  const { providers, asOf, note } = await readPriceFile(undefined)
  assert.match(asOf, /^\d{4}-\d\d-\d\d$/)
  assert.match(note ?? '', /before you approve/)
  const models = [...providers.values()].flat()
  assert.ok(models.length >= 40, `${models.length} models`)
  for (const preset of providers.keys()) assert.ok(presetNamed(preset), preset)
  for (const { id, cost, kind } of models) assert.deepEqual(oddities(cost, undefined, kind), [], id)
  assert.equal(new Set(models.map(({ id }) => id)).size, models.length, 'each id is there once')
})

test('nothing is imported without approval: what would change is shown, and the exit code is 1', async () => {
  const file = await fileOf('first.json', { small: SMALL, 'vendor/large': { ...SMALL, id: 'large', input: '2' } })
  const before = await rows()
  const { code, stdout } = await here(['model', 'import', '--file', file, ...FROM, '--margin', '25'])
  assert.equal(code, 1)
  assert.match(
    stdout,
    /^New models\n[^]*^small +chat +sim +8000 +1000 +25% +\$1\.25 +\$1\.25 +\$1\.25 +\$3\.75 +\$3\.75$/m,
  )
  assert.match(stdout, /^New routes\n[^]*^large +simulator\/vendor\/large +0 /m)
  assert.match(stdout, /Nothing was changed\. Use --yes to apply this\.\n$/)
  assert.deepEqual(await rows(), before)
  const env = { DATABASE_URL: world.env.DATABASE_URL ?? '', PARLEY_SECRET: world.env.PARLEY_SECRET ?? '' }
  const piped = await parley(['model', 'import', '--file', file, ...FROM], { env, input: 'y\n' })
  assert.equal(piped.code, 1, 'a y that is piped in is no approval')
  assert.deepEqual(await rows(), before)
})

test('an approved import makes models with price, source, margin and route, which a running gateway lists and answers', async () => {
  const file = await fileOf('first.json', {
    small: SMALL,
    sim: { ...SMALL, id: 'large', unsupported_fields: ['seed'] },
  })
  const before = await etag()
  const applied = await asked('model', 'import', '--file', file, ...FROM, '--margin', '25', '--yes')
  assert.partialDeepStrictEqual(applied, {
    applied: true,
    unchanged: 0,
    changes: [{ model: 'small' }, { model: 'large' }],
  })
  await until(async () => (await etag()) !== before)
  const { models, prices, routes } = await rows()
  assert.partialDeepStrictEqual(
    models.find(({ id }) => id === 'large'),
    { margin_bps: 2_500, context_window: 8_000 },
  )
  assert.partialDeepStrictEqual(prices.at(-1), { model_id: 'large', input: 1_250_000_000n, source: 'first.json' })
  assert.partialDeepStrictEqual(
    routes.find(({ model_id }) => model_id === 'large'),
    {
      upstream_model: 'sim',
      unsupported_fields: ['seed'],
      cost_input: 1_000_000_000n,
      cost_reasoning: 3_000_000_000n,
    },
  )
  assert.match(await told('model', 'show', 'large'), /^margin +25%$[^]* first\.json$/m)
  const answer = await complete(world, chatBody('tokens=2', { model: 'large' }))
  assert.equal(answer.status, 200, await answer.text())
})

test('importing the same file again changes nothing', async () => {
  const before = await rows()
  const again = await told('model', 'import', '--file', join(dir, 'first.json'), ...FROM, '--yes')
  assert.match(again, /Unchanged models: 2\.\n\nThere is nothing to change\.\n$/)
  assert.deepEqual(await rows(), before)
})

test('a changed price is shown with old, new and percent; the old version stays, and the route learns its cost', async () => {
  const file = await fileOf('second.json', { small: { ...SMALL, input: '1.2' }, sim: { ...SMALL, id: 'large' } })
  const text = await told('model', 'import', '--file', file, ...FROM, '--yes')
  assert.match(text, /^small +input +\$1\.25 +\$1\.50 +\+20\.0%$/m)
  assert.match(text, /^Unchanged models: 1\.\n\nApplied\.$/m)
  const shown = (await asked('model', 'show', 'small')) as { prices: { source: string }[]; routes: object[] }
  assert.deepEqual(
    shown.prices.map(({ source }) => source),
    ['second.json', 'first.json'],
  )
  assert.partialDeepStrictEqual(shown.routes, [{ cost_input: '1200000000' }])
})

test('a price that looks like a mistake is named and stops everything, until it is allowed', async () => {
  const file = await fileOf('odd.json', {
    small: { ...SMALL, input: '0.01' },
    fresh: SMALL,
    free: { ...SMALL, output: '0' },
  })
  const before = await rows()
  const { code, stdout } = await here(['model', 'import', '--file', file, ...FROM, '--yes'])
  assert.equal(code, 1)
  assert.match(stdout, /^Refused: small: input is less than a tenth of what it was; /m)
  assert.match(stdout, /^Refused: free: output is free; /m)
  assert.match(stdout, /If it is correct: --allow small --allow free\n$/)
  assert.deepEqual(await rows(), before)
  const allowed = ['--only', 'f*', '--allow', 'free', '--yes']
  assert.partialDeepStrictEqual(await asked('model', 'import', '--file', file, ...FROM, ...allowed), { applied: true })
  assert.deepEqual((await rows()).models.map(({ id }) => id).toSorted(), [
    'free',
    'fresh',
    'large',
    'sim-small',
    'small',
  ])
})

test('a price can be imported ahead of time, and a second time that is nothing new', async () => {
  const file = await fileOf('ahead.json', { small: { ...SMALL, input: '2' } })
  const ahead = ['model', 'import', '--file', file, ...FROM, '--effective-from', '2126-01-01T00:00:00Z', '--yes']
  await told(...ahead)
  assert.match(await told('model', 'list'), /^small +chat +sim +served +\$1\.50 /m)
  assert.match(await told(...ahead), /nothing to change/)
  assert.match(await refused(...ahead.with(7, '2020-01-01')), /in the past/)
})

test('a margin can be set for one model, and the next import goes by it', async () => {
  assert.match(await told('model', 'set', 'large', '--margin', '50'), /^margin +50%$/m)
  const text = await told('model', 'import', '--file', join(dir, 'second.json'), ...FROM, '--only', 'large', '--yes')
  assert.match(text, /^large +input +\$1\.25 +\$1\.50 +\+20\.0%$/m)
})

test('a model that was switched off stays so, and a route that was taken away stays away', async () => {
  await told('model', 'disable', 'large')
  const { routes } = (await asked('model', 'show', 'fresh')) as { routes: { id: string }[] }
  await told('model', 'unroute', routes[0]?.id ?? '')
  const file = await fileOf('third.json', { sim: { ...SMALL, id: 'large', input: '1.1' }, fresh: SMALL })
  await told('model', 'import', '--file', file, ...FROM, '--yes')
  const list = await told('model', 'list')
  assert.match(list, /^large +chat +sim +disabled /m)
  assert.match(list, /^fresh +chat +sim +no route /m)
  assert.match(await told('model', 'show', 'fresh'), /It has no route/)
  assert.match(await told('model', 'show', 'large'), /^enabled +no$/m)
})

const FACTS: Facts = {
  kind: 'chat',
  ownedBy: 'x',
  contextWindow: 1,
  maxOutputTokens: 1,
  figures: NO_FIGURES,
  marginBps: 0,
}

test('what was approved is what was shown: a catalogue that changed meanwhile is not imported into', async () => {
  const { db } = world.store
  const version = await catalogueVersion(db)
  await told('model', 'set', 'small', '--context-window', '9000')
  const before = await rows()
  const change = { id: 'late', isNew: true, hasNewFacts: true, facts: FACTS, deployments: [], position: 0, costs: [] }
  const plan = { changes: [change], unchanged: 0, refused: [], warnings: [] }
  const from = { effectiveFrom: new Date(), source: 'late.json' }
  await assert.rejects(
    inTransaction(db, (tx) => importPrices(tx, PARLEY, { version, plan, ...from })),
    /changed in the meantime.*Run the command again/,
  )
  assert.deepEqual(await rows(), before)
})

test('an import is applied whole or not at all', async () => {
  const { db } = world.store
  const before = await rows()
  const fine = { id: 'whole', isNew: true, hasNewFacts: true, facts: FACTS, deployments: [], position: 0, costs: [] }
  const { id } = before.routes[0] ?? assert.fail()
  const negative = { input: -1n, cachedInput: 1n, cacheWrite: 1n, output: 1n, reasoning: 1n }
  const broken = { ...fine, id: 'broken', costs: [{ deploymentId: id, provider: 'p', to: negative }] }
  const plan = { changes: [fine, broken], unchanged: 0, refused: [], warnings: [] }
  const from = { effectiveFrom: new Date(), source: 'broken.json' }
  const version = await catalogueVersion(db)
  await assert.rejects(
    inTransaction(db, (tx) => importPrices(tx, PARLEY, { version, plan, ...from })),
    /cost_input/,
  )
  assert.deepEqual(await rows(), before)
})

test('what is sold below its cost is a hint of the doctor', async () => {
  await told('model', 'price', 'small', '--input', '0.5', '--output', '5')
  const { stdout } = await here(['doctor', '--offline'])
  assert.match(stdout, /^hint +model small +is sold below the price of a provider: input, /m)
})

test('what cannot be imported is one sentence that says what to do', async () => {
  const of = async (...args: string[]) => refused('model', 'import', ...args)
  const file = join(dir, 'first.json')
  assert.match(await of('--file', '/none'), /\/none cannot be read\. Check --file/)
  assert.match(await of('--file', file), /No provider has the name of one.*--provider/)
  assert.match(await of('--file', file, '--provider', 'nobody=simulated'), /no provider nobody/)
  assert.match(await of('--file', file, '--provider', 'simulator=nobody'), /no prices for nobody.*simulated/)
  assert.match(await of('--file', file, ...FROM, '--only', 'x*'), /matches x\*/)
  const wrong = await fileOf('wrong.json', { small: { ...SMALL, input: 1 as unknown as string } })
  assert.match(await of('--file', wrong, ...FROM), /not a price file: providers\.simulated\.small\.input /)
})

test('a route learns its cost of every class of tokens, when it is made and when it changes', async () => {
  const costs = async (classes: Partial<Listed>) => {
    const file = await fileOf('classes.json', { classes: { ...SMALL, ...classes } })
    await told('model', 'import', '--file', file, ...FROM, '--yes')
    const routes = world.store.db.selectFrom('deployments').where('model_id', '=', 'classes')
    const columns = ['cost_input', 'cost_cached_input', 'cost_cache_write', 'cost_output', 'cost_reasoning'] as const
    return (await routes.select(columns).execute()).map((route) => columns.map((name) => route[name]))
  }
  const made = { input: '1', cached_input: '0.5', cache_write: '1.25', output: '3', reasoning: '4' }
  const changed = { input: '1.1', cached_input: '0.6', cache_write: '1.5', output: '3.5', reasoning: '4.5' }
  assert.deepEqual(await costs(made), [[1_000_000_000n, 500_000_000n, 1_250_000_000n, 3_000_000_000n, 4_000_000_000n]])
  assert.deepEqual(await costs(changed), [
    [1_100_000_000n, 600_000_000n, 1_500_000_000n, 3_500_000_000n, 4_500_000_000n],
  ])
})
