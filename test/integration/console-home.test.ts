import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { setDomainVerified } from '../../src/store/domains.ts'
import { rollUpUsage } from '../../src/worker/roll-up.ts'
import { createConsoleWorld, newPerson, newProject, type ConsoleWorld } from '../support/console.ts'
import { addSettledCall } from '../support/ledger.ts'
import { addKeyPair, chatBody, complete, credit, until } from '../support/world.ts'

let world: ConsoleWorld
before(async () => {
  world = await createConsoleWorld({ roles: ['gateway', 'console', 'worker'] })
})
after(() => world.close())

test('the first steps turn true one by one, and only all of them together can be put away, once and for everybody', async () => {
  const person = await newPerson(world, { confirms: false })
  const project = await newProject(person)
  const steps = async () => (await person.send(`GET /api/projects/${project}/onboarding`)).body
  const done = async () => {
    const { isActivated, isDomainVerified, hasKeyPair, hasCredit, call } = await steps()
    return [isActivated, isDomainVerified, hasKeyPair, call !== null, hasCredit]
  }
  const dismiss = () => person.send(`POST /api/projects/${project}/onboarding/dismiss`)
  assert.deepEqual(await done(), [false, false, false, false, false])

  const { db } = world.store
  await db.updateTable('publishers').set({ activated_at: new Date() }).where('id', '=', person.publisherId).execute()
  assert.deepEqual(await done(), [true, false, false, false, false])
  await setDomainVerified(db, project, new Date())
  assert.deepEqual(await done(), [true, true, false, false, false])
  const keys = await addKeyPair(world.store, world.secrets, project)
  assert.deepEqual(await done(), [true, true, true, false, false])
  await credit(world.store, project, 1_000_000_000n)
  assert.deepEqual(await done(), [true, true, true, false, true])
  const early = await dismiss()
  assert.deepEqual(
    [early.status, early.body.message],
    [409, 'The first steps can be put away when all of them are done.'],
  )

  const response = await complete({ ...world, project: { ...world.project, ...keys } }, chatBody('tokens=5'))
  const { id } = (await response.json()) as { id: string }
  const { call, isDismissed } = await steps()
  assert.deepEqual(
    [call.id, call.model, call.keyName, call.outputTokens, isDismissed],
    [id, 'sim-small', 'test', 5, false],
  )
  assert.ok(BigInt(call.chargedNanos) > 0n)
  assert.equal((await dismiss()).status, 200)
  assert.equal((await dismiss()).status, 200)
  assert.equal((await steps()).isDismissed, true)
  const log = await person.send(`GET /api/publishers/${person.publisherId}/audit-log`)
  assert.equal(log.body.items.filter(({ action }: { action: string }) => action === 'onboarding.dismissed').length, 1)
})

test('home sums what was rolled up, compares it with the time before, and shows the newest failures', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  const { db } = world.store
  await addKeyPair(world.store, world.secrets, project)
  const { id: keyPairId } = await db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', project)
    .executeTakeFirstOrThrow()
  const empty = (await person.send(`GET /api/projects/${project}/home`)).body
  assert.deepEqual([empty.week.calls, empty.models, empty.failures, empty.days.length], [0, [], [], 30])
  assert.deepEqual(empty.week.firstTokenMs, { p50: null, p95: null })

  const made = { projectId: project, keyPairId }
  await addSettledCall(db, { ...made, id: uuidv7(), charge: 5_000n })
  await addSettledCall(db, { ...made, id: uuidv7(), charge: 7_000n })
  const failed = {
    outcome: 'upstream_failed' as const,
    status: 502,
    errorCode: 'upstream_failed',
    requestId: 'req_broken',
  }
  await addSettledCall(db, { ...made, id: uuidv7(), charge: 0n, change: failed })
  await until(async () => {
    await rollUpUsage({ db, signal: new AbortController().signal, marginMs: 0 })
    return (await person.send(`GET /api/projects/${project}/home`)).body.week.calls === 3
  })
  const { body: home } = await person.send(`GET /api/projects/${project}/home`)
  assert.deepEqual(home.spent.week, { nanos: '12000', previousNanos: '0' })
  assert.deepEqual(home.spent.month.nanos, '12000')
  assert.deepEqual([home.week.calls, home.week.failed], [3, 1])
  assert.deepEqual(home.models, [{ model: 'sim-small', calls: 3, chargedNanos: '12000' }])
  assert.equal(
    home.days.reduce((sum: bigint, day: { chargedNanos: string }) => sum + BigInt(day.chargedNanos), 0n),
    12_000n,
  )
  const [failure] = home.failures
  assert.deepEqual([home.failures.length, failure.requestId, failure.title], [1, 'req_broken', 'The model failed'])
})

test('a stranger finds neither home nor steps, and a viewer cannot put the steps away', async () => {
  const owner = await newPerson(world)
  const project = await newProject(owner)
  const stranger = await newPerson(world)
  for (const path of ['GET home', 'GET onboarding', 'GET models', 'GET quick-start', 'POST onboarding/dismiss']) {
    const [method, page] = path.split(' ')
    assert.equal((await stranger.send(`${method} /api/projects/${project}/${page}`)).status, 404, path)
  }
  const { body: me } = await stranger.send('GET /api/me')
  const member = { publisher_id: owner.publisherId, user_id: me.user.id, role: 'viewer' }
  await world.store.db.insertInto('memberships').values(member).execute()
  assert.equal((await stranger.send(`GET /api/projects/${project}/home`)).status, 200)
  assert.equal((await stranger.send(`POST /api/projects/${project}/onboarding/dismiss`)).status, 403)
})

test('the quick start names the public address, a model that is served to the project, and no key', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  const path = `GET /api/projects/${project}/quick-start`
  const { body } = await person.send(path)
  assert.deepEqual([body.gatewayUrl, body.model, body.models], ['http://127.0.0.1:8080', 'sim-small', ['sim-small']])
  assert.deepEqual(
    body.snippets.map(({ id }: { id: string }) => id),
    ['curl', 'node', 'python', 'ai-sdk', 'langchain', 'environment'],
  )
  for (const { id, text } of body.snippets) {
    assert.match(text, /http:\/\/127\.0\.0\.1:8080\/v1/, id)
    assert.match(text, /sim-small/, id)
  }
  assert.match(body.keysText, /^export PARLEY_SECRET_KEY='ply_sk_…'$/m)
  assert.doesNotMatch(JSON.stringify(body), /ply_[ps]k_\w/)
  const { db } = world.store
  await db
    .updateTable('projects')
    .set({ allowed_models: ['another'] })
    .where('id', '=', project)
    .execute()
  const limited = (await person.send(path)).body
  assert.deepEqual([limited.model, limited.models], [null, []])
  assert.deepEqual((await person.send(`GET /api/projects/${project}/models`)).body, { items: [] })
})
