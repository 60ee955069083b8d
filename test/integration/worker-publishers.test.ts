import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { MailData } from '../../src/rules/accounts/mails.ts'
import type { Store } from '../../src/store/database.ts'
import { findDomain } from '../../src/store/projects/domains.ts'
import { createTestLedger } from '../support/ledger.ts'
import { createSchedule } from '../support/schedule.ts'
import { at, createWorkerWorld, JUST_PAST_MS, PERIODS_MS, SOON_MS, type WorkerWorld } from '../support/worker-world.ts'
import { walletOf } from '../support/world.ts'

/** The jobs that publishers notice, as in worker.test.ts: trial credit, mails, checks of domains, low balances. */

let world: WorkerWorld
let store: Store
before(async () => {
  world = await createWorkerWorld()
  store = world.store
})
after(() => world.close())

test('trial credit goes to whoever was activated and whose domain is verified, and to nobody else', async () => {
  const people = [
    await world.newProject({ credits: '0' }),
    await world.newProject({ credits: '0', isActivated: false }),
    await world.newProject({ credits: '0', isVerified: false }),
  ]
  for (const { id, publisherId } of people) {
    const promised = { email: `me@${id}.example`, trial_credit_nanos: 5_000n }
    await store.db.updateTable('publishers').set(promised).where('id', '=', publisherId).execute()
    await store.db
      .updateTable('domains')
      .set({ name: `${id}.example` })
      .where('project_id', '=', id)
      .execute()
  }
  const balances = () => Promise.all(people.map(async ({ id }) => (await walletOf(store, id)).balance))
  const seen = await world.aroundTurn('grant trial credit', balances)
  assert.deepEqual(seen, { before: [0n, 0n, 0n], after: [5_000n, 0n, 0n] })
  await world.pass('grant trial credit', PERIODS_MS['grant trial credit'])
  assert.deepEqual(await balances(), [5_000n, 0n, 0n], 'once')
})

async function addMail(recipient: string, dueInMs: number, attempts = 0): Promise<string> {
  const id = uuidv7()
  const sealed_body = world.secrets.seal(JSON.stringify({ link: 'http://console.test/' }), `mail/${id}`, 'mails')
  const mail = { id, recipient, template: 'password_changed', sealed_body, attempts, next_attempt_at: at(dueInMs) }
  await store.db.insertInto('mails').values(mail).execute()
  return id
}

test('mails are sent when they are due, and their text is erased', async () => {
  const ids = [await addMail('due@example.com', JUST_PAST_MS), await addMail('later@example.com', SOON_MS)]
  const seen = await world.aroundTurn('send mails', () =>
    world.mailed.filter((to) => to === 'due@example.com' || to === 'later@example.com'),
  )
  assert.deepEqual(seen, { before: [], after: ['due@example.com'] })
  const rows = await store.db.selectFrom('mails').selectAll().where('id', 'in', ids).orderBy('recipient').execute()
  assert.deepEqual(
    rows.map((row) => [row.recipient, row.attempts, row.sent_at !== null, row.sealed_body !== null]),
    [
      ['due@example.com', 1, true, false],
      ['later@example.com', 0, false, true],
    ],
  )
})

test('a mail that is refused for now is tried again later and later, 40 times; one that is refused for good is given up', async () => {
  const ids = [
    await addMail('refused-499@example.com', JUST_PAST_MS),
    await addMail('refused-499@example.com', JUST_PAST_MS, 3),
    await addMail('refused-499@example.com', JUST_PAST_MS, 38),
    await addMail('refused-499@example.com', JUST_PAST_MS, 39),
    await addMail('refused-500@example.com', JUST_PAST_MS),
  ]
  const seen = await world.aroundTurn('send mails', async () => {
    const rows = await store.db
      .selectFrom('mails')
      .selectAll()
      .select(sql<number>`ceil(extract(epoch from next_attempt_at - now()) / 10)::int * 10`.as('seconds'))
      .where('id', 'in', ids)
      .orderBy(sql`array_position(${ids}::uuid[], id)`)
      .execute()
    return rows.map((row) => [row.attempts, row.given_up_at !== null, row.sealed_body !== null, row.seconds])
  })
  assert.deepEqual(seen.before, [
    [0, false, true, 0],
    [3, false, true, 0],
    [38, false, true, 0],
    [39, false, true, 0],
    [0, false, true, 0],
  ])
  assert.deepEqual(seen.after, [
    [1, false, true, 30],
    [4, false, true, 240],
    [39, false, true, 3_600],
    [40, true, false, 3_600],
    [1, true, false, 30],
  ])
})

/** Not verified yet, and checked at that time. */
async function addDomain(name: string, dueInMs: number) {
  const project = await world.newProject({ isVerified: false })
  const row = { name, next_check_at: at(dueInMs) }
  await store.db.updateTable('domains').set(row).where('project_id', '=', project.id).execute()
  return project
}

async function isVerified(projectId: string): Promise<boolean> {
  return (await findDomain(store.db, projectId))?.verifiedAt !== null
}

test('domains are checked when they are due, and what was found is written down', async () => {
  const [due, later] = [await addDomain('due.example', JUST_PAST_MS), await addDomain('later.example', SOON_MS)]
  const look = async () => [await isVerified(due.id), await isVerified(later.id)]
  assert.deepEqual(await world.aroundTurn('check domains', look), { before: [false, false], after: [true, false] })
  assert.deepEqual(world.domains.checked.splice(0), ['due.example'])
  const mails = await store.db.selectFrom('mails').select('template').where('recipient', '=', due.owner.email).execute()
  assert.deepEqual(mails, [{ template: 'domain_verified' }])
})

test('a check by the clock is nobody’s wish: domains that prove nothing are looked at ever more seldom', async (t) => {
  t.after(() => (world.domains.outcome = 'match'))
  world.domains.outcome = 'absent'
  const { id } = await addDomain('unproven.example', JUST_PAST_MS)
  const seen = await world.aroundTurn('check domains', async () => (await findDomain(store.db, id))?.misses)
  assert.deepEqual(seen, { before: 0, after: 1 })
  world.domains.checked.length = 0
})

test('all domains that are due are checked in one turn, however many there are', async () => {
  const names = Array.from({ length: 11 }, (_, n) => `many-${n}.example`)
  for (const name of names) await addDomain(name, JUST_PAST_MS)
  const seen = await world.aroundTurn('check domains', () => new Set(world.domains.checked))
  assert.deepEqual(seen, { before: new Set(), after: new Set(names) })
  assert.equal(world.domains.checked.splice(0).length, names.length)
})

test('what is checked while the worker is stopped may have been cut short, and is thrown away', async () => {
  const { id } = await addDomain('stopped.example', JUST_PAST_MS)
  const schedule = createSchedule()
  const worker = world.startWorker(schedule.repeat)
  world.domains.onCheck = () => worker.stop()
  await schedule.pass('check domains', PERIODS_MS['check domains'])
  world.domains.onCheck = () => {}
  assert.deepEqual(world.domains.checked.splice(0), ['stopped.example'])
  assert.equal(await isVerified(id), false)
})

test('owners are told of a balance below their threshold, not of one at it, once until it has risen', async () => {
  const [low, enough] = [await world.newProject({ credits: '1' }), await world.newProject({ credits: '2' })]
  const alerts = [
    { project_id: low.id, threshold_nanos: 1_000_000_001n },
    { project_id: enough.id, threshold_nanos: 2_000_000_000n },
  ]
  await store.db.insertInto('wallet_alerts').values(alerts).execute()
  const told = async () => {
    const mails = await store.db.selectFrom('mails').selectAll().where('template', '=', 'low_balance').execute()
    return mails.map(({ id, recipient, sealed_body: sealed }) => {
      const { balance, threshold } = JSON.parse(
        world.secrets.unseal(String(sealed), `mail/${id}`, 'mails'),
      ) as MailData['low_balance']
      return `${recipient}: ${balance} of ${threshold}`
    })
  }
  const mail = `${low.owner.email}: $1.00 of $1.000000001`
  // Money that running calls hold is not spent yet.
  const held = { projectId: enough.id, keyPairId: enough.keyPairId, callId: uuidv7(), want: 100n, min: 100n }
  const ledger = createTestLedger(store.ledgerPool)
  await ledger.hold({ ...held, modelId: 'm', priceVersion: 1n, hasIdempotencyKey: false })
  assert.deepEqual(await world.aroundTurn('low balances', told), { before: [], after: [mail] })
  await world.pass('low balances', PERIODS_MS['low balances'])
  assert.deepEqual(await told(), [mail])
  const setThreshold = (threshold_nanos: bigint) =>
    store.db.updateTable('wallet_alerts').set({ threshold_nanos }).where('project_id', '=', low.id).execute()
  await setThreshold(1_000_000_000n)
  await world.pass('low balances', PERIODS_MS['low balances'])
  await setThreshold(1_000_000_001n)
  await world.pass('low balances', PERIODS_MS['low balances'])
  assert.deepEqual(await told(), [mail, mail])
})
