import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { tokenOf } from '../../src/rules/recommendations/link-token.ts'
import type { SecondGateway } from '../conformance/second-gateway.ts'
import { show } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { here } from '../support/operator.ts'
import { rotationOf, STEPS, type Rotation, type Step } from '../support/rotation.ts'
import {
  addDeployment,
  addKeyPair,
  addProject,
  addProvider,
  chatBody,
  complete,
  createWorld,
  until,
  type World,
} from '../support/world.ts'

/** One gateway for each step, at the same time. Each can open the key of one of two providers, at least. */
let world: World
let rotation: Rotation
const gateways = {} as Record<Step, SecondGateway>

before(async () => {
  world = await createWorld()
  rotation = rotationOf(world)
  await addProvider(world.store, rotation.secretsAt('dropped'), 'newer', `${world.simulator.url}/v1`)
  await addDeployment(world.store, { id: 'sim-small', provider: 'newer' })
  for (const step of STEPS) gateways[step] = await rotation.launchGateway(step)
})
after(async () => {
  await Promise.all(Object.values(gateways).map((gateway) => gateway.stop()))
  await world.close()
})

/** A project that can call at each of them: no pair is known to both the first and the last. */
async function newProject() {
  const project = await addProject(world.store, world.secrets)
  const newer = { ...project, ...(await addKeyPair(world.store, rotation.secretsAt('swapped'), project.id)) }
  const countCharges = async () => {
    const rows = await world.store.db.selectFrom('charges').select('id').where('project_id', '=', project.id).execute()
    return rows.length
  }
  return { projectFor: (step: Step) => (step === 'dropped' ? newer : project), newer, countCharges }
}

test('an Idempotency-Key that is sent to two gateways is charged once, whichever steps of a rotation they are at', async () => {
  const { projectFor, countCharges } = await newProject()
  let keys = 0
  for (const first of STEPS)
    for (const second of STEPS) {
      const headers = { 'idempotency-key': `${first}-${second}` }
      const send = async (step: Step) => {
        const answer = await complete(gateways[step], chatBody('tokens=3'), { project: projectFor(step), headers })
        return { status: answer.status, ...((await answer.json()) as { id?: string }) }
      }
      const [ran, repeated] = [await send(first), await send(second)]
      keys += 1
      assert.equal(ran.status, 200, `${first}, then ${second}`)
      // The stored answer is sealed under the first secret of who gave it. Who lacks that runs nothing in its place.
      const isReadable = rotation.secretsAt(second).versions.includes(rotation.secretsAt(first).version)
      const expected = isReadable ? { status: 200, id: ran.id } : { status: 503 }
      assert.partialDeepStrictEqual(repeated, expected, `${first}, then ${second}`)
    }
  assert.equal(await countCharges(), keys)
})

test('an Idempotency-Key that two gateways with different secrets first get at the same moment is charged once', async () => {
  const { projectFor, countCharges } = await newProject()
  const calls = Array.from({ length: 25 }, async () => {
    const headers = { 'idempotency-key': uuidv7() }
    const both = (['listed', 'swapped'] as const).map((step) =>
      complete(gateways[step], chatBody('tokens=2'), { project: projectFor(step), headers }),
    )
    return (await Promise.all(both)).map(({ status }) => status).toSorted((a, b) => a - b)
  })
  for (const [one, other] of await Promise.all(calls)) {
    assert.equal(one, 200)
    assert.ok(other === 200 || other === 409, String(other))
  }
  await until(async () => (await countCharges()) >= calls.length)
  assert.equal(await countCharges(), calls.length)
})

test('in the middle of a rotation, too, an Idempotency-Key is refused for another body', async () => {
  const { projectFor } = await newProject()
  const headers = { 'idempotency-key': uuidv7() }
  const send = (step: Step, directive: string) =>
    complete(gateways[step], chatBody(directive), { project: projectFor(step), headers })
  assert.equal((await send('listed', 'tokens=2')).status, 200)
  assert.equal((await send('swapped', 'tokens=3')).status, 422)
})

test('a conversation that goes from gateway to gateway during a rotation has each message once', async () => {
  const { projectFor } = await newProject()
  const id = uuidv7()
  for (const step of STEPS) {
    const headers = { 'x-conversation-id': id }
    const answer = await complete(gateways[step], chatBody('tokens=2'), { project: projectFor(step), headers })
    assert.equal(answer.status, 200)
  }
  const { db } = world.store
  const conversation = db.selectFrom('conversations').select('calls').where('id', '=', id)
  await until(async () => (await conversation.executeTakeFirst())?.calls === STEPS.length)
  const messages = await db.selectFrom('messages').select('role').where('conversation_id', '=', id).execute()
  assert.equal(messages.filter(({ role }) => role === 'user').length, 1)
})

test('links of before lead on for as long as the old secret is listed, those of after at every gateway that lists the new one', async () => {
  const match = await addOffer(world.store.db)
  const linkUnder = async (step: Step) => {
    const [id = ''] = await show(world.store.db, match, world.project.id)
    const secrets = rotation.secretsAt(step)
    const signing = { version: secrets.version, key: createSecretKey(secrets.keyFor('recommendations')) }
    return `/r/${tokenOf(id, { projectId: world.project.id, words: match.headline }, signing)}`
  }
  const statusesOf = async (path: string) =>
    Promise.all(STEPS.map(async (step) => (await fetch(`${gateways[step].url}${path}`, { redirect: 'manual' })).status))
  assert.deepEqual(await statusesOf(await linkUnder('before')), [302, 302, 302, 404])
  assert.deepEqual(await statusesOf(await linkUnder('swapped')), [404, 302, 302, 302])
})

test('a pair made under the new secret works at every gateway that lists it; another says 503 and names the secret in its log', async () => {
  const { newer: project } = await newProject()
  for (const step of ['listed', 'swapped', 'dropped'] as const)
    assert.equal((await complete(gateways[step], chatBody('tokens=2'), { project })).status, 200, step)
  for (let n = 0; n < 2; n += 1) {
    const refused = await complete(gateways.before, chatBody('tokens=2'), { project })
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '2'])
  }
  const line =
    gateways.before.logs.find((text) => text.includes('a call needs a secret')) ?? assert.fail('not in the log')
  assert.match(line, /"level":"error".*"secretVersion":2,"mend":"List it in PARLEY_SECRET of this gateway\."/)
  const values = rotation.at('listed').split(/[:,]/)
  assert.ok([...values.filter(({ length }) => length > 1), project.secretKey].every((text) => !line.includes(text)))
})

test('while a live gateway lacks a secret, nothing is sealed under it, and the refusal names the gateway', async () => {
  const sealed = () => world.store.db.selectFrom('provider_keys').selectAll().execute()
  const kept = await sealed()
  const env = { ...world.env, PARLEY_SECRET: rotation.at('swapped'), SECOND_KEY: 'sk-second-2222' }
  const lacking =
    /^Nothing was sealed: secret 2 is missing at the gateway started at \S+ \([\da-f-]{36}\), the gateway .* before you put it first\.$/m
  for (const command of ['secrets rewrap', 'provider key add simulator second --api-key-env SECOND_KEY']) {
    const { code, stderr } = await here(command.split(' '), { env })
    assert.equal(code, 1, command)
    assert.match(stderr, lacking)
  }
  assert.deepEqual(await sealed(), kept)
  const { stdout } = await here(['doctor', '--offline'], { env })
  assert.match(stdout, /^problem +gateway secrets +gateway \S+ has secret 1, but here 2 comes first\. List secret 2/m)
})
