import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { setDomainVerified } from '../../src/store/projects/domains.ts'
import { upsertPlaygroundKey } from '../../src/store/projects/playground-keys.ts'
import { rollUpUsage } from '../../src/worker/roll-up-usage.ts'
import { DAY_MS, HOUR_MS } from '../../src/rules/durations.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld } from '../support/console.ts'
import { addSettledCall } from '../support/ledger.ts'
import { addDoubling, doubled } from '../support/usage-rows.ts'
import { addKeyPair, chatBody, complete, credit, until, walletOf } from '../support/world.ts'

let world: ConsoleWorld
before(async () => {
  world = await createConsoleWorld({ roles: ['gateway', 'console', 'worker'] })
})
after(() => world.close())

test('the first steps turn true one by one, and only all of them together can be put away, once and for everybody', async () => {
  const person = await newPerson(world, { confirms: false })
  const project = await newProject(person)
  const steps = async () => (await person.send(`GET /api/projects/${project}/onboarding`)).body
  const done = async () => {
    const { isActivated, isDomainVerified, hasKeyPair, hasCredit, isAnswered } = await steps()
    return [isActivated, isDomainVerified, hasKeyPair, isAnswered, hasCredit]
  }
  const dismiss = () => person.send(`POST /api/projects/${project}/onboarding/dismiss`)
  assert.deepEqual(await done(), [false, false, false, false, false])

  const { db } = world.store
  await db.updateTable('publishers').set({ activated_at: new Date() }).where('id', '=', person.publisherId).execute()
  assert.deepEqual(await done(), [true, false, false, false, false])
  await setDomainVerified(db, project, new Date())
  assert.deepEqual(await done(), [true, true, false, false, false])
  const own = { id: uuidv7(), projectId: project, name: 'Playground', publishableKey: `pk_${project}` }
  const secret = { secretDigest: Buffer.alloc(32, 1), secretVersion: 1, secretLast4: 'abcd' }
  await upsertPlaygroundKey(db, { ...own, ...secret })
  assert.deepEqual(await done(), [true, true, false, false, false], 'the pair of the playground is none of theirs')
  const keys = await addKeyPair(world.store, world.secrets, project)
  assert.deepEqual(await done(), [true, true, true, false, false])
  await credit(world.store, project, 1_000_000_000n)
  assert.deepEqual(await done(), [true, true, true, false, true])
  const early = await dismiss()
  assert.deepEqual(
    [early.status, early.body.message],
    [409, 'The first steps can be dismissed once all of them are done.'],
  )

  const ask = (script: string) => complete({ ...world, project: { ...world.project, ...keys } }, chatBody(script))
  await (await ask('status=500')).text()
  const { call: broken } = await steps()
  assert.deepEqual([broken.outcome, broken.title], ['upstream_failed', 'The model failed'])
  assert.deepEqual(await done(), [true, true, true, false, true], 'a call that failed is no first step')
  assert.equal((await dismiss()).status, 409)

  const { id } = (await (await ask('tokens=5')).json()) as { id: string }
  await (await ask('status=500')).text()
  const { call, isDismissed } = await steps()
  assert.deepEqual(
    [call.id, call.model, call.keyName, call.outputTokens, isDismissed],
    [id, 'sim-small', 'test', 5, false],
  )
  const { balance } = await walletOf(world.store, project)
  assert.equal(call.chargedNanos, String(1_000_000_000n - balance))
  await db.updateTable('wallets').set({ held_nanos: 7n }).where('project_id', '=', project).execute()
  const { balanceNanos, heldNanos } = (await must(person.send(`GET /api/projects/${project}/home`))).body
  assert.deepEqual([balanceNanos, heldNanos], [String(balance), '7'])
  assert.equal((await dismiss()).status, 200)
  assert.equal((await dismiss()).status, 200)
  assert.equal((await steps()).isDismissed, true)
  const log = await person.send(`GET /api/publishers/${person.publisherId}/audit-log`)
  assert.equal(log.body.items.filter(({ action }: { action: string }) => action === 'onboarding.dismissed').length, 1)
})

test('home sums what was rolled up, compares it with the time before, and shows the newest failures', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  const { db } = world.store
  await addKeyPair(world.store, world.secrets, project)
  const { id: keyPairId } = await db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', project)
    .executeTakeFirstOrThrow()
  const empty = (await person.send(`GET /api/projects/${project}/home`)).body
  assert.deepEqual([empty.week.calls, empty.models, empty.failures, empty.days.length], [0, [], [], 30])
  assert.deepEqual(empty.week.firstTokenMs, { p50: null, p95: null })

  const made = { projectId: project, keyPairId }
  await addSettledCall(db, { ...made, id: uuidv7(), charge: 5_000n })
  const usage = { input: 1, cachedInput: 10, cacheWrite: 100, output: 1_000, reasoning: 10_000 }
  await addSettledCall(db, { ...made, id: uuidv7(), charge: 7_000n, change: { usage } })
  const { call: first } = (await person.send(`GET /api/projects/${project}/onboarding`)).body
  assert.deepEqual([first.inputTokens, first.outputTokens], [111, 11_000])
  const failed = {
    outcome: 'upstream_failed' as const,
    status: 502,
    errorCode: 'upstream_failed',
    requestId: 'req_broken',
  }
  const limited = { ...failed, status: 503, errorCode: 'provider_rate_limited', requestId: 'req_limited' }
  const hourAgo = Date.now() - HOUR_MS
  await addSettledCall(db, { ...made, id: uuidv7(hourAgo), charge: 0n, change: failed })
  await addSettledCall(db, { ...made, id: uuidv7(hourAgo + 1), charge: 0n, change: limited })
  await addSettledCall(db, { ...made, id: uuidv7(), charge: 0n, change: failed })
  await until(async () => {
    await rollUpUsage({ db, signal: new AbortController().signal, marginMs: 0 })
    return (await person.send(`GET /api/projects/${project}/home`)).body.week.calls === 5
  })
  const { body: home } = await person.send(`GET /api/projects/${project}/home`)
  assert.deepEqual(home.spent.week, { nanos: '12000', previousNanos: '0' })
  assert.deepEqual(home.spent.month.nanos, '12000')
  assert.deepEqual([home.week.calls, home.week.failed], [5, 3])
  assert.deepEqual(home.models, [{ model: 'sim-small', calls: 5, chargedNanos: '12000' }])
  assert.equal(
    home.days.reduce((sum: bigint, day: { chargedNanos: string }) => sum + BigInt(day.chargedNanos), 0n),
    12_000n,
  )
  const [broken, busy] = home.failures
  assert.equal(home.failures.length, 2, 'the same error is told once')
  assert.deepEqual([broken.calls, broken.requestId, broken.title], [2, 'req_broken', 'The model failed'])
  assert.equal(broken.firstAt, new Date(hourAgo).toISOString())
  assert.ok(broken.lastAt > broken.firstAt)
  assert.deepEqual([busy.calls, busy.title], [1, 'The provider is limiting requests'])
  assert.match(busy.explanation, /not charged/)
  const those = await must(
    person.send(`GET /api/projects/${project}/calls?outcome=failed&error_code=${busy.errorCode}`),
  )
  assert.deepEqual(
    those.body.items.map(({ id }: { id: string }) => id),
    [busy.id],
    'and leads to its calls',
  )
})

test('today is compared with the same hours of yesterday, 7 days with the 7 before and 30 with the 30 before, to the last moment of a day', async (t) => {
  const person = await newPerson(world)
  const project = await newProject(person)
  const midnightMs = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS
  await addDoubling(world.store.db, 'usage_days', project, midnightMs + DAY_MS, 62)
  await addDoubling(world.store.db, 'usage_hours', project, midnightMs + HOUR_MS, 49)
  // The session outlives the day on which it began.
  await world.store.db
    .updateTable('sessions')
    .set({ expires_at: new Date(midnightMs + 12 * HOUR_MS) })
    .execute()
  const spentAt = async (now: number) => {
    t.mock.timers.enable({ apis: ['Date'], now })
    const { body } = await must(person.send(`GET /api/projects/${project}/home`))
    t.mock.timers.reset()
    return [body.spent, body.days[0].at, body.days.at(-1).at, body.days.length]
  }
  const costOf = (first: number, last: number) => String(doubled(first, last))
  const dayOf = (ms: number) => new Date(ms).toISOString()
  assert.deepEqual(await spentAt(midnightMs - 1), [
    {
      today: { nanos: costOf(2, 25), previousNanos: costOf(26, 49) },
      week: { nanos: costOf(2, 8), previousNanos: costOf(9, 15) },
      month: { nanos: costOf(2, 31), previousNanos: costOf(32, 61) },
    },
    dayOf(midnightMs - 30 * DAY_MS),
    dayOf(midnightMs - DAY_MS),
    30,
  ])
  assert.deepEqual(await spentAt(midnightMs), [
    {
      today: { nanos: costOf(1, 1), previousNanos: costOf(25, 25) },
      week: { nanos: costOf(1, 7), previousNanos: costOf(8, 14) },
      month: { nanos: costOf(1, 30), previousNanos: costOf(31, 60) },
    },
    dayOf(midnightMs - 29 * DAY_MS),
    dayOf(midnightMs),
    30,
  ])
})

test('a stranger finds neither home nor steps, and a viewer cannot put the steps away', async () => {
  const owner = await newPerson(world)
  const project = await newProject(owner)
  const stranger = await newPerson(world)
  for (const path of ['GET home', 'GET onboarding', 'GET models', 'GET quick-start', 'POST onboarding/dismiss']) {
    const [method, page] = path.split(' ')
    assert.equal((await stranger.send(`${method} /api/projects/${project}/${page}`)).status, 404, path)
  }
  const { body: me } = await stranger.send('GET /api/me')
  const member = { publisher_id: owner.publisherId, user_id: me.user.id, role: 'viewer' }
  await world.store.db.insertInto('memberships').values(member).execute()
  assert.equal((await stranger.send(`GET /api/projects/${project}/home`)).status, 200)
  assert.equal((await stranger.send(`POST /api/projects/${project}/onboarding/dismiss`)).status, 403)
})

test('the quick start names the public address, a model that is served to the project, and no key', async () => {
  const person = await newPerson(world)
  const project = await newProject(person)
  const path = `GET /api/projects/${project}/quick-start`
  const { body } = await person.send(path)
  assert.deepEqual([body.gatewayUrl, body.model, body.models], ['http://127.0.0.1:8080', 'sim-small', ['sim-small']])
  assert.deepEqual(
    body.snippets.map(({ id }: { id: string }) => id),
    ['curl', 'node', 'python', 'ai-sdk', 'langchain', 'environment'],
  )
  for (const { id, text } of body.snippets) {
    assert.match(text, /http:\/\/127\.0\.0\.1:8080\/v1/, id)
    assert.match(text, /sim-small/, id)
  }
  assert.match(body.keysText, /^export PARLEY_SECRET_KEY='ply_sk_…'$/m)
  assert.doesNotMatch(JSON.stringify(body), /ply_[ps]k_\w/)
  const { db } = world.store
  await db
    .updateTable('projects')
    .set({ allowed_models: ['another'] })
    .where('id', '=', project)
    .execute()
  const limited = (await person.send(path)).body
  assert.deepEqual([limited.model, limited.models], [null, []])
  assert.deepEqual((await person.send(`GET /api/projects/${project}/models`)).body, { items: [], default: null })
})
