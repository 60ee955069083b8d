import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { SMTPServer } from 'smtp-server'
import type { every } from '../../src/platform/every.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { IDEMPOTENCY_KEPT_MS, LONGEST_CALL_MS } from '../../src/rules/limits.ts'
import type { MailData } from '../../src/rules/accounts/mails.ts'
import type { Store } from '../../src/store/database.ts'
import { findDomain } from '../../src/store/projects/domains.ts'
import { createWorker } from '../../src/worker/worker.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { addSettledCall, createTestLedger } from '../support/ledger.ts'
import { loginUrl } from '../support/logins.ts'
import { createSchedule } from '../support/schedule.ts'
import { addProject, walletOf } from '../support/world.ts'

/**
 * Every job, run when its time has come and not a millisecond before, under the worker's own login. Of what a job acts on
 * there is always a row just past the edge, which it must act on, and one just before it, which it must not.
 */

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const LEASE_MS = MINUTE_MS

/** How often each runs. A new job is written here, and gets a test below. */
const PERIODS_MS = {
  'sweep holds': LEASE_MS / 12,
  'cut retention': MINUTE_MS,
  'expire content': MINUTE_MS,
  'expire idempotency keys': MINUTE_MS,
  'forget restraints': MINUTE_MS,
  'grant trial credit': MINUTE_MS,
  'send mails': SECOND_MS,
  'check domains': 10 * SECOND_MS,
  'low balances': 10 * SECOND_MS,
  audit: MINUTE_MS,
  'usage anomalies': MINUTE_MS,
  'roll up usage': 10 * SECOND_MS,
  'expire sessions': HOUR_MS,
  'forget attempts': HOUR_MS,
  'forget usage anomalies': HOUR_MS,
  partitions: HOUR_MS,
  'forget gateways': HOUR_MS,
} as const

let database: TestDatabase
/** Of the owner: tests put rows where no plane may. */
let store: Store
let workerStore: Store
let mailServer: SMTPServer
const mailed: string[] = []
const checked: string[] = []
let onCheck = () => {}
let found: 'match' | 'absent' = 'match'
const lines: Record<string, unknown>[] = []
const secrets = createSecrets([{ version: 1, bytes: Buffer.alloc(32, 5) }])
const metrics = createMetrics()
const { jobs, repeat, pass } = createSchedule()
let startWorker: (schedule: typeof every) => ReturnType<typeof createWorker>
let stopWorker: () => void

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'worker test' })
  const logins = { url: loginUrl(database.url, 'worker'), tenantUrl: loginUrl(database.url, 'tenant') }
  workerStore = openTestStore({ ...logins, applicationName: 'worker test worker' })
  mailServer = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const to = session.envelope.rcptTo.map(({ address }) => address).join()
      const [, refusal] = /^refused-(\d+)@/.exec(to) ?? []
      if (refusal === undefined) mailed.push(to)
      const error = refusal === undefined ? null : Object.assign(new Error('no'), { responseCode: Number(refusal) })
      stream.resume().on('end', () => done(error))
    },
  })
  const listening = mailServer.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const { port } = listening.address() as AddressInfo
  startWorker = (schedule) =>
    createWorker({
      db: workerStore.db,
      tenants: workerStore.tenants,
      log: createLog('info', { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) }),
      metrics,
      secrets,
      leaseMs: LEASE_MS,
      mail: { smtpUrl: `smtp://127.0.0.1:${port}`, from: 'Parley <parley@example.com>' },
      checkDomain: ({ name }) => {
        checked.push(name)
        onCheck()
        const dns = { outcome: found, values: [], misplacedAt: null }
        return Promise.resolve({ dns, file: { outcome: 'not_needed', reason: null, status: null } })
      },
      consoleUrl: 'http://console.test',
      repeat: schedule,
    })
  stopWorker = startWorker(repeat).stop
})
after(async () => {
  stopWorker()
  await new Promise<void>((resolve) => mailServer.close(() => resolve()))
  await workerStore.close()
  await store.close()
  await database.drop()
})

/** What there is to see a millisecond before the job's turn, and after it. */
async function aroundTurn<T>(
  name: keyof typeof PERIODS_MS,
  look: () => T | Promise<T>,
): Promise<{ before: T; after: T }> {
  await pass(name, PERIODS_MS[name] - 1)
  const before = await look()
  await pass(name, 1)
  return { before, after: await look() }
}

/** The database's time, off by so much: what has to be past is past by a second, what is yet to come by a minute. */
function at(offsetMs: number) {
  return sql<Date>`now() + ${offsetMs} * interval '1 ms'`
}
const JUST_PAST_MS = -SECOND_MS
const SOON_MS = MINUTE_MS

/** Its key pair as well, and a person who owns it. */
async function newProject(options: Parameters<typeof addProject>[2] = {}) {
  const project = await addProject(store, secrets, options)
  const keys = store.db.selectFrom('key_pairs').select('id').where('project_id', '=', project.id)
  const { id: keyPairId } = await keys.executeTakeFirstOrThrow()
  const owner = { id: uuidv7(), name: 'Owner', email: `owner-${project.id}@example.com` }
  await store.db.insertInto('users').values(owner).execute()
  const membership = { publisher_id: project.publisherId, user_id: owner.id, role: 'owner' }
  await store.db.insertInto('memberships').values(membership).execute()
  return { ...project, keyPairId, owner }
}

test('the worker has these jobs, each with its period', () => {
  assert.deepEqual(Object.fromEntries([...jobs].map(([name, { periodMs }]) => [name, periodMs])), PERIODS_MS)
})

test('a worker that is stopped ends every job', () => {
  const schedule = createSchedule()
  const worker = startWorker(schedule.repeat)
  const stopped = () => [...schedule.jobs.values()].filter(({ isStopped }) => isStopped).length
  assert.equal(stopped(), 0)
  worker.stop()
  assert.equal(stopped(), Object.keys(PERIODS_MS).length)
})

test('holds of a gateway that is silent for its lease are released, and those that outlived the longest call', async () => {
  const project = await newProject()
  const asked = { projectId: project.id, keyPairId: project.keyPairId, modelId: 'm', priceVersion: 1n }
  const hold = async (beatAgoMs: number, heldAgoMs: number) => {
    const gatewayId = uuidv7()
    await store.db
      .insertInto('gateways')
      .values({ id: gatewayId, beat_at: at(-beatAgoMs) })
      .execute()
    const callId = uuidv7()
    const ledger = createTestLedger(store.ledgerPool, gatewayId)
    await ledger.hold({ ...asked, callId, want: 100n, min: 100n, hasIdempotencyKey: false })
    await store.db
      .updateTable('holds')
      .set({ held_at: at(-heldAgoMs) })
      .where('id', '=', callId)
      .execute()
    return callId
  }
  const silent = await hold(LEASE_MS + SECOND_MS, SECOND_MS)
  const beating = await hold(LEASE_MS / 2, SECOND_MS)
  const endless = await hold(0, LONGEST_CALL_MS + SECOND_MS)
  const long = await hold(0, LONGEST_CALL_MS - MINUTE_MS)
  const sweptBefore = (await metrics.holdsSwept.get()).values[0]?.value ?? 0
  const seen = await aroundTurn('sweep holds', async () => {
    const open = await store.db.selectFrom('holds').select('id').where('project_id', '=', project.id).execute()
    return new Set(open.map(({ id }) => id))
  })
  assert.deepEqual(seen, { before: new Set([silent, beating, endless, long]), after: new Set([beating, long]) })
  assert.equal((await metrics.holdsSwept.get()).values[0]?.value, sweptBefore + 2)
  const calls = store.db.selectFrom('calls').select('duration_ms').where('id', '=', endless)
  const { duration_ms: durationMs } = await calls.executeTakeFirstOrThrow()
  assert.equal(Math.floor(durationMs / MINUTE_MS), Math.floor((LONGEST_CALL_MS + SECOND_MS) / MINUTE_MS))
  assert.deepEqual(await walletOf(store, project.id), { balance: 1_000_000_000_000n, held: 200n, openHolds: 2 })
  await store.db
    .updateTable('gateways')
    .set({ beat_at: at(-DAY_MS) })
    .execute()
  await pass('sweep holds', PERIODS_MS['sweep holds'])
  assert.equal((await walletOf(store, project.id)).openHolds, 0)
})

async function addMessage(projectId: string, name: string, expiresInMs: number, ageMs = 0): Promise<void> {
  const conversation = { project_id: projectId, id: name }
  await store.db.insertInto('conversations').values(conversation).execute()
  await store.db
    .insertInto('messages')
    .values({
      project_id: projectId,
      conversation_id: name,
      digest: randomBytes(16),
      occurrence: 1,
      role: 'user',
      content: JSON.stringify({ content: name }),
      call_id: uuidv7(),
      created_at: at(-ageMs),
      content_expires_at: at(expiresInMs),
    })
    .execute()
}

test('text is erased when its retention has passed, and counted', async () => {
  const { id } = await newProject()
  await addMessage(id, 'past', JUST_PAST_MS)
  await addMessage(id, 'kept', SOON_MS)
  const seen = await aroundTurn('expire content', async () => {
    const messages = store.db.selectFrom('messages').select('content').where('project_id', '=', id)
    return (await messages.orderBy('conversation_id').execute()).map(({ content }) => content)
  })
  const kept = { content: 'kept' }
  assert.deepEqual(seen, { before: [kept, { content: 'past' }], after: [kept, null] })
  assert.equal((await metrics.messagesExpired.get()).values[0]?.value, 1)
})

test('a shorter retention reaches the text that is there, once it is due and in its own project only', async () => {
  const [due, later, other] = [await newProject(), await newProject(), await newProject()]
  for (const { id } of [due, later, other]) await addMessage(id, 'text', 27 * DAY_MS, 3 * DAY_MS)
  const cuts = [
    { project_id: due.id, days: 7, due_at: at(JUST_PAST_MS) },
    { project_id: later.id, days: 7, due_at: at(SOON_MS) },
  ]
  await store.db.insertInto('retention_cuts').values(cuts).execute()
  const seen = await aroundTurn('cut retention', async () => {
    const { rows } = await sql<{ id: string; days: number }>`
      select project_id as id, round(extract(epoch from content_expires_at - created_at) / 86400)::int as days
      from messages`.execute(store.db)
    return [due, later, other].map(({ id }) => rows.find((row) => row.id === id)?.days)
  })
  assert.deepEqual(seen, { before: [30, 30, 30], after: [7, 30, 30] })
  // Once more, for what calls from before the change may still add.
  const { rows } = await sql<{ id: string; isLast: boolean; inMs: number }>`
    select project_id as id, is_last as "isLast", round(extract(epoch from due_at - now()) / 60)::int * 60000 as "inMs"
    from retention_cuts`.execute(store.db)
  assert.deepEqual(
    rows.find(({ id }) => id === due.id),
    { id: due.id, isLast: true, inMs: Math.round(LONGEST_CALL_MS / MINUTE_MS) * MINUTE_MS },
  )
})

test('idempotency keys are forgotten after their day', async () => {
  const { id } = await newProject()
  const key = (result: string, ageMs: number) => ({
    project_id: id,
    key_digest: randomBytes(32),
    body_digest: randomBytes(32),
    call_id: uuidv7(),
    gateway_id: uuidv7(),
    result,
    created_at: at(-ageMs),
  })
  const keys = [key('old', IDEMPOTENCY_KEPT_MS + SECOND_MS), key('young', IDEMPOTENCY_KEPT_MS - MINUTE_MS)]
  await store.db.insertInto('idempotency_keys').values(keys).execute()
  const seen = await aroundTurn('expire idempotency keys', async () => {
    const left = store.db.selectFrom('idempotency_keys').select('result').where('project_id', '=', id)
    return (await left.orderBy('result').execute()).map(({ result }) => result)
  })
  assert.deepEqual(seen, { before: ['old', 'young'], after: ['young'] })
})

test('what a conversation is spared is forgotten when its time is over', async () => {
  const { id } = await newProject()
  const restraint = (turns: number, expiresInMs: number) => ({
    project_id: id,
    digest: randomBytes(32),
    turns,
    expires_at: at(expiresInMs),
  })
  await store.db
    .insertInto('conversation_restraints')
    .values([restraint(1, JUST_PAST_MS), restraint(2, SOON_MS)])
    .execute()
  const seen = await aroundTurn('forget restraints', async () => {
    const left = store.db.selectFrom('conversation_restraints').select('turns').where('project_id', '=', id)
    return (await left.orderBy('turns').execute()).map(({ turns }) => turns)
  })
  assert.deepEqual(seen, { before: [1, 2], after: [2] })
})

test('trial credit goes to whoever was activated and whose domain is verified, and to nobody else', async () => {
  const people = [
    await newProject({ credits: '0' }),
    await newProject({ credits: '0', isActivated: false }),
    await newProject({ credits: '0', isVerified: false }),
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
  const seen = await aroundTurn('grant trial credit', balances)
  assert.deepEqual(seen, { before: [0n, 0n, 0n], after: [5_000n, 0n, 0n] })
  await pass('grant trial credit', PERIODS_MS['grant trial credit'])
  assert.deepEqual(await balances(), [5_000n, 0n, 0n], 'once')
})

async function addMail(recipient: string, dueInMs: number, attempts = 0): Promise<string> {
  const id = uuidv7()
  const sealed_body = secrets.seal(JSON.stringify({ link: 'http://console.test/' }), `mail/${id}`, 'mails')
  const mail = { id, recipient, template: 'password_changed', sealed_body, attempts, next_attempt_at: at(dueInMs) }
  await store.db.insertInto('mails').values(mail).execute()
  return id
}

test('mails are sent when they are due, and their text is erased', async () => {
  const ids = [await addMail('due@example.com', JUST_PAST_MS), await addMail('later@example.com', SOON_MS)]
  const seen = await aroundTurn('send mails', () =>
    mailed.filter((to) => to === 'due@example.com' || to === 'later@example.com'),
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
  const seen = await aroundTurn('send mails', async () => {
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
  const project = await newProject({ isVerified: false })
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
  assert.deepEqual(await aroundTurn('check domains', look), { before: [false, false], after: [true, false] })
  assert.deepEqual(checked.splice(0), ['due.example'])
  const mails = await store.db.selectFrom('mails').select('template').where('recipient', '=', due.owner.email).execute()
  assert.deepEqual(mails, [{ template: 'domain_verified' }])
})

test('a check by the clock is nobody’s wish: domains that prove nothing are looked at ever more seldom', async (t) => {
  t.after(() => (found = 'match'))
  found = 'absent'
  const { id } = await addDomain('unproven.example', JUST_PAST_MS)
  const seen = await aroundTurn('check domains', async () => (await findDomain(store.db, id))?.misses)
  assert.deepEqual(seen, { before: 0, after: 1 })
  checked.length = 0
})

test('all domains that are due are checked in one turn, however many there are', async () => {
  const names = Array.from({ length: 11 }, (_, n) => `many-${n}.example`)
  for (const name of names) await addDomain(name, JUST_PAST_MS)
  const seen = await aroundTurn('check domains', () => new Set(checked))
  assert.deepEqual(seen, { before: new Set(), after: new Set(names) })
  assert.equal(checked.splice(0).length, names.length)
})

test('what is checked while the worker is stopped may have been cut short, and is thrown away', async () => {
  const { id } = await addDomain('stopped.example', JUST_PAST_MS)
  const schedule = createSchedule()
  const worker = startWorker(schedule.repeat)
  onCheck = () => worker.stop()
  await schedule.pass('check domains', PERIODS_MS['check domains'])
  onCheck = () => {}
  assert.deepEqual(checked.splice(0), ['stopped.example'])
  assert.equal(await isVerified(id), false)
})

test('owners are told of a balance below their threshold, not of one at it, once until it has risen', async () => {
  const [low, enough] = [await newProject({ credits: '1' }), await newProject({ credits: '2' })]
  const alerts = [
    { project_id: low.id, threshold_nanos: 1_000_000_001n },
    { project_id: enough.id, threshold_nanos: 2_000_000_000n },
  ]
  await store.db.insertInto('wallet_alerts').values(alerts).execute()
  const told = async () => {
    const mails = await store.db.selectFrom('mails').selectAll().where('template', '=', 'low_balance').execute()
    return mails.map(({ id, recipient, sealed_body: sealed }) => {
      const { balance, threshold } = JSON.parse(
        secrets.unseal(String(sealed), `mail/${id}`, 'mails'),
      ) as MailData['low_balance']
      return `${recipient}: ${balance} of ${threshold}`
    })
  }
  const mail = `${low.owner.email}: $1.00 of $1.000000001`
  // What running calls hold is not spent yet.
  const held = { projectId: enough.id, keyPairId: enough.keyPairId, callId: uuidv7(), want: 100n, min: 100n }
  const ledger = createTestLedger(store.ledgerPool)
  await ledger.hold({ ...held, modelId: 'm', priceVersion: 1n, hasIdempotencyKey: false })
  assert.deepEqual(await aroundTurn('low balances', told), { before: [], after: [mail] })
  await pass('low balances', PERIODS_MS['low balances'])
  assert.deepEqual(await told(), [mail])
  const setThreshold = (threshold_nanos: bigint) =>
    store.db.updateTable('wallet_alerts').set({ threshold_nanos }).where('project_id', '=', low.id).execute()
  await setThreshold(1_000_000_000n)
  await pass('low balances', PERIODS_MS['low balances'])
  await setThreshold(1_000_000_001n)
  await pass('low balances', PERIODS_MS['low balances'])
  assert.deepEqual(await told(), [mail, mail])
})

test('the ledger is audited: a wallet that is a nano off is counted and told, and no more once it is right', async () => {
  const { id } = await newProject()
  const change = (nanos: bigint) =>
    sql`update wallets set balance_nanos = balance_nanos + ${nanos} where project_id = ${id}`.execute(store.db)
  await change(1n)
  const broken = async () =>
    (await metrics.auditViolations.get()).values.find(({ labels }) => labels.invariant === 'I1')?.value
  assert.deepEqual(await aroundTurn('audit', broken), { before: undefined, after: 1 })
  const told = lines.filter(({ msg, invariant }) => msg === 'the ledger is broken' && invariant === 'I1')
  assert.deepEqual(
    told.map(({ examples }) => (examples as { id: string }[]).map((example) => example.id)),
    [[id]],
  )
  assert.ok(Date.now() / 1_000 - ((await metrics.auditFinished.get()).values[0]?.value ?? 0) < 60)
  await change(-1n)
  assert.deepEqual(await aroundTurn('audit', broken), { before: 1, after: 0 })
})

function anomaly(provider: string, ageMs: number) {
  const call = { call_id: uuidv7(), project_id: uuidv7(), model_id: 'm' }
  return { ...call, provider, anomalies: ['zero'], created_at: at(-ageMs) }
}

test('reports of the last hour that cannot be right are counted', async () => {
  const rows = [anomaly('liar', HOUR_MS - MINUTE_MS), anomaly('liar', HOUR_MS + SECOND_MS)]
  await store.db.insertInto('usage_anomalies').values(rows).execute()
  const seen = await aroundTurn('usage anomalies', async () => {
    const gauges = await Promise.all([metrics.anomalousCalls.get(), metrics.anomalousProjects.get()])
    return gauges.flatMap(({ values }) => values.map(({ labels, value }) => [labels.provider, labels.kind, value]))
  })
  assert.deepEqual([seen.before, ...seen.after], [[], ['liar', 'zero', 1], ['liar', 'zero', 1]])
  await store.db.deleteFrom('usage_anomalies').execute()
  await pass('usage anomalies', PERIODS_MS['usage anomalies'])
  for (const gauge of [metrics.anomalousCalls, metrics.anomalousProjects])
    assert.deepEqual((await gauge.get()).values, [], 'it is well again')
})

test('reports that could not be right are forgotten after 90 days', async () => {
  const rows = [anomaly('old', 90 * DAY_MS + SECOND_MS), anomaly('young', 90 * DAY_MS - MINUTE_MS)]
  await store.db.insertInto('usage_anomalies').values(rows).execute()
  const seen = await aroundTurn('forget usage anomalies', async () => {
    const left = store.db.selectFrom('usage_anomalies').select('provider').where('provider', 'in', ['old', 'young'])
    return (await left.orderBy('provider').execute()).map(({ provider }) => provider)
  })
  assert.deepEqual(seen, { before: ['old', 'young'], after: ['young'] })
})

test('settled calls are added to the usage of their hour and day, and what is settled later is not yet', async () => {
  const { id, keyPairId } = await newProject()
  const failed = { charge: 0n, change: { outcome: 'upstream_failed' as const, status: 502 } }
  for (const settledInMs of [-10 * SECOND_MS, SOON_MS]) {
    const settledAt = new Date(Date.now() + settledInMs)
    await addSettledCall(store.db, { id: uuidv7(), projectId: id, keyPairId, settledAt, ...failed })
  }
  const seen = await aroundTurn('roll up usage', async () => {
    const { rows } = await sql<{ hours: number; days: number }>`select
      (select coalesce(sum(calls), 0)::int from usage_hours where project_id = ${id}) as hours,
      (select coalesce(sum(calls), 0)::int from usage_days where project_id = ${id}) as days`.execute(store.db)
    return rows[0]
  })
  assert.deepEqual(seen, { before: { hours: 0, days: 0 }, after: { hours: 1, days: 1 } })
})

test('sessions and proofs that have ended are deleted, and live ones stay', async () => {
  const { owner } = await newProject()
  for (const [name, expiresInMs] of [
    ['ended', JUST_PAST_MS],
    ['live', SOON_MS],
  ] as const) {
    const session = { id: uuidv7(), user_id: owner.id, token: `${name} ${owner.id}`, user_agent: name }
    await store.db
      .insertInto('sessions')
      .values({ ...session, expires_at: at(expiresInMs) })
      .execute()
    const proof = { id: uuidv7(), identifier: name, value: owner.id }
    await store.db
      .insertInto('verifications')
      .values({ ...proof, expires_at: at(expiresInMs) })
      .execute()
  }
  const seen = await aroundTurn('expire sessions', async () => {
    const sessions = store.db.selectFrom('sessions').select('user_agent as name').where('user_id', '=', owner.id)
    const proofs = store.db.selectFrom('verifications').select('identifier as name').where('value', '=', owner.id)
    const rows = [...(await sessions.orderBy('name').execute()), ...(await proofs.orderBy('name').execute())]
    return rows.map(({ name }) => name)
  })
  assert.deepEqual(seen, { before: ['ended', 'live', 'ended', 'live'], after: ['live', 'live'] })
})

test('attempts are forgotten after a day, however many there are', async () => {
  await sql`insert into throttles (subject, attempts, started_at)
    select sha256(n::text::bytea), n, now() - interval '1 day 1 second' from generate_series(1, 2001) as n`.execute(
    store.db,
  )
  const young = { subject: randomBytes(32), attempts: 7_000, started_at: at(MINUTE_MS - DAY_MS) }
  await store.db.insertInto('throttles').values(young).execute()
  const seen = await aroundTurn('forget attempts', async () => {
    const { rows } = await sql<{ count: number; most: number }>`
      select count(*)::int as count, max(attempts) as most from throttles`.execute(store.db)
    return rows[0]
  })
  assert.deepEqual(seen, { before: { count: 2_002, most: 7_000 }, after: { count: 1, most: 7_000 } })
})

test('tables for the days to come are made two weeks ahead', async () => {
  const { rows } = await sql<{ name: string }>`
    select parent || to_char((now() at time zone 'utc')::date + day, '_YYYYMMDD') as name
    from unnest(array['charges', 'calls', 'recommendations']) as parent, unnest(array[13, 14]) as day`.execute(store.db)
  const names = rows.map(({ name }) => name)
  assert.equal(names.length, 6)
  for (const name of names) await sql`drop table ${sql.table(name)}`.execute(store.db)
  const seen = await aroundTurn('partitions', async () => {
    const there = await sql<{ name: string }>`
      select relname as name from pg_class where relname = any (${names}) and relispartition`.execute(store.db)
    return new Set(there.rows.map(({ name }) => name))
  })
  assert.deepEqual(seen, { before: new Set(), after: new Set(names) })
})

test('gateways that are silent for a day are forgotten, unless they still hold credit', async () => {
  const [silent, holding, quiet] = [uuidv7(), uuidv7(), uuidv7()]
  const longSilent = at(-DAY_MS - SECOND_MS)
  const gateways = [
    { id: silent, beat_at: longSilent },
    { id: holding, beat_at: longSilent },
    { id: quiet, beat_at: at(MINUTE_MS - DAY_MS) },
  ]
  await store.db.insertInto('gateways').values(gateways).execute()
  const project = await newProject()
  const ledger = createTestLedger(store.ledgerPool, holding)
  const asked = { projectId: project.id, keyPairId: project.keyPairId, modelId: 'm', priceVersion: 1n }
  await ledger.hold({ ...asked, callId: uuidv7(), want: 100n, min: 100n, hasIdempotencyKey: false })
  const seen = await aroundTurn('forget gateways', async () => {
    const left = store.db.selectFrom('gateways').select('id').where('id', 'in', [silent, holding, quiet])
    return new Set((await left.execute()).map(({ id }) => id))
  })
  assert.deepEqual(seen, { before: new Set([silent, holding, quiet]), after: new Set([holding, quiet]) })
})
