import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { insertProvider } from '../../src/store/catalogue/providers.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { here, refused, told } from '../support/operator.ts'
import { addModel, addProvider, chatBody, complete, createWorld, until, type World } from '../support/world.ts'

/** Providers whose settings a newer version has stored, while gateways of this one still run. */

let world: World
before(async () => {
  world = await createWorld()
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  Object.assign(process.env, { DATABASE_URL, PARLEY_SECRET })
})
after(() => world.close())

/** As a newer version does it: this one would refuse. */
async function store(name: string, settings: unknown): Promise<void> {
  await sql`update providers set settings = ${JSON.stringify(settings)}::jsonb where name = ${name}`.execute(
    world.store.db,
  )
}

const warnings = () => world.logs.filter((line) => line.includes('settings that this version does not know'))
const statusOf = async (model: string) => (await complete(world, chatBody('tokens=2', { model }))).status

test('a gateway goes on with a provider that has a new setting, and says so once, however often the catalogue changes', async () => {
  await addProvider(world.store, world.secrets, 'newer', `${world.simulator.url}/v1`)
  await store('newer', { holograms: true, auth: { header: 'authorization', scheme: 'Bearer', realm: 'x' } })
  await addModel(world.store, { id: 'newer', provider: 'newer', upstreamModel: 'sim' })
  await until(async () => (await statusOf('newer')) === 200)
  for (let n = 0; n < 3; n++) {
    await addModel(world.store, { id: `other-${n}`, provider: 'newer', upstreamModel: 'sim' })
    await until(async () => (await statusOf(`other-${n}`)) === 200)
  }
  const [line, ...more] = warnings().map((text) => JSON.parse(text))
  assert.deepEqual(more, [])
  assert.partialDeepStrictEqual(line, { level: 'warn', provider: 'newer' })
  assert.deepEqual(line.settings.split(', ').toSorted(), ['auth.realm', 'holograms'])
  await store('newer', { telepathy: true })
  await until(() => warnings().length === 2)
  assert.equal(JSON.parse(warnings()[1] ?? '').settings, 'telepathy')
})

test('the command line asks such a provider and changes its address, and writes no setting that it does not know', async () => {
  await store('newer', { holograms: true })
  assert.match(await told('provider', 'test', 'newer'), /^newer answers/)
  const same = `${world.simulator.url}/v1`
  await told('provider', 'set', 'newer', '--base-url', same)
  const { rows } = await sql`select settings from providers where name = 'newer'`.execute(world.store.db)
  assert.deepEqual(rows, [{ settings: { holograms: true } }], 'they stay for the version that knows them')
  assert.match(
    await refused('provider', 'set', 'newer', '--settings', '{"holograms":true}'),
    /not valid for the kind.*holograms/,
  )
})

test('the doctor tells of every provider whose settings this version does not know or cannot read', async () => {
  await store('newer', { holograms: true })
  await addProvider(world.store, world.secrets, 'broken', `${world.simulator.url}/v1`)
  await store('broken', { maxTokensField: 'tokens' })
  const off = { id: uuidv7(), name: 'off', kind: 'telepathy', baseUrl: 'https://api.example', settings: {} }
  await insertProvider(world.store.db, off)
  await sql`update providers set enabled = false where name = 'off'`.execute(world.store.db)
  const { code, stdout } = await here(['doctor'])
  assert.equal(code, 1, stdout)
  assert.match(
    stdout,
    /^hint +settings of newer +this version does not know these and ignores them: holograms\. .*parley provider set newer/m,
  )
  assert.match(
    stdout,
    /^problem +settings of broken +this version cannot read them.*maxTokensField: .*provider set broken/m,
  )
  assert.match(stdout, /^hint +settings of off +this version cannot read them.*telepathy/m)
  assert.match(stdout, /^ok +provider newer +sim answered/m)
  assert.match(stdout, /^ok +provider broken +.*not called$/m)
  assert.doesNotMatch(stdout, /settings of simulator/)
})
