import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { proofOf } from '../../src/recommend/gates/proof.ts'
import type { Message } from '../../src/rules/calls/message.ts'
import { numberOccurrences } from '../../src/rules/calls/conversations.ts'
import { RECOMMENDATION_OUTCOMES } from '../../src/rules/recommendations/matching.ts'
import { DEFAULT_SETTINGS, obstacleToOn, type SafetyProof } from '../../src/rules/recommendations/monetization.ts'
import { outcomeWordsOf } from '../../src/rules/recommendations/outcome-labels.ts'
import { completionIdOf } from '../../src/rules/billing/receipts.ts'
import { recordTurn } from '../../src/store/calls/conversations.ts'
import { lockMonetization } from '../../src/store/recommendations/monetization.ts'
import {
  addOutcomes,
  insertRecommendations,
  setRecommendationStates,
  type RecommendationRecord,
  type RecommendationState,
} from '../../src/store/recommendations/records.ts'
import { HOUR_MS } from '../../src/rules/durations.ts'
import { addMatcher, addOffer, type AddedOffer } from '../support/catalogue.ts'
import { addOffer as addMatchedOffer, createFixedMatcher } from '../support/fixed-matcher.ts'
import { addSettledCall } from '../support/ledger.ts'
import { addKeyPair } from '../support/world.ts'
import {
  createConsoleWorld,
  must,
  newPerson,
  newProject,
  ORIGIN,
  type ConsoleWorld,
  type Person,
} from '../support/console.ts'
import { openConsoleWith } from '../support/proven-console.ts'

const PROVEN: SafetyProof = { isProven: true, prompts: 500, shown: 0 }
let world: ConsoleWorld
let owner: Person

before(async () => {
  world = await createConsoleWorld()
  owner = await newPerson(world)
})
after(() => world.close())

/** The same person at a console of the same installation, for which the safety bench has shown this. */
async function withProof<T>(proof: SafetyProof, work: (person: Person) => Promise<T>): Promise<T> {
  const { url, close } = await openConsoleWith(proof, world)
  try {
    return await work(atConsole(owner, url))
  } finally {
    await close()
  }
}

function atConsole(person: Person, consoleUrl: string): Person {
  return {
    ...person,
    async send(key, { body } = {}) {
      const [method = 'GET', path = ''] = key.split(' ')
      const cookie = [...person.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const headers = { cookie, origin: ORIGIN, ...(body !== undefined && { 'content-type': 'application/json' }) }
      const answer = await fetch(`${consoleUrl}${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
      const text = await answer.text()
      return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) }
    },
  }
}

function read(project: string, path = '', person = owner) {
  return must(person.send(`GET /api/projects/${project}/monetization${path}`)).then(({ body }) => body)
}

function change(project: string, body: object, person = owner) {
  return person.send(`PATCH /api/projects/${project}/monetization`, { body })
}

function switchTo(mode: string, project: string, person = owner) {
  return person.send(`PUT /api/projects/${project}/monetization/mode`, { body: { mode } })
}

function setBlocked(project: string, advertiser: string, isBlocked: boolean) {
  return owner.send(`PUT /api/projects/${project}/monetization/blocked-advertisers`, {
    body: { advertiser, isBlocked },
  })
}

async function auditOf(action: string) {
  const { body } = await must(
    owner.send(`GET /api/publishers/${owner.publisherId}/audit-log?action=${encodeURIComponent(action)}`),
  )
  return body.items as { action: string; subject: string; details: Record<string, unknown> }[]
}

let shops = 0

function addShopOffer(change: Partial<Parameters<typeof addOffer>[1]> = {}): Promise<AddedOffer> {
  const n = (shops += 1)
  return addOffer(world.store.db, {
    advertiser: `Shop ${n}`,
    domain: `shop${n}.example.com`,
    headline: `Thing ${n}`,
    benefit: 'does it well',
    category: 'Sports > Tents',
    price: '12.50',
    ...change,
  })
}

async function recommend(
  projectId: string,
  offer: AddedOffer,
  change: Partial<RecommendationRecord> = {},
  state: RecommendationState['state'] | 'aborted' = 'delivered',
) {
  const id = uuidv7()
  const record: RecommendationRecord = {
    id,
    projectId,
    callId: uuidv7(),
    ...offer,
    turn: 2,
    priceNanos: 250_000_000n,
    relevance: 0.75,
    label: 'Ad',
    conversation: undefined,
    ...change,
  }
  await insertRecommendations(world.store.db, [record])
  if (state !== 'aborted') await setRecommendationStates(world.store.db, [{ id: record.id, state }])
  return record
}

test('a project that has set nothing is off, with the values that the table has for new rows', async () => {
  const project = await newProject(owner)
  const { labels, matcher, obstacle, library, ...settings } = await read(project)
  assert.deepEqual(settings, { ...DEFAULT_SETTINGS, floorNanos: '0' })
  assert.equal(library.isPublic, false)
  assert.ok(labels.some(({ label }: { label: string }) => label === settings.label))
  assert.equal(matcher, 'absent')
  assert.equal(obstacle, obstacleToOn({ ...DEFAULT_SETTINGS, isSandbox: false }, proofOf()) ?? null)
  const stored = await world.store.db.transaction().execute((tx) => lockMonetization(tx, project))
  assert.deepEqual(stored, DEFAULT_SETTINGS)
})

test('readers are shown recommendations only when the safety check was passed, and every switch is written down', async () => {
  const project = await newProject(owner)
  await withProof({ isProven: false, prompts: 0, shown: 0 }, async (person) => {
    const refused = await switchTo('on', project, person)
    assert.equal(refused.status, 409)
    assert.match(refused.body.message, /has not passed the safety check/)
    assert.equal((await read(project, '', person)).obstacle, refused.body.message)
    // Test mode needs no proof, as readers see nothing.
    assert.equal((await switchTo('test', project, person)).status, 200)
  })
  await withProof({ isProven: false, prompts: 500, shown: 2 }, async (person) => {
    assert.match((await switchTo('on', project, person)).body.message, /some sensitive conversations would have had/)
  })
  assert.equal((await read(project)).mode, 'test')
  await withProof(PROVEN, async (person) => {
    assert.equal((await switchTo('on', project, person)).status, 200)
    assert.equal((await switchTo('on', project, person)).status, 200)
    assert.equal((await read(project, '', person)).obstacle, null)
  })
  const log = await auditOf('monetization.mode_changed')
  assert.deepEqual(
    log.slice(0, 2).map(({ details }) => details),
    [
      { before: 'test', after: 'on' },
      { before: 'off', after: 'test' },
    ],
  )
})

test('nobody but a general audience is shown anything: it cannot be switched on, and another audience switches it off', async () => {
  await withProof(PROVEN, async (person) => {
    const project = await newProject(owner)
    await must(change(project, { audience: 'teen' }, person))
    const refused = await switchTo('on', project, person)
    assert.equal(refused.status, 409)
    assert.match(refused.body.message, /general audience only/)
    for (const audience of ['teen', 'child']) {
      await must(change(project, { audience: 'general' }, person))
      await must(switchTo('on', project, person))
      const { body } = await must(change(project, { audience }, person))
      assert.deepEqual(body, { mode: 'off' })
      assert.equal((await read(project, '', person)).mode, 'off')
      const [entry] = await auditOf('monetization.changed')
      assert.deepEqual(entry?.details, { audience: `general → ${audience}`, mode: 'on → off' })
    }
  })
})

test('what is set is kept as it is meant: each once, spelled as feeds and the DNS do, and nothing else is touched', async () => {
  const project = await newProject(owner)
  await must(
    change(project, {
      label: 'Werbung',
      format: 'plain',
      minRelevance: 0.7,
      firstTurn: 2,
      minTurnGap: 4,
      maxPerConversation: 1,
      floorNanos: '123456789',
      blockedCategories: ['Toys>  Games', 'toys > games', ' '],
      blockedDomains: ['https://Rival.example.com/', 'rival.example.com'],
      excludedTopics: [' Last  will ', 'last will'],
    }),
  )
  await must(change(project, { firstTurn: 3 }))
  const {
    labels: _labels,
    matcher: _matcher,
    obstacle: _obstacle,
    library: _library,
    ...settings
  } = await read(project)
  assert.deepEqual(settings, {
    mode: 'off',
    label: 'Werbung',
    format: 'plain',
    audience: 'general',
    minRelevance: 0.7,
    firstTurn: 3,
    minTurnGap: 4,
    maxPerConversation: 1,
    floorNanos: '123456789',
    blockedCategories: ['Toys > Games'],
    blockedDomains: ['rival.example.com'],
    excludedTopics: ['Last will'],
    blockedAdvertisers: [],
  })
  const entries = await auditOf('monetization.changed')
  assert.deepEqual(entries[0]?.details, { firstTurn: '2 → 3' })
  assert.equal(entries[1]?.details.floorNanos, '$0.00 → $0.123456789')
  assert.deepEqual(entries[1]?.details.blockedDomains, { added: ['rival.example.com'], removed: [] })
  await must(change(project, { firstTurn: 3 }))
  assert.equal((await auditOf('monetization.changed')).length, entries.length, 'the same again is no change')
})

test('everything that was set can be set back', async () => {
  const project = await newProject(owner)
  const before = await read(project)
  const { label, format, minRelevance, firstTurn, minTurnGap, maxPerConversation, floorNanos } = before
  const lists = { blockedCategories: [], blockedDomains: [], excludedTopics: [] }
  await must(
    change(project, {
      label: 'Werbung',
      format: 'plain',
      minRelevance: 0.7,
      firstTurn: 2,
      minTurnGap: 4,
      maxPerConversation: 1,
      floorNanos: '1',
      blockedCategories: ['Toys'],
      blockedDomains: ['rival.example.com'],
      excludedTopics: ['Last will'],
    }),
  )
  const usual = { label, format, minRelevance, firstTurn, minTurnGap, maxPerConversation, floorNanos, ...lists }
  await must(change(project, usual))
  assert.deepEqual(await read(project), before)
})

test('what cannot be is refused beside its field, and then nothing of the rest is kept', async () => {
  const project = await newProject(owner)
  const wrong: [object, string, RegExp][] = [
    [{ label: 'Tip' }, 'label', /one of the labels/],
    [{ minRelevance: 1.1 }, 'minRelevance', /0 to 1/],
    [{ firstTurn: 0 }, 'firstTurn', /1 to 50/],
    [{ minTurnGap: 51 }, 'minTurnGap', /1 to 50/],
    [{ maxPerConversation: 2.5 }, 'maxPerConversation', /1 to 20/],
    [{ floorNanos: '1000000000001' }, 'floorNanos', /At most/],
    [{ blockedDomains: ['fine.example.com', 'not a domain'] }, 'blockedDomains', /not a domain is no domain/],
    [{ excludedTopics: Array.from({ length: 101 }, (_, n) => `topic ${n}`) }, 'excludedTopics', /At most 100/],
    [{ blockedCategories: ['x'.repeat(201)] }, 'blockedCategories', /at most 200/],
  ]
  for (const [body, path, message] of wrong) {
    const { status, body: answer } = await change(project, { ...body, ...(path !== 'label' && { label: 'Anzeige' }) })
    assert.equal(status, 422, path)
    assert.deepEqual([answer.fields.length, answer.fields[0].path], [1, path])
    assert.match(answer.fields[0].message, message)
  }
  assert.equal((await read(project)).label, 'Ad')
})

test('a colleague without the role sees everything and changes nothing, and a stranger sees nothing', async () => {
  const project = await newProject(owner)
  const guest = await newPerson(world)
  const { user } = (await guest.send('GET /api/me')).body
  await world.store.db
    .insertInto('memberships')
    .values({ publisher_id: owner.publisherId, user_id: user.id, role: 'developer' })
    .execute()
  assert.equal((await read(project, '', guest)).mode, 'off')
  assert.equal((await switchTo('test', project, guest)).status, 403)
  assert.equal((await change(project, { label: 'Anzeige' }, guest)).status, 403)
  const stranger = await newPerson(world)
  for (const path of ['', '/preview', '/outcomes', '/catalogue', '/categories'])
    assert.equal((await stranger.send(`GET /api/projects/${project}/monetization${path}`)).status, 404)
  assert.equal((await stranger.send(`GET /api/projects/${project}/recommendations`)).status, 404)
  assert.equal((await switchTo('test', project, stranger)).status, 404)
})

test('the preview shows a kept reply and the offer that the matcher finds for it, and else a sample of both that says why', async () => {
  const project = await newProject(owner)
  const matcher = await createFixedMatcher()
  const { url, close } = await openConsoleWith(PROVEN, world, matcher.url)
  const person = atConsole(owner, url)
  const preview = (query = '') => read(project, `/preview${query}`, person)
  const say = (id: string, ...messages: Message[]) =>
    recordTurn(world.store.db, {
      conversation: { projectId: project, id },
      callId: uuidv7(),
      messages: numberOccurrences(messages, Buffer.alloc(32, 2)),
      retentionDays: 1,
    })
  const answer = `Take over-ear headphones with noise cancelling. ${'They are quiet on long flights. '.repeat(4)}`
  const asked = { role: 'user', content: 'Which headphones are good for long flights?' } as const
  try {
    const empty = await preview()
    assert.deepEqual([empty.match, empty.sampleBecause], [null, 'no_reply'])
    assert.match(empty.block, /^\*\*Ad\*\* · Example Shop — Trail Two tent/)
    assert.match(empty.reply, /tent/, 'the sample offer fits the sample reply')
    assert.match(empty.block, /\[See offer\]\(http[^)]+\/r\/preview0+\)/)

    await say('suits', asked, { role: 'assistant', content: answer })
    await say('code', asked, { role: 'assistant', content: '```js\nconst a = 1\n```' })
    await say('brief', asked, { role: 'assistant', content: 'Yes.' })
    await say('unasked', { role: 'assistant', content: answer })
    await say('excluded', { role: 'user', content: 'And after a divorce?' }, { role: 'assistant', content: answer })
    await must(change(project, { excludedTopics: ['divorce'], minRelevance: 0.6, floorNanos: '50000000' }))
    assert.equal((await preview()).sampleBecause, 'no_match')
    assert.equal(matcher.matches.length, 1, 'only what could have had a recommendation is asked for')
    const [question] = matcher.matches
    assert.deepEqual([question?.turns, question?.answer], [[{ role: 'user', text: asked.content }], answer])
    assert.deepEqual([question?.minRelevance, question?.floorNanos], [0.6, '50000000'])

    const match = await addMatchedOffer(world.store.db)
    matcher.reply = { outcome: 'matched', match }
    const found = await preview()
    assert.equal(found.reply, answer)
    assert.deepEqual([found.match.conversation.id, found.match.advertiser], ['suits', match.advertiser])
    assert.equal(found.sampleBecause, null)
    assert.ok(found.block.startsWith(`**Ad** · ${match.advertiser} — Hush 45`), found.block)
    const other = await preview('?label=Anzeige&format=plain')
    assert.match(other.block, /^Anzeige · Northwind Audio .* Zum Angebot: http/)
    assert.equal((await person.send(`GET /api/projects/${project}/monetization/preview?label=Tip`)).status, 422)

    matcher.judgeReply = { outcome: 'sensitive' }
    assert.deepEqual([(await preview()).match, (await preview()).sampleBecause], [null, 'no_match'])
  } finally {
    await close()
    await matcher.close()
  }
  // The other console has no matcher.
  assert.equal((await read(project, '/preview')).sampleBecause, 'no_matcher')
})

test('a call and its conversation show what the reply carried, under the reply that carried it, and to nobody else', async () => {
  const project = await newProject(owner)
  const offer = await addShopOffer({ advertiser: 'Tent & Co', headline: 'Trail Two tent' })
  await addKeyPair(world.store, world.secrets, project)
  const { db } = world.store
  const { id: keyPairId } = await db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', project)
    .executeTakeFirstOrThrow()
  const turn = async (question: string, answer: string, history: Message[] = []) => {
    const callId = uuidv7()
    const said: Message[] = [...history, { role: 'user', content: question }, { role: 'assistant', content: answer }]
    const messages = numberOccurrences(said, Buffer.alloc(32, 2))
    await addSettledCall(db, { id: callId, projectId: project, keyPairId })
    await recordTurn(db, { conversation: { projectId: project, id: 'trip' }, callId, messages, retentionDays: 1 })
    return callId
  }
  const former: Message = { role: 'assistant', content: 'Said elsewhere.' }
  const first = await turn('A tent?', 'A light one.', [former])
  const second = await turn('And a stove?', 'A small one.')
  const third = await turn('And a map?', 'On paper.')
  await recommend(project, offer, { callId: first, priceNanos: 1n }, 'test')
  await recommend(project, offer, { callId: second, turn: 2, hint: 'for those who walk for days' })
  await recommend(project, offer, { callId: third }, 'aborted')
  const { body: page } = await must(owner.send(`GET /api/projects/${project}/conversations/trip/messages`))
  const carried = page.items.map(({ recommendation }: { recommendation: { state: string } | null }) => {
    return recommendation?.state ?? null
  })
  assert.deepEqual(carried, [null, null, 'test', null, 'delivered', null, null])
  const { body: call } = await must(owner.send(`GET /api/projects/${project}/calls/${completionIdOf(second, 'chat')}`))
  const { id: _id, at: _at, ...recommendation } = call.recommendation
  assert.deepEqual(recommendation, {
    headline: 'Trail Two tent',
    advertiser: 'Tent & Co',
    label: 'Ad',
    turn: 2,
    relevance: 0.75,
    hint: 'for those who walk for days',
    priceNanos: '250000000',
    state: 'delivered',
    clicks: [],
  })
  const { body: earlier } = await must(
    owner.send(`GET /api/projects/${project}/calls/${completionIdOf(first, 'chat')}`),
  )
  assert.equal(earlier.recommendation.hint, null)
  const { body: last } = await must(owner.send(`GET /api/projects/${project}/calls/${completionIdOf(third, 'chat')}`))
  assert.equal(last.recommendation, null, 'nobody was shown it')
})

test('each call is counted under one reason, in words, for the time that was asked for', async () => {
  const project = await newProject(owner)
  const hour = (agoHours: number) => new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - agoHours * HOUR_MS)
  await addOutcomes(world.store.db, [
    { projectId: project, hour: hour(0), outcome: 'served', calls: 3 },
    { projectId: project, hour: hour(1), outcome: 'test', calls: 1 },
    { projectId: project, hour: hour(2), outcome: 'sensitive', calls: 6 },
    { projectId: project, hour: hour(30), outcome: 'sensitive', calls: 10 },
    { projectId: project, hour: hour(24 * 8), outcome: 'capped', calls: 100 },
    { projectId: await newProject(owner), hour: hour(0), outcome: 'served', calls: 1_000 },
  ])
  await world.store.db
    .insertInto('recommendation_outcomes')
    .values({ project_id: project, hour: hour(0), outcome: 'of_tomorrow', calls: 2n })
    .execute()
  const day = await read(project, '/outcomes?range=24h')
  assert.deepEqual([day.calls, day.recommended], [12, 4])
  assert.deepEqual(
    day.outcomes.map((each: { outcome: string; calls: number }) => [each.outcome, each.calls]),
    [
      ['sensitive', 6],
      ['served', 3],
      [null, 2],
      ['test', 1],
    ],
  )
  assert.match(day.outcomes[0].explanation, /such conversations get no recommendations/)
  assert.deepEqual((({ calls, recommended }) => [calls, recommended])(await read(project, '/outcomes')), [22, 4])
  assert.equal((await read(project, '/outcomes?range=30d')).calls, 122)
  assert.equal((await owner.send(`GET /api/projects/${project}/monetization/outcomes?range=1y`)).status, 422)
})

test('a range has as many hours as it says, this one included, to its last moment', async (t) => {
  const project = await newProject(owner)
  const hourMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const ranges = { '24h': 24, '7d': 7 * 24, '30d': 30 * 24 }
  const hoursAgo = [0, ...Object.values(ranges).flatMap((hours) => [hours - 1, hours])]
  await addOutcomes(
    world.store.db,
    hoursAgo.map((ago, n) => ({
      projectId: project,
      hour: new Date(hourMs - ago * HOUR_MS),
      outcome: 'served' as const,
      calls: 10 ** n,
    })),
  )
  t.mock.timers.enable({ apis: ['Date'], now: hourMs + HOUR_MS - 1 })
  const calls: number[] = []
  for (const range of Object.keys(ranges)) calls.push((await read(project, `/outcomes?range=${range}`)).calls)
  assert.deepEqual(calls, [11, 1_111, 111_111])
})

test('every outcome that a gateway can count is told in words', async () => {
  const project = await newProject(owner)
  const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS)
  await addOutcomes(
    world.store.db,
    RECOMMENDATION_OUTCOMES.map((outcome) => ({ projectId: project, hour, outcome, calls: 1 })),
  )
  const { outcomes, calls } = await read(project, '/outcomes')
  assert.equal(calls, RECOMMENDATION_OUTCOMES.length)
  const titles: string[] = outcomes.map(({ title }: { title: string }) => title)
  assert.deepEqual(
    titles.toSorted(),
    RECOMMENDATION_OUTCOMES.map((outcome) => outcomeWordsOf(outcome).title).toSorted(),
  )
  assert.ok(!titles.includes('Another reason'))
})

test('what was recommended is listed newest first and page by page, without what nobody was shown', async () => {
  const project = await newProject(owner)
  const offer = await addShopOffer({ advertiser: 'Lamp Works', headline: 'Reading lamp' })
  const first = await recommend(project, offer, { turn: 1 }, 'test')
  const second = await recommend(project, offer)
  await recommend(project, offer, {}, 'aborted')
  const third = await recommend(project, offer)
  await world.store.db
    .updateTable('recommendations')
    .set({ offer_id: uuidv7(), advertiser_id: uuidv7() })
    .where('id', '=', third.id)
    .execute()
  await recommend(await newProject(owner), offer)
  const list = (query: string) => must(owner.send(`GET /api/projects/${project}/recommendations${query}`))
  const { body: start } = await list('?limit=2')
  assert.deepEqual(
    start.items.map(({ id }: { id: string }) => id),
    [third.id, second.id],
  )
  assert.deepEqual(start.items[0].advertiser, {
    id: start.items[0].advertiser.id,
    name: 'Removed',
    isBlocked: false,
  })
  const { body: rest } = await list(`?limit=2&after=${start.next}`)
  const [item] = rest.items
  assert.equal(rest.next, null)
  assert.deepEqual(
    { ...item, at: undefined, advertiser: item.advertiser.name },
    {
      id: first.id,
      at: undefined,
      advertiser: 'Lamp Works',
      headline: 'Reading lamp',
      label: 'Ad',
      turn: 1,
      relevance: 0.75,
      priceNanos: '250000000',
      state: 'test',
      call: completionIdOf(first.callId, 'chat'),
    },
  )
  assert.equal((await owner.send(`GET /api/projects/${project}/recommendations?after=there`)).status, 422)
})

test('an advertiser is blocked and unblocked by one call each, and stays in sight when it is suspended', async () => {
  const project = await newProject(owner)
  const offer = await addShopOffer({ advertiser: 'Loud Deals', domain: 'loud.example.com' })
  await recommend(project, offer)
  const found = await read(project, '/catalogue?name=oud%20d')
  assert.deepEqual(found.advertisers, [{ id: offer.advertiserId, name: 'Loud Deals', domain: 'loud.example.com' }])
  await must(setBlocked(project, offer.advertiserId, true))
  await must(setBlocked(project, offer.advertiserId, true))
  assert.deepEqual((await read(project)).blockedAdvertisers, found.advertisers)
  const { body } = await must(owner.send(`GET /api/projects/${project}/recommendations`))
  assert.equal(body.items[0].advertiser.isBlocked, true)
  await world.store.db
    .updateTable('advertisers')
    .set({ status: 'suspended' })
    .where('id', '=', offer.advertiserId)
    .execute()
  assert.deepEqual((await read(project, '/catalogue?name=Loud')).advertisers, [])
  assert.equal((await read(project)).blockedAdvertisers.length, 1)
  await must(setBlocked(project, offer.advertiserId, false))
  assert.deepEqual((await read(project)).blockedAdvertisers, [])
  assert.equal((await setBlocked(project, uuidv7(), true)).status, 404)
  for (const action of ['monetization.advertiser_blocked', 'monetization.advertiser_unblocked'])
    assert.deepEqual((await auditOf(action)).filter(({ subject }) => subject === 'Loud Deals').length, 1, action)
})

test('people who block at the same time all have their way', async () => {
  const project = await newProject(owner)
  await must(change(project, { firstTurn: 2 }))
  const offers = await Promise.all(Array.from({ length: 8 }, () => addShopOffer()))
  await Promise.all(offers.map(({ advertiserId }) => must(setBlocked(project, advertiserId, true))))
  assert.equal((await read(project)).blockedAdvertisers.length, offers.length)
})

test('the beginnings of categories are suggested, each once', async () => {
  const project = await newProject(owner)
  await addShopOffer({ category: 'Music > Drums' })
  await addShopOffer({ category: 'Music > Strings' })
  await addShopOffer({ category: '' })
  const { items } = await read(project, '/categories')
  assert.equal(items.filter((each: string) => each === 'Music').length, 1)
  assert.ok(!items.includes('') && !items.some((each: string) => each.includes('>')))
})

test('whether anything can be recommended now is what matchers said in the last seconds, and the operator decides', async () => {
  const { db } = world.store
  const project = await newProject(owner)
  const matcherNow = async () => (await read(project)).matcher
  const old = new Date(Date.now() - 25_000)
  await db
    .insertInto('matchers')
    .values({ id: uuidv7(), host: 'gone', state: 'ready', offers: 5n, beat_at: old })
    .execute()
  assert.equal(await matcherNow(), 'absent')
  const row = { id: uuidv7(), host: 'broken', state: 'switched_off', problem: 'No embedder.' }
  await db.insertInto('matchers').values(row).execute()
  assert.equal(await matcherNow(), 'switched_off')
  await addMatcher(db)
  assert.equal(await matcherNow(), 'ready')
  await db.updateTable('recommendation_switch').set({ is_on: false }).execute()
  assert.equal(await matcherNow(), 'paused')
})
