/** A stored answer is for those who may call at that moment, whatever a gateway still remembers of their keys. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { createLastUsed } from '../../src/gateway/gateway.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { setKeyPairActive } from '../support/key-pairs.ts'
import { archiveProject } from '../../src/store/projects/projects.ts'
import { setPublisherActivated } from '../../src/store/accounts/publishers.ts'
import { startCuttable } from '../conformance/second-gateway.ts'
import {
  addKeyPair,
  addProject,
  chatBody,
  complete,
  createWorld,
  until,
  type TestProject,
  type World,
} from '../support/world.ts'

const SAID = 'FOR-ITS-CALLERS-ONLY'
const BODY = chatBody(`text=${SAID}`)

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

async function ask(project: TestProject, body: unknown = BODY, url = world.url) {
  const response = await complete({ url, project }, body, { headers: { 'idempotency-key': 'asked-before' } })
  const text = await response.text()
  const isReplayed = response.headers.get('idempotent-replayed') === 'true'
  return { status: response.status, isReplayed, isTold: text.includes(SAID) }
}

const ANSWERED = { status: 200, isReplayed: false, isTold: true }
const REPLAYED = { ...ANSWERED, isReplayed: true }
const refused = (status: number) => ({ status, isReplayed: false, isTold: false })

/** With a pair that the gateway has just seen to be good, and so believes for two seconds more. */
async function projectWithAnswer(): Promise<TestProject> {
  const project = await addProject(world.store, world.secrets)
  assert.deepEqual(await ask(project), ANSWERED)
  assert.deepEqual(await ask(project), REPLAYED)
  return project
}

const pairOf = ({ publishableKey }: TestProject) => sql`publishable_key = ${publishableKey}`

const ENDS: Record<string, { status: number; end: (project: TestProject) => Promise<unknown> }> = {
  'key pair revoked': {
    status: 401,
    end: ({ publishableKey }) => setKeyPairActive(world.store.db, publishableKey, false),
  },
  'key pair deleted': {
    status: 401,
    end: (project) =>
      sql`update key_pairs set active = false, deleted_at = now() where ${pairOf(project)}`.execute(world.store.db),
  },
  'key pair expired': {
    status: 401,
    end: (project) => sql`update key_pairs set expires_at = now() where ${pairOf(project)}`.execute(world.store.db),
  },
  'publisher suspended': {
    status: 403,
    end: ({ publisherId }) => setPublisherActivated(world.store.db, publisherId, null),
  },
  'domain lost': { status: 403, end: ({ id }) => setDomainVerified(world.store.db, id, null) },
  'project archived': { status: 401, end: ({ id }) => archiveProject(world.store.db, id) },
}

for (const [name, { status, end }] of Object.entries(ENDS)) {
  test(`${name}: the stored answer is not given out any more, from that moment on`, async () => {
    const project = await projectWithAnswer()
    await end(project)
    assert.deepEqual(await ask(project), refused(status))
    assert.deepEqual(await ask(project, chatBody('another body')), refused(status), 'nor that there is one')
  })
}

test('a revoked pair is not told of a call that still runs, nor does it leave a claim behind', async () => {
  const project = await addProject(world.store, world.secrets)
  const slow = chatBody(`ttft=600 text=${SAID}`)
  world.simulator.reset()
  const first = ask(project, slow)
  await until(() => world.simulator.calls.length > 0)
  assert.equal((await ask(project, slow)).status, 409)
  await setKeyPairActive(world.store.db, project.publishableKey, false)
  assert.deepEqual(await ask(project, slow), refused(401))
  assert.deepEqual(await first, ANSWERED, 'what was begun in time is finished')
  const other = { headers: { 'idempotency-key': 'never-seen' } }
  assert.equal((await complete({ ...world, project }, BODY, other)).status, 401)
  const { rows } = await sql`select 1 from idempotency_keys where project_id = ${project.id}`.execute(world.store.db)
  assert.equal(rows.length, 1)
})

test('of two pairs of a project the revoked one is refused, and the other still gets the answer, whoever asked first', async () => {
  const first = await projectWithAnswer()
  const second = { ...first, ...(await addKeyPair(world.store, world.secrets, first.id)) }
  assert.deepEqual(await ask(second), REPLAYED)
  await setKeyPairActive(world.store.db, second.publishableKey, false)
  assert.deepEqual([await ask(second), await ask(first)], [refused(401), REPLAYED])
  await setKeyPairActive(world.store.db, second.publishableKey, true)
  await setKeyPairActive(world.store.db, first.publishableKey, false)
  assert.deepEqual([await ask(first), await ask(second)], [refused(401), REPLAYED])
})

test('a gateway that is cut off from the store replays nothing, and when it is back it knows of the revocation', async () => {
  const gateway = await startCuttable(world)
  const project = await projectWithAnswer()
  assert.deepEqual(await ask(project, BODY, gateway.url), REPLAYED)
  gateway.relay.cut()
  await setKeyPairActive(world.store.db, project.publishableKey, false)
  assert.deepEqual(await ask(project, BODY, gateway.url), refused(503))
  gateway.relay.mend()
  await until(async () => {
    const answer = await ask(project, BODY, gateway.url)
    assert.notEqual(answer.status, 200)
    return answer.status === 401
  })
})

test('what is known of a key pair is believed for two seconds, and no longer', async (t) => {
  const project = await addProject(world.store, world.secrets)
  const listed = async () => (await fetch(`${world.url}/v1/models`, { headers: project.headers })).status
  assert.equal(await listed(), 200)
  await setKeyPairActive(world.store.db, project.publishableKey, false)
  const { now } = performance
  t.mock.method(performance, 'now', () => now.call(performance) + 2_000)
  assert.equal(await listed(), 401)
})

test('a key pair was last used when it was last used, however long the gateway runs on', async () => {
  const project = await addProject(world.store, world.secrets)
  const pairs = world.store.db.selectFrom('key_pairs').where('project_id', '=', project.id)
  const pair = () => pairs.select(['id', 'last_used_at']).executeTakeFirstOrThrow()
  const lastUsed = createLastUsed(world.store.db)
  lastUsed.add((await pair()).id)
  await lastUsed.write()
  const { last_used_at: usedAt } = await pair()
  assert.ok(usedAt)
  await until(() => Date.now() > usedAt.getTime())
  await lastUsed.write()
  assert.deepEqual((await pair()).last_used_at, usedAt)
})
