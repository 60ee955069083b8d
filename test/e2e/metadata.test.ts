import assert from 'node:assert/strict'
import { after, before as beforeAll, test } from 'node:test'
import { sql } from 'kysely'
import OpenAI from 'openai'
import { addProject, chatBody, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

/** Fields that callers send with their question: kept for them, or counted by name, and passed on to no provider. */

let world: World
beforeAll(async () => {
  world = await createWorld()
})
after(() => world.close())

async function call(project: TestProject, extra: Record<string, unknown>, headers: Record<string, string> = {}) {
  const response = await complete(world, chatBody('tokens=3', { max_tokens: 5, ...extra }), { project, headers })
  await response.text()
  return response.status
}

async function metadataOf({ id }: TestProject) {
  const { rows } = await sql<Record<string, unknown>>`
    select m.key, m.value, m.conversation_id, m.end_user_id is not distinct from c.end_user_id as is_of_end_user,
      round(extract(epoch from m.expires_at - now()) / 86400)::int as days
    from call_metadata m join calls c on c.id = m.call_id and c.project_id = m.project_id
    where m.project_id = ${id} order by m.call_id, m.key`.execute(world.store.db)
  return rows
}

async function ignoredBy({ id }: TestProject) {
  const fields = world.store.db.selectFrom('ignored_fields').select(['name', 'times']).where('project_id', '=', id)
  return fields.orderBy('name').execute()
}

/** Every row of every table, as text. */
async function everythingStored(): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`select c.relname as name from pg_class c
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace`.execute(
    world.store.db,
  )
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await sql`select to_jsonb(t)::text as row from ${sql.table(name)} t`.execute(world.store.db)
      return JSON.stringify(rows)
    }),
  )
  return texts.join('\n')
}

test('metadata, as the official SDK sends it, is kept with the call and reaches no provider', async () => {
  const project = await addProject(world.store, world.secrets)
  const client = new OpenAI({ apiKey: 'unused', baseURL: `${world.url}/v1`, defaultHeaders: project.headers })
  const sentBefore = world.simulator.calls.length
  await client.chat.completions.create(
    { ...chatBody('tokens=3'), metadata: { plan: 'free', order: 'A-17' }, store: false } as never,
    { headers: { 'x-conversation-id': 'talk', 'x-end-user-id': 'ada' } },
  )
  await until(async () => (await metadataOf(project)).length === 2)
  const common = { conversation_id: 'talk', is_of_end_user: true, days: 30 }
  assert.deepEqual(await metadataOf(project), [
    { key: 'order', value: 'A-17', ...common },
    { key: 'plan', value: 'free', ...common },
  ])
  const [sent] = world.simulator.calls.slice(sentBefore)
  assert.ok(sent && !JSON.stringify(sent.body).includes('A-17') && !('metadata' in (sent.body as object)))
  assert.ok(!world.logs.some((line) => line.includes('A-17')))
})

test('metadata that does not fit is no reason to refuse a call, and what fits of it is kept', async () => {
  const project = await addProject(world.store, world.secrets)
  const odd = { n: 1, list: ['x'], long: 'x'.repeat(513), nul: 'a\0', half: '\ud800', good: 'yes' }
  for (const metadata of [odd, 'text', null, 7, [], { ['k'.repeat(65)]: 'x' }])
    assert.equal(await call(project, { metadata }), 200, JSON.stringify(metadata))
  await until(async () => (await metadataOf(project)).length > 0)
  assert.deepEqual(
    (await metadataOf(project)).map(({ key, value }) => [key, value]),
    [['good', 'yes']],
  )
})

test('metadata is promised for as long as its project keeps text, from a day to a year, and no longer', async () => {
  for (const days of [1, 29, 31, 365]) {
    const project = await addProject(world.store, world.secrets)
    const kept = world.store.db.updateTable('projects').set({ content_retention_days: days })
    await kept.where('id', '=', project.id).execute()
    assert.equal(await call(project, { metadata: { plan: 'free' } }), 200)
    await until(async () => (await metadataOf(project)).length === 1)
    assert.deepEqual(
      (await metadataOf(project)).map((row) => row.days),
      [days],
    )
  }
})

test('a project that keeps no text keeps no metadata', async () => {
  const [silent, usual] = [await addProject(world.store, world.secrets), await addProject(world.store, world.secrets)]
  await sql`update projects set content_retention_days = 0 where id = ${silent.id}`.execute(world.store.db)
  assert.equal(await call(silent, { metadata: { plan: 'free' } }), 200)
  assert.equal(await call(usual, { metadata: { plan: 'free' } }), 200)
  // Written after the silent one's would have been.
  await until(async () => (await metadataOf(usual)).length === 1)
  assert.deepEqual(await metadataOf(silent), [])
})

test('a field that nobody reads is counted by its name, and its value is stored and logged nowhere', async () => {
  const project = await addProject(world.store, world.secrets)
  const value = 'value-that-nobody-must-keep'
  for (let n = 0; n < 3; n++)
    assert.equal(await call(project, { reasoning_efort: value, nested: { [value]: [value] }, store: false }), 200)
  assert.equal(await call(project, { x_conversation: value }, { 'x-conversation-id': 'told' }), 200)
  assert.equal(await call(project, { temperature: 9, never_counted: 1 }), 422)
  await until(async () => (await ignoredBy(project)).reduce((sum, { times }) => sum + Number(times), 0) === 7, 20_000)
  assert.deepEqual(await ignoredBy(project), [
    { name: 'nested', times: 3n },
    { name: 'reasoning_efort', times: 3n },
    { name: 'x_conversation', times: 1n },
  ])
  const stored = await everythingStored()
  assert.ok(stored.includes('reasoning_efort') && !stored.includes(value))
  assert.ok(!world.logs.some((line) => line.includes(value)))
  assert.ok(!JSON.stringify(world.simulator.calls.map(({ body }) => body)).includes(value))
})

test('whoever sends ever new names gets fifty rows a day, and answers as before', async () => {
  const project = await addProject(world.store, world.secrets)
  for (let n = 0; n < 4; n++) {
    const names = Array.from({ length: 500 }, (_, each) => [`${n} ${'n'.repeat(200)} ${each}`.slice(-150), 1])
    assert.equal(await call(project, Object.fromEntries(names)), 200)
    assert.equal(await call(project, { [`name${n}`]: 1 }), 200)
  }
  await until(async () => (await ignoredBy(project)).length > 0, 20_000)
  const rows = await ignoredBy(project)
  assert.ok(rows.length <= 50)
  assert.ok(rows.every(({ name }) => name.length <= 64))
})
