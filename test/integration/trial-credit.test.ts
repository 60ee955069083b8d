import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { sql } from 'kysely'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { grantDueTrialCredits } from '../../src/store/billing/trial-credit.ts'
import { auditOf } from '../support/ledger.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { createDnsServer, type DnsServer } from '../support/dns-server.ts'

/** Trial credit is for those who try, once, and not for those who sign up as often as they like. */

const texts = new Map<string, string[]>()
let dns: DnsServer
let world: ConsoleWorld

before(async () => {
  dns = await createDnsServer(({ name, type }) => {
    const records = type === 'TXT' ? texts.get(name) : undefined
    return records && { records }
  })
  const env = { PARLEY_DNS_SERVERS: dns.address, PARLEY_TRIAL_CREDIT: '1' }
  world = await createConsoleWorld({ env, roles: ['console', 'worker'] })
})
after(async () => {
  await world.close()
  await dns.close()
})
afterEach(async () => assert.deepEqual(await auditOf(world.store), []))

const DOLLAR = '1000000000'

async function balanceOf(person: Person, project: string): Promise<string> {
  return (await must(person.send(`GET /api/projects/${project}`))).body.balanceNanos
}

/** Puts the record into the DNS and has it looked for. */
async function verify(person: Person, project: string): Promise<void> {
  const path = `/api/projects/${project}/domain`
  const { record } = (await must(person.send(`GET ${path}`))).body
  texts.set(record.name, [...(texts.get(record.name) ?? []), record.value])
  const { body } = await must(person.send(`POST ${path}/check`))
  assert.equal(body.state, 'verified')
}

async function claim(email: string, domain: string): Promise<string> {
  const person = await newPerson(world, { email })
  const project = await newProject(person, 'Site', domain)
  await verify(person, project)
  return balanceOf(person, project)
}

test('the credit comes with the proof of the domain, not with signing up or naming one', async () => {
  const person = await newPerson(world, { email: 'editor@first.example' })
  const project = await newProject(person, 'Site', 'news.first.example')
  assert.equal(await balanceOf(person, project), '0')
  await verify(person, project)
  assert.equal(await balanceOf(person, project), DOLLAR)
  const second = await newProject(person, 'Second', 'second.example')
  await verify(person, second)
  assert.equal(await balanceOf(person, second), '0', 'once per publisher')
})

test('the database itself grants nothing for a domain that is not verified, nor to the project of somebody else', async () => {
  const person = await newPerson(world, { email: 'asks@asks.example' })
  const project = await newProject(person, 'Site', 'asks.example')
  const other = await newPerson(world, { email: 'other@other.example' })
  const theirs = await newProject(other, 'Site', 'other.example')
  await setDomainVerified(world.store.db, theirs, new Date())
  for (const id of [project, theirs]) {
    const { rows } = await sql`select grant_trial_credit(${person.publisherId}, ${id}, ${['x']}) as granted`.execute(
      world.store.db,
    )
    assert.deepEqual(rows, [{ granted: false }])
  }
  await verify(person, project)
  assert.equal(await balanceOf(person, project), DOLLAR, 'the promise stands')
})

test('one mailbox farms nothing with plus tags, dots and other names of its provider, and one domain nothing with many mailboxes', async () => {
  assert.equal(await claim('farm@gmail.com', 'farm-one.example'), DOLLAR)
  assert.equal(await claim('f.a.r.m+1@gmail.com', 'farm-two.example'), '0')
  assert.equal(await claim('farm+2@googlemail.com', 'farm-three.example'), '0')
  assert.equal(await claim('stranger@gmail.com', 'blog.farm-one.example'), '0')
  assert.equal(await claim('anybody@mail.farm-one.example', 'farm-four.example'), '0')
  assert.equal(await claim('somebody@gmail.com', 'honest.example'), DOLLAR)
})

test('a grant that was refused uses nothing up for others', async () => {
  assert.equal(await claim('greedy@gmail.com', 'greedy.example'), DOLLAR)
  assert.equal(await claim('greedy+1@gmail.com', 'innocent.example'), '0')
  assert.equal(await claim('innocent@gmail.com', 'innocent.example'), DOLLAR)
})

test('many who claim one domain in the same moment get the credit once', async () => {
  const people = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map(async (letter) => {
      const person = await newPerson(world, { email: `crowd-${letter}@gmail.com` })
      const project = await newProject(person, 'Site', `${letter}.crowd.example`)
      const { record } = (await must(person.send(`GET /api/projects/${project}/domain`))).body
      texts.set(record.name, [record.value])
      return { person, project }
    }),
  )
  await Promise.all(
    people.map(({ person, project }) => must(person.send(`POST /api/projects/${project}/domain/check`))),
  )
  const balances = await Promise.all(people.map(({ person, project }) => balanceOf(person, project)))
  assert.deepEqual(balances.toSorted(), ['0', '0', '0', '0', DOLLAR])
})

test('an account that is closed and made again gets no second one', async () => {
  const email = 'again@gmail.com'
  const first = await newPerson(world, { email })
  const project = await newProject(first, 'Site', 'again.example')
  await verify(first, project)
  assert.equal(await balanceOf(first, project), DOLLAR)
  await must(first.send(`DELETE /api/projects/${project}`, { body: { leavesCredit: true } }))
  await must(first.send('POST /api/me/delete', { body: { confirm: email } }))
  // Their links are of the account that is gone.
  world.mails.splice(0)
  assert.equal(await claim(email, 'elsewhere.example'), '0')
})

test('who is activated or vouched for by the operator after the proof gets it from the worker', async () => {
  const { db } = world.store
  const person = await newPerson(world, { email: 'late@late.example', confirms: false })
  const project = await newProject(person, 'Site', 'late.example')
  await setDomainVerified(db, project, new Date())
  assert.equal(await balanceOf(person, project), '0')
  await db.updateTable('publishers').set({ activated_at: new Date() }).where('id', '=', person.publisherId).execute()
  await grantDueTrialCredits(db, 10)
  assert.equal(await balanceOf(person, project), DOLLAR)
})
