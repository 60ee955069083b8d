/** Earnings as a publisher sees them: to the nano, of their own project, and the same as the operator sees. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { timeOfUuid, uuidv7 } from '../../src/platform/uuid.ts'
import { DAY_MS, HOUR_MS } from '../../src/rules/durations.ts'
import { completionIdOf } from '../../src/rules/billing/receipts.ts'
import type { Match } from '../../src/rules/recommendations/matching.ts'
import { deleteConversation, recordTurn } from '../../src/store/calls/conversations.ts'
import { applyClicks, releaseEarnings, reverseClick } from '../../src/store/recommendations/clicks.ts'
import { addOutcomes, insertRecommendations, setRecommendationStates } from '../../src/store/recommendations/records.ts'
import { click, clickOn, fund, show } from '../support/clicks.ts'
import { createConsoleWorld, must, newPerson, newProject, type ConsoleWorld, type Person } from '../support/console.ts'
import { addOffer } from '../support/fixed-matcher.ts'
import { addSettledCall } from '../support/ledger.ts'
import { asked, here, told } from '../support/operator.ts'
import { said } from '../support/sites.ts'
import { addKeyPair } from '../support/world.ts'

const PRICE = 120_000_000n
const SHARE = 84_000_000n

let world: ConsoleWorld
let owner: Person
before(async () => {
  world = await createConsoleWorld()
  owner = await newPerson(world)
})
after(() => world.close())

function get(project: string, path: string, person = owner) {
  return must(person.send(`GET /api/projects/${project}/${path}`)).then(({ body }) => body)
}

async function fundedOffer(changes: Partial<Match> = {}): Promise<Match> {
  const match = await addOffer(world.store.db, changes)
  await fund(world.store.db, match.advertiserId, 100n * PRICE)
  return match
}

const daysAgo = (days: number) => Date.now() - days * DAY_MS
const balancesOf = (body: Record<string, unknown>) => [body.pendingNanos, body.releasedNanos, body.takenBackNanos]

test('what was earned is pending, then released or taken back, and the sums follow each step to the nano', async () => {
  const { db } = world.store
  const project = await newProject(owner)
  const match = await fundedOffer()
  assert.deepEqual(balancesOf(await get(project, 'earnings')), ['0', '0', '0'])
  const [old, later, fresh, another] = await show(db, match, project, 4)
  const ids = { old: uuidv7(daysAgo(8)), later: uuidv7(daysAgo(6)), fresh: uuidv7(), bot: uuidv7() }
  await applyClicks(db, [
    clickOn(old!, { id: ids.old }),
    clickOn(later!, { id: ids.later }),
    clickOn(fresh!, { id: ids.fresh }),
    clickOn(another!, { id: ids.bot, verdict: 'bot' }),
  ])
  assert.deepEqual(balancesOf(await get(project, 'earnings')), [String(3n * SHARE), '0', '0'])
  await releaseEarnings(db, 100)
  const released = await get(project, 'earnings')
  assert.deepEqual(balancesOf(released), [String(2n * SHARE), String(SHARE), '0'])
  const next = timeOfUuid(ids.later).getTime() + 7 * DAY_MS
  assert.deepEqual(released.nextRelease, { at: new Date(next).toISOString(), nanos: String(SHARE) })
  await reverseClick(db, ids.fresh, 'click farm')
  assert.deepEqual(balancesOf(await get(project, 'earnings')), [String(SHARE), String(SHARE), String(SHARE)])
  await reverseClick(db, ids.old, 'click farm')
  const { nextRelease, ...last } = await get(project, 'earnings')
  assert.deepEqual(balancesOf(last), [String(SHARE), '0', String(2n * SHARE)])
  assert.equal(nextRelease.nanos, String(SHARE))
  assert.deepEqual(
    [last.shown, last.clicks, last.paidClicks, last.earnedNanos, last.shareBps],
    [4, 4, 1, String(SHARE), 7_000],
  )
  const sums = last.verdicts.map((each: Record<string, unknown>) => [
    each.verdict,
    each.clicks,
    each.earnedNanos,
    each.takenBack,
    each.takenBackNanos,
  ])
  assert.deepEqual(sums, [
    ['valid', 3, String(SHARE), 2, String(2n * SHARE)],
    ['bot', 1, '0', 0, '0'],
  ])
  const days = last.points.filter(({ clicks, shown }: Record<string, number>) => clicks !== 0 || shown !== 0)
  assert.equal(last.points.length, 30)
  assert.deepEqual(
    days.map(({ shown, clicks, earnedNanos }: Record<string, unknown>) => [shown, clicks, earnedNanos]),
    [
      [0, 1, String(SHARE)],
      [4, 0, '0'],
    ],
  )
})

test('a range is full days, and what was shown, could have been and cost in it is counted in it', async () => {
  const { db } = world.store
  const project = await newProject(owner)
  const match = await fundedOffer()
  const [shown] = await show(db, match, project, 3)
  await click(db, shown!)
  const hour = (ago: number) => new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS - ago * HOUR_MS)
  await addOutcomes(db, [
    { projectId: project, hour: hour(0), outcome: 'served', calls: 3 },
    { projectId: project, hour: hour(0), outcome: 'no_match', calls: 5 },
    { projectId: project, hour: hour(0), outcome: 'sensitive', calls: 11 },
    { projectId: project, hour: hour(0), outcome: 'capped', calls: 13 },
    { projectId: project, hour: hour(10 * 24), outcome: 'not_commercial', calls: 100 },
  ])
  const day = new Date().toISOString().slice(0, 10)
  const today = await get(project, `earnings?from=${day}&to=${day}`)
  assert.deepEqual([today.shown, today.eligible, today.paidClicks, today.points.length], [3, 8, 1, 1])
  const month = await get(project, 'earnings')
  assert.equal(month.eligible, 108)
  const before = new Date(daysAgo(20)).toISOString().slice(0, 10)
  const past = await get(project, `earnings?to=${before}`)
  assert.deepEqual([past.shown, past.clicks, past.earnedNanos, past.eligible], [0, 0, '0', 0])
  const year = new Date(daysAgo(300)).toISOString().slice(0, 10)
  assert.equal((await get(project, `earnings?from=${year}`)).eligible, null, 'kept for a quarter only')
  assert.equal((await owner.send(`GET /api/projects/${project}/earnings?from=${day}&to=${before}`)).status, 422)
})

test('what test mode would have shown, and what nobody stayed for, was not shown', async () => {
  const { db } = world.store
  const project = await newProject(owner)
  const match = await fundedOffer()
  const record = { ...match, projectId: project, callId: uuidv7(), turn: 1, label: 'Ad', conversation: undefined }
  const ids = [uuidv7(), uuidv7(), uuidv7()]
  await insertRecommendations(
    db,
    ids.map((id) => ({ ...record, id, priceNanos: PRICE })),
  )
  await setRecommendationStates(db, [
    { id: ids[0]!, state: 'test' },
    { id: ids[1]!, state: 'delivered' },
  ])
  await setRecommendationStates(db, [{ id: ids[1]!, state: 'delivered' }])
  assert.equal((await get(project, 'earnings')).shown, 1)
})

test('advertisers and categories stand by what they earned, and say whether they are blocked', async () => {
  const { db } = world.store
  const project = await newProject(owner)
  const [poor, rich] = [await fundedOffer(), await fundedOffer({ priceNanos: String(2n * PRICE) })]
  const [first] = await show(db, poor, project, 2)
  const [second] = await show(db, rich, project, 1)
  await click(db, first!)
  await click(db, second!)
  await sql`update offers set category = 'Toys' where id = ${poor.offerId}`.execute(db)
  const before = await get(project, 'earnings')
  assert.deepEqual(
    before.advertisers.map(({ id, shown, clicks, earnedNanos, isBlocked }: Record<string, unknown>) => {
      return [id, shown, clicks, earnedNanos, isBlocked]
    }),
    [
      [rich.advertiserId, 1, 1, String(2n * SHARE), false],
      [poor.advertiserId, 2, 1, String(SHARE), false],
    ],
  )
  assert.deepEqual(before.categories, [
    { category: 'Electronics', shown: 3, clicks: 2, earnedNanos: String(3n * SHARE), isBlocked: false },
  ])
  const monetization = `/api/projects/${project}/monetization`
  await must(owner.send(`PATCH ${monetization}`, { body: { blockedCategories: ['electronics'] } }))
  const block = { advertiser: rich.advertiserId, isBlocked: true }
  await must(owner.send(`PUT ${monetization}/blocked-advertisers`, { body: block }))
  const { advertisers, categories } = await get(project, 'earnings')
  assert.deepEqual(
    [...advertisers, ...categories].map(({ isBlocked }: { isBlocked: boolean }) => isBlocked),
    [true, false, true],
  )
})

test('clicks are listed newest first, page by page and by each filter, and none of another project is', async () => {
  const { db } = world.store
  const project = await newProject(owner)
  const match = await fundedOffer()
  const shown = await show(db, match, project, 4)
  const ids = ['valid', 'bot', 'valid', 'too_fast'] as const
  const clicks: string[] = []
  for (const [n, verdict] of ids.entries()) {
    const id = uuidv7(daysAgo(8) + n * HOUR_MS)
    clicks.push(id)
    await click(db, shown[n]!, { id, verdict })
  }
  await reverseClick(db, clicks[2]!, 'click farm')
  await releaseEarnings(db, 100)
  const idsOf = async (query: string) => {
    const { items } = await get(project, `clicks?${query}`)
    return items.map(({ id }: { id: string }) => clicks.indexOf(id))
  }
  assert.deepEqual(await idsOf(''), [3, 2, 1, 0])
  assert.deepEqual(await idsOf('verdict=bot'), [1])
  assert.deepEqual(await idsOf('verdict=valid'), [2, 0])
  assert.deepEqual(await idsOf('state=released'), [0])
  assert.deepEqual(await idsOf('state=reversed&verdict=valid'), [2])
  assert.deepEqual(await idsOf('state=unpaid'), [3, 1])
  assert.deepEqual(await idsOf('state=unpaid&verdict=bot'), [1])
  assert.deepEqual(await idsOf('state=unpaid&verdict=valid'), [])
  assert.deepEqual(await idsOf('state=pending&verdict=bot'), [])
  assert.deepEqual(await idsOf(`advertiser=${match.advertiserId}&verdict=valid`), [2, 0])
  assert.deepEqual(await idsOf(`advertiser=${uuidv7()}`), [])
  const after = new Date(timeOfUuid(clicks[2]!).getTime()).toISOString()
  assert.deepEqual(await idsOf(`from=${after}`), [3, 2])
  assert.deepEqual(await idsOf(`to=${after}`), [1, 0])
  const { next, items } = await get(project, 'clicks?limit=3')
  assert.equal(items.length, 3)
  assert.deepEqual(await idsOf(`after=${next}`), [0])
  assert.equal((await owner.send(`GET /api/projects/${project}/clicks?after=elsewhere`)).status, 422)

  const [released] = (await get(project, 'clicks?state=released')).items
  assert.deepEqual([released.priceNanos, released.shareNanos, released.label], [String(PRICE), String(SHARE), 'Valid'])
  const elsewhere = await newProject(owner)
  assert.deepEqual((await get(elsewhere, 'clicks')).items, [])
  assert.equal((await owner.send(`GET /api/projects/${elsewhere}/clicks/${clicks[0]}`)).status, 404)
  assert.deepEqual((await get(elsewhere, 'earnings')).verdicts, [])
  const stranger = await newPerson(world)
  for (const path of ['earnings', 'clicks', `clicks/${clicks[0]}`])
    assert.equal((await stranger.send(`GET /api/projects/${project}/${path}`)).status, 404, path)
})

/** A call in a conversation, whose reply carried a recommendation. */
async function conversationWith(project: string, match: Match, conversationId: string) {
  const { db } = world.store
  await addKeyPair(world.store, world.secrets, project)
  const key = await db.selectFrom('key_pairs').select('id').where('project_id', '=', project).executeTakeFirstOrThrow()
  const [callId, id] = [uuidv7(), uuidv7()]
  await addSettledCall(db, {
    id: callId,
    projectId: project,
    keyPairId: key.id,
    charge: 30_000n,
    change: { conversationId },
  })
  await recordTurn(db, {
    conversation: { projectId: project, id: conversationId },
    callId,
    messages: [said('user', 'Which headphones?'), said('assistant', 'Quiet ones.')],
    retentionDays: 1,
  })
  const record = { ...match, id, projectId: project, callId, turn: 1, label: 'Ad', conversation: undefined }
  await insertRecommendations(db, [{ ...record, priceNanos: PRICE }])
  await setRecommendationStates(db, [{ id, state: 'delivered' }])
  return { callId, id }
}

test('a conversation says what clicks in it earned until they are taken back, and its call says what was clicked', async () => {
  const { db } = world.store
  const project = await newProject(owner)
  const match = await fundedOffer()
  const { callId, id } = await conversationWith(project, match, 'quiet-talk')
  const [bot, paid] = [uuidv7(), uuidv7()]
  await click(db, id, { id: bot, verdict: 'bot' })
  await click(db, id, { id: paid })
  const sumsOf = async () => {
    const { items } = await get(project, 'conversations')
    const one = await get(project, 'conversations/quiet-talk')
    assert.deepEqual([items[0].earnedNanos, items[0].paidClicks], [one.earnedNanos, one.paidClicks])
    return [one.paidClicks, one.earnedNanos, one.chargedNanos]
  }
  assert.deepEqual(await sumsOf(), [1, String(SHARE), null], 'its calls are not counted yet, its click is')
  const completion = completionIdOf(callId, 'chat')
  const { recommendation } = await get(project, `calls/${completion}`)
  assert.deepEqual(
    recommendation.clicks.map((each: Record<string, unknown>) => [each.id, each.verdict, each.shareNanos, each.state]),
    [
      [paid, 'valid', String(SHARE), 'pending'],
      [bot, 'bot', '0', 'unpaid'],
    ],
  )
  const { items } = await get(project, 'conversations/quiet-talk/messages')
  assert.equal(items.at(-1).recommendation.clicks.length, 2)
  assert.equal((await get(project, `clicks/${paid}`)).call, completion)
  await reverseClick(db, paid, 'click farm')
  assert.deepEqual(await sumsOf(), [0, '0', null])
  await deleteConversation(db, { projectId: project, id: 'quiet-talk' })
  const [other] = await show(db, match, project)
  await click(db, other!)
  const left = await db.selectFrom('conversation_sums').selectAll().where('project_id', '=', project).execute()
  assert.deepEqual(left, [], 'nothing is remembered of a conversation that was deleted')
})

test('publisher and operator see one receipt of a click, and the operator what it moved', async () => {
  const { db } = world.store
  const project = await newProject(owner)
  const match = await fundedOffer()
  const [shown] = await show(db, match, project)
  const id = uuidv7()
  await click(db, shown!, { id })
  const receipt = await get(project, `clicks/${id}`)
  assert.deepEqual(
    [receipt.verdict, receipt.priceNanos, receipt.shareNanos, receipt.state, receipt.reference, receipt.recommendation],
    ['valid', String(PRICE), String(SHARE), 'pending', `click:${id}`, shown],
  )
  assert.equal(receipt.releasesAt, new Date(Date.parse(receipt.at) + 7 * DAY_MS).toISOString())
  const { DATABASE_URL = '', PARLEY_SECRET = '' } = world.env
  Object.assign(process.env, { DATABASE_URL, PARLEY_SECRET })
  const seen = (await asked('click', 'show', id)) as Record<string, unknown>
  assert.deepEqual(
    [seen.id, seen.at, seen.verdict, seen.price_nanos, seen.share_nanos, seen.state, seen.releases_at, seen.call],
    [id, receipt.at, 'valid', String(PRICE), String(SHARE), 'pending', receipt.releasesAt, receipt.call],
  )
  const moved = (seen.movements as { reference: string; amount_nanos: string }[]).map((each) => [
    each.reference,
    each.amount_nanos,
  ])
  assert.deepEqual(moved, [
    [`click:${id}`, String(SHARE)],
    [`click-fee:${id}`, String(PRICE - SHARE)],
  ])
  await reverseClick(db, id, 'click farm')
  assert.match(
    await told('click', 'show', id),
    /state +reversed: it was taken back[^]*click-reversal:\S+ +\$0\.084 [^]*click farm/,
  )
  assert.equal((await get(project, `clicks/${id}`)).state, 'reversed')
  for (const wrong of ['elsewhere', uuidv7()]) assert.equal((await here(['click', 'show', wrong])).code, 1)
})
