import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SAVED_PROMPTS_MAX } from '../../src/rules/projects/saved-prompts.ts'
import {
  createConsoleWorld,
  must,
  newPerson,
  newProject,
  userIdOf,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { addSavedPrompt } from '../support/saved-prompts.ts'

/** Prompts that a project's team keeps for the playground. */

let world: ConsoleWorld
before(async () => {
  world = await createConsoleWorld()
})
after(() => world.close())

const SECRET_WORDS = 'the mayor resigns on Monday'
const ASKED = {
  model: 'sim-small',
  system: `Editor: ${SECRET_WORDS}.`,
  messages: [
    { role: 'user' as const, content: 'One?' },
    { role: 'assistant' as const, content: 'Two.' },
    { role: 'user' as const, content: `Write: ${SECRET_WORDS} 👋` },
  ],
  temperature: 0.5,
  maxTokens: 300,
  stream: false,
}

async function newSite() {
  const person = await newPerson(world)
  const project = await newProject(person)
  return { person, project, path: `/api/projects/${project}/saved-prompts` }
}

async function colleagueOf(owner: Person): Promise<Person> {
  const colleague = await newPerson(world)
  const membership = { publisher_id: owner.publisherId, user_id: await userIdOf(colleague), role: 'developer' as const }
  await world.store.db.insertInto('memberships').values(membership).execute()
  return colleague
}

test('what one saves another of the team opens word for word, renames, saves over and deletes', async () => {
  const { person, path } = await newSite()
  const colleague = await colleagueOf(person)
  const { id } = (await must(person.send(`POST ${path}`, { body: { ...ASKED, name: ' Headlines ' } }))).body
  const opened = (await must(colleague.send(`GET ${path}/${id}`))).body
  const { savedAt: _, ...rest } = opened
  assert.deepEqual(rest, { id, name: 'Headlines', savedBy: person.name, ...ASKED })

  await must(colleague.send(`PATCH ${path}/${id}`, { body: { name: 'Front page' } }))
  await must(colleague.send(`PUT ${path}/${id}`, { body: { ...ASKED, model: 'sim-large', messages: [] } }))
  const listed = (await must(person.send(`GET ${path}`))).body
  assert.equal(listed.most, SAVED_PROMPTS_MAX)
  assert.deepEqual(
    listed.items.map(({ savedAt: _savedAt, ...item }: { savedAt: string }) => item),
    [{ id, name: 'Front page', model: 'sim-large', savedBy: colleague.name }],
    'a list has no text',
  )
  await must(person.send(`DELETE ${path}/${id}`))
  assert.deepEqual((await must(person.send(`GET ${path}`))).body.items, [])
  for (const [method, body] of [['GET'], ['PUT', ASKED], ['PATCH', { name: 'x' }], ['DELETE']] as const)
    assert.equal((await person.send(`${method} ${path}/${id}`, body && { body })).status, 404, method)
})

test('the audit log says who saved which prompt, and nothing of its text', async () => {
  const { person, path } = await newSite()
  const { id } = (await must(person.send(`POST ${path}`, { body: { ...ASKED, name: 'Headlines' } }))).body
  await must(person.send(`PATCH ${path}/${id}`, { body: { name: 'Front page' } }))
  await must(person.send(`PUT ${path}/${id}`, { body: ASKED }))
  await must(person.send(`DELETE ${path}/${id}`))
  const log = (await must(person.send(`GET /api/publishers/${person.publisherId}/audit-log`))).body.items
  const entries = log.filter(({ action }: { action: string }) => action.startsWith('saved_prompt.'))
  assert.deepEqual(
    entries.map(({ action, subject }: { action: string; subject: string }) => [action, subject]),
    [
      ['saved_prompt.deleted', 'Front page'],
      ['saved_prompt.changed', 'Front page'],
      ['saved_prompt.renamed', 'Front page'],
      ['saved_prompt.created', 'Headlines'],
    ],
  )
  assert.doesNotMatch(JSON.stringify(log), /mayor/)
})

test('a project has a hundred saved prompts at most, also when two are saved at once, and each has its size', async () => {
  const { person, project, path } = await newSite()
  for (let n = 1; n < SAVED_PROMPTS_MAX; n++) await addSavedPrompt(world.store.db, project)
  const body = { ...ASKED, name: 'Another' }
  const answers = await Promise.all([person.send(`POST ${path}`, { body }), person.send(`POST ${path}`, { body })])
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409],
  )
  assert.equal((await must(person.send(`GET ${path}`))).body.items.length, SAVED_PROMPTS_MAX)

  const other = await newSite()
  const long = {
    ...ASKED,
    name: 'Long',
    messages: [{ role: 'user', content: 'x'.repeat(31_000) }],
    system: 'y'.repeat(31_000),
  }
  const refused = await other.person.send(`POST ${other.path}`, { body: long })
  assert.equal(refused.status, 422)
  assert.match(refused.body.message, /at most 60 KB/)
  const withNul = { ...ASKED, name: 'NUL', system: 'a\0b' }
  assert.equal((await other.person.send(`POST ${other.path}`, { body: withNul })).status, 422)
})

test('they are erased with their project, and those of others stay', async () => {
  const { person, project, path } = await newSite()
  const other = await newSite()
  await must(person.send(`POST ${path}`, { body: { ...ASKED, name: 'Gone' } }))
  await must(other.person.send(`POST ${other.path}`, { body: { ...ASKED, name: 'Kept' } }))
  await must(person.send(`DELETE /api/projects/${project}`, { body: {} }))
  const rows = world.store.db
    .selectFrom('saved_prompts')
    .select('name')
    .where('project_id', 'in', [project, other.project])
  assert.deepEqual(await rows.execute(), [{ name: 'Kept' }])
})
