import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld } from '../support/console.ts'

let world: ConsoleWorld
before(async () => (world = await createConsoleWorld()))
after(() => world.close())

test('a delivery is sent again ten times a minute, and what is too many changes nothing', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  const path = `/api/projects/${project}`
  const wanted = { url: 'https://hooks.example.com/', eventTypes: ['key.created'] }
  const endpoint = (await must(person.send(`POST ${path}/webhooks`, { body: wanted }))).body.id
  await must(person.send(`POST ${path}/webhooks/${endpoint}/test`))
  const { items } = (await must(person.send(`GET ${path}/webhooks/${endpoint}/deliveries`))).body
  const statuses: number[] = []
  for (let n = 0; n < 11; n++) {
    await world.store.db.updateTable('webhook_deliveries').set({ state: 'delivered' }).execute()
    statuses.push((await person.send(`POST ${path}/webhook-deliveries/${items[0].id}/replay`)).status)
  }
  assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 200), 429])
  const states = await world.store.db.selectFrom('webhook_deliveries').select('state').execute()
  assert.deepEqual(states, [{ state: 'delivered' }])
})
