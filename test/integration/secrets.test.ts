import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { KEY_PAIR_RANDOM_BYTES, keyPairFrom } from '../../src/rules/projects/keys.ts'
import { startGateway } from '../conformance/second-gateway.ts'
import { asked, here, refused, told } from '../support/operator.ts'
import {
  addKeyPair,
  addProvider,
  addProviderKey,
  chatBody,
  complete,
  createWorld,
  type World,
} from '../support/world.ts'

let world: World
let old: string
const fresh = randomBytes(32).toString('base64')

before(async () => {
  world = await createWorld()
  old = String(world.env.PARLEY_SECRET)
  Object.assign(process.env, { DATABASE_URL: world.env.DATABASE_URL, NEW_KEY: 'sk-new-3333' })
  const id = await addProvider(world.store, world.secrets, 'two-keys', `${world.simulator.url}/v1`)
  await addProviderKey(world.store, world.secrets, id, 'another-key', 'second')
})
after(() => world.close())

async function sealedKeys(): Promise<string[]> {
  const { db } = world.store
  const keys = await db.selectFrom('provider_keys').select('sealed_key').orderBy('id').execute()
  return keys.map(({ sealed_key }) => sealed_key)
}

test('after a new secret is put before the old one, key pairs of both are accepted, and completions answered', async () => {
  const both = `2:${fresh},1:${old}`
  const gateway = await startGateway(world, { PARLEY_SECRET: both })
  const secrets = createSecrets(readConfig({ ...world.env, PARLEY_SECRET: both }).PARLEY_SECRET)
  const newer = { ...world.project, ...(await addKeyPair(world.store, secrets, world.project.id)) }
  for (const project of [world.project, newer]) {
    assert.equal((await complete(gateway, chatBody('tokens=2'), { project })).status, 200)
    const crossed = { ...project.headers, 'x-secret-key': keyPairFrom(randomBytes(KEY_PAIR_RANDOM_BYTES), '00').secret }
    assert.equal((await complete(gateway, chatBody('tokens=2'), { project, headers: crossed })).status, 401)
  }
  await gateway.stop()
})

test('a root secret is replaced: the doctor tells what is under the old one, rewrapping moves it, and then it can be dropped', async () => {
  // It has the old secret alone, and would lose the keys.
  await world.running.stop()
  process.env.PARLEY_SECRET = `2:${fresh},1:${old}`
  const before = await sealedKeys()
  assert.match(
    (await here(['doctor', '--offline'])).stdout,
    /^hint +sealed keys +.*a secret other than the first: 3\. Run: parley secrets rewrap$/m,
  )
  assert.deepEqual(await asked('secrets', 'rewrap'), { secret_version: 2, keys: 3, rewrapped: '3', already: 0 })
  const after = await sealedKeys()
  const dataOf = (sealed: string) => sealed.split('.').slice(5)
  assert.deepEqual(after.map(dataOf), before.map(dataOf), 'what is in the keys was not encrypted anew')
  assert.ok(after.every((sealed) => sealed.startsWith('v2.2.')))
  assert.match(await told('secrets', 'rewrap'), /^Keys: 3\. Rewrapped under secret 2: 0\. Already under it: 3\.$/m)
  assert.deepEqual(await sealedKeys(), after)

  process.env.PARLEY_SECRET = `2:${fresh}`
  // Key pairs need their secret as long as they live, whatever the keys of providers are under.
  await world.store.db.deleteFrom('key_pairs').execute()
  const { stdout } = await here(['doctor'])
  assert.match(stdout, /^ok +secrets /m)
  assert.match(stdout, /^ok +provider simulator +sim answered/m)
  assert.match(stdout, /^ok +provider two-keys +each key can be read/m)
  assert.doesNotMatch(stdout, /sealed keys/)
})

test('a key that no listed secret opens is named, and the others are rewrapped all the same', async () => {
  await addProvider(world.store, world.secrets, 'lost', `${world.simulator.url}/v1`)
  const newest = randomBytes(32).toString('base64')
  process.env.PARLEY_SECRET = `3:${newest},2:${fresh}`
  assert.match(
    await refused('secrets', 'rewrap'),
    /^3 rewrapped, but .* does not open lost\/default\. .*provider key add/,
  )
  process.env.PARLEY_SECRET = `3:${newest}`
  assert.match((await here(['doctor', '--offline'])).stdout, /^ok +provider two-keys /m)
})

test('a secret is forgotten when nothing needs it, and not before', async () => {
  const { db } = world.store
  const numbers = async () =>
    (await db.selectFrom('secret_versions').select('version').orderBy('version').execute()).map(
      ({ version }) => version,
    )
  process.env.PARLEY_SECRET = `2:${fresh},1:${old}`
  await addKeyPair(world.store, world.secrets, world.project.id)
  assert.match(await refused('secrets', 'forget', '1'), /^Active key pairs that need secret 1: 1\. /)
  await db.updateTable('key_pairs').set({ active: false }).execute()
  assert.match(
    await refused('secrets', 'forget', '1'),
    /^Keys of providers under secret 1: 1\. Run: parley secrets rewrap/,
  )
  await db.deleteFrom('provider_keys').execute()
  const gateway = await startGateway(world, { PARLEY_SECRET: `2:${fresh},1:${old}` })
  assert.match(
    await refused('secrets', 'forget', '1'),
    /^Secret 1 is still in use\. It is still listed by the gateway started at 20\S+Z \([\da-f-]{36}\)\. Take it out .* restart them and repeat this command\. A gateway that was killed counts for 60 s after its end\.$/m,
  )
  // Another one, which ended without a word.
  await db
    .insertInto('gateways')
    .values({ id: crypto.randomUUID(), secret_versions: [2, 1] })
    .execute()
  assert.match(
    await refused('secrets', 'forget', '1'),
    / by the gateway started at \S+ \(\S+\), the gateway started at /,
  )
  await db.deleteFrom('gateways').execute()
  await gateway.stop()
  assert.deepEqual(await numbers(), [1, 2, 3])
  assert.deepEqual(await asked('secrets', 'forget', '1'), { secret_version: 1, lost: false })
  await told('secrets', 'forget', '3')
  assert.match(await refused('secrets', 'forget', '2'), /^Secret 2 is the only one .*--lost/)
  assert.match(await refused('secrets', 'forget', '9'), /^There is no such secret/)
  assert.deepEqual(await numbers(), [2])
})

test('after the only secret was lost, the installation goes on with another, and what was under the lost one is made anew', async () => {
  const { db } = world.store
  process.env.PARLEY_SECRET = `3:${old}`
  await addKeyPair(world.store, createSecrets([{ version: 2, bytes: Buffer.from(fresh, 'base64') }]), world.project.id)
  assert.match(
    await refused('key', 'create', world.project.id),
    /^PARLEY_SECRET lists only secret 3, and this installation works with 2\..*is lost/,
  )
  assert.deepEqual(await asked('secrets', 'forget', '2', '--lost'), { secret_version: 2, lost: true })
  assert.match(
    (await here(['doctor', '--offline'])).stdout,
    /^problem +secrets +secret 2 is missing \(active key pairs: 1\)/m,
  )
  await told('provider', 'set', 'simulator', '--api-key-env', 'NEW_KEY')
  await told('key', 'create', world.project.id)
  const recorded = await db.selectFrom('secret_versions').select('version').execute()
  assert.deepEqual(recorded, [{ version: 3 }])
  const gateway = await startGateway(world, { PARLEY_SECRET: `3:${old}` })
  await gateway.stop()
})
