import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_FIGURES } from '../../rules/catalogue/figures.ts'
import { TYPICAL_OUTPUT_MIN } from '../../rules/billing/holds.ts'
import type { Model } from '../../rules/upstreams/routing.ts'
import { PLAIN } from '../../rules/calls/scripts.ts'
import { createModelStatistics, type ReportedCall } from './model-statistics.ts'

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
const CALL: ReportedCall = { completionTokens: 100, hasHidden: false, tokenRatio: undefined }

/** As many as it takes until they are looked at. */
function statisticsAfter(...calls: ReportedCall[]) {
  const statistics = createModelStatistics()
  for (let i = 0; i < 16; i++) for (const call of calls) statistics.add(MODEL, call)
  return statistics
}

test('holds follow how long answers of a model usually are', () => {
  assert.equal(createModelStatistics().typicalOutput(MODEL), TYPICAL_OUTPUT_MIN)
  const statistics = statisticsAfter(CALL, { ...CALL, completionTokens: 600 })
  assert.equal(statistics.typicalOutput(MODEL), 900)
  assert.equal(statistics.typicalOutput({ ...MODEL, id: 'another' }), TYPICAL_OUTPUT_MIN)
})

test('what was learned is ranked as numbers, however many digits they have', () => {
  const ratio = (n: number) => ({ script: 'page 10', ratio: n })
  const few = { ...CALL, completionTokens: 9, tokenRatio: ratio(2) }
  const statistics = statisticsAfter(few, { ...CALL, completionTokens: 1_000, tokenRatio: ratio(10) })
  assert.equal(statistics.typicalOutput(MODEL), 1_500)
  assert.equal(statistics.tokenRatio(MODEL, 'page 10', 'held'), 12)
})

test('a model that was seen to think unseen is held to all that it may write, if the catalogue does not say how much', () => {
  assert.equal(statisticsAfter(CALL).hiddenTokens(MODEL), 0)
  const statistics = createModelStatistics()
  statistics.add(MODEL, { ...CALL, hasHidden: true })
  assert.equal(statistics.hiddenTokens(MODEL), 4_000)
  statistics.add(MODEL, CALL)
  assert.equal(statistics.hiddenTokens(MODEL), 4_000, 'also when it did not think once')
  assert.equal(statistics.hiddenTokens({ ...MODEL, figures: { ...NO_FIGURES, reasoning: 700 } }), 700)
  assert.equal(statistics.hiddenTokens({ ...MODEL, figures: { ...NO_FIGURES, reasoning: 0 } }), 0)
})

test('a tokenizer that makes more of a text than ours is learned of, script by script, within reason', () => {
  const after = (script: string, ratio: number) => {
    const statistics = statisticsAfter({ ...CALL, tokenRatio: { script, ratio } })
    return [statistics.tokenRatio(MODEL, script, 'usual'), statistics.tokenRatio(MODEL, script, 'held')]
  }
  assert.deepEqual(after(PLAIN, 1.4), [1.4, 1.4])
  assert.deepEqual(after('page 10', 4), [4, 5], 'some words are stranger than others')
  assert.deepEqual(after(PLAIN, 0.7), [1, 1], 'a hold is never smaller than our own count')
  assert.deepEqual(after(PLAIN, 40), [3, 3], 'nor does one liar make others hold forty times as much')
  assert.deepEqual(after('page 10', 40), [12, 12])
  const statistics = createModelStatistics()
  const add = () => statistics.add(MODEL, { ...CALL, tokenRatio: { script: 'page 10', ratio: 4 } })
  for (let i = 0; i < 3; i++) add()
  assert.equal(statistics.tokenRatio(MODEL, 'page 10', 'usual'), undefined)
  add()
  assert.equal(statistics.tokenRatio(MODEL, 'page 10', 'usual'), 4)
  assert.equal(statistics.tokenRatio(MODEL, 'page 9', 'usual'), undefined, 'of another script it says nothing')
})

test('of a model on which several have left and nobody has finished, one call at a time is read on', () => {
  const statistics = createModelStatistics()
  assert.equal(statistics.noteLeaving({ ...MODEL, figures: { ...NO_FIGURES, reasoning: 0 } }), false)
  const asked = (model: Model) => Array.from({ length: 6 }, () => statistics.noteLeaving(model))
  assert.deepEqual(asked(MODEL), [false, false, false, true, false, false])
  statistics.add(MODEL, CALL)
  assert.deepEqual(
    asked(MODEL),
    Array.from({ length: 6 }, () => false),
  )
  assert.deepEqual(asked({ ...MODEL, id: 'another' }), [false, false, false, true, false, false])
})
