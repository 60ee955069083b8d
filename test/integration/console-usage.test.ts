import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { completionIdOf } from '../../src/rules/billing/receipts.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { addSettledCall, type SettledCall } from '../support/ledger.ts'
import { addDoubling, addUsageRows, doubled } from '../support/usage-rows.ts'
import { addKeyPair, complete, PRICE, rollUp } from '../support/world.ts'

let world: ConsoleWorld
let person: Person
let project: string
let keyPairId: string

before(async () => {
  world = await createConsoleWorld()
  person = await newPerson(world)
  project = await newProject(person)
  await addKeyPair(world.store, world.secrets, project)
  const { db } = world.store
  keyPairId = (
    await db.selectFrom('key_pairs').select('id').where('project_id', '=', project).executeTakeFirstOrThrow()
  ).id
})
after(() => world.close())

async function call(change: Partial<SettledCall> = {}): Promise<string> {
  const id = change.id ?? uuidv7()
  await addSettledCall(world.store.db, { id, projectId: project, keyPairId, ...change })
  return id
}

async function callsWith(search: string) {
  const { body } = await must(person.send(`GET /api/projects/${project}/calls${search}`))
  return body
}

test('a call through the gateway is in the usage, to the nano, once it is rolled up', async () => {
  const editor = await newPerson(world)
  const asked = await complete(world, { model: 'sim-small', messages: [{ role: 'user', content: 'hello' }] })
  assert.equal(asked.status, 200)
  const { publisherId, id } = world.project
  const user = await world.store.db
    .selectFrom('users')
    .select('id')
    .where('email', '=', editor.email)
    .executeTakeFirstOrThrow()
  const member = { publisher_id: publisherId, user_id: user.id, role: 'viewer' }
  await world.store.db.insertInto('memberships').values(member).execute()
  const usage = async () => (await must(editor.send(`GET /api/projects/${id}/usage`))).body
  assert.equal((await usage()).totals.calls, 0)
  await rollUp(world.store)
  assert.equal((await usage()).totals.calls, 1)
  const charge = await world.store.db
    .selectFrom('charges')
    .selectAll()
    .where('project_id', '=', id)
    .executeTakeFirstOrThrow()
  const { totals, points, groups, upTo } = await usage()
  assert.equal(totals.chargedNanos, String(charge.charged_nanos))
  assert.equal(totals.tokens.output, charge.output_tokens)
  assert.equal(groups[0].id, 'sim-small')
  assert.equal(points.length, 30)
  assert.ok(Date.parse(upTo) >= charge.settled_at.getTime())
  const { body: costs } = await must(editor.send(`GET /api/projects/${id}/costs`))
  const classes = Object.values<{ nanos: string }>(costs.total.classes).reduce(
    (sum, { nanos }) => sum + BigInt(nanos),
    0n,
  )
  assert.equal(classes + BigInt(costs.total.roundingNanos) - BigInt(costs.total.notChargedNanos), charge.charged_nanos)
})

test('filters leave exactly what they name', async () => {
  const nowMs = Date.now()
  const dear = await call({
    id: uuidv7(nowMs - 5),
    charge: 2_000_000_000n,
    modelId: 'sim-large',
    change: { streamed: true },
  })
  const failed = await call({ charge: 0n, change: { outcome: 'timed_out', status: 504, conversationId: 'chat-7' } })
  const ids = async (search: string) => (await callsWith(search)).items.map(({ id }: { id: string }) => id)
  assert.deepEqual(await ids('?min_cost=1.5'), [completionIdOf(dear, 'chat')])
  assert.deepEqual(await ids('?min_cost=2'), [completionIdOf(dear, 'chat')])
  assert.deepEqual(await ids('?min_cost=2.000000001'), [])
  assert.deepEqual(await ids('?streamed=true'), [completionIdOf(dear, 'chat')])
  assert.deepEqual(await ids('?streamed=false'), [completionIdOf(failed, 'chat')])
  assert.deepEqual(await ids('?model=sim-large'), [completionIdOf(dear, 'chat')])
  assert.deepEqual(await ids('?outcome=failed'), [completionIdOf(failed, 'chat')])
  assert.deepEqual(await ids('?conversation=chat-7'), [completionIdOf(failed, 'chat')])
  assert.deepEqual(await ids(`?id=${completionIdOf(failed, 'chat')}`), [completionIdOf(failed, 'chat')])
  assert.deepEqual(await ids(`?key=${uuidv7()}`), [])
  const [, { beganAt }] = (await callsWith('')).items
  const justAfter = new Date(Date.parse(beganAt) + 1).toISOString()
  assert.deepEqual(await ids(`?from=${beganAt}`), [completionIdOf(failed, 'chat'), completionIdOf(dear, 'chat')])
  assert.deepEqual(await ids(`?from=${justAfter}`), [completionIdOf(failed, 'chat')])
  assert.deepEqual(await ids(`?to=${justAfter}`), [completionIdOf(dear, 'chat')])
  assert.deepEqual(await ids(`?to=${beganAt}`), [])
  assert.equal((await person.send(`GET /api/projects/${project}/calls?min_cost=lots`)).status, 422)
  assert.equal((await person.send(`GET /api/projects/${project}/calls?after=nowhere`)).status, 422)
})

test('pages follow each other without gap or repetition', async () => {
  for (let n = 0; n < 7; n++) await call()
  const seen: string[] = []
  for (let next: string | null = ''; next !== null;) {
    const page: { items: { id: string }[]; next: string | null } = await callsWith(
      `?limit=3${next && `&after=${next}`}`,
    )
    seen.push(...page.items.map(({ id }) => id))
    next = page.next
  }
  const all = (await callsWith('?limit=200')).items.map(({ id }: { id: string }) => id)
  assert.deepEqual(seen, all)
  assert.deepEqual(all, all.toSorted().toReversed())
})

test('a call says what was tried and what it cost, and never who was asked', async () => {
  const attempts = [
    { deployment: 'secret-deployment', provider: 'secret-provider', key: 'secret-key', ms: 40, failed: 'key_rejected' },
    { deployment: 'secret-deployment', provider: 'secret-provider', ms: 60, failed: undefined, costNanos: '770077' },
  ]
  const change = { attempts, firstTokenMs: 120, durationMs: 900, requestId: 'req-tried' }
  const id = await call({ charge: 30_000n, change })
  const { body, text } = await must(person.send(`GET /api/projects/${project}/calls/${completionIdOf(id, 'chat')}`))
  assert.doesNotMatch(text, /secret|770077|key_rejected/)
  assert.deepEqual(
    body.phases.map(({ kind }: { kind: string }) => kind),
    ['prepared', 'failed', 'waited', 'answered'],
  )
  const nanos = Object.values<{ nanos: string }>(body.lines).reduce((sum, line) => sum + BigInt(line.nanos), 0n)
  assert.equal(nanos + BigInt(body.roundingNanos), BigInt(body.worthNanos))
  assert.equal((await callsWith('?id=req-tried')).items[0].id, completionIdOf(id, 'chat'))
})

test('the CSV is the filtered set, and no cell of it is a formula', async () => {
  await call({ change: { requestId: '=HYPERLINK("http://evil.example")', conversationId: '@sum', finishReason: '+1' } })
  await call({ change: { conversationId: 'other' } })
  const { text, headers } = await must(person.send(`GET /api/projects/${project}/calls.csv?conversation=@sum`))
  assert.match(String(headers.get('content-disposition')), /attachment; filename="calls.csv"/)
  const lines = text.trim().split('\r\n')
  assert.equal(lines.length, 2)
  assert.match(String(lines[1]), /"'=HYPERLINK\(""http:\/\/evil.example""\)"/)
  assert.match(String(lines[1]), /"'@sum"/)
  assert.match(String(lines[1]), /"'\+1"/)
  assert.equal(String(lines[1]).split(',')[4], 'test', 'the name of the key')
})

test('each figure of a call is in the CSV under its own name', async () => {
  const usage = { input: 11, cachedInput: 22, cacheWrite: 33, output: 44, reasoning: 55 }
  await call({ change: { conversationId: 'figures', usage, firstTokenMs: 66, durationMs: 77 }, charge: 88_000_000n })
  const { text } = await must(person.send(`GET /api/projects/${project}/calls.csv?conversation=figures`))
  const [names, figures] = text.split('\r\n').map((line) => line.split(','))
  const figureOf = (name: string) => figures?.[names?.indexOf(name) ?? -1]
  assert.deepEqual(
    ['input', 'cached input', 'cache write', 'output', 'reasoning'].map((kind) => figureOf(`${kind} tokens`)),
    Object.values(usage).map(String),
  )
  assert.deepEqual(['first token (ms)', 'duration (ms)', 'charged (USD)'].map(figureOf), ['66', '77', '0.088'])
})

test('a call says where it was asked for, and its id begins as its caller knows it: in the list, on its page, in the CSV', async () => {
  const id = await call({ change: { conversationId: 'endpoints', endpoint: 'responses' } })
  await call({ change: { conversationId: 'endpoints' } })
  const known = completionIdOf(id, 'responses')
  assert.match(known, /^resp_/)
  const { items } = (await callsWith('?conversation=endpoints')) as { items: { id: string; endpoint: string }[] }
  assert.deepEqual(
    items.map(({ id: shown, endpoint }) => [shown.split(/[-_]/)[0], endpoint]),
    [
      ['chatcmpl', '/v1/chat/completions'],
      ['resp', '/v1/responses'],
    ],
  )
  assert.equal((await callsWith(`?id=${known}`)).items[0].id, known)
  const { body } = await must(person.send(`GET /api/projects/${project}/calls/${known}`))
  assert.deepEqual([body.id, body.endpoint], [known, '/v1/responses'])
  const { text } = await must(person.send(`GET /api/projects/${project}/calls.csv?conversation=endpoints`))
  const [names, , second] = text.split('\r\n').map((line) => line.split(','))
  const cellOf = (name: string) => second?.[names?.indexOf(name) ?? -1]
  assert.deepEqual(['completion id', 'endpoint'].map(cellOf), [known, '/v1/responses'])
})

/** A project of its own, whose usage is what the test writes down. */
async function quietProject(): Promise<string> {
  return newProject(person, 'Quiet', 'quiet.example.com')
}

test('the forecast of costs is of the seven full days before today, and the wallet’s of today and the six before, of what no running call holds', async (t) => {
  const quiet = await quietProject()
  const midnightMs = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS
  await addDoubling(world.store.db, 'usage_days', quiet, midnightMs + DAY_MS, 20)
  await world.store.db
    .updateTable('wallets')
    .set({ balance_nanos: 1_000n, held_nanos: 300n, open_holds: 1 })
    .where('project_id', '=', quiet)
    .execute()
  // The session outlives the day on which it began.
  const expires_at = new Date(midnightMs + DAY_MS / 2)
  await world.store.db.updateTable('sessions').set({ expires_at }).execute()
  const forecastAt = async (now: number) => {
    t.mock.timers.enable({ apis: ['Date'], now })
    const { body: costs } = await must(person.send(`GET /api/projects/${quiet}/costs`))
    const { body: wallet } = await must(person.send(`GET /api/projects/${quiet}/wallet`))
    t.mock.timers.reset()
    return [costs.forecast, wallet.spent7dNanos]
  }
  const expected = (spent: bigint) => ({
    availableNanos: '700',
    perDayNanos: String(spent / 7n),
    daysLeft: Number((700n * 70n) / spent) / 10,
  })
  // The wallet's goes up to now: the day that begins at midnight is written down already, and not yet over.
  assert.deepEqual(await forecastAt(midnightMs - 1), [expected(doubled(3, 9)), String(doubled(1, 8))])
  assert.deepEqual(await forecastAt(midnightMs), [expected(doubled(2, 8)), String(doubled(1, 7))])
})

test('usage and costs are the same on the page and in the file, cell by cell', async () => {
  const quiet = await quietProject()
  const other = await quietProject()
  const starts_at = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS)
  const row = {
    project_id: quiet,
    starts_at,
    calls: 7n,
    charged_nanos: 1_000n,
    billed_calls: 4n,
    billed_worth_nanos: 1_500n,
    outcomes: [4, 0, 1, 2],
    input_tokens: 1n,
    cached_input_tokens: 2n,
    cache_write_tokens: 3n,
    output_tokens: 4n,
    reasoning_tokens: 5n,
    billed_output_tokens: 2_000n,
  }
  await addUsageRows(world.store.db, 'usage_days', [row])
  await addUsageRows(world.store.db, 'usage_days', [{ ...row, project_id: other, calls: 1n }])
  const get = async (path: string) => must(person.send(`GET ${path}`))
  const { body: usage } = await get(`/api/projects/${quiet}/usage`)
  assert.deepEqual([usage.totals.calls, usage.totals.failed, usage.totals.chargedNanos], [7, 2, '1000'])
  assert.deepEqual(usage.totals.tokens, { input: 1, cachedInput: 2, cacheWrite: 3, output: 4, reasoning: 5 })
  const csv = (await get(`/api/projects/${quiet}/usage.csv`)).text.split('\r\n')
  assert.deepEqual(csv.slice(1), [`${starts_at.toISOString()},sim-small,sim-small,7,2,1,2,3,4,5,0.000001`, ''])
  const { body: both } = await get(`/api/publishers/${person.publisherId}/usage?by=project`)
  const callsOf = (id: string) => both.groups.find((group: { id: string }) => group.id === id)?.calls
  assert.deepEqual([callsOf(quiet), callsOf(other)], [7, 1])

  const { body: costs } = await get(`/api/projects/${quiet}/costs`)
  assert.deepEqual([costs.calls, costs.billedCalls, costs.averageNanos], [7, 4, '250'])
  const { price } = costs.prices[0]
  const output = (2_000n * BigInt(price.output)) / 1_000_000n
  assert.equal(costs.total.classes.output.nanos, String(output))
  assert.deepEqual(
    [costs.total.roundingNanos, costs.total.notChargedNanos, costs.total.chargedNanos],
    [String(1_500n - output), '500', '1000'],
  )
  const lines = (await get(`/api/projects/${quiet}/costs.csv`)).text.split('\r\n')
  assert.equal(lines.length, 1 + 5 + 2 + 1)
  assert.match(String(lines[7]), /,not charged,,,.*-0\.0000005\b/)
})

test('spans that make no sense are refused with a sentence', async () => {
  for (const [search, field] of [
    ['from=2020-01-01', { path: 'from', message: 'At most 400 days at once.' }],
    ['from=2026-02-02&to=2026-01-01', { path: 'from', message: 'The beginning must be before the end.' }],
    ['from=yesterday', { path: 'from', message: 'Enter a date like 2026-11-15.' }],
    ['from=2025-01-01&to=2025-01-15&every=hour', { path: 'from', message: 'By hour, at most 14 days at once.' }],
  ] as const) {
    const { status, body } = await person.send(`GET /api/projects/${project}/usage?${search}`)
    assert.deepEqual([status, body.fields], [422, [field]], search)
  }
})

test('somebody else learns nothing of it', async () => {
  const stranger = await newPerson(world)
  const theirs = await newProject(stranger, 'Other', 'other.example.com')
  const id = await call()
  for (const path of ['usage', 'costs', 'calls', 'calls.csv', `calls/${completionIdOf(id, 'chat')}`, 'call-filters']) {
    assert.equal((await stranger.send(`GET /api/projects/${project}/${path}`)).status, 404, path)
  }
  assert.equal((await stranger.send(`GET /api/projects/${theirs}/calls/${completionIdOf(id, 'chat')}`)).status, 404)
  const { body } = await must(stranger.send(`GET /api/projects/${theirs}/calls?id=${completionIdOf(id, 'chat')}`))
  assert.deepEqual(body.items, [])
})

test('what caches have saved is summed up for the period, of the calls that were paid for', async () => {
  const quiet = await quietProject()
  const starts_at = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS)
  const row = { project_id: quiet, starts_at, calls: 3n, cached_input_tokens: 9_000n, cache_write_tokens: 9_000n }
  const saved = async () => (await must(person.send(`GET /api/projects/${quiet}/usage`))).body.savedNanos
  await addUsageRows(world.store.db, 'usage_days', [row])
  assert.equal(await saved(), '0')
  const billed = { billed_cached_input_tokens: 2_000n, billed_cache_write_tokens: 300n }
  await addUsageRows(world.store.db, 'usage_days', [
    { ...row, starts_at: new Date(starts_at.getTime() - DAY_MS), ...billed },
  ])
  const { input, cachedInput, cacheWrite } = PRICE
  const expected = (2_000n * (input - cachedInput) + 300n * (input - cacheWrite)) / 1_000_000n
  assert.equal(await saved(), String(expected))
})
