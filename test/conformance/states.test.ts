/** The specification's part 3: how the state of keys, domain, wallet and account decides. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { setKeyPairActive } from '../support/key-pairs.ts'
import { addProject, chatBody, createWorld, credit, until, walletOf, type TestProject } from '../support/world.ts'
import { clause } from './clause.ts'
import { ask, listModels, stream } from './client.ts'

const world = await createWorld()
after(() => world.close())

const statuses = async (project: TestProject) => [
  (await ask(world, chatBody('tokens=2'), { project })).status,
  (await stream(world, chatBody('tokens=2'), { project })).status,
  (await listModels(world, { project })).status,
]

clause('3-pair-active', async () => assert.deepEqual(await statuses(world.project), [200, 200, 200]))

clause('3-pair-inactive', async () => {
  const project = await addProject(world.store, world.secrets)
  await setKeyPairActive(world.store.db, project.publishableKey, false)
  assert.deepEqual(await statuses(project), [401, 401, 401])
})

clause('3-pair-inactive', 'also when it was active a moment ago', async () => {
  const project = await addProject(world.store, world.secrets)
  assert.deepEqual(await statuses(project), [200, 200, 200])
  await setKeyPairActive(world.store.db, project.publishableKey, false)
  assert.equal((await ask(world, chatBody('tokens=2'), { project })).status, 401)
  await until(async () => (await listModels(world, { project })).status === 401)
})

clause('3-domain-verified', async () => {
  const project = await addProject(world.store, world.secrets, { isVerified: false })
  await setDomainVerified(world.store.db, project.id, new Date())
  assert.deepEqual(await statuses(project), [200, 200, 200])
})

clause('3-domain-unverified', async () => {
  const project = await addProject(world.store, world.secrets, { isVerified: false })
  assert.deepEqual(await statuses(project), [403, 403, 403])
})

clause('3-domain-unverified', 'also when it was verified a moment ago', async () => {
  const project = await addProject(world.store, world.secrets)
  assert.deepEqual(await statuses(project), [200, 200, 200])
  await setDomainVerified(world.store.db, project.id, null)
  assert.equal((await ask(world, chatBody('tokens=2'), { project })).status, 403)
  await until(async () => (await listModels(world, { project })).status === 403)
})

clause('3-wallet-positive', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  await credit(world.store, project.id, 10_000_000n)
  assert.deepEqual(await statuses(project), [200, 200, 200])
})

clause('3-wallet-insufficient', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  assert.equal((await ask(world, chatBody('tokens=2'), { project })).status, 403)
  assert.equal((await stream(world, chatBody('tokens=2'), { project })).status, 403)
  assert.equal((await walletOf(world.store, project.id)).balance, 0n)
})

clause('3-wallet-models', async () => {
  const project = await addProject(world.store, world.secrets, { credits: '0' })
  assert.equal((await listModels(world, { project })).status, 200)
})

clause('3-account-activated', async () => {
  const project = await addProject(world.store, world.secrets, { isActivated: false })
  assert.deepEqual(await statuses(project), [403, 403, 403])
  assert.deepEqual(await statuses(await addProject(world.store, world.secrets)), [200, 200, 200])
})
