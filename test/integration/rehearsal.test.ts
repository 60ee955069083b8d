import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMatcher, type Matcher } from '../../src/matcher/matcher.ts'
import { createMatcherServer } from '../../src/matcher/server.ts'
import { createMetrics } from '../../src/metrics.ts'
import { createLog } from '../../src/platform/log.ts'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { openEmbedderThread } from '../../src/recommend/embedding/embedder-thread.ts'
import { createRehearsalClient, RehearsalRefused, type RehearsalClient } from '../../src/recommend/rehearsal-client.ts'
import { rehearse, type RehearsalResult } from '../../src/recommend/rehearsal.ts'
import { matcherTokenOf, matcherTokensOf } from '../../src/recommend/wire.ts'
import { numberOccurrences } from '../../src/rules/calls/conversations.ts'
import { DAY_MS } from '../../src/rules/durations.ts'
import type { RehearsedConversation } from '../../src/rules/recommendations/rehearsal.ts'
import { recordTurn } from '../../src/store/calls/conversations.ts'
import type { Db, Store } from '../../src/store/database.ts'
import { addOffer } from '../support/catalogue.ts'
import {
  createConsoleWorld,
  newPerson,
  newProject,
  ORIGIN,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { openTestStore } from '../support/database.ts'
import { setMonetization } from '../support/fixed-matcher.ts'
import { loginUrl } from '../support/logins.ts'
import { here } from '../support/operator.ts'
import { openConsoleWith } from '../support/proven-console.ts'

/** In no text but those of the conversations. */
const CANARY = `canary${randomBytes(6).toString('hex')}`
const SAID = `Which running shoes should I buy for long road runs? My budget is 150. ${CANARY}`
const ANSWER = `For long road runs look for cushioned running shoes with a light foam. ${'They should fit well at the heel. '.repeat(4)}${CANARY}`
const PROVEN = { isProven: true, prompts: 500, shown: 0 }
const WITHIN_MS = 60_000

let world: ConsoleWorld
let matcherStore: Store
let matcher: Matcher
let matcherUrl: string
let closeMatcher: () => Promise<void>
let directory: string
let client: RehearsalClient
let owner: Person
let consoleApp: { url: string; close(): Promise<void> }
const logs: string[] = []

before(async () => {
  world = await createConsoleWorld()
  owner = await newPerson(world)
  matcherStore = openTestStore({
    url: loginUrl(String(world.env.DATABASE_URL), 'matcher'),
    applicationName: 'parley test matcher',
  })
  directory = await mkdtemp(join(tmpdir(), 'parley-rehearsal-'))
  await addOffer(world.store.db, {
    advertiser: 'Fleet',
    domain: 'fleet.example',
    headline: 'Fleet Road 3 running shoes',
    benefit: 'Cushioned, light and made for long road runs',
    category: 'Apparel > Shoes > Running',
    price: '129.00',
  })
  const log = createLog('debug', { write: (line) => logs.push(line) })
  const pace = { followEveryMs: 200, refreshEveryMs: 200 }
  // At its usual priority: on a busy machine the tests would wait for everybody else.
  const openEmbedder = (folder: string) => openEmbedderThread(folder)
  const parts = { db: matcherStore.db, log, metrics: createMetrics(), directory, proof: PROVEN, openEmbedder }
  matcher = createMatcher({ ...parts, ...pace })
  const app = createMatcherServer({ matcher, tokens: matcherTokensOf(world.secrets), log })
  await app.listen({ host: '127.0.0.1', port: 0 })
  matcherUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  matcher.start()
  closeMatcher = async () => {
    await app.close()
    await matcher.stop()
  }
  client = createRehearsalClient({ url: matcherUrl, token: matcherTokenOf(world.secrets) })
  consoleApp = await openConsoleWith(PROVEN, world, matcherUrl, log)
  // It is ready before everything is embedded.
  await until(async () => {
    const [verdicts] = await ask(uuidv7(), uuidv7(), [talk(SAID)]).catch(() => [])
    return verdicts?.[0]?.outcome === 'matched'
  })
})

after(async () => {
  await consoleApp.close()
  await client.close()
  await closeMatcher()
  await matcherStore.close()
  await world.close()
  await rm(directory, { recursive: true })
})

async function until(isTrue: () => Promise<boolean> | boolean): Promise<void> {
  const dueMs = performance.now() + WITHIN_MS
  while (!(await isTrue())) {
    assert.ok(performance.now() < dueMs, 'it did not come to be in time')
    await sleep(100)
  }
}

/** One question and its answer. */
function talk(said: string, gate: 'capped' | null = null): RehearsedConversation {
  const turns = [
    { role: 'user' as const, text: said },
    { role: 'assistant' as const, text: ANSWER },
  ]
  return { turns, replies: [{ before: 1, turn: 1, gate }] }
}

const SETTINGS = {
  minRelevance: 0,
  firstTurn: 1,
  minTurnGap: 1,
  maxPerConversation: 3,
  floorNanos: '0',
  blockedCategories: [],
  blockedAdvertisers: [],
  blockedDomains: [],
}

async function ask(projectId: string, id: string, conversations: RehearsedConversation[], signal = NEVER) {
  try {
    return await client.ask({ id, projectId, settings: SETTINGS, conversations }, signal)
  } finally {
    await client.end({ id, projectId })
  }
}

const NEVER = new AbortController().signal

async function say(project: string, id: string, ...texts: string[]): Promise<void> {
  const messages = texts.map((content, n) => ({
    role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content,
  }))
  await recordTurn(world.store.db, {
    conversation: { projectId: project, id },
    callId: uuidv7(),
    messages: numberOccurrences(messages, Buffer.alloc(32, 2)),
    retentionDays: 30,
  })
}

async function resultOf(projectId: string): Promise<RehearsalResult> {
  const { db } = world.store
  const inTransaction = <T>(work: (tx: Db) => Promise<T>) => db.transaction().execute(work)
  const steps = rehearse({ client, projectId, publisherId: owner.publisherId, signal: NEVER, inTransaction })
  for await (const step of steps) if ('result' in step) return step.result
  return assert.fail('no result')
}

interface Event {
  progress?: object
  result?: {
    recommended: number
    replies: number
    riskiest: { said: string }[]
    earnings: { manyNanos: string }
  }
}

async function eventsAs(person: Person, project: string): Promise<{ status: number; events: Event[] }> {
  const cookie = [...person.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await fetch(`${consoleApp.url}/api/projects/${project}/monetization/rehearsal`, {
    method: 'POST',
    headers: { cookie, origin: ORIGIN },
  })
  const text = await answer.text()
  const events = text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6)) as Event] : []))
  return { status: answer.status, events }
}

test('a rehearsal says how many stored replies would have had a recommendation, for whom, why the others not, and what that may earn', async () => {
  const project = await newProject(owner)
  await say(project, 'suits', SAID, ANSWER)
  await say(project, 'twice', SAID, ANSWER, `${SAID} And for trails?`, `${ANSWER} Trails, too.`)
  await say(project, 'idle', 'Tell me why the sky is blue, please.', `${ANSWER} Blue.`)
  await say(project, 'topic', 'Which shoes should I wear to court after my divorce?', `${ANSWER} Plain ones.`)
  await say(project, 'brief', `${SAID} In a word?`, 'Yes.')
  await setMonetization(world.store.db, project, { mode: 'off', excluded_topics: ['divorce'] })
  const result = await resultOf(project)
  const outcomes = Object.fromEntries(result.outcomes.map(({ outcome, replies }) => [outcome, replies]))
  // A gap of three replies: the second of `twice` has none.
  assert.deepEqual(outcomes, { test: 2, capped: 1, not_commercial: 1, excluded_topic: 1, answer_shape: 1 })
  assert.deepEqual([result.conversations, result.replies, result.recommended, result.unread], [5, 6, 2, 0])
  assert.deepEqual(result.advertisers, [{ name: 'Fleet', replies: 2 }])
  assert.deepEqual(result.categories, [{ name: 'Apparel', replies: 2 }])
  assert.deepEqual(result.looked, { conversations: 5, of: 5, isMore: false })
  assert.equal(result.earnings.shareBps, 7_000)
  assert.deepEqual(result.riskiest.map(({ conversation }) => conversation).toSorted(), ['suits', 'twice'])
  const [first] = result.riskiest
  assert.ok(first && first.nearSensitive > 0 && first.nearSensitive < 1 && first.match.relevance > 0.4)
  assert.deepEqual([first.said, first.answer], [SAID, ANSWER])
})

test('what is blocked, too far or below the floor is so in a rehearsal, too', async () => {
  const project = await newProject(owner)
  await say(project, 'suits', SAID, ANSWER)
  const outcomeWith = async (changes: Record<string, unknown>) => {
    const usual = { min_relevance: 0, floor_nanos: 0n, blocked_categories: [], first_turn: 1, audience: 'general' }
    await setMonetization(world.store.db, project, { mode: 'off', ...usual, ...changes })
    return (await resultOf(project)).outcomes.map(({ outcome }) => outcome)
  }
  assert.deepEqual(await outcomeWith({}), ['test'])
  assert.deepEqual(await outcomeWith({ min_relevance: 1 }), ['below_relevance'])
  assert.deepEqual(await outcomeWith({ floor_nanos: 900_000_000_000n }), ['below_floor'])
  assert.deepEqual(await outcomeWith({ blocked_categories: ['Apparel'] }), ['no_match'])
  assert.deepEqual(await outcomeWith({ first_turn: 2 }), ['capped'])
  assert.deepEqual(await outcomeWith({ audience: 'teen' }), ['audience'])
})

test('replies of before the last 30 days, of other projects and of deleted conversations are left out, and those without text are counted', async () => {
  const project = await newProject(owner)
  await say(await newProject(owner), 'elsewhere', SAID, ANSWER)
  for (const id of ['kept', 'old', 'deleted', 'textless']) await say(project, id, SAID, ANSWER)
  const { db } = world.store
  const of = (id: string) => ({ project_id: project, id })
  const long = new Date(Date.now() - 31 * DAY_MS)
  const set = (id: string, changes: object) =>
    db
      .updateTable('conversations')
      .set(changes)
      .where((eb) => eb.and(of(id)))
      .execute()
  await set('old', { last_call_at: long })
  await set('deleted', { deleted_at: new Date() })
  const mine = { project_id: project, conversation_id: 'textless' }
  await db
    .updateTable('messages')
    .set({ content: null })
    .where((eb) => eb.and(mine))
    .execute()
  const result = await resultOf(project)
  assert.deepEqual([result.looked.of, result.replies, result.unread], [2, 1, 1])
  assert.deepEqual(
    result.riskiest.map(({ conversation }) => conversation),
    ['kept'],
  )
})

test('a rehearsal leaves nothing behind: no row, no log line with text, nothing in the folder of the matcher', async () => {
  const project = await newProject(owner)
  await say(project, 'suits', SAID, ANSWER)
  const dump = () =>
    execFileSync('pg_dump', ['--data-only', '--inserts', String(world.env.DATABASE_URL)], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    })
  const rowsOf = (text: string) =>
    text
      .split('\n')
      .filter(
        (line) =>
          line.startsWith('INSERT') &&
          !/INTO public\.(?:matchers|campaign|sessions?|throttle|gateways|rate)/.test(line),
      )
  const before = rowsOf(dump())
  const { status, events } = await eventsAs(owner, project)
  assert.equal(status, 200)
  const { result } = events.at(-1) ?? {}
  assert.equal(result?.recommended, 1)
  assert.ok(result?.riskiest[0]?.said.includes(CANARY), 'whoever asked is shown the text')
  await sleep(500)
  const added = rowsOf(dump()).filter((line) => !before.includes(line))
  assert.deepEqual(
    added.filter((line) => line.includes(CANARY)),
    [],
  )
  assert.deepEqual(
    added.filter((line) => /INTO public\.(?:recommendation|messages|conversation|charges|calls|audit)/.test(line)),
    [],
  )
  assert.ok(!logs.join('').includes(CANARY))
  for (const file of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    assert.ok(!(await readFile(join(file.parentPath, file.name))).includes(CANARY), file.name)
  }
})

test('a project has one rehearsal at a time, an installation two, and whoever leaves makes room at once', async () => {
  const [first, second, third] = [uuidv7(), uuidv7(), uuidv7()]
  const reasonOf = (error: unknown) => (error instanceof RehearsalRefused ? error.reason : String(error))
  const begin = (projectId: string, id: string, signal = NEVER, conversations: RehearsedConversation[] = []) =>
    client.ask({ id, projectId, settings: SETTINGS, conversations }, signal).then(() => 'done', reasonOf)
  const [a, b] = [uuidv7(), uuidv7()]
  assert.equal(await begin(first, a), 'done')
  assert.equal(await begin(first, b), 'project_busy')
  assert.equal(await begin(first, a), 'done', 'it keeps its place between its requests')
  assert.equal(await begin(second, b), 'done')
  assert.equal(await begin(third, uuidv7()), 'matcher_busy')
  await client.end({ projectId: first, id: a })
  const leaving = new AbortController()
  const many = Array.from({ length: 40 }, (_, n) => talk(`${SAID} ${n}`))
  const asked = begin(third, uuidv7(), leaving.signal, many)
  await sleep(50)
  leaving.abort()
  assert.match(await asked, /abort/i)
  await until(async () => (await begin(first, a)) === 'done')
  await client.end({ projectId: first, id: a })
  await client.end({ projectId: second, id: b })
})

test('a publisher with many projects has one of the two places: the other is left to somebody else', async () => {
  const reasonOf = (error: unknown) => (error instanceof RehearsalRefused ? error.reason : String(error))
  const [greedy, other] = [uuidv7(), uuidv7()]
  const begin = (publisherId: string, projectId: string, id: string) =>
    client
      .ask({ id, projectId, publisherId, settings: SETTINGS, conversations: [] }, NEVER)
      .then(() => 'done', reasonOf)
  const [first, second, a, b, theirs] = [uuidv7(), uuidv7(), uuidv7(), uuidv7(), uuidv7()]
  assert.equal(await begin(greedy, first, a), 'done')
  assert.equal(await begin(greedy, second, b), 'matcher_busy')
  assert.equal(await begin(greedy, first, a), 'done', 'the one goes on')
  assert.equal(await begin(other, theirs, b), 'done')
  await client.end({ projectId: first, id: a })
  assert.equal(await begin(greedy, second, a), 'done')
  await client.end({ projectId: second, id: a })
  await client.end({ projectId: theirs, id: b })
})

test('another publisher’s project is not there, and one without conversations has nothing to show', async () => {
  const project = await newProject(owner)
  const stranger = await newPerson(world)
  assert.equal((await eventsAs(stranger, project)).status, 404)
  const { events } = await eventsAs(owner, project)
  assert.deepEqual(Object.keys(events[0] ?? {}), ['progress'])
  assert.equal(events.at(-1)?.result?.replies, 0)
})

test('the command line says the same, and shows no text of anybody’s', async () => {
  const project = await newProject(owner)
  await say(project, 'suits', SAID, ANSWER)
  const env = { ...world.env, PARLEY_MATCHER_URL: matcherUrl }
  const { code, stdout, stderr } = await here(['recommendations', 'rehearse', project, '--json'], { env })
  assert.equal(code, 0, stderr)
  const { result } = (await eventsAs(owner, project)).events.at(-1) ?? {}
  const said = JSON.parse(stdout)
  assert.deepEqual(
    [said.recommended, said.replies, said.earnings_nanos.many_clicks],
    [1, 1, result?.earnings.manyNanos],
  )
  assert.deepEqual(said.advertisers, [{ name: 'Fleet', replies: 1 }])
  const told = await here(['recommendations', 'rehearse', project], { env })
  assert.match(told.stdout, /with a recommendation\s+1/)
  assert.ok(!`${stdout}${told.stdout}${stderr}`.includes(CANARY))
})

test('without a matcher whoever asks is told so', async () => {
  const project = await newProject(owner)
  await say(project, 'suits', SAID, ANSWER)
  const nowhere = createRehearsalClient({ url: 'http://127.0.0.1:9', token: 'x' })
  const { db } = world.store
  const options = { client: nowhere, projectId: project, publisherId: owner.publisherId, signal: NEVER }
  const run = async () => {
    for await (const step of rehearse({ ...options, inTransaction: (work) => db.transaction().execute(work) }))
      assert.ok('progress' in step)
  }
  await assert.rejects(run, (error) => error instanceof RehearsalRefused && error.reason === 'unavailable')
  await nowhere.close()
})
