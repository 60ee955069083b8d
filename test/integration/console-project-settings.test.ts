import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import type { Message } from '../../src/rules/calls/message.ts'
import { numberOccurrences } from '../../src/rules/calls/conversations.ts'
import { expireContent, listMessages, recordTurn } from '../../src/store/calls/conversations.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { cutSome } from '../../src/store/calls/retention-cuts.ts'
import { checkLedger } from '../../src/store/billing/ledger-check/ledger-check.ts'
import { findWallet, refundWallet } from '../../src/store/billing/wallets.ts'
import { findEarnings } from '../../src/store/recommendations/earnings.ts'
import { earn } from '../support/clicks.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { addKeyPair, addModel, chatBody, complete, credit } from '../support/world.ts'

let world: ConsoleWorld
let owner: Person

before(async () => {
  world = await createConsoleWorld()
  owner = await newPerson(world)
  await addModel(world.store, { id: 'sim-large', provider: 'simulator' })
  await addModel(world.store, { id: 'sim-unpriced', provider: 'simulator', price: null })
  const effectiveFrom = new Date(Date.now() + 3_600_000)
  await addModel(world.store, { id: 'sim-later', provider: 'simulator', price: { effectiveFrom } })
})
after(() => world.close())

const patch = (project: string, body: unknown, person = owner) =>
  person.send(`PATCH /api/projects/${project}/settings`, { body })

test('a project may be narrowed to models that are served, and opened to all again', async () => {
  const project = await newProject(owner)
  const { body } = await must(owner.send(`GET /api/projects/${project}/settings`))
  assert.deepEqual(
    body.servedModels.map(({ id }: { id: string }) => id),
    ['sim-large', 'sim-small'],
  )
  assert.equal(body.allowedModels, null)
  const narrowed = await must(patch(project, { allowedModels: ['sim-small', 'sim-small'] }))
  assert.deepEqual(narrowed.body.allowedModels, ['sim-small'])
  for (const allowedModels of [[], ['sim-unpriced'], ['sim-later'], ['nothing']])
    assert.equal((await patch(project, { allowedModels })).status, 422, String(allowedModels))
  assert.equal((await must(patch(project, { allowedModels: null }))).body.allowedModels, null)
  const { body: log } = await must(
    owner.send(`GET /api/publishers/${owner.publisherId}/audit-log?action=project.models_changed`),
  )
  assert.deepEqual(
    log.items.map(({ details }: { details: { after: unknown } }) => details.after),
    ['all', 1],
  )
})

test('a model that is not served any more may stay in a list that has it, and is in none where it was not', async () => {
  const [project, other] = [await newProject(owner), await newProject(owner)]
  await addModel(world.store, { id: 'sim-old', provider: 'simulator' })
  await must(patch(project, { allowedModels: ['sim-old'] }))
  await world.store.db.updateTable('models').set({ enabled: false }).where('id', '=', 'sim-old').execute()
  const widened = await must(patch(project, { allowedModels: ['sim-old', 'sim-small'] }))
  assert.deepEqual(widened.body.allowedModels, ['sim-old', 'sim-small'])
  assert.equal((await patch(other, { allowedModels: ['sim-old', 'sim-small'] })).status, 422)
})

test('text that is there follows a shorter retention, and a longer one does not bring a promise back', async () => {
  const project = await newProject(owner)
  const conversation = { projectId: project, id: 'talk' }
  const say = (content: string, retentionDays: number) =>
    recordTurn(world.store.db, {
      conversation,
      callId: uuidv7(),
      messages: numberOccurrences([{ role: 'user', content }] as Message[], Buffer.alloc(32, 1)),
      retentionDays,
    })
  await say('one', 30)
  assert.equal((await patch(project, { contentRetentionDays: 366 })).status, 422)
  await must(patch(project, { contentRetentionDays: 0 }))
  // The text is from a call that began before the change.
  while (await cutSome(world.store.db, 0)) if ((await remaining(project)) === 'last') await say('two', 30)
  await expireContent(world.store.db, 100)
  const texts = (await listMessages(world.store.db, conversation, 10)).map(({ content }) => content)
  assert.deepEqual(texts, [null, null])
  await must(patch(project, { contentRetentionDays: 90 }))
  assert.equal(await remaining(project), undefined)
})

test('a longer retention withdraws the cut to a shorter one that is not done yet', async () => {
  const project = await newProject(owner)
  await must(patch(project, { contentRetentionDays: 1 }))
  assert.equal(await remaining(project), 'first')
  await must(patch(project, { contentRetentionDays: 30 }))
  assert.equal(await remaining(project), undefined)
})

async function remaining(project: string): Promise<'first' | 'last' | undefined> {
  const row = await world.store.db
    .selectFrom('retention_cuts')
    .select('is_last')
    .where('project_id', '=', project)
    .executeTakeFirst()
  return row && (row.is_last ? 'last' : 'first')
}

test('a deleted project refuses its keys, disappears for everybody, and leaves the ledger as it was', async () => {
  const project = await newProject(owner, 'Short-lived', 'short.example.com')
  await setDomainVerified(world.store.db, project, new Date())
  await credit(world.store, project, 3_000_000_000n)
  const keys = await addKeyPair(world.store, world.secrets, project)
  const caller = { ...world, project: { ...keys, id: project, publisherId: owner.publisherId } }
  const first = await complete(caller, chatBody('tokens=3'))
  assert.equal(first.status, 200, await first.text())
  const remove = (body: unknown, person = owner) => person.send(`DELETE /api/projects/${project}`, { body })
  const kept = await remove({})
  assert.equal(kept.status, 409)
  assert.match(kept.body.message, /^\$2\.9\d* of credit is left/)
  await must(remove({ leavesCredit: true }))
  assert.equal((await owner.send(`GET /api/projects/${project}`)).status, 404)
  const { body } = await must(owner.send('GET /api/me'))
  assert.ok(!JSON.stringify(body.publishers).includes(project))
  const refused = await complete(caller, chatBody('tokens=3'))
  assert.equal(refused.status, 401, await refused.text())
  const wallet = await world.store.db
    .selectFrom('wallets')
    .select('balance_nanos')
    .where('project_id', '=', project)
    .executeTakeFirstOrThrow()
  const { charged_nanos: charged } = await world.store.db
    .selectFrom('charges')
    .select('charged_nanos')
    .where('project_id', '=', project)
    .executeTakeFirstOrThrow()
  assert.ok(charged > 0n)
  assert.equal(wallet.balance_nanos, 3_000_000_000n - charged)
  const domain = await world.store.db
    .selectFrom('domains')
    .selectAll()
    .where('project_id', '=', project)
    .executeTakeFirstOrThrow()
  assert.equal(domain.verified_at, null)
  assert.equal(domain.next_check_at, null)
  const { body: log } = await must(
    owner.send(`GET /api/publishers/${owner.publisherId}/audit-log?action=project.deleted`),
  )
  assert.equal(log.items[0].subject, 'Short-lived')
})

test('a project with pending earnings is deleted only when they may be lost, and then they end in its wallet, to the last nano', async () => {
  const { db } = world.store
  const project = await newProject(owner, 'Earning', 'earning.example.com')
  const pending = await earn(db, project, await addOffer(db))
  assert.equal(pending, 84_000_000n)
  const { body: settings } = await must(owner.send(`GET /api/projects/${project}/settings`))
  assert.deepEqual([settings.balanceNanos, settings.pendingNanos], ['0', String(pending)])
  const remove = (body: unknown) => owner.send(`DELETE /api/projects/${project}`, { body })
  const kept = await remove({})
  assert.equal(kept.status, 409)
  assert.equal(
    kept.body.message,
    '$0.084 of pending earnings is left. Confirm that it may be lost, or use it first: earnings go to the wallet after 7 days.',
  )
  await credit(world.store, project, 2_000_000_000n)
  assert.match((await remove({})).body.message, /^\$2\.00 of credit and \$0\.084 of pending earnings are left\./)
  await must(remove({ leavesCredit: true }))
  const { body: log } = await must(
    owner.send(`GET /api/publishers/${owner.publisherId}/audit-log?action=project.deleted`),
  )
  assert.deepEqual(log.items[0].details, {
    domain: 'earning.example.com',
    balanceLeft: '$2.00',
    pendingLeft: '$0.084',
  })
  await sql`select earnings_release(100, interval '0')`.execute(db)
  const { pending: left, released } = await findEarnings(db, project)
  const wallet = await findWallet(db, project)
  assert.deepEqual([left, released, wallet?.balance_nanos], [0n, pending, 2_000_000_000n + pending])
  const { verdicts } = await checkLedger(db, { isFull: true, leaseMs: 60_000 })
  assert.deepEqual(
    verdicts.filter(({ violations }) => violations > 0),
    [],
  )
})

test('a project that owes is not deleted', async () => {
  const project = await newProject(owner, 'Indebted', 'indebted.example.com')
  await credit(world.store, project, 1_000_000_000n)
  const back = { id: uuidv7(), projectId: project, amount: 3_500_000_000n, reference: `test:${project}`, reason: null }
  await refundWallet(world.store.db, back, true)
  const remove = () => owner.send(`DELETE /api/projects/${project}`, { body: { leavesCredit: true } })
  const refused = await remove()
  assert.deepEqual([refused.status, refused.body.message.startsWith('$2.50 of credit is owed')], [409, true])
  await credit(world.store, project, 2_500_000_000n)
  await must(remove())
})

test('only an owner deletes a project, only an admin changes it, and a stranger does not know of it', async () => {
  const project = await newProject(owner)
  const member = await newPerson(world)
  const user = await world.store.db
    .selectFrom('users')
    .select('id')
    .where('email', '=', member.email)
    .executeTakeFirstOrThrow()
  await world.store.db
    .insertInto('memberships')
    .values({ publisher_id: owner.publisherId, user_id: user.id, role: 'admin' })
    .execute()
  await must(patch(project, { contentRetentionDays: 10 }, member))
  const body = { leavesCredit: true }
  assert.equal((await member.send(`DELETE /api/projects/${project}`, { body })).status, 403)
  await world.store.db
    .updateTable('memberships')
    .set({ role: 'developer' })
    .where('user_id', '=', user.id)
    .where('publisher_id', '=', owner.publisherId)
    .execute()
  assert.equal((await patch(project, { contentRetentionDays: 10 }, member)).status, 403)
  const stranger = await newPerson(world)
  assert.equal((await patch(project, { contentRetentionDays: 10 }, stranger)).status, 404)
  assert.equal((await stranger.send(`DELETE /api/projects/${project}`, { body })).status, 404)
})
