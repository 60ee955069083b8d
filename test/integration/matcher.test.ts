import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMatcher, type Matcher, type MatcherOptions } from '../../src/matcher/matcher.ts'
import { createMatcherServer } from '../../src/matcher/server.ts'
import { createLog } from '../../src/platform/log.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { createMetrics } from '../../src/metrics.ts'
import { EmbedderUnavailable } from '../../src/recommend/embedding/embedder.ts'
import { openEmbedderThread } from '../../src/recommend/embedding/embedder-thread.ts'
import { createMatcherClient, type MatcherClient } from '../../src/recommend/matcher-client.ts'
import { matcherTokenOf, matcherTokensOf } from '../../src/recommend/wire.ts'
import type { MatchReply, MatchRequest } from '../../src/rules/recommendations/matching.ts'
import { SAMPLE_CONVERSATIONS } from '../../src/recommend/sample-conversations.ts'
import type { Store } from '../../src/store/database.ts'
import { readChances } from '../../src/store/offers/campaign-chances.ts'
import { addOffer, type AddedOffer } from '../support/catalogue.ts'
import { ROOT, start } from '../support/commands.ts'
import { createTestDatabase, openTestStore, type TestDatabase } from '../support/database.ts'
import { loginUrl } from '../support/logins.ts'

/** In the middle of a rotation, matchers know gateways by more than one. */
const SECRETS = createSecrets([2, 1].map((version) => ({ version, bytes: randomBytes(32) })))
const TOKEN = matcherTokenOf(SECRETS, 1)
const PROVEN = { isProven: true, prompts: 500, shown: 0 }
const WITHIN_MS = 60_000
/** The time within which pausing, suspending and switching off are promised to work. */
const EFFECTIVE_MS = 5_000
const SAID = 'Which running shoes should I buy for long road runs? My budget is 150.'

interface World {
  matcher: Matcher
  client: MatcherClient
  url: string
  logs: string[]
  close(): Promise<void>
}

let database: TestDatabase
let store: Store
let directory: string
let world: World
let shoes: AddedOffer
let matcherStore: Store

before(async () => {
  database = await createTestDatabase()
  store = openTestStore({ url: database.url, applicationName: 'parley test' })
  matcherStore = openTestStore({ url: loginUrl(database.url, 'matcher'), applicationName: 'parley test matcher' })
  directory = await mkdtemp(join(tmpdir(), 'parley-matcher-'))
  const benefit = 'Cushioned, light and made for long road runs'
  const shoe = { advertiser: 'Fleet', domain: 'fleet.example', headline: 'Fleet Road 3 running shoes', benefit }
  shoes = await addOffer(store.db, { ...shoe, category: 'Apparel > Shoes > Running', price: '129.00' })
  await addOffer(store.db, { advertiser: 'Brew', domain: 'brew.example', headline: 'Brew One espresso machine' })
  world = await open({})
  await untilReady(world)
  // It is ready before everything is embedded.
  await until(async () => (await outcomeOf(SAID)) === 'matched', WITHIN_MS)
})

after(async () => {
  await world.close()
  await matcherStore.close()
  await store.close()
  await database.drop()
  await rm(directory, { recursive: true })
})

async function open(changes: Partial<MatcherOptions>): Promise<World> {
  const logs: string[] = []
  const log = createLog('debug', { write: (line) => logs.push(line) })
  const metrics = createMetrics()
  const matcher = createMatcher({
    db: matcherStore.db,
    log,
    metrics,
    directory,
    proof: PROVEN,
    followEveryMs: 200,
    refreshEveryMs: 200,
    chancesEveryMs: 200,
    ...changes,
  })
  const app = createMatcherServer({ matcher, tokens: matcherTokensOf(SECRETS), log })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  const client = createMatcherClient({ url, token: TOKEN, metrics })
  matcher.start()
  return {
    matcher,
    client,
    url,
    logs,
    async close() {
      await client.close()
      await app.close()
      await matcher.stop()
    },
  }
}

async function until(isTrue: () => Promise<boolean> | boolean, withinMs: number): Promise<void> {
  const dueMs = performance.now() + withinMs
  while (!(await isTrue())) {
    assert.ok(performance.now() < dueMs, 'it did not come to be in time')
    await sleep(50)
  }
}

async function untilReady({ matcher, logs }: World): Promise<void> {
  await until(() => matcher.state !== 'starting', WITHIN_MS)
  assert.equal(matcher.state, 'ready', logs.join(''))
}

function ask(said: string, changes: Partial<MatchRequest> = {}, client = world.client): Promise<MatchReply> {
  const request: MatchRequest = {
    turns: [{ role: 'user', text: said }],
    answer: said,
    minRelevance: 0,
    floorNanos: '0',
    blockedCategories: [],
    blockedAdvertisers: [],
    blockedDomains: [],
    seenOffers: [],
    deadlineMs: 20_000,
    ...changes,
  }
  return client.match(request, new AbortController().signal)
}

async function outcomeOf(said: string, changes: Partial<MatchRequest> = {}): Promise<string> {
  return (await ask(said, changes)).outcome
}

test('an offer that fits what was asked and answered is matched, with all that is needed to show it', async () => {
  const reply = await ask(SAID)
  assert.equal(reply.outcome, 'matched')
  assert.ok('match' in reply)
  const { relevance, ...shown } = reply.match
  assert.deepEqual(shown, {
    ...shoes,
    advertiser: 'Fleet',
    headline: 'Fleet Road 3 running shoes',
    benefit: 'Cushioned, light and made for long road runs',
    price: { amount: '129.00', currency: 'USD' },
    priceNanos: '10000001',
  })
  assert.ok(relevance > 0.4 && relevance <= 1)
  // The answer counts too: one about something else gets no recommendation.
  const elsewhere = await ask(SAID, { answer: 'The capital of France is Paris, on the river Seine. '.repeat(6) })
  assert.equal(elsewhere.outcome, 'below_relevance')
})

test('doubt about people ends a match before anything is searched', async () => {
  assert.equal(await outcomeOf('I want to end my life and nobody cares about me any more.'), 'sensitive')
  const turns = [
    { role: 'user', text: 'My mother died last week and I cannot stop crying.' },
    { role: 'assistant', text: 'I am very sorry.' },
    { role: 'user', text: SAID },
  ] as const
  assert.equal(await outcomeOf('', { turns }), 'sensitive')
  assert.equal(await outcomeOf('How does photosynthesis turn light into sugar?'), 'not_commercial')
  assert.equal(await outcomeOf('Quelles chaussures de course devrais-je acheter pour la route ?'), 'language')
  assert.equal(await outcomeOf(`${SAID}\n`.repeat(4_000)), 'too_long')
})

test('what a publisher blocked is not matched, whichever way it is named', async () => {
  const none = /^(no_match|below_relevance)$/
  assert.match(await outcomeOf(SAID, { blockedCategories: ['apparel > shoes'] }), none)
  assert.match(await outcomeOf(SAID, { blockedAdvertisers: [shoes.advertiserId] }), none)
  assert.match(await outcomeOf(SAID, { blockedDomains: ['fleet.example'] }), none)
  assert.match(await outcomeOf(SAID, { seenOffers: [shoes.offerId] }), none)
  assert.equal(await outcomeOf(SAID, { blockedCategories: ['Apparel > Sh'] }), 'matched')
})

test('relevance and the floor are asked for after everything else', async () => {
  assert.equal(await outcomeOf(SAID, { minRelevance: 0.99 }), 'below_relevance')
  assert.equal(await outcomeOf(SAID, { floorNanos: '400000001' }), 'below_floor')
  const atFloor = await ask(SAID, { floorNanos: '400000000' })
  assert.ok(atFloor.outcome === 'matched' && 'match' in atFloor && atFloor.match.priceNanos === '400000000')
  // Without a floor and without a rival, a click costs a cent, and not next to nothing.
  const alone = await ask(SAID, { floorNanos: '0' })
  assert.ok(alone.outcome === 'matched' && 'match' in alone && alone.match.priceNanos === '10000001')
})

test('a paused campaign, a suspended advertiser, an old feed and the switch take effect within 5 s', async () => {
  const { db } = store
  const isMatched = async () => (await outcomeOf(SAID)) === 'matched'
  const { campaignId, advertiserId } = shoes
  const old = { expires_at: new Date(0) }
  const off: [outcome: string, turnOff: () => Promise<unknown>][] = [
    [
      'below_relevance',
      () => db.updateTable('campaigns').set({ status: 'paused' }).where('id', '=', campaignId).execute(),
    ],
    [
      'below_relevance',
      () => db.updateTable('advertisers').set({ status: 'suspended' }).where('id', '=', advertiserId).execute(),
    ],
    ['below_relevance', () => db.updateTable('feeds').set(old).where('campaign_id', '=', campaignId).execute()],
    ['unavailable', () => db.updateTable('recommendation_switch').set({ is_on: false }).execute()],
  ]
  const later = new Date(Date.now() + 86_400_000)
  const on = async () => {
    await db.updateTable('campaigns').set({ status: 'active' }).execute()
    await db.updateTable('advertisers').set({ status: 'active' }).execute()
    await db.updateTable('feeds').set({ expires_at: later }).execute()
    await db.updateTable('recommendation_switch').set({ is_on: true }).execute()
  }
  for (const [outcome, turnOff] of off) {
    await turnOff()
    await until(async () => (await outcomeOf(SAID)) === outcome, EFFECTIVE_MS)
    await on()
    await until(isMatched, EFFECTIVE_MS)
  }
})

test("a campaign's hint finds its offers, and a negative hint keeps them away", async () => {
  const { db } = store
  const tray = { advertiser: 'Clamp', domain: 'clamp.example', headline: 'Clamp under-table tray, steel' }
  const { campaignId, offerId } = await addOffer(db, tray)
  const said = 'What should I buy to keep my desk tidy? I have cables everywhere.'
  let decidedBy: string | undefined
  const isMatched = async () => {
    const reply = await ask(said)
    decidedBy = 'match' in reply ? reply.match.hint : undefined
    return 'match' in reply && reply.match.offerId === offerId
  }
  assert.equal(await isMatched(), false)
  const hints = ['for people who sail alone', 'for people with cables all over their desk', 'for cooks']
  await db.updateTable('campaigns').set({ context_hints: hints }).where('id', '=', campaignId).execute()
  await until(isMatched, EFFECTIVE_MS)
  assert.equal(decidedBy, hints[1], 'which of them it was is said')
  await db.updateTable('campaigns').set({ negative_hints: hints }).where('id', '=', campaignId).execute()
  await until(async () => !(await isMatched()), EFFECTIVE_MS)
})

function preview(hints: string[], negativeHints: string[] = []) {
  return world.client.previewHints({ hints, negativeHints, deadlineMs: WITHIN_MS }, new AbortController().signal)
}

test('hints are tried on conversations of ours, and those in which nothing may be recommended are three', async () => {
  const { samples = [] } = (await preview([])) ?? {}
  const free = samples.filter(({ outcome }) => outcome === 'free').map(({ said }) => said.slice(0, 16))
  assert.deepEqual(free, ['Why is the sky b', 'Please turn this', 'My father died t'])
  assert.equal(samples.length, SAMPLE_CONVERSATIONS.length)
  assert.ok(samples.every(({ outcome, hint }) => outcome === 'free' || (outcome === 'far' && hint === null)))
})

test('a preview says by which hint a conversation is reached, and which hint would keep the campaign out', async () => {
  const noise = 'for people distracted by noise at home'
  const of = async (hints: string[], negativeHints: string[] = []) => {
    const found = await preview(hints, negativeHints)
    const sample = (begins: string) => found?.samples.find(({ said }) => said.startsWith(begins))
    return { headphones: sample('It is loud'), grief: sample('My father died'), all: found?.samples ?? [] }
  }
  const matched = await of([noise, 'for cooks'])
  assert.deepEqual([matched.headphones?.outcome, matched.headphones?.hint], ['matched', noise])
  assert.ok((matched.headphones?.nearness ?? 0) >= 0.42)
  assert.ok(matched.all.filter(({ outcome }) => outcome === 'matched').length <= 4, 'and not everything')
  const unwanted = await of([noise], ['noisy offices'])
  assert.deepEqual([unwanted.headphones?.outcome, unwanted.headphones?.hint], ['unwanted', 'noisy offices'])
  assert.equal((await of(['for people who grieve for their father and cannot sleep'])).grief?.outcome, 'free')
  assert.equal((await of(['for people who sail alone'])).headphones?.outcome, 'far')
})

test('what a preview says of a hint is what a live conversation with the same words comes to', async () => {
  const { db } = store
  const noise = 'for people distracted by noise at home'
  const pair = { advertiser: 'Hush', domain: 'hush.example', headline: 'Hush 45 headphones', benefit: 'for the office' }
  const { campaignId, offerId } = await addOffer(db, pair)
  const sample = (await preview([noise]))?.samples.find(({ outcome }) => outcome === 'matched')
  assert.ok(sample)
  const live = () => ask(sample.said, { answer: sample.answer, isTest: true })
  await db
    .updateTable('campaigns')
    .set({ context_hints: [noise] })
    .where('id', '=', campaignId)
    .execute()
  await until(async () => {
    const reply = await live()
    return 'match' in reply && reply.match.hint === noise
  }, WITHIN_MS)
  const reply = await live()
  assert.ok('match' in reply && reply.match.offerId === offerId)
  assert.equal(reply.match.relevance, sample.nearness)
  await db
    .updateTable('campaigns')
    .set({ negative_hints: ['noisy offices'] })
    .where('id', '=', campaignId)
    .execute()
  await until(async () => !('match' in (await live())), EFFECTIVE_MS)
  assert.equal(
    (await preview([noise], ['noisy offices']))?.samples.find(({ said }) => said === sample.said)?.outcome,
    'unwanted',
  )
})

test('how far each campaign came is counted, but not for what is only tried out', async () => {
  const { db } = store
  const counted = async () => {
    const chances = await readChances(db, [shoes.campaignId], 1)
    return chances.get(shoes.campaignId) ?? { open: 0n, fitted: 0n, contended: 0n, won: 0n }
  }
  const settled = async () => {
    await sleep(600)
    return counted()
  }
  const before = await settled()
  await ask(SAID, { isTest: true })
  await ask('How does photosynthesis turn light into sugar?')
  assert.deepEqual(await settled(), before)
  await ask(SAID)
  await ask(SAID, { floorNanos: '900000000000' })
  await ask('Which espresso machine should I buy for a small kitchen?')
  await until(async () => (await counted()).open >= before.open + 3n, WITHIN_MS)
  const after = await settled()
  assert.deepEqual(
    [
      after.open - before.open,
      after.fitted - before.fitted,
      after.contended - before.contended,
      after.won - before.won,
    ],
    [3n, 2n, 2n, 1n],
  )
})

test('a matcher that finds no encoder builds it once and says so, and one that finds it says nothing', async () => {
  const said = ({ logs }: World) => logs.filter((line) => line.includes('the encoder is not prepared')).length
  assert.equal(said(world), 1)
  const next = await open({ directory: join(directory, 'next'), encoderDirectory: directory })
  await untilReady(next)
  assert.equal(said(next), 0)
  await next.close()
})

test('gates that are not proven, or a missing model, switch it off, and it says so where operators look', async () => {
  const cases: [Partial<MatcherOptions>, string][] = [
    [
      { proof: { isProven: false, prompts: 0, shown: 0, why: 'The gates have never been proven.' } },
      'never been proven',
    ],
    [
      { openEmbedder: () => Promise.reject(new EmbedderUnavailable('The weights are missing.')) },
      'weights are missing',
    ],
  ]
  for (const [changes, why] of cases) {
    const off = await open({ ...changes, directory: join(directory, 'off') })
    await until(() => off.matcher.state === 'switched_off', WITHIN_MS)
    assert.equal((await ask(SAID, {}, off.client)).outcome, 'unavailable')
    assert.equal(off.logs.filter((line) => line.includes('"level":"error"')).length, 1)
    await until(async () => {
      const rows = await store.db.selectFrom('matchers').selectAll().where('state', '=', 'switched_off').execute()
      return rows.some(({ problem }) => problem?.includes(why))
    }, 8_000)
    await off.close()
  }
  // The last report of matchers that earlier tests closed may still be on its way.
  await until(async () => {
    const left = await store.db.selectFrom('matchers').select('state').execute()
    return left.length === 1 && left[0]?.state === 'ready'
  }, 8_000)
})

test('a matcher without an encoder goes on by itself once there is one, and has complained once', async (t) => {
  let times = 0
  const openEmbedder = async (cacheDir: string) => {
    times += 1
    if (times < 4) throw new EmbedderUnavailable('The encoder cannot be built.')
    return openEmbedderThread(cacheDir)
  }
  const off = await open({
    directory: join(directory, 'mended'),
    encoderDirectory: directory,
    openEmbedder,
    openAgainMs: 50,
  })
  t.after(off.close)
  await until(() => off.matcher.state === 'switched_off', WITHIN_MS)
  await until(() => off.matcher.state === 'ready', 20_000)
  // Three times in vain, then one for replies and one for indexing.
  assert.equal(times, 5)
  assert.equal(off.logs.filter((line) => line.includes('the matcher is switched off')).length, 1)
  assert.equal(off.logs.filter((line) => line.includes('the matcher is switched on again')).length, 1)
})

test('a matcher whose encoder ends is switched off until another one is open, and is not restarted for it', async (t) => {
  const ends: (() => void)[] = []
  const openEmbedder = async (cacheDir: string) => {
    const thread = await openEmbedderThread(cacheDir)
    const { promise: ended, resolve } = Promise.withResolvers<Error>()
    ends.push(() => resolve(new RangeError('Array buffer allocation failed')))
    return { ...thread, ended }
  }
  const struck = await open({
    directory: join(directory, 'struck'),
    encoderDirectory: directory,
    openEmbedder,
    openAgainMs: 50,
  })
  t.after(struck.close)
  await until(() => struck.matcher.state === 'ready', 20_000)
  ends[0]?.()
  await until(() => struck.matcher.state === 'switched_off', WITHIN_MS)
  assert.match(struck.matcher.health.problem ?? '', /encoder has ended \(RangeError\)/)
  await until(() => struck.matcher.state === 'ready', 20_000)
  assert.equal((await ask(SAID, {}, struck.client)).outcome, 'matched')
  assert.equal(ends.length, 3)
})

test('a matcher that waits for an encoder stops at once', async () => {
  const openEmbedder = () => Promise.reject(new EmbedderUnavailable('The weights are missing.'))
  const off = await open({ directory: join(directory, 'waiting'), openEmbedder })
  await until(() => off.matcher.state === 'switched_off', WITHIN_MS)
  const startedMs = performance.now()
  await off.close()
  assert.ok(performance.now() - startedMs < 4_000)
})

test('a project that floods the matcher through several gateways leaves the others their matches', async (t) => {
  const [greedy, quiet] = [crypto.randomUUID(), crypto.randomUUID()]
  const gate = Promise.withResolvers<void>()
  const openEmbedder = async (cacheDir: string) => {
    const embedder = await openEmbedderThread(cacheDir)
    const embed = async (texts: readonly string[]) => {
      if (texts.some((text) => text.includes('Zanzibar'))) await gate.promise
      return embedder.embed(texts)
    }
    return { modelId: embedder.modelId, embed, close: () => embedder.close() }
  }
  const flooded = await open({ directory: join(directory, 'flooded'), openEmbedder })
  t.after(() => flooded.close())
  await untilReady(flooded)
  await until(async () => (await ask(SAID, {}, flooded.client)).outcome === 'matched', WITHIN_MS)
  const gateways = Array.from({ length: 4 }, () =>
    createMatcherClient({ url: flooded.url, token: TOKEN, metrics: createMetrics() }),
  )
  t.after(() => Promise.all(gateways.map((gateway) => gateway.close())))
  const outcomes: string[] = []
  const flood = gateways.flatMap((gateway) =>
    Array.from({ length: 25 }, async (_, n) => {
      const text = `${SAID} I run in Zanzibar, ${n} km a day.`
      outcomes.push((await ask(text, { projectId: greedy, deadlineMs: 60_000 }, gateway)).outcome)
    }),
  )
  // Two run and half of the line waits: the rest was refused.
  await until(() => outcomes.length === 100 - 2 - 32, WITHIN_MS)
  assert.deepEqual(new Set(outcomes), new Set(['unavailable']))
  for (let n = 0; n < 5; n++) assert.equal((await ask(SAID, { projectId: quiet }, flooded.client)).outcome, 'matched')
  gate.resolve()
  await Promise.all(flood)
})

test('new offers are indexed while replies leave no gap, few at a time and not by the encoder of replies', async (t) => {
  const gate = Promise.withResolvers<void>()
  const asked: { embedder: number; texts: readonly string[] }[] = []
  let opened = 0
  const openEmbedder = async (cacheDir: string) => {
    const thread = await openEmbedderThread(cacheDir)
    const embedder = opened++
    const embed = async (texts: readonly string[]) => {
      asked.push({ embedder, texts })
      if (texts.some((text) => text.includes('Zanzibar'))) await gate.promise
      return thread.embed(texts)
    }
    return { modelId: thread.modelId, embed, close: () => thread.close() }
  }
  // Its own: the matcher of the other tests would embed them, too.
  const own = await createTestDatabase()
  const [adding, following] = [own.url, loginUrl(own.url, 'matcher')].map((url) =>
    openTestStore({ url, applicationName: 'parley test' }),
  )
  assert.ok(adding && following)
  const busy = await open({ db: following.db, directory: join(directory, 'busy'), openEmbedder })
  t.after(async () => {
    gate.resolve()
    await busy.close()
    await Promise.all([adding.close(), following.close()])
    await own.drop()
  })
  await untilReady(busy)
  const reply = ask(`${SAID} I run in Zanzibar.`, {}, busy.client)
  const ofReply = () => asked.filter(({ texts }) => texts.some((text) => text.includes('Zanzibar')))
  const ofOffers = () => asked.filter(({ texts }) => texts.some((text) => text.includes('Kettle')))
  await until(() => ofReply().length > 0, WITHIN_MS)
  for (let n = 0; n < 12; n++)
    await addOffer(adding.db, { advertiser: 'Brew', domain: 'brew.example', headline: `Kettle ${n}` })
  await until(() => ofOffers().flatMap(({ texts }) => texts).length >= 12, WITHIN_MS)
  assert.ok(ofOffers().every(({ texts }) => texts.length <= 4))
  const embedders = (some: typeof asked) => [...new Set(some.map(({ embedder }) => embedder))]
  assert.deepEqual([embedders(ofReply()), embedders(ofOffers())], [[0], [1]])
  gate.resolve()
  assert.notEqual((await reply).outcome, 'deadline')
})

test('strangers are refused, and nothing that was said is logged', async () => {
  const stranger = createMatcherClient({ url: world.url, token: 'another', metrics: createMetrics() })
  assert.equal((await ask(SAID, {}, stranger)).outcome, 'unavailable')
  await stranger.close()
  const bare = await fetch(`${world.url}/match`, { method: 'POST', body: '{}' })
  assert.equal(bare.status, 401)
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const newer = { ...headers, authorization: `Bearer ${matcherTokenOf(SECRETS)}` }
  const known = await fetch(`${world.url}/match`, { method: 'POST', headers: newer, body: '{}' })
  assert.equal(known.status, 400, 'a gateway that has another secret first is no stranger')
  const odd = await fetch(`${world.url}/match`, { method: 'POST', headers, body: '{"turns":"canary"}' })
  assert.equal(odd.status, 400)
  assert.doesNotMatch(await odd.text(), /canary/)
  assert.doesNotMatch(world.logs.join('\n'), /running shoes|canary|cables everywhere/)
})

test('"parley serve matcher" listens where it is told to, and ends in order', async () => {
  const env = {
    PARLEY_MATCHER_DATABASE_URL: loginUrl(database.url, 'matcher'),
    PARLEY_SECRET: randomBytes(32).toString('base64'),
    PARLEY_MATCHER_PORT: '0',
    PARLEY_MATCHER_DIR: join(directory, 'served'),
    PARLEY_OPS_PORT: '0',
  }
  const served = start(join(ROOT, 'bin/parley'), ['serve', 'matcher'], { env })
  await served.untilPrinted(/"roles":\["matcher"\].*"matcherUrl":"http:\S+".*"msg":"listening"/, 20_000)
  const port = /"matcherUrl":"(http:[^"]+)"/.exec(served.output)?.[1] ?? ''
  assert.equal((await fetch(`${port}/match`, { method: 'POST' })).status, 401)
  assert.equal(await served.end('SIGTERM', 20_000), 0, served.output)
})
