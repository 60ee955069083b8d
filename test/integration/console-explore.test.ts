import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { NO_USAGE } from '../../src/rules/billing/usage.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { addSettledCall, type SettledCall } from '../support/ledger.ts'
import { addKeyPair, addModel, rollUp } from '../support/world.ts'

/** Pages that figures lead to and publishers search: the list of calls, the catalogue of models, names told apart. */

let world: ConsoleWorld
let person: Person
before(async () => {
  world = await createConsoleWorld()
  person = await newPerson(world)
})
after(() => world.close())

async function projectWithKey(): Promise<{ project: string; keyPairId: string }> {
  const project = await newProject(person)
  await addKeyPair(world.store, world.secrets, project)
  const pairs = await world.store.db.selectFrom('key_pairs').select('id').where('project_id', '=', project).execute()
  return { project, keyPairId: String(pairs[0]?.id) }
}

test('a status, an error code, a price, caching and the reason of a recommendation each leave exactly their calls', async () => {
  const { project, keyPairId } = await projectWithKey()
  const add = async (name: string, call: Partial<SettledCall> = {}) => {
    const id = uuidv7()
    const change = { ...call.change, requestId: name }
    await addSettledCall(world.store.db, { id, projectId: project, keyPairId, ...call, change })
  }
  await add('plain')
  await add('refused', { charge: 0n, change: { status: 502, outcome: 'upstream_failed', errorCode: 'upstream_error' } })
  await add('odd', { charge: 0n, change: { status: 418, outcome: 'gateway_failed', errorCode: 'internal' } })
  await add('dead', { charge: 0n, change: { status: 0, outcome: 'gateway_died' } })
  await add('read', { change: { usage: { ...NO_USAGE, input: 1, cachedInput: 5 } } })
  await add('written', { change: { usage: { ...NO_USAGE, input: 1, cacheWrite: 5 } } })
  await add('dearer', { priceVersion: 2n })
  await add('recommended', { change: { recommendationOutcome: 'served' } })
  await add('sensitive', { change: { recommendationOutcome: 'sensitive', status: 499, outcome: 'hung_up' } })
  const found = async (search: string): Promise<string[]> => {
    const { body } = await must(person.send(`GET /api/projects/${project}/calls?${search}`))
    return body.items.map(({ requestId }: { requestId: string }) => requestId).toReversed()
  }
  assert.deepEqual(await found('status=502'), ['refused'])
  assert.deepEqual(await found('status=0'), ['dead'])
  assert.deepEqual(await found('status=other'), ['odd'], 'every status that the usage page does not list by itself')
  assert.deepEqual(await found('error_code=internal'), ['odd'])
  assert.deepEqual(await found('error_code=upstream_error&status=418'), [])
  assert.deepEqual(await found('cached=true'), ['read', 'written'])
  assert.deepEqual(await found('cached=true&status=200&model=sim-small'), ['read', 'written'])
  assert.deepEqual(await found('price=2'), ['dearer'])
  assert.deepEqual(await found('price=2&outcome=failed'), [])
  assert.deepEqual(await found('recommendation=sensitive'), ['sensitive'])
  assert.deepEqual(await found('recommendation=served&min_cost=0.000000001'), ['recommended'])
  const csv = await must(person.send(`GET /api/projects/${project}/calls.csv?status=502`))
  assert.equal(csv.text.trim().split('\r\n').length, 2)
  for (const wrong of ['status=many', 'status=5020', 'recommendation=maybe', 'price=x', 'cached=1'])
    assert.equal((await person.send(`GET /api/projects/${project}/calls?${wrong}`)).status, 422, wrong)
})

test('the catalogue has what a project may call, with what the provider honours and what its own calls measured', async () => {
  const { project, keyPairId } = await projectWithKey()
  const { db } = world.store
  await addModel(world.store, { id: 'plain-words', provider: 'simulator' })
  await db
    .updateTable('deployments')
    .set({ unsupported_fields: ['images', 'json_schema', 'reasoning_effort'] })
    .where('model_id', '=', 'plain-words')
    .execute()
  const add = (call: Partial<SettledCall>) =>
    addSettledCall(db, { id: uuidv7(), projectId: project, keyPairId, modelId: 'plain-words', ...call })
  for (let n = 0; n < 18; n++) await add({ change: { firstTokenMs: 200 } })
  await add({ charge: 0n, change: { outcome: 'timed_out', status: 504 } })
  await add({ id: uuidv7(Date.now() - 2 * DAY_MS), settledAt: new Date(Date.now() - 2 * DAY_MS) })
  const other = await projectWithKey()
  await add({ projectId: other.project, keyPairId: other.keyPairId })
  await rollUp(world.store)
  const listed = async () => (await must(person.send(`GET /api/projects/${project}/catalogue`))).body
  const of = async (id: string) => (await listed()).items.find((each: { id: string }) => each.id === id)
  const few = await of('plain-words')
  assert.deepEqual([few.calls, few.measured], [19, null], 'of the last day and of this project alone, and too few')
  assert.deepEqual(
    few.abilities.filter((each: string) => each !== 'caching'),
    ['tools'],
  )
  await add({ change: { firstTokenMs: 200 } })
  await rollUp(world.store)
  const { calls, measured, price } = await of('plain-words')
  assert.deepEqual([calls, measured.failed], [20, 1])
  assert.ok(measured.firstTokenMs.p50 > 150 && measured.firstTokenMs.p95 < 260, JSON.stringify(measured))
  assert.deepEqual(Object.keys(price).toSorted(), ['cacheWrite', 'cachedInput', 'input', 'output', 'reasoning'])

  await db
    .updateTable('providers')
    .set({ settings: JSON.stringify({ unsupportedFields: ['tools'] }) })
    .where('name', '=', 'simulator')
    .execute()
  assert.ok(!(await of('plain-words')).abilities.includes('tools'), 'what the provider refuses counts as well')
  assert.ok(!(await of('sim-small')).abilities.includes('tools'))
  await must(person.send(`PATCH /api/projects/${project}/settings`, { body: { allowedModels: ['sim-small'] } }))
  assert.deepEqual(
    (await listed()).items.map(({ id }: { id: string }) => id),
    ['sim-small'],
  )
})

test('two keys with the same name are told apart wherever keys are listed', async () => {
  const { project } = await projectWithKey()
  await setDomainVerified(world.store.db, project, new Date())
  const make = (name: string) => must(person.send(`POST /api/projects/${project}/keys`, { body: { name } }))
  const { body: first } = await make('website')
  const { body: second } = await make('website')
  const { body } = await must(person.send(`GET /api/projects/${project}/call-filters`))
  const names = new Map(body.keys.map(({ id, name }: { id: string; name: string }) => [id, name]))
  assert.equal(names.get(first.id), `website (…${first.publishableKey.slice(-4)})`)
  assert.equal(names.get(second.id), `website (…${second.publishableKey.slice(-4)})`)
})

test('of an address that is pasted as a domain its host is taken, and what nobody can own stays refused', async () => {
  const path = `POST /api/publishers/${person.publisherId}/projects`
  const { body } = await must(
    person.send(path, { body: { name: 'Pasted', domain: 'https://Site.example.org/path?x=1' } }),
  )
  assert.equal(body.domain, 'site.example.org')
  const changed = await must(
    person.send(`PATCH /api/projects/${body.id}/domain`, { body: { name: 'http://other.example.org:8080/' } }),
  )
  assert.equal(changed.body.displayName, 'other.example.org')
  for (const domain of [
    'https://192.0.2.1/x',
    'https://co.uk/news',
    'http://localhost:3000/',
    'https://a:b@x.example/',
  ])
    assert.equal((await person.send(path, { body: { name: 'Pasted', domain } })).status, 422, domain)
})

test('the audit log says what was done in words, and is searched by them or by the name of the action', async () => {
  await projectWithKey()
  const path = `GET /api/publishers/${person.publisherId}/audit-log`
  const { body } = await must(person.send(`${path}?action=project.created`))
  assert.ok(body.items.length > 0)
  for (const { action, title } of body.items) assert.deepEqual([action, title], ['project.created', 'Project created'])
  const byWords = await must(person.send(`${path}?action=project%20created`))
  assert.deepEqual(byWords.body.items, body.items)
})
