import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import {
  createConsoleWorld,
  must,
  newPerson,
  newProject,
  openBrowser,
  PASSWORD,
  type ConsoleWorld,
} from '../support/console.ts'
import { until } from '../support/world.ts'

/** Parley sends mails to people whom the writer of a name has chosen. They must carry nobody's message but ours. */

let world: ConsoleWorld

before(async () => {
  world = await createConsoleWorld({ roles: ['console', 'worker'] })
})
after(() => world.close())

const LURES = [
  'Parley Billing. Card declined, fix at parley-billing.com/pay',
  'URGENT www.parley-billing.com',
  'Parley Billing acme。com',
  'billing＠parley.com',
]

test('nobody takes a name that a mail program would turn into a link', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  await setDomainVerified(world.store.db, project, new Date())
  for (const name of LURES) {
    const taken = [
      openBrowser(world).send('POST /api/auth/sign-up/email', {
        body: { name, email: 'new@example.com', password: PASSWORD },
      }),
      openBrowser(world).send('POST /api/auth/sign-up/email', {
        body: { name: 'Ada', publisher: name, email: 'new@example.com', password: PASSWORD },
      }),
      person.send('PATCH /api/me', { body: { name } }),
      person.send(`PATCH /api/publishers/${person.publisherId}`, { body: { name } }),
      person.send(`POST /api/publishers/${person.publisherId}/projects`, { body: { name, domain: 'a.example.com' } }),
      person.send(`PATCH /api/projects/${project}`, { body: { name } }),
      person.send(`POST /api/projects/${project}/keys`, { body: { name } }),
    ]
    const statuses = (await Promise.all(taken)).map(({ status }) => status)
    assert.deepEqual(statuses, Array<number>(taken.length).fill(422), name)
  }
})

test('a mail has the same subject whoever causes it, and names from before the rule are cut, quoted and lead nowhere', async () => {
  const { db } = world.store
  const person = await newPerson(world)
  const [lure = ''] = LURES
  await db.updateTable('users').set({ name: lure }).where('email', '=', person.email).execute()
  await db.updateTable('publishers').set({ name: lure }).where('id', '=', person.publisherId).execute()
  const email = 'stranger@example.com'
  const path = `POST /api/publishers/${person.publisherId}/invitations`
  await must(person.send(path, { body: { email, role: 'viewer' } }))
  const mailsTo = () => world.mails.filter(({ to }) => to === email)
  await until(() => mailsTo().length === 1, 15_000)
  const [mail] = mailsTo()
  assert.match(mail?.raw ?? '', /^Subject: You are invited to a team on Parley\r$/m)
  assert.match(mail?.text ?? '', /^"Parley Billing Card declined fix at parl…" invites you to join "Parley/m)
  assert.doesNotMatch(mail?.text ?? '', /parley-billing|com\/pay/)
})
