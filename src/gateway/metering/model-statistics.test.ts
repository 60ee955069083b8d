import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_FIGURES } from '../../rules/catalogue/figures.ts'
import { TYPICAL_OUTPUT_MIN } from '../../rules/billing/holds.ts'
import type { Model } from '../../rules/upstreams/routing.ts'
import { PLAIN } from '../../rules/calls/scripts.ts'
import { createModelStatistics, type ModelStatistics, type ReportedCall } from './model-statistics.ts'

const MODEL: Model = {
  id: 'm',
  kind: 'chat',
  ownedBy: 'p',
  createdAt: new Date(0),
  contextWindow: 1_000,
  maxOutputTokens: 4_000,
  figures: NO_FIGURES,
  prices: [],
  deployments: [],
}
const OWN = 'own'
const CALL: ReportedCall = { completionTokens: 100, hasHidden: false, tokenRatio: undefined }

/** As many as it takes until they are looked at. */
function statisticsAfter(...calls: ReportedCall[]) {
  const statistics = createModelStatistics()
  for (let i = 0; i < 16; i++) for (const call of calls) statistics.add(MODEL, OWN, call)
  return statistics
}

test('holds follow how long answers of a model usually are', () => {
  assert.equal(createModelStatistics().typicalOutput(MODEL, OWN), TYPICAL_OUTPUT_MIN)
  const statistics = statisticsAfter(CALL, { ...CALL, completionTokens: 600 })
  assert.equal(statistics.typicalOutput(MODEL, OWN), 900)
  assert.equal(statistics.typicalOutput({ ...MODEL, id: 'another' }, OWN), TYPICAL_OUTPUT_MIN)
})

test('what was learned is ranked as numbers, however many digits they have', () => {
  const ratio = (n: number) => ({ script: 'page 10', ratio: n })
  const few = { ...CALL, completionTokens: 9, tokenRatio: ratio(2) }
  const statistics = statisticsAfter(few, { ...CALL, completionTokens: 1_000, tokenRatio: ratio(10) })
  assert.equal(statistics.typicalOutput(MODEL, OWN), 1_500)
  assert.equal(statistics.tokenRatio(MODEL, OWN, 'page 10', 'held'), 12)
})

test('a model that was seen to think unseen is held to all that it may write, if the catalogue does not say how much', () => {
  assert.equal(statisticsAfter(CALL).hiddenTokens(MODEL, OWN), 0)
  const statistics = createModelStatistics()
  statistics.add(MODEL, OWN, { ...CALL, hasHidden: true })
  assert.equal(statistics.hiddenTokens(MODEL, OWN), 4_000)
  statistics.add(MODEL, OWN, CALL)
  assert.equal(statistics.hiddenTokens(MODEL, OWN), 4_000, 'also when it did not think once')
  assert.equal(statistics.hiddenTokens({ ...MODEL, figures: { ...NO_FIGURES, reasoning: 700 } }, OWN), 700)
  assert.equal(statistics.hiddenTokens({ ...MODEL, figures: { ...NO_FIGURES, reasoning: 0 } }, OWN), 0)
})

test('a tokenizer that makes more of a text than ours is learned of, script by script, within reason', () => {
  const after = (script: string, ratio: number) => {
    const statistics = statisticsAfter({ ...CALL, tokenRatio: { script, ratio } })
    return [statistics.tokenRatio(MODEL, OWN, script, 'usual'), statistics.tokenRatio(MODEL, OWN, script, 'held')]
  }
  assert.deepEqual(after(PLAIN, 1.4), [1.4, 1.4])
  assert.deepEqual(after('page 10', 4), [4, 5], 'some words are stranger than others')
  assert.deepEqual(after(PLAIN, 0.7), [1, 1], 'a hold is never smaller than our own count')
  assert.deepEqual(after(PLAIN, 40), [3, 3], 'nor does one liar make others hold forty times as much')
  assert.deepEqual(after('page 10', 40), [12, 12])
  const statistics = createModelStatistics()
  const add = () => statistics.add(MODEL, OWN, { ...CALL, tokenRatio: { script: 'page 10', ratio: 4 } })
  for (let i = 0; i < 3; i++) add()
  assert.equal(statistics.tokenRatio(MODEL, OWN, 'page 10', 'usual'), undefined)
  add()
  assert.equal(statistics.tokenRatio(MODEL, OWN, 'page 10', 'usual'), 4)
  assert.equal(statistics.tokenRatio(MODEL, OWN, 'page 9', 'usual'), undefined, 'of another script it says nothing')
})

test('of a model on which several of a publisher have left and none has finished, one call at a time is read on', () => {
  const statistics = createModelStatistics()
  assert.equal(statistics.noteLeaving({ ...MODEL, figures: { ...NO_FIGURES, reasoning: 0 } }, OWN), false)
  const asked = (model: Model, publisherId = OWN) =>
    Array.from({ length: 6 }, () => statistics.noteLeaving(model, publisherId))
  const none = Array<boolean>(6).fill(false)
  assert.deepEqual(asked(MODEL), [false, false, false, true, false, false])
  assert.deepEqual(asked(MODEL, 'another'), [false, false, false, true, false, false], 'who leaves is their own doing')
  statistics.add(MODEL, OWN, CALL)
  assert.deepEqual(asked(MODEL), none)
  assert.deepEqual(asked(MODEL, 'a third'), [false, false, false, true, false, false], 'and so is who never waits')
  assert.deepEqual(asked({ ...MODEL, id: 'another' }), [false, false, false, true, false, false])
})

const ALL = 4_000

/** Adds a call of each publisher that is named. */
function sees(statistics: ModelStatistics, hasHidden: boolean | undefined, ...publishers: string[]): void {
  for (const publisher of publishers) statistics.add(MODEL, publisher, { ...CALL, hasHidden })
}

test('what one publisher sees of hidden thoughts is its own; three calls of two publishers tell the others', () => {
  const statistics = createModelStatistics()
  const held = (publisher: string) => statistics.hiddenTokens(MODEL, publisher)
  sees(statistics, true, ...Array<string>(100).fill('thief'))
  assert.deepEqual([held('thief'), held(OWN)], [ALL, 0])
  sees(statistics, true, 'second')
  assert.equal(held(OWN), ALL)
  const few = createModelStatistics()
  sees(few, true, 'first', 'second')
  assert.equal(few.hiddenTokens(MODEL, OWN), 0, 'two calls may be by chance')
  sees(few, true, 'third')
  assert.equal(few.hiddenTokens(MODEL, OWN), ALL)
})

test('hidden thoughts are forgotten after 64 answers without any, by each publisher and by the others', () => {
  const statistics = createModelStatistics()
  const held = (publisher: string) => statistics.hiddenTokens(MODEL, publisher)
  sees(statistics, true, 'first', 'second', 'second')
  for (let n = 0; n < 63; n++) sees(statistics, false, 'first')
  sees(statistics, undefined, ...Array<string>(100).fill('first'))
  assert.deepEqual([held('first'), held('second'), held(OWN)], [ALL, ALL, ALL])
  sees(statistics, false, 'first')
  assert.deepEqual([held('first'), held('second'), held(OWN)], [0, ALL, 0], 'the second had no answer without')
  sees(statistics, true, ...Array<string>(9).fill('second'))
  assert.equal(held(OWN), 0, 'one cannot keep alive what another has seen long ago')
  sees(statistics, true, 'first')
  assert.deepEqual([held('first'), held(OWN)], [ALL, ALL])
})

test('a publisher is held by its own lengths and ratios; without any by the middle of the others, of whom one is not enough', () => {
  const statistics = createModelStatistics()
  const page = 'page 10'
  const seen = (publisher = OWN) => [
    statistics.typicalOutput(MODEL, publisher),
    statistics.tokenRatio(MODEL, publisher, PLAIN, 'usual'),
    statistics.tokenRatio(MODEL, publisher, page, 'held'),
  ]
  const add = (publisher: string, completionTokens: number, plain: number, ratio: number, calls = 16) => {
    for (let n = 0; n < calls; n++) {
      statistics.add(MODEL, publisher, { ...CALL, completionTokens, tokenRatio: { script: PLAIN, ratio: plain } })
      statistics.add(MODEL, publisher, { ...CALL, completionTokens, tokenRatio: { script: page, ratio } })
    }
  }
  add('thief', 10_000, 3, 12, 100)
  assert.deepEqual(seen(), [TYPICAL_OUTPUT_MIN, undefined, undefined], 'one alone is not believed')
  add('honest', 1_000, 1.2, 4)
  assert.deepEqual(seen(), [1_500, 1.2, 5], 'the lower of two')
  add('third', 2_000, 1.3, 6)
  assert.deepEqual(seen(), [3_000, 1.3, 7.5], 'the middle of three')
  add('thief', 10_000, 3, 12, 100)
  assert.deepEqual(seen(), [3_000, 1.3, 7.5], 'however many calls one of them makes')
  add(OWN, 500, 1.1, 2)
  assert.deepEqual(seen(), [750, 1.1, 2.5])
  assert.deepEqual(seen('thief'), [15_000, 3, 12])
})

test('the middle of many publishers follows them, though it is not counted with each call', () => {
  const statistics = createModelStatistics()
  const all = (completionTokens: number) => {
    for (let publisher = 0; publisher < 100; publisher++)
      for (let n = 0; n < 64; n++) statistics.add(MODEL, `p${publisher}`, { ...CALL, completionTokens })
  }
  all(600)
  assert.equal(statistics.typicalOutput(MODEL, OWN), 900)
  all(1_000)
  assert.equal(statistics.typicalOutput(MODEL, OWN), 1_500)
})

test('what is remembered is bounded: publishers whose calls are longest ago, and scripts, are forgotten', () => {
  const statistics = createModelStatistics(2)
  const held = (publisher: string) => statistics.hiddenTokens(MODEL, publisher)
  sees(statistics, true, 'first', 'second', 'first')
  for (let n = 0; n < 64; n++) sees(statistics, false, 'third')
  assert.deepEqual([held('first'), held('second')], [ALL, 0])
  const scripts = createModelStatistics()
  for (let page = 0; page < 13; page++)
    for (let n = 0; n < 4; n++) scripts.add(MODEL, OWN, { ...CALL, tokenRatio: { script: `page ${page}`, ratio: 2 } })
  const known = (page: number) => scripts.tokenRatio(MODEL, OWN, `page ${page}`, 'usual')
  assert.deepEqual([known(0), known(1), known(12)], [undefined, 2, 2])
})
