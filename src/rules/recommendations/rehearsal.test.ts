import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Match } from './matching.ts'
import { DEFAULT_SETTINGS } from './monetization.ts'
import { repliesIn, type KeptMessage } from './rehearsal.ts'
import { categoriesOf, createRehearsalSums, earningsOf, RISKIEST } from './rehearsal-figures.ts'

const SINCE = new Date('2026-10-01T00:00:00Z')
const BEFORE = new Date('2026-09-01T00:00:00Z')
const LATER = new Date('2026-10-02T00:00:00Z')

function kept(role: string, content: string | null, more: Partial<KeptMessage> = {}): KeptMessage {
  return { role, content: content === null ? null : { content }, at: LATER, isBeyond: false, ...more }
}

test('every reply since then is one to look at, with its place in the conversation, and the system prompt is no turn', () => {
  const { turns, replies, times, unread } = repliesIn(
    [
      kept('system', 'You are kind.', { at: BEFORE }),
      kept('user', 'One?', { at: BEFORE }),
      kept('assistant', 'First.', { at: BEFORE }),
      kept('user', 'Two?'),
      kept('assistant', 'Second.'),
    ],
    DEFAULT_SETTINGS,
    SINCE,
  )
  assert.deepEqual(
    turns.map(({ text }) => text),
    ['One?', 'First.', 'Two?', 'Second.'],
  )
  assert.deepEqual([replies, times, unread], [[{ before: 3, turn: 2, gate: null }], [LATER], 0])
})

test('what cannot be judged is counted, what is too long is said to be, and of neither any text goes on', () => {
  const lost = [kept('user', null), kept('assistant', 'First.'), kept('user', 'Two?'), kept('assistant', 'Second.')]
  assert.deepEqual(repliesIn(lost, DEFAULT_SETTINGS, SINCE), { turns: [], replies: [], times: [], unread: 2 })
  const long = [kept('user', 'One?'), kept('assistant', null, { isBeyond: true })]
  const { turns, replies, unread } = repliesIn(long, DEFAULT_SETTINGS, SINCE)
  assert.deepEqual([turns, replies.map(({ gate }) => gate), unread], [[], ['too_long'], 0])
})

test('a request that could have none is one that can have none', () => {
  const gatesOf = (messages: KeptMessage[], settings = DEFAULT_SETTINGS) =>
    repliesIn(messages, settings, SINCE).replies.map(({ gate }) => gate)
  const answer = kept('assistant', 'An answer.')
  assert.deepEqual(gatesOf([answer]), ['format'])
  assert.deepEqual(gatesOf([kept('user', 'No ads, please.'), answer]), ['opted_out'])
  assert.deepEqual(gatesOf([kept('user', 'A tent?'), answer], { ...DEFAULT_SETTINGS, audience: 'teen' }), ['audience'])
  const excluded = { ...DEFAULT_SETTINGS, excludedTopics: ['divorce'] }
  assert.deepEqual(gatesOf([kept('user', 'After my divorce?'), answer], excluded), ['excluded_topic'])
  const call = { ...kept('assistant', null), content: { content: null, tool_calls: [{ id: 'a' }] } }
  assert.deepEqual(gatesOf([kept('user', 'Look it up.'), call]), ['answer_shape'])
})

function matchOf(n: number, more: Partial<Match> = {}): Match {
  const ids = { offerId: `offer-${n}`, campaignId: 'campaign', advertiserId: 'advertiser' }
  const words = { advertiser: `Shop ${n % 2}`, headline: 'Thing', benefit: '', price: undefined }
  return { ...ids, ...words, relevance: 0.5, priceNanos: '100000000', ...more }
}

const PLACE = { conversation: 'c', at: LATER, said: 'said', answer: 'answer' }

test('the range of earnings is few and many clicks times the prices and the share, and nothing is rounded up', () => {
  assert.deepEqual(earningsOf(1_000_000_000_000n, 7_000), { fewNanos: 1_400_000_000n, manyNanos: 14_000_000_000n })
  assert.deepEqual(earningsOf(1n, 7_000), { fewNanos: 0n, manyNanos: 0n })
  const sums = createRehearsalSums()
  for (const priceNanos of ['100', '300', '200'])
    sums.add({ outcome: 'matched', match: matchOf(1, { priceNanos }), nearSensitive: 0 }, () => PLACE)
  sums.add({ outcome: 'sensitive' }, () => assert.fail('its text is not looked at'))
  const { clickPrice, pricesNanos, recommended, replies, outcomes } = sums.figures()
  assert.deepEqual(clickPrice, { leastNanos: 100n, meanNanos: 200n, mostNanos: 300n })
  assert.deepEqual([pricesNanos, recommended, replies], [600n, 3, 4])
  assert.deepEqual(
    outcomes.map((each) => [each.outcome, each.replies]),
    [
      ['test', 3],
      ['sensitive', 1],
    ],
  )
})

test('of the riskiest, half are nearest to a sensitive topic and half fit least, and none is there twice', () => {
  const sums = createRehearsalSums()
  for (let n = 0; n < 100; n++) {
    const match = matchOf(n, { relevance: 0.4 + n / 200 })
    sums.add({ outcome: 'matched', match, nearSensitive: n / 100 }, () => ({ ...PLACE, conversation: `c${n}` }))
  }
  const { riskiest } = sums.figures()
  const names = riskiest.map(({ conversation }) => conversation)
  assert.deepEqual(names.slice(0, 10), ['c99', 'c98', 'c97', 'c96', 'c95', 'c94', 'c93', 'c92', 'c91', 'c90'])
  assert.deepEqual(names.slice(10), ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9'])
  assert.equal(new Set(names).size, RISKIEST)
  const one = createRehearsalSums()
  one.add({ outcome: 'matched', match: matchOf(1), nearSensitive: 0.5 }, () => PLACE)
  assert.deepEqual(
    one.figures().riskiest.map(({ risk }) => risk),
    ['sensitive'],
  )
})

test('categories are counted by their first words, and an offer without one by that', () => {
  const offers = new Map([
    ['a', 2],
    ['b', 3],
    ['c', 1],
  ])
  const categories = new Map([
    ['a', 'Home > Lamps'],
    ['b', 'Home > Rugs'],
  ])
  assert.deepEqual(categoriesOf(offers, categories), [
    { name: 'Home', replies: 5 },
    { name: 'No category', replies: 1 },
  ])
})
