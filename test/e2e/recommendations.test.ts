/** Where a recommendation stands in a reply, what it leaves alone, and when there is none; with one fixed offer. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, beforeEach, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import OpenAI from 'openai'
import { createRecommendationRecords } from '../../src/gateway/recommendations/records.ts'
import { createJobs } from '../../src/platform/every.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { LABELS } from '../../src/rules/recommendations/block.ts'
import { requestText } from '../conformance/client.ts'
import { startGateway } from '../conformance/second-gateway.ts'
import {
  addOffer,
  createFixedMatcher,
  OFFER_LINK,
  setMonetization,
  type FixedMatcher,
} from '../support/fixed-matcher.ts'
import { readInjections } from '../support/injections.ts'
import {
  addKeyPair,
  addProject,
  complete,
  createWorld,
  eventsOf,
  until,
  type TestProject,
  type World,
} from '../support/world.ts'

const ANSWER =
  'For flights, look for over-ear headphones with active noise cancelling, a long battery life and a case that folds flat.'
const PUBLIC_URL = 'https://api.example.com'

let world: World
let matcher: FixedMatcher
let match: Match
let project: TestProject
before(async () => {
  matcher = await createFixedMatcher()
  world = await createWorld({ env: { PARLEY_MATCHER_URL: matcher.url, PARLEY_PUBLIC_URL: PUBLIC_URL } })
  match = await addOffer(world.store.db)
})
after(async () => {
  await world.close()
  await matcher.close()
})
beforeEach(async () => {
  Object.assign(matcher, {
    reply: { outcome: 'matched', match },
    judgeReply: { outcome: 'open' },
    waitMs: 0,
    gate: undefined,
  })
  matcher.matches.length = 0
  matcher.judged.length = 0
  world.simulator.reset()
  project = await monetized()
})

async function monetized(changes: Record<string, unknown> = {}): Promise<TestProject> {
  const made = await addProject(world.store, world.secrets)
  await setMonetization(world.store.db, made.id, changes)
  return made
}

interface Said {
  role: string
  content: string
}
const asked = (answer = ANSWER): Said => ({
  role: 'user',
  content: `Which headphones are good for flights? [[sim text=${encodeURIComponent(answer)}]]`,
})

interface Reply {
  content: string
  sponsored: { label: string; advertiser: string; url: string; characters: number } | undefined
  finishReason: string
  usage: unknown
  id: string
}

async function ask(
  extra: Record<string, unknown> = {},
  { url = world.url, ...options }: { headers?: Record<string, string>; project?: TestProject; url?: string } = {},
): Promise<Reply> {
  const body = { model: 'sim-small', messages: [asked()], ...extra }
  const response = await complete({ ...world, url }, body, { project, ...options })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  const { choices, usage, id } = JSON.parse(text)
  const [{ message, finish_reason: finishReason, sponsored }] = choices
  return { content: message.content, sponsored, finishReason, usage, id }
}

async function outcomes(of = project): Promise<Record<string, number>> {
  const { rows } = await sql<{ outcome: string; calls: bigint }>`
    select outcome, sum(calls) as calls from recommendation_outcomes where project_id = ${of.id} group by 1 order by 1`.execute(
    world.store.db,
  )
  return Object.fromEntries(rows.map(({ outcome, calls }) => [outcome, Number(calls)]))
}

async function untilCounted(expected: Record<string, number>, of = project, ofCalls = expected): Promise<void> {
  await until(async () => JSON.stringify(await outcomes(of)) === JSON.stringify(expected)).catch(async () =>
    assert.deepEqual(await outcomes(of), expected),
  )
  // Every figure of the outcomes leads to its calls, so these must be the same ones.
  const { rows } = await sql<{ outcome: string; calls: bigint }>`
    select recommendation_outcome as outcome, count(*) as calls from calls
    where project_id = ${of.id} and recommendation_outcome is not null group by 1 order by 1`.execute(world.store.db)
  assert.deepEqual(Object.fromEntries(rows.map(({ outcome, calls }) => [outcome, Number(calls)])), ofCalls)
}

test('a fitting answer ends with one labelled recommendation, which is neither counted nor charged', async () => {
  const free = await ask({}, { project: world.project })
  const reply = await ask()
  assert.ok(reply.content.startsWith(`${ANSWER}\n\n**Ad** · ${match.advertiser} — Hush 45`), reply.content)
  const { sponsored } = reply
  assert.ok(sponsored)
  assert.equal(sponsored.label, 'Ad')
  assert.equal(sponsored.advertiser, match.advertiser)
  assert.equal(reply.content.slice(0, -sponsored.characters), ANSWER)
  assert.ok(reply.content.includes(`[See offer](${sponsored.url})`))
  assert.equal(free.content, ANSWER)
  assert.equal(free.sponsored, undefined)
  assert.deepEqual(reply.usage, free.usage)
  assert.equal(reply.finishReason, 'stop')
  const charged = async (id: string, { headers }: TestProject) => {
    const receipt = await fetch(`${world.url}/v1/receipts/${id}`, { headers })
    return ((await receipt.json()) as { charged_nanos: string }).charged_nanos
  }
  assert.equal(await charged(reply.id, project), await charged(free.id, world.project))
  assert.notEqual(await charged(reply.id, project), '0')
  await untilCounted({ served: 1 })
  assert.equal(matcher.authorization, `Bearer ${world.secrets.keyFor('matcher').toString('base64url')}`)
})

interface Choice {
  delta: { content: string }
  finish_reason: string | null
}

/** A stream's events, without what differs from one call to the next. */
async function streamed(of: TestProject, extra: object = {}): Promise<Record<string, unknown>[]> {
  const body = {
    model: 'sim-small',
    messages: [asked()],
    stream: true,
    stream_options: { include_usage: true },
    ...extra,
  }
  const response = await complete(world, body, { project: of })
  return eventsOf(await response.text()).map((data) => {
    if (data === '[DONE]') return { done: true }
    const { id, created, ...event } = JSON.parse(data) as Record<string, unknown>
    assert.ok(id && created)
    return event
  })
}

test('a stream with a recommendation is the stream without it, and one content event before the finish', async () => {
  const free = await streamed(world.project)
  const events = await streamed(project)
  const at = events.findIndex((event) => 'sponsored' in event)
  assert.deepEqual(events.toSpliced(at, 1), free)
  assert.equal(at, free.length - 3, 'before the finish, the usage and [DONE]')
  const [choice] = (events[at] as unknown as { choices: Choice[] }).choices
  assert.match(String(choice?.delta.content), /^\n\n\*\*Ad\*\* · /)
  assert.equal(choice?.finish_reason, null)
})

test('the official SDK reads both, with nothing to be told of recommendations', async () => {
  const texts: string[] = []
  for (const one of [world.project, project]) {
    const client = new OpenAI({
      apiKey: 'unused',
      baseURL: `${world.url}/v1`,
      maxRetries: 0,
      defaultHeaders: { ...one.headers, Authorization: null },
    })
    const request = { model: 'sim-small', messages: [asked() as { role: 'user'; content: string }] }
    const whole = await client.chat.completions.create(request)
    const stream = client.chat.completions.stream(request)
    const final = await stream.finalChatCompletion()
    assert.equal(final.choices[0]?.finish_reason, 'stop')
    const plain = (text: string | null | undefined) => text?.replaceAll(/\/[rw]\/[\w-]{56}/g, '/link')
    assert.equal(plain(final.choices[0]?.message.content), plain(whole.choices[0]?.message.content))
    texts.push(String(plain(whole.choices[0]?.message.content)))
  }
  assert.equal(texts[0], ANSWER)
  assert.ok(texts[1]?.startsWith(`${ANSWER}\n\n**Ad** · `))
})

test('over five turns the model reads no advertisement, and its prompt costs what it costs without', async () => {
  const prompts: unknown[][] = []
  for (const one of [await monetized({ min_turn_gap: 1, max_per_conversation: 20 }), world.project]) {
    world.simulator.reset()
    const messages: Said[] = []
    const usages: unknown[] = []
    let shown = 0
    for (let turn = 0; turn < 5; turn++) {
      messages.push(asked(`${ANSWER} Turn ${turn}.`))
      matcher.reply = { outcome: 'matched', match: await addOffer(world.store.db) }
      const reply = await ask({ messages }, { project: one })
      if (reply.sponsored) shown += 1
      messages.push({ role: 'assistant', content: reply.content })
      usages.push(reply.usage)
    }
    assert.equal(shown, one === world.project ? 0 : 5)
    const sent = world.simulator.calls.map(({ body }) => (body as { messages: unknown }).messages)
    assert.equal(sent.length, 5)
    assert.doesNotMatch(JSON.stringify(sent), /Northwind|\/r\/|\*\*Ad\*\*/)
    prompts.push([sent, usages])
  }
  assert.deepEqual(prompts[0], prompts[1])
})

test('whatever an advertiser writes, also what no import lets in, is one escaped line, and no byte of it reaches a model', async () => {
  const hostile = readInjections()
  assert.ok(hostile.length >= 120)
  const own = await monetized({ min_turn_gap: 1, max_per_conversation: 20 })
  const free = await ask({}, { project: world.project })
  for (const { text } of hostile) {
    matcher.reply = { outcome: 'matched', match: { ...match, headline: `x${text}`, benefit: text } }
    const { content, sponsored, usage } = await ask({}, { project: own })
    assert.deepEqual(usage, free.usage)
    assert.ok(sponsored)
    const line = content.slice(-sponsored.characters).replace(/^\n\n/, '')
    assert.doesNotMatch(line, /[\p{Cc}\p{Zl}\p{Zp}\u200b-\u200f\u202a-\u202e\u2066-\u2069]/u, text)
    assert.ok(line.startsWith(`**Ad** · ${match.advertiser} — `), text)
    assert.equal(line.match(/(?<!\\)\]\(/g)?.length, 2, `no link but ours: ${line}`)
    assert.doesNotMatch(line, /(?<!\\)[<`]|(?<!\\)!\[/, text)
    matcher.reply = { outcome: 'no_match' }
    await ask({ messages: [asked(), { role: 'assistant', content }, asked()] }, { project: own })
    const sent = world.simulator.calls.at(-1)?.body as { messages: unknown } | undefined
    assert.deepEqual(sent?.messages, [asked(), { role: 'assistant', content: ANSWER }, asked()])
  }
})

test('formats that programs read, and answers that are not an end in prose, have none', async () => {
  const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }]
  const cases: [string, Record<string, unknown>][] = [
    ['JSON mode', { response_format: { type: 'json_object' } }],
    ['JSON schema', { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } }],
    ['tools', { tools }],
    ['logprobs', { logprobs: true }],
    ['few tokens', { max_tokens: 20 }],
    ['cut off', { max_tokens: 64, messages: [{ role: 'user', content: 'Flights? [[sim tokens=500]]' }] }],
    ['code only', { messages: [asked(`\`\`\`ts\n${'const a = 1\n'.repeat(20)}\`\`\``)] }],
    ['an open fence', { messages: [asked(`${ANSWER}\n\n\`\`\`ts\nconst a = 1`)] }],
    ['one word', { messages: [asked('Yes.')] }],
    ['JSON', { messages: [asked(JSON.stringify({ answer: ANSWER }))] }],
    ['a helpline', { messages: [asked(`${ANSWER} If you think of suicide, call 988.`)] }],
  ]
  for (const stream of [false, true])
    for (const [name, extra] of cases) {
      const response = await complete(world, { model: 'sim-small', messages: [asked()], stream, ...extra }, { project })
      const text = await response.text()
      assert.equal(response.status, 200, `${name}: ${text}`)
      assert.doesNotMatch(text, /Northwind|sponsored|\/r\//, name)
    }
  const counted = async () => Object.values(await outcomes()).reduce((sum, calls) => sum + calls, 0)
  await until(async () => (await counted()) === 2 * cases.length)
  assert.equal((await outcomes()).served, undefined)
})

test('who asks for no recommendation gets none', async () => {
  assert.equal((await ask({}, { headers: { 'x-monetization': 'off' } })).content, ANSWER)
  assert.equal((await ask({ metadata: { monetization: 'off' } })).content, ANSWER)
  await untilCounted({ opted_out: 2 })
  assert.equal(matcher.judged.length + matcher.matches.length, 0, 'and nobody was asked')
})

test('recommendations keep their distance: by the links in the history, and by the conversation’s id', async () => {
  const first = await ask()
  const history = [asked(), { role: 'assistant', content: first.content }]
  assert.equal((await ask({ messages: [...history, asked()] })).content, ANSWER)
  const later = [
    ...history,
    asked(),
    { role: 'assistant', content: ANSWER },
    asked(),
    { role: 'assistant', content: ANSWER },
  ]
  matcher.matches.length = 0
  await until(async () => (await outcomes()).served === 1)
  assert.ok((await ask({ messages: [...later, asked()] })).sponsored)
  assert.deepEqual(matcher.matches.at(-1)?.seenOffers, [match.offerId], 'what was seen is not asked for again')

  const headers = { 'x-conversation-id': 'trimmed' }
  const shown: boolean[] = []
  for (let turn = 0; turn < 7; turn++) {
    shown.push((await ask({}, { headers })).sponsored !== undefined)
    await until(async () => Object.values(await outcomes()).reduce((a, b) => a + b, 0) === 4 + turn)
  }
  assert.deepEqual(shown, [true, false, false, true, false, false, true])
  assert.deepEqual(matcher.matches.at(-1)?.seenOffers, [match.offerId], 'also when it is known by the id alone')
})

test('a conversation has as many recommendations as the publisher allows and no more, known by its id alone', async () => {
  const two = await monetized({ min_turn_gap: 1, max_per_conversation: 2 })
  const headers = { 'x-conversation-id': 'two' }
  const counted: Record<string, number>[] = [
    { served: 1 },
    { served: 2 },
    { capped: 1, served: 2 },
    { capped: 2, served: 2 },
  ]
  for (const expected of counted) {
    await ask({}, { project: two, headers })
    await untilCounted(expected, two)
  }
})

test('once a conversation was sensitive it stays free, whatever is asked later', async () => {
  const headers = { 'x-conversation-id': 'delicate' }
  matcher.judgeReply = { outcome: 'sensitive' }
  assert.equal((await ask({}, { headers })).sponsored, undefined)
  await untilCounted({ sensitive: 1 })
  const restraint = world.store.db.selectFrom('conversation_restraints').where('project_id', '=', project.id)
  await until(async () => (await restraint.select('is_sensitive').executeTakeFirst())?.is_sensitive === true)
  matcher.judgeReply = { outcome: 'open' }
  assert.equal((await ask({}, { headers })).sponsored, undefined)
  await untilCounted({ sensitive: 2 })
  assert.ok((await ask({}, { headers: { 'x-conversation-id': 'another' } })).sponsored)
})

test('a matcher is told whose share of it each question takes', async () => {
  assert.ok((await ask()).sponsored)
  assert.deepEqual([matcher.judged.at(-1)?.projectId, matcher.matches.at(-1)?.projectId], [project.id, project.id])
})

test('what was answered has its say: it is what the matcher searches with, and may be a reason for none', async () => {
  assert.ok((await ask()).sponsored)
  assert.equal(matcher.matches.at(-1)?.answer, ANSWER)
  matcher.reply = { outcome: 'answer_sensitive' }
  assert.equal((await ask()).content, ANSWER)
  matcher.reply = { outcome: 'below_relevance' }
  assert.equal((await ask()).content, ANSWER)
  await untilCounted({ answer_sensitive: 1, below_relevance: 1, served: 1 })
})

test('a matcher that is slow, silent or says something odd delays no answer by more than its deadline, and breaks none', async () => {
  const odd = [
    { outcome: 'served' },
    { outcome: 'matched' },
    { outcome: 'matched', match: { ...match, offerId: 1 } },
    'x',
  ]
  for (const reply of odd) {
    matcher.reply = reply as FixedMatcher['reply']
    assert.equal((await ask()).content, ANSWER)
  }
  await untilCounted({ unavailable: odd.length })
  // One that waits no longer than gateways do: the answers end because of that alone, for the matcher says nothing.
  const { url } = await startGateway(world)
  matcher.reply = undefined
  assert.equal((await ask({}, { url })).content, ANSWER)
  assert.equal(matcher.matches.at(-1)?.deadlineMs, 150)
  matcher.gate = new Promise(() => {})
  assert.equal((await ask({}, { url })).content, ANSWER)
  await untilCounted({ deadline: 2, unavailable: odd.length })
})

test('in test mode nothing is shown, and what would have been is written down', async () => {
  project = await monetized({ mode: 'test' })
  assert.equal((await ask()).content, ANSWER)
  await untilCounted({ test: 1 })
  const recorded = () =>
    world.store.db
      .selectFrom('recommendations')
      .select(['state', 'offer_id', 'price_nanos'])
      .where('project_id', '=', project.id)
      .execute()
  await until(async () => (await recorded()).length > 0)
  assert.deepEqual(await recorded(), [{ state: 'test', offer_id: match.offerId, price_nanos: 120_000_000n }])
})

test('the hint that decided a match is written down with it, and none where the offer’s own words did', async () => {
  const hint = 'for people who work in noise'
  for (const each of [match, { ...match, hint }]) {
    matcher.reply = { outcome: 'matched', match: each }
    await ask()
  }
  const rows = await world.store.db
    .selectFrom('recommendations')
    .select('hint')
    .where('project_id', '=', project.id)
    .orderBy('id')
    .execute()
  assert.deepEqual(rows, [{ hint: null }, { hint }])
})

/** The states of all recommendations in the project, oldest first. */
async function states(): Promise<string[]> {
  const rows = await world.store.db
    .selectFrom('recommendations')
    .select('state')
    .where('project_id', '=', project.id)
    .orderBy('id')
    .execute()
  return rows.map(({ state }) => state)
}

test('what a publisher sees in its own playground is shown, and costs no advertiser anything', async () => {
  const playground = { ...project, ...(await addKeyPair(world.store, world.secrets, project.id)) }
  await world.store.db
    .updateTable('key_pairs')
    .set({ purpose: 'playground' })
    .where('publishable_key', '=', playground.publishableKey)
    .execute()
  assert.ok((await ask({}, { project: playground })).sponsored)
  assert.ok((await ask()).sponsored)
  await until(async () => !(await states()).includes('aborted'))
  assert.deepEqual(await states(), ['test', 'delivered'])
  await untilCounted({ served: 2 })
})

test('a retry with the same Idempotency-Key gets the same recommendation', async () => {
  const headers = { 'idempotency-key': 'again' }
  const first = await ask({}, { headers })
  const second = await ask({}, { headers })
  assert.ok(first.sponsored)
  assert.deepEqual(second, first)
  await untilCounted({ served: 1 })
})

test('every label of the list can be chosen, and no other', async () => {
  for (const { label } of LABELS) {
    await setMonetization(world.store.db, project.id, { label })
    const own = await monetized({ label })
    assert.ok((await ask({}, { project: own })).content.startsWith(`${ANSWER}\n\n**${label}** · `))
  }
  const own = await monetized({ label: 'Tip' })
  assert.equal((await ask({}, { project: own })).content, ANSWER)
})

test('the link leads to the offer and nowhere else, and the other one says why', async () => {
  const { sponsored, content } = await ask()
  const path = String(sponsored?.url).slice(PUBLIC_URL.length)
  const follow = (at: string) => fetch(`${world.url}${at}`, { redirect: 'manual' })
  await untilCounted({ served: 1 })
  const offer = await follow(path)
  assert.equal(offer.status, 302)
  assert.equal(offer.headers.get('location'), OFFER_LINK)
  assert.equal(offer.headers.get('referrer-policy'), 'no-referrer')
  assert.equal(offer.headers.get('cache-control'), 'no-store')
  const why = await follow(/\(https:\/\/api\.example\.com(\/w\/[^)]+)\)/.exec(content)?.[1] ?? '')
  assert.equal(why.status, 200)
  assert.match(await why.text(), new RegExp(match.advertiser))
  const forged = `/r/${'A'.repeat(39)}B`
  for (const at of [forged, `${path}x`, path.slice(0, -1), `${path.slice(0, -2)}AA`, '/r/https:%2F%2Fevil.example'])
    assert.equal((await follow(at)).status, 404, at)
  const later = await follow(`${path}?to=https://evil.example`)
  assert.equal(later.headers.get('location'), OFFER_LINK)
})

test('an advertiser whose offers were recommended twice in a conversation is not asked for again', async () => {
  const patient = await monetized({ min_turn_gap: 1, max_per_conversation: 20 })
  const blocked = () => matcher.matches.at(-1)?.blockedAdvertisers
  const messages: Said[] = []
  for (const expected of [[], [], [match.advertiserId]]) {
    messages.push(asked())
    const { content } = await ask({ messages }, { project: patient })
    assert.deepEqual(blocked(), expected, `by the history: turn ${messages.length}`)
    messages.push({ role: 'assistant', content })
  }
  const headers = { 'x-conversation-id': 'twice' }
  for (const [turn, expected] of [[], [], [match.advertiserId]].entries()) {
    await ask({}, { project: patient, headers })
    assert.deepEqual(blocked(), expected, `by the conversation’s id: turn ${turn}`)
    await untilCounted({ served: 4 + turn }, patient)
  }
})

async function isChargeWaiting(): Promise<boolean> {
  const { rows } = await sql`select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(world.store.db)
  return rows.length > 0
}

test('a caller that is gone before its whole answer was charged has not seen the recommendation', async () => {
  const { hostname, port } = new URL(world.url)
  const caller = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  await world.store.db.transaction().execute(async (tx) => {
    await sql`lock table charges in share row exclusive mode`.execute(tx)
    caller.write(requestText(project, JSON.stringify({ model: 'sim-small', messages: [asked()] })))
    await until(isChargeWaiting)
    // The gateway, once hung up on, closes its side, too: then it knows.
    await once(caller.resume().end(), 'close')
  })
  // It left after its call was to be settled with what had been decided: that stays in the call's row.
  await untilCounted({ aborted: 1 }, project, { served: 1 })
  assert.deepEqual(await states(), ['aborted'])
})

test('a caller that is gone before the recommendation has not seen it', async () => {
  matcher.waitMs = 60
  const hangUp = new AbortController()
  const body = { model: 'sim-small', messages: [asked()], stream: true }
  const response = await complete(world, body, { project, signal: hangUp.signal })
  const reader = response.body?.getReader()
  let text = ''
  while (!text.includes('flat')) text += new TextDecoder().decode((await reader?.read())?.value)
  hangUp.abort()
  await untilCounted({ aborted: 1 })
  assert.deepEqual(await states(), [], 'nothing was matched for it')
})

test('a call that its provider breaks is counted as failed, before its first word and after it, and not as a reader who left', async () => {
  const broken = await monetized({})
  const messages = (script: string) => [
    { role: 'user', content: `Which headphones are good for flights? [[sim ${script}]]` },
  ]
  for (const script of ['status=500', 'fault=U10']) {
    const response = await complete(world, { model: 'sim-small', messages: messages(script) }, { project: broken })
    assert.ok([502, 503].includes(response.status), script)
    await response.text()
  }
  await untilCounted({ failed: 2 }, broken)
  const cut = { model: 'sim-small', messages: messages('fault=U14-rst'), stream: true }
  const response = await complete(world, cut, { project: broken })
  assert.doesNotMatch(await response.text(), /\[DONE\]/)
  await untilCounted({ failed: 3 }, broken)
})

test('what waits to be written when a gateway stops is written', async () => {
  const records = createRecommendationRecords({
    db: world.store.db,
    metrics: createMetrics(),
    repeat: createJobs({ log: createLog('silent'), metrics: createMetrics() }).repeat,
  })
  // Past the first look, which comes at once: the next would come in a quarter of a second.
  await turn()
  records.count(project.id, 'served')
  await records.stop()
  assert.deepEqual(await outcomes(), { served: 1 })
})
