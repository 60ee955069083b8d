import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS, HOUR_MS } from '../../src/rules/durations.ts'
import { KEPT_MS } from '../../src/rules/retention.ts'
import { claimMails, insertMail } from '../../src/store/accounts/mails.ts'
import { setAlertRule } from '../../src/store/projects/alerts.ts'
import { addEvent } from '../../src/store/projects/webhook-deliveries.ts'
import { insertEndpoint } from '../../src/store/projects/webhook-endpoints.ts'
import { plantError } from '../support/planted-errors.ts'
import { createWorkerWorld, PERIODS_MS, type WorkerWorld } from '../support/worker-world.ts'

let world: WorkerWorld
before(async () => (world = await createWorkerWorld()))
after(() => world.close())

type Project = Awaited<ReturnType<WorkerWorld['newProject']>>

const watch = () => world.pass('watch alerts', PERIODS_MS['watch alerts'])

/** As the roll-up writes it: calls of this hour, of which some failed. */
async function called(
  project: Project,
  { calls, failures, modelId = 'm' }: { calls: number; failures: number; modelId?: string },
) {
  await sql`
    insert into usage_hours as u (project_id, starts_at, model_id, key_pair_id, price_version_id, calls, streamed, input_tokens,
      cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, charged_nanos, billed_calls, billed_worth_nanos,
      billed_input_tokens, billed_cached_input_tokens, billed_cache_write_tokens, billed_output_tokens, billed_reasoning_tokens,
      outcomes, statuses, first_tokens, durations)
    values (${project.id}, date_trunc('hour', now()), ${modelId}, ${project.keyPairId}, 1, ${calls}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
      0, 0, 0, 0, array[${calls - failures}, 0, 0, ${failures}, 0, 0, 0, 0]::int4[], '{}', '{}', '{}')
    on conflict (project_id, starts_at, model_id, key_pair_id, price_version_id)
      do update set calls = excluded.calls, outcomes = excluded.outcomes`.execute(world.store.db)
  await sql`update usage_progress set through = now()`.execute(world.store.db)
}

async function alertsOf({ id }: Project): Promise<string[]> {
  const rows = await world.store.db
    .selectFrom('alerts')
    .select(['kind', 'subject', 'closed_at'])
    .where('project_id', '=', id)
    .orderBy('id')
    .execute()
  return rows.map(({ kind, subject, closed_at: closedAt }) => `${kind} ${subject} ${closedAt ? 'over' : 'open'}`)
}

async function mailsTo({ owner }: Project): Promise<string[]> {
  const mails = world.store.db.selectFrom('mails').select('template').where('recipient', '=', owner.email).orderBy('id')
  return (await mails.execute()).map(({ template }) => template)
}

async function eventsOf({ id }: Project): Promise<string[]> {
  const events = world.store.db.selectFrom('webhook_events').select('type').where('project_id', '=', id).orderBy('id')
  return (await events.execute()).map(({ type }) => type)
}

async function withEndpoint(project: Project): Promise<string> {
  const id = uuidv7()
  const sealedSecret = world.secrets.seal('whsec_AAAA', `webhook/${id}`, 'webhooks')
  const eventTypes = ['alert.opened', 'alert.closed']
  await insertEndpoint(world.store.db, {
    id,
    projectId: project.id,
    url: 'https://hooks.example.com/',
    eventTypes,
    sealedSecret,
  })
  return id
}

test('an alert opens once and closes once, whatever happens in between, and is told by mail and event each time', async () => {
  const project = await world.newProject()
  await withEndpoint(project)
  for (const failures of [30, 40, 15, 30]) {
    await called(project, { calls: 100, failures })
    await watch()
  }
  assert.deepEqual(await alertsOf(project), ['error_rate  open'])
  assert.deepEqual(await mailsTo(project), ['alert_opened'])
  await called(project, { calls: 100, failures: 5 })
  await watch()
  await watch()
  assert.deepEqual(await alertsOf(project), ['error_rate  over'])
  assert.deepEqual(await mailsTo(project), ['alert_opened', 'alert_closed'])
  assert.deepEqual(await eventsOf(project), ['alert.opened', 'alert.closed'])
  await world.pass('deliver webhooks', PERIODS_MS['deliver webhooks'])
  const sent = world.webhooks.sent.map(({ body }) => JSON.parse(body) as { type: string; data: { kind: string } })
  assert.deepEqual(
    sent.map(({ type, data }) => `${type} ${data.kind}`),
    ['alert.opened error_rate', 'alert.closed error_rate'],
  )
})

test('what fails for one project keeps no other from its alerts, and the job fails', async () => {
  const [first, second] = [await world.newProject(), await world.newProject()]
  for (const project of [first, second]) await called(project, { calls: 100, failures: 100 })
  const mend = await plantError(world.store.db, { table: 'alerts', event: 'insert', projectId: first.id })
  await assert.rejects(watch(), { message: `planted for ${first.id}` })
  await mend()
  assert.deepEqual([await alertsOf(first), await alertsOf(second)], [[], ['error_rate  open']])
  await watch()
  assert.deepEqual(await alertsOf(first), ['error_rate  open'])
})

test('an alert that opens for the seventh time in a day is listed, and told neither when it opens nor when it closes', async () => {
  const project = await world.newProject()
  await withEndpoint(project)
  const seen = async (failures: number) => {
    await called(project, { calls: 100, failures })
    await watch()
  }
  for (let n = 0; n < 7; n++) {
    await seen(30)
    await seen(5)
  }
  assert.equal((await alertsOf(project)).length, 7)
  assert.equal((await mailsTo(project)).length, 12)
  assert.equal((await eventsOf(project)).length, 12)
  // The day after it is news again.
  await sql`update alerts set opened_at = now() - interval '25 hours' where project_id = ${project.id}`.execute(
    world.store.db,
  )
  await seen(30)
  assert.equal((await eventsOf(project)).length, 13)
})

test('the people of a project get 20 mails about alerts in 24 hours; endpoints are told of all', async () => {
  const project = await world.newProject()
  await withEndpoint(project)
  const models = Array.from({ length: 25 }, (_, n) => `many-${n}`)
  const slot = sql<Date>`date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00:00Z')`
  const measured = { kind: 'model', calls: 40n, failures: 30n, callers: 7n, failed_for: 7n, first_tokens: [] }
  const slots = models.map((name) => ({ ...measured, name, starts_at: slot }))
  await world.store.db.insertInto('availability_slots').values(slots).execute()
  for (const modelId of models) await called(project, { calls: 1, failures: 0, modelId })
  await watch()
  assert.equal((await alertsOf(project)).length, 25)
  assert.equal((await mailsTo(project)).length, 20)
  assert.equal((await eventsOf(project)).length, 25)
  // The day after, those that are over are told again.
  await sql`update alerts set mailed_at = array[now() - interval '25 hours'] where project_id = ${project.id}`.execute(
    world.store.db,
  )
  await setAlertRule(world.store.db, project.id, { kind: 'provider_down', enabled: false, threshold: null })
  await watch()
  assert.equal((await mailsTo(project)).length, 40)
})

test('mails that somebody waits for are sent before those of alerts', async () => {
  const { db } = world.store
  const templates = ['alert_opened', 'alert_closed', 'low_balance', 'webhook_off', 'reset_password']
  for (const [n, template] of templates.entries()) {
    const id = uuidv7()
    await insertMail(db, { id, recipient: 'first@example.com', template, sealedBody: 'x' })
    await sql`update mails set next_attempt_at = to_timestamp(${n}) where id = ${id}`.execute(db)
  }
  const claimed = await claimMails(db, 1)
  await db.deleteFrom('mails').where('recipient', '=', 'first@example.com').execute()
  assert.deepEqual(
    claimed.map(({ template }) => template),
    ['reset_password'],
  )
})

test('the budget of a key pair that was deleted is no alert', async () => {
  const project = await world.newProject()
  const { db } = world.store
  const limits = { scope: 'key_pair', subject: project.keyPairId, project_id: project.id }
  await db
    .insertInto('limits')
    .values({ ...limits, publisher_id: project.publisherId, total_nanos: 100n })
    .execute()
  await db
    .insertInto('limit_counts')
    .values({ ...limits, total_nanos: 100n })
    .execute()
  await watch()
  assert.deepEqual(await alertsOf(project), [`budget_used key_pair:${project.keyPairId}:total open`])
  await sql`update key_pairs set active = false, deleted_at = now() where id = ${project.keyPairId}`.execute(db)
  await watch()
  assert.deepEqual(await alertsOf(project), [`budget_used key_pair:${project.keyPairId}:total over`])
})

test('a rule that is off opens nothing, and closes what is open', async () => {
  const project = await world.newProject()
  await called(project, { calls: 100, failures: 100 })
  await watch()
  await setAlertRule(world.store.db, project.id, { kind: 'error_rate', enabled: false, threshold: null })
  await watch()
  await watch()
  assert.deepEqual(await alertsOf(project), ['error_rate  over'])
})

test('one low balance is one mail: the job of the low-balance email sends it where an amount is set, and the alert where none is', async () => {
  const [own, usual, sandbox] = [
    await world.newProject({ credits: '0.5' }),
    await world.newProject({ credits: '0.5' }),
    await world.newProject({ credits: '0.5' }),
  ]
  await sql`update projects set is_sandbox = true where id = ${sandbox.id}`.execute(world.store.db)
  await world.store.db
    .insertInto('wallet_alerts')
    .values({ project_id: own.id, threshold_nanos: 600_000_000n })
    .execute()
  await sql`insert into usage_days select * from usage_hours limit 0`.execute(world.store.db)
  for (const project of [usual, sandbox]) {
    const { id } = project
    await called(project, { calls: 1, failures: 0 })
    await sql`insert into usage_days select * from usage_hours where project_id = ${id}`.execute(world.store.db)
    await sql`update usage_days set starts_at = date_trunc('day', now(), 'UTC'), charged_nanos = 1
      where project_id = ${id}`.execute(world.store.db)
  }
  for (let n = 0; n < 2; n++) {
    await watch()
    await world.pass('low balances', PERIODS_MS['low balances'])
  }
  for (const project of [own, usual]) {
    assert.deepEqual(await alertsOf(project), ['low_balance  open'])
    assert.deepEqual(await mailsTo(project), ['low_balance'])
  }
  // Its trial credit is low from the start.
  assert.deepEqual(await alertsOf(sandbox), [])
  assert.deepEqual(await mailsTo(sandbox), [])
})

test('a budget, a lapsing domain and a model that fails for everyone are alerts of their own', async () => {
  const project = await world.newProject()
  const { db } = world.store
  const limits = { scope: 'project', subject: project.id, project_id: project.id }
  await db
    .insertInto('limits')
    .values({ ...limits, publisher_id: project.publisherId, month_nanos: 100n })
    .execute()
  const month = sql<Date>`date_trunc('month', now(), 'UTC')`
  await db
    .insertInto('limit_counts')
    .values({ ...limits, month_nanos: 85n, month_started_at: month })
    .execute()
  await sql`update domains set failing_since = now() where project_id = ${project.id}`.execute(db)
  await called(project, { calls: 1, failures: 0, modelId: 'model-down' })
  const slot = sql<Date>`date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00:00Z')`
  const measured = { kind: 'model', name: 'model-down', calls: 40n, failures: 30n, callers: 7n, failed_for: 7n }
  await db
    .insertInto('availability_slots')
    .values({ ...measured, starts_at: slot, first_tokens: [] })
    .execute()
  await watch()
  assert.deepEqual((await alertsOf(project)).toSorted(), [
    `budget_used project:${project.id}:month open`,
    'domain_lapsing example.com open',
    'provider_down model-down open',
  ])
  // The domain has mails of its own.
  assert.deepEqual(await mailsTo(project), ['alert_opened', 'alert_opened'])
})

test('events, alerts that are over and replaced secrets are forgotten when their time is over, and nothing sooner', async () => {
  const project = await world.newProject()
  const { db } = world.store
  const endpointId = await withEndpoint(project)
  const eventAt = async (agoMs: number) => {
    const id = uuidv7(Date.now() - agoMs)
    await addEvent(db, { id, projectId: project.id, type: 'alert.opened', objectKey: 'a', body: '{}' })
    return id
  }
  await eventAt(KEPT_MS.webhookEvents + HOUR_MS)
  const kept = await eventAt(KEPT_MS.webhookEvents - HOUR_MS)
  const alertAt = async (agoMs: number | null) => {
    const row = { id: uuidv7(), project_id: project.id, kind: 'error_rate', subject: String(agoMs), facts: '{}' }
    const closed_at = agoMs === null ? null : new Date(Date.now() - agoMs)
    await db
      .insertInto('alerts')
      .values({ ...row, opened_at: new Date(0), closed_at })
      .execute()
    return row.id
  }
  await alertAt(KEPT_MS.alerts + HOUR_MS)
  const keptAlerts = [await alertAt(KEPT_MS.alerts - HOUR_MS), await alertAt(null)]
  const replaced = { old_sealed_secret: 'old', old_secret_ends_at: new Date(Date.now() - DAY_MS) }
  await db.updateTable('webhook_endpoints').set(replaced).where('id', '=', endpointId).execute()
  await world.pass('forget webhooks', PERIODS_MS['forget webhooks'])
  const events = await db.selectFrom('webhook_events').select('id').where('project_id', '=', project.id).execute()
  const left = await db
    .selectFrom('webhook_deliveries')
    .select('event_id')
    .where('project_id', '=', project.id)
    .execute()
  assert.deepEqual([events, left], [[{ id: kept }], [{ event_id: kept }]])
  const alerts = await db.selectFrom('alerts').select('id').where('project_id', '=', project.id).orderBy('id').execute()
  assert.deepEqual(
    alerts.map(({ id }) => id),
    keptAlerts.toSorted(),
  )
  const secret = db.selectFrom('webhook_endpoints').select('old_sealed_secret').where('id', '=', endpointId)
  assert.deepEqual(await secret.execute(), [{ old_sealed_secret: null }])
})
