/** What a matcher that lies, callers who misuse the history, and readers who leave cannot do to replies and to records. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTokenReader, stripped } from '../../src/gateway/recommendations.ts'
import { createRecommendationRecords } from '../../src/gateway/recommendation-records.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { parseChatRequest } from '../../src/rules/chat-request.ts'
import type { Match } from '../../src/rules/matching.ts'
import { tokenOf } from '../../src/rules/recommendation-token.ts'
import {
  countTurns,
  expireRestraints,
  noteRestraints,
  type RecommendationRecord,
} from '../../src/store/recommendation-records.ts'
import { addOffer, createFixedMatcher, setMonetization, type FixedMatcher } from '../support/fixed-matcher.ts'
import { addProject, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'

const ANSWER =
  'For flights, look for over-ear headphones with active noise cancelling, a long battery life and a case that folds flat.'

let world: World
let matcher: FixedMatcher
let match: Match
let project: TestProject
before(async () => {
  matcher = await createFixedMatcher()
  world = await createWorld({ env: { PARLEY_MATCHER_URL: matcher.url, PARLEY_PUBLIC_URL: 'https://api.example.com' } })
  match = await addOffer(world.store.db)
})
after(async () => {
  await world.close()
  await matcher.close()
})
beforeEach(async () => {
  Object.assign(matcher, { reply: { outcome: 'matched', match }, judgeReply: { outcome: 'open' }, waitMs: 0 })
  matcher.matches.length = 0
  world.simulator.reset()
  project = await monetized()
})

async function monetized(changes: Record<string, unknown> = {}): Promise<TestProject> {
  const made = await addProject(world.store, world.secrets)
  await setMonetization(world.store.db, made.id, changes)
  return made
}

const asked = {
  role: 'user',
  content: `Which headphones are good for flights? [[sim text=${encodeURIComponent(ANSWER)}]]`,
}

async function ask(messages: object[] = [asked], headers: Record<string, string> = {}): Promise<string> {
  const response = await complete(world, { model: 'sim-small', messages }, { project, headers })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return String(JSON.parse(text).choices[0].message.content)
}

const isRecommended = (content: string) => content !== ANSWER && content.startsWith(`${ANSWER}\n\n**Ad** · `)

test('no lie of a matcher breaks a reply, or keeps what is true from being written down', async () => {
  const lies: object[] = [
    { price: { amount: '249.00', currency: 'EURO' } },
    { price: { amount: 'a lot', currency: 'EUR' } },
    { priceNanos: '0' },
    { relevance: 1e300 },
    { advertiser: ' \u200b ' },
  ]
  for (const lie of lies) {
    matcher.reply = { outcome: 'matched', match: { ...match, ...lie } }
    assert.equal(await ask(), ANSWER, JSON.stringify(lie))
    // Lies in a row would be taken for a fault of the matcher.
    matcher.reply = { outcome: 'matched', match }
    assert.ok(isRecommended(await ask()))
  }
  const written = () =>
    world.store.db.selectFrom('recommendations').select('id').where('project_id', '=', project.id).execute()
  await until(async () => (await written()).length === lies.length)
})

test('a row that the store refuses is given up alone, and a stop in the middle of writing loses and doubles nothing', async () => {
  const { db } = world.store
  const metrics = createMetrics()
  const records = createRecommendationRecords({ db, log: createLog('silent'), metrics })
  const record = (priceNanos: bigint): RecommendationRecord => {
    const { offerId, advertiserId, campaignId } = match
    const known = { projectId: project.id, callId: uuidv7(), turn: 1, label: 'Ad', state: 'delivered' } as const
    return { id: uuidv7(), offerId, advertiserId, campaignId, relevance: 0.5, priceNanos, ...known }
  }
  const conversation = { projectId: project.id, digest: Buffer.alloc(32, 7) }
  const { offerId, advertiserId } = match
  for (let n = 0; n < 20; n++) {
    records.add(record(n === 7 ? 0n : 1n))
    records.note({ ...conversation, isSensitive: false, served: { turn: n + 1, offerId, advertiserId } })
    records.count(project.id, 'served')
    if (n === 10) await sleep(300)
  }
  const stopped = records.stop()
  records.add(record(1n))
  await stopped
  const { ids } = await db
    .selectFrom('recommendations')
    .select(({ fn }) => fn.countAll<bigint>().as('ids'))
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  assert.equal(ids, 20n)
  const [restraint] = await countTurns(db, [conversation])
  assert.equal(restraint?.served, 20)
  const counted = await db
    .selectFrom('recommendation_outcomes')
    .select(({ fn }) => fn.sum<bigint>('calls').as('calls'))
    .where('project_id', '=', project.id)
    .executeTakeFirstOrThrow()
  assert.equal(Number(counted.calls), 20)
})

test('conversations of as many messages as may be sent do not cost everybody else their recommendations', async () => {
  const many = Array.from({ length: 2_047 }, (_, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content: 'x' }))
  for (let n = 0; n < 6; n++) assert.ok((await ask([...many.slice(0, 2_046), asked])).startsWith(ANSWER))
  assert.ok(isRecommended(await ask()))
})

test('that a conversation was sensitive is remembered also when its reader has left before the answer ended', async () => {
  const headers = { 'x-conversation-id': 'left' }
  matcher.judgeReply = { outcome: 'sensitive' }
  const hangUp = new AbortController()
  const body = {
    model: 'sim-small',
    stream: true,
    messages: [{ role: 'user', content: 'Hello [[sim tokens=200 gap=50]]' }],
  }
  const response = await complete(world, body, { project, headers, signal: hangUp.signal })
  await response.body?.getReader().read()
  await sleep(100)
  hangUp.abort()
  const isNoted = () =>
    world.store.db
      .selectFrom('conversation_restraints')
      .select('is_sensitive')
      .where('project_id', '=', project.id)
      .where('is_sensitive', '=', true)
      .executeTakeFirst()
  await until(async () => (await isNoted()) !== undefined)
  matcher.judgeReply = { outcome: 'open' }
  assert.equal(await ask([asked], headers), ANSWER)
})

test('what is noted of a conversation whose time was over is remembered for a day like any other', async () => {
  const { db } = world.store
  const conversation = { projectId: project.id, digest: Buffer.alloc(32, 9) }
  await countTurns(db, [conversation])
  await db
    .updateTable('conversation_restraints')
    .set({ expires_at: new Date(Date.now() - 1_000) })
    .where('project_id', '=', project.id)
    .execute()
  await noteRestraints(db, [{ ...conversation, isSensitive: true, served: undefined }])
  const [restraint] = await countTurns(db, [conversation])
  assert.equal(restraint?.isSensitive, true)
})

test('a conversation whose turns follow each other at once has no more recommendations than others', async () => {
  const shown: boolean[] = []
  for (let turn = 0; turn < 7; turn++) shown.push(isRecommended(await ask([asked], { 'x-conversation-id': 'fast' })))
  assert.deepEqual(shown, [true, false, false, true, false, false, true])
})

test('a link leads to an address with letters of any alphabet', async () => {
  const link = 'https://shop.northwind.example/käse?q=日本'
  await world.store.db.updateTable('offers').set({ link }).where('id', '=', match.offerId).execute()
  const path = /\/r\/[\w-]{40}/.exec(await ask())?.[0]
  const follow = () => fetch(`${world.url}${path}`, { redirect: 'manual' })
  await until(async () => (await follow()).status !== 404)
  const { status, headers } = await follow()
  assert.deepEqual([status, headers.get('location')], [302, new URL(link).href])
})

test('gateways that write of the same conversations, and a worker that forgets them, never wait in a circle', async () => {
  const { db } = world.store
  const { offerId, advertiserId } = match
  const keys = Array.from({ length: 40 }, () => ({ projectId: project.id, digest: randomBytes(32) }))
  const shuffled = () => keys.toSorted(() => Math.random() - 0.5)
  const served = { turn: 1, offerId, advertiserId }
  const notes = () => shuffled().map((key) => ({ ...key, isSensitive: false, served }))
  const expire = () => db.updateTable('conversation_restraints').set({ expires_at: new Date(0) })
  for (let round = 0; round < 25; round++) {
    await expire().where('project_id', '=', project.id).execute()
    await Promise.all([
      countTurns(db, shuffled()),
      noteRestraints(db, notes()),
      expireRestraints(db, 1_000),
      countTurns(db, shuffled()),
      expireRestraints(db, 1_000),
    ])
  }
})

test('a matcher that comes too late is not asked a second question', async () => {
  matcher.waitMs = 500
  assert.equal(await ask(), ANSWER)
  await sleep(700)
  assert.equal(matcher.matches.length, 0)
})

test('eight megabytes of links, forged or copied, hold up the process for no longer than reading them takes', () => {
  const signing = { version: world.secrets.version, key: world.secrets.keyFor('recommendations') }
  const real = tokenOf(uuidv7(), signing)
  const forged = (n: number) => `${real.slice(0, -4)}${String(n).padStart(4, '0')}`
  const line = (token: string) =>
    `**Ad** · N — H. [See offer](https://a.b/r/${token}) · [Why this ad?](https://a.b/w/${token})`
  const bodies = [
    Array.from({ length: 180_000 }, (_, n) => `/r/${forged(n % 10_000)}`).join('\n'),
    `/r/${real}\n`.repeat(180_000),
    `Ad · ${'Ad · '.repeat(500_000)}${`/r/${real} Ad · `.repeat(80_000)}`,
    line(real).repeat(50_000),
  ]
  const readToken = createTokenReader(world.secrets)
  for (const [n, content] of bodies.entries()) {
    const started = process.cpuUsage()
    stripped(parseChatRequest({ model: 'm', messages: [{ role: 'assistant', content }] }), readToken)
    const { user } = process.cpuUsage(started)
    assert.ok(user < 2_500_000, `body ${n}: ${user} us of CPU`)
  }
})

test('an assistant’s message that was all ours, or a part of it, is not sent on as an empty one', async () => {
  const first = await ask()
  const block = first.slice(ANSWER.length)
  const text = (words: string) => ({ type: 'text', text: words })
  await ask([asked, { role: 'assistant', content: [text(ANSWER), text(block)] }, asked])
  const sent = world.simulator.calls.at(-1)?.body as { messages: { content: unknown }[] } | undefined
  assert.deepEqual(sent?.messages[1]?.content, [text(ANSWER)])
})
