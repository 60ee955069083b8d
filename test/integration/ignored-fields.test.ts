import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { DAY_MS } from '../../src/rules/durations.ts'
import { countIgnoredFields, listIgnoredFields, type IgnoredField } from '../../src/store/calls/ignored-fields.ts'
import type { Store } from '../../src/store/database.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { openTestStore } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'
import { asked, told } from '../support/operator.ts'

/** Fields that nobody reads: how they are counted, and who is told. */

let world: ConsoleWorld
let person: Person
/** Under the gateway's own login, as they write. */
let gateways: Store
before(async () => {
  world = await createConsoleWorld()
  const url = String(world.env.DATABASE_URL)
  Object.assign(process.env, { DATABASE_URL: url, PARLEY_SECRET: String(world.env.PARLEY_SECRET) })
  gateways = openTestStore({ url: loginUrl(url, 'gateway'), applicationName: 'ignored fields test' })
  person = await newPerson(world)
})
after(async () => {
  await gateways.close()
  await world.close()
})

const EARLIER = new Date(Date.now() - 60_000)
const NOW = new Date()

const field = (projectId: string, name: string, more: Partial<IgnoredField> = {}): IgnoredField => {
  return { projectId, name, times: 1, lastAt: NOW, ...more }
}
const listed = (projectId: string) => listIgnoredFields(world.store.db, projectId, { keptMs: 30 * DAY_MS, most: 1_000 })

test('counts of several writes are added up, and the last moment stays the last', async () => {
  const project = await newProject(person)
  await countIgnoredFields(gateways.db, [field(project, 'top_k', { times: 3 }), field(project, 'seeed')])
  await countIgnoredFields(gateways.db, [field(project, 'top_k', { times: 4, lastAt: EARLIER })])
  assert.deepEqual(await listed(project), [
    { name: 'seeed', times: 1n, lastAt: NOW },
    { name: 'top_k', times: 7n, lastAt: NOW },
  ])
  await sql`update ignored_fields set day = day - 30 where project_id = ${project} and name = 'top_k'`.execute(
    world.store.db,
  )
  await countIgnoredFields(gateways.db, [field(project, 'top_k', { times: 5 })])
  assert.deepEqual((await listed(project))[1], { name: 'top_k', times: 12n, lastAt: NOW }, 'of all days together')
})

test('a project has fifty names a day and no more, however many gateways write at once', async () => {
  const [flooded, quiet] = [await newProject(person), await newProject(person)]
  await countIgnoredFields(gateways.db, [field(flooded, 'first')])
  const flood = (gateway: number) =>
    Array.from({ length: 40 }, (_, n) => field(flooded, `gateway ${gateway} name ${n}`, { times: n + 1 }))
  await Promise.all([1, 2, 3, 4].map((n) => countIgnoredFields(gateways.db, flood(n))))
  const names = (await listed(flooded)).map(({ name }) => name)
  assert.equal(names.length, 50)
  assert.ok(names.includes('first'))
  await countIgnoredFields(gateways.db, [
    field(flooded, 'first', { times: 9 }),
    field(flooded, 'new'),
    field(quiet, 'new'),
  ])
  assert.equal((await listed(flooded)).find(({ name }) => name === 'first')?.times, 10n)
  assert.equal((await listed(flooded)).length, 50)
  assert.equal((await listed(quiet)).length, 1)
})

test('the console tells members what was ignored and what was probably meant, and nobody else', async () => {
  const project = await newProject(person)
  const fieldsOf = (who: Person) => who.send(`GET /api/projects/${project}/ignored-fields`)
  assert.deepEqual((await must(fieldsOf(person))).body, { items: [] })
  await countIgnoredFields(gateways.db, [
    field(project, 'reasoning_efort', { times: 12 }),
    field(project, 'thinking', { lastAt: EARLIER }),
  ])
  assert.deepEqual((await must(fieldsOf(person))).body.items, [
    { name: 'reasoning_efort', times: '12', lastAt: NOW.toISOString(), suggestion: 'reasoning_effort' },
    { name: 'thinking', times: '1', lastAt: EARLIER.toISOString(), suggestion: null },
  ])
  assert.equal((await fieldsOf(await newPerson(world))).status, 404)
})

test('the command line tells operators the same', async () => {
  const project = await newProject(person)
  assert.match(await told('ignored-fields', project), /^There are none/)
  await countIgnoredFields(gateways.db, [field(project, 'maxTokens', { times: 2 })])
  assert.match(await told('ignored-fields', project), /^maxTokens +2 +\S.* +max_tokens$/m)
  assert.deepEqual(await asked('ignored-fields', project), [
    { name: 'maxTokens', times: '2', last_at: NOW.toISOString(), suggestion: 'max_tokens' },
  ])
})
