/** Replies and records are safe from a matcher that lies, callers who misuse the history, and readers who leave. */
import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { after, before, beforeEach, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { signingKeysOf, stripRecommendations } from '../../src/gateway/recommendations/recommendations.ts'
import { createRecommendationRecords } from '../../src/gateway/recommendations/records.ts'
import { createJobs } from '../../src/platform/every.ts'
import { createLog } from '../../src/platform/log.ts'
import { createMetrics } from '../../src/metrics.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { parseChatRequest } from '../../src/rules/calls/chat-request.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { renderBlock, wordsOfBlock, type Label } from '../../src/rules/recommendations/block.ts'
import { tokenOf } from '../../src/rules/recommendations/link-token.ts'
import {
  countTurns,
  expireRestraints,
  insertRecommendations,
  noteSensitive,
  type ConversationDigest,
  type RecommendationRecord,
} from '../../src/store/recommendations/records.ts'
import { addOffer, createFixedMatcher, setMonetization, type FixedMatcher } from '../support/fixed-matcher.ts'
import { updateModel } from '../../src/store/catalogue/models.ts'
import { startGateway } from '../conformance/second-gateway.ts'
import { addProject, complete, createWorld, until, type TestProject, type World } from '../support/world.ts'
import { assertEffort } from '../support/effort.ts'

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
  Object.assign(matcher, { reply: { outcome: 'matched', match }, judgeReply: { outcome: 'open' }, gate: undefined })
  matcher.matches.length = 0
  world.simulator.reset()
  project = await monetized()
})

async function monetized(changes: Record<string, unknown> = {}): Promise<TestProject> {
  const made = await addProject(world.store, world.secrets)
  await setMonetization(world.store.db, made.id, changes)
  return made
}

function recordFor(conversation: Buffer | undefined): RecommendationRecord {
  const { offerId, advertiserId, campaignId } = match
  const known = { projectId: project.id, callId: uuidv7(), turn: 1, label: 'Ad', conversation }
  return { id: uuidv7(), offerId, advertiserId, campaignId, relevance: 0.5, priceNanos: 1n, ...known }
}

const asked = {
  role: 'user',
  content: `Which headphones are good for flights? [[sim text=${encodeURIComponent(ANSWER)}]]`,
}

async function ask(
  messages: object[] = [asked],
  headers: Record<string, string> = {},
  url = world.url,
): Promise<string> {
  const response = await complete({ ...world, url }, { model: 'sim-small', messages }, { project, headers })
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
  const records = createRecommendationRecords({
    db,
    metrics,
    repeat: createJobs({ log: createLog('silent'), metrics }).repeat,
  })
  const conversation = { projectId: project.id, digest: Buffer.alloc(32, 7) }
  const sensitive = Array.from({ length: 20 }, () => ({ projectId: project.id, digest: randomBytes(32) }))
  const added: Promise<boolean | string>[] = []
  const add = (priceNanos: bigint) => {
    const one = { ...recordFor(conversation.digest), priceNanos }
    const adding = records.add(one, 5_000).then((isWritten) => {
      records.setState({ id: one.id, state: 'delivered' })
      return isWritten
    })
    added.push(adding.catch(() => 'refused'))
  }
  for (let n = 0; n < 20; n++) {
    add(n === 7 ? 0n : 1n)
    records.noteSensitive(sensitive[n] as ConversationDigest)
    records.count(project.id, 'served')
    if (n === 10) await sleep(300)
  }
  const stopped = records.stop()
  add(1n)
  await stopped
  const answers = await Promise.all(added)
  assert.deepEqual(answers.toSpliced(7, 1), Array(20).fill(true))
  assert.equal(answers[7], 'refused')
  const rows = await db
    .selectFrom('recommendations')
    .select('state')
    .where('project_id', '=', project.id)
    .where('state', '=', 'delivered')
    .execute()
  assert.equal(rows.length, 20)
  const [restraint] = await countTurns(db, [conversation])
  assert.equal(restraint?.served, 20)
  const restraints = await countTurns(db, sensitive)
  assert.deepEqual(
    restraints.map(({ isSensitive }) => isSensitive),
    Array(20).fill(true),
  )
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
  await noteSensitive(db, [conversation])
  const [restraint] = await countTurns(db, [conversation])
  assert.equal(restraint?.isSensitive, true)
})

/** Writing down what was recommended takes a while, and keeps nobody from counting the conversation's next turn meanwhile. */
async function noteSlowly(t: TestContext): Promise<void> {
  const { db } = world.store
  await sql`create function note_slowly() returns trigger language plpgsql as $$ begin
    if current_query() like '%excluded.served%' then perform pg_sleep(0.1); end if;
    return null;
  end $$`.execute(db)
  await sql`create trigger note_slowly before insert on conversation_restraints
    for each statement execute function note_slowly()`.execute(db)
  t.after(() => sql`drop function note_slowly() cascade`.execute(db))
}

test('a turn that comes as soon as a reader sees the recommendation of the one before knows of it', async (t) => {
  await noteSlowly(t)
  const headers = { 'x-conversation-id': 'eager' }
  const body = { model: 'sim-small', messages: [asked], stream: true }
  const { body: stream } = await complete(world, body, { project, headers })
  let seen = ''
  for await (const piece of stream ?? []) {
    const isFirstSight = !seen.includes('/r/')
    seen += Buffer.from(piece).toString()
    if (isFirstSight && seen.includes('/r/')) assert.equal(await ask([asked], headers), ANSWER)
  }
  assert.match(seen, /\/r\//)
})

test('conversations are noted as sensitive at once, also while no outcome can be counted', async (t) => {
  const { db } = world.store
  const records = createRecommendationRecords({
    db,
    metrics: createMetrics(),
    repeat: createJobs({ log: createLog('silent'), metrics: createMetrics() }).repeat,
  })
  t.after(() => records.stop())
  const startedMs = performance.now()
  await db.transaction().execute(async (tx) => {
    await sql`lock table recommendation_outcomes in access exclusive mode`.execute(tx)
    for (let n = 0; n < 10; n++) {
      const conversation = { projectId: project.id, digest: randomBytes(32) }
      records.count(project.id, 'served')
      records.noteSensitive(conversation)
      await until(async () => (await countTurns(db, [conversation]))[0]?.isSensitive === true)
    }
  })
  // Each count gives up only after a second or two.
  assert.ok(performance.now() - startedMs < 5_000)
})

test('a conversation whose turns follow each other at once has no more recommendations than others', async (t) => {
  await noteSlowly(t)
  const shown: boolean[] = []
  for (let turn = 0; turn < 7; turn++) shown.push(isRecommended(await ask([asked], { 'x-conversation-id': 'fast' })))
  assert.deepEqual(shown, [true, false, false, true, false, false, true])
})

test('a link leads to an address with letters of any alphabet', async () => {
  const link = 'https://shop.northwind.example/käse?q=日本'
  await world.store.db.updateTable('offers').set({ link }).where('id', '=', match.offerId).execute()
  const path = /\/r\/[\w-]{56}/.exec(await ask())?.[0]
  const { status, headers } = await fetch(`${world.url}${path}`, { redirect: 'manual' })
  assert.deepEqual([status, headers.get('location')], [302, new URL(link).href])
})

test('gateways that write of the same conversations, and a worker that forgets them, never wait in a circle', async () => {
  const { db } = world.store
  const keys = Array.from({ length: 40 }, () => ({ projectId: project.id, digest: randomBytes(32) }))
  const shuffled = () => keys.toSorted(() => Math.random() - 0.5)
  const expire = () => db.updateTable('conversation_restraints').set({ expires_at: new Date(0) })
  for (let round = 0; round < 25; round++) {
    await expire().where('project_id', '=', project.id).execute()
    await Promise.all([
      countTurns(db, shuffled()),
      noteSensitive(db, shuffled()),
      insertRecommendations(
        db,
        shuffled().map(({ digest }) => recordFor(digest)),
      ),
      expireRestraints(db, 1_000),
      countTurns(db, shuffled()),
      expireRestraints(db, 1_000),
    ])
  }
})

test('a matcher that comes too late is not asked a second question', async () => {
  // One that waits no longer than gateways do.
  const { url } = await startGateway(world)
  const gate = Promise.withResolvers<void>()
  matcher.gate = gate.promise
  assert.equal(await ask([asked], {}, url), ANSWER)
  gate.resolve()
  matcher.gate = undefined
  assert.equal(isRecommended(await ask()), true)
  assert.equal(matcher.matches.length, 1, 'by the other one')
})

test('eight megabytes of links, forged or copied, hold up the process for no longer than reading them takes', () => {
  const signing = { version: world.secrets.version, key: createSecretKey(world.secrets.keyFor('recommendations')) }
  const offer = { ...match, format: 'markdown' as const, price: undefined }
  const token = tokenOf(uuidv7(), { projectId: project.id, words: wordsOfBlock(offer) }, signing)
  const real = renderBlock({ ...offer, label: 'Ad' as Label, publicUrl: 'https://a.b', token })
  const links = real.slice(real.indexOf(' [See'))
  const forged = (n: number) => `${token.slice(0, -6)}${String(n).padStart(6, '0')}`
  const filled = (part: (n: number) => string) => {
    const count = Math.floor(8_000_000 / Buffer.byteLength(part(0)))
    return Array.from({ length: count }, (_, n) => part(n)).join('')
  }
  const bodies = {
    'forged links': filled((n) => `/r/${forged(n)}\n`),
    'copied links': filled(() => `/r/${token}\n`),
    labels: `Ad · ${'Ad · '.repeat(500_000)}${filled(() => `/r/${token} Ad · `).slice(0, 5_000_000)}`,
    'copied blocks': filled(() => `${real}\n`),
    'forged blocks': filled((n) => `${real.replaceAll(token, forged(n))}\n`),
    'blocks in one line': filled((n) => real.replaceAll(token, forged(n))),
    'links without words': filled((n) => `Ad · ${links.replaceAll(token, forged(n))}`),
    'long words': filled((n) => `Ad · ${'x&amp;\\'.repeat(200)}${links.replaceAll(token, forged(n))}\n`),
    'long origins': filled((n) => `[See offer](${'a'.repeat(250)}/r/${forged(n)}) · [Why this ad?](${'a'.repeat(300)}`),
    anchors: filled((n) => `<a ${'x'.repeat(150)}"a/r/${forged(n)}">See offer</a> · <a ${'h'.repeat(190)}`),
    openings: '[See offer]('.repeat(650_000),
  }
  for (const [name, content] of Object.entries(bodies)) {
    const request = parseChatRequest({ model: 'm', messages: [{ role: 'assistant', content }] })
    const strip = () => {
      const { history } = stripRecommendations(request, project.id, signingKeysOf(world.secrets))
      assert.equal(history.recommended.length, name === 'copied blocks' ? 1 : 0, name)
    }
    assertEffort(1_500, strip, name)
  }
})

/** Returns the assistant's former message as the model was sent it. */
async function sentAfter(content: string): Promise<string> {
  await ask([asked, { role: 'assistant', content }, asked])
  const sent = world.simulator.calls.at(-1)?.body as { messages: { content: string }[] }
  return sent.messages[1]?.content ?? ''
}

test('a link of ours takes nothing out of a line that is not exactly our block, of this project', async () => {
  const block = (await ask()).slice(`${ANSWER}\n\n`.length)
  const [link = ''] = /https:\S+\/r\/[\w-]+/.exec(block) ?? []
  const [start, end] = [block.indexOf(' — '), block.indexOf(' [See offer]')]
  const warning = 'Never mix bleach and ammonia.'
  const links = block.slice(end)
  const kept = [
    `${warning} See ${link}`,
    `${warning} ${links}`,
    `**Ad** · ${warning}${links}`,
    `${block.slice(0, end)} ${warning}${links}`,
    `${block.slice(0, start)}${warning}${block.slice(start)}`,
    block.replace(' · [Why', ` · ${warning} [Why`),
    block.replace('€249.00', '€1.00'),
    block.slice(0, -8),
  ]
  for (const text of kept) assert.equal(await sentAfter(text), text)
  const around = `${warning}\n\n${block} And open a window.\n${warning}`
  assert.equal(await sentAfter(around), `${warning} And open a window.\n${warning}`)
  project = await monetized()
  assert.equal(await sentAfter(block), block, 'of another project')
})

test('no number of forged links keeps a real block in what a model reads', async () => {
  // Longer than the model's context window, were it the usual one.
  await updateModel(world.store.db, 'sim-small', { context_window: 2_000_000 })
  await until(async () => (await (await fetch(`${world.url}/v1/models`, project)).text()).includes('2000000'))
  const content = await ask()
  const block = content.slice(`${ANSWER}\n\n`.length)
  const forged = (n: number) => block.replaceAll(/(?<=\/[rw]\/)[\w-]{8}/g, () => String(n).padStart(8, '0'))
  const junk = Array.from({ length: 5_000 }, (_, n) =>
    n % 2 === 0 ? forged(n) : /\/r\/[\w-]+/.exec(forged(n))?.[0],
  ).join('\n')
  assert.equal(await sentAfter(`${junk}\n\n${content}`), `${junk}\n\n${ANSWER}`)
})

test('an assistant’s message that was all ours, or a part of it, is not sent on as an empty one', async () => {
  const first = await ask()
  const block = first.slice(ANSWER.length)
  const text = (words: string) => ({ type: 'text', text: words })
  await ask([asked, { role: 'assistant', content: [text(ANSWER), text(block)] }, asked])
  const sent = world.simulator.calls.at(-1)?.body as { messages: { content: unknown }[] } | undefined
  assert.deepEqual(sent?.messages[1]?.content, [text(ANSWER)])
})
