import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_FIGURES } from '../rules/figures.ts'
import { TYPICAL_OUTPUT_MIN } from '../rules/holds.ts'
import type { Model } from '../rules/routing.ts'
import { createModelStatistics, type ReportedCall } from './model-statistics.ts'

const MODEL: Model = {
  id: 'm',
  ownedBy: 'p',
  createdAt: new Date(0),
  contextWindow: 1_000,
  maxOutputTokens: 4_000,
  figures: NO_FIGURES,
  prices: [],
  deployments: [],
}
const CALL: ReportedCall = { completionTokens: 100, hasHidden: false, promptRatio: undefined }

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

test('a model that was seen to think unseen is held to all that it may write, if the catalogue does not say how much', () => {
  assert.equal(statisticsAfter(CALL).hiddenTokens(MODEL), 0)
  const statistics = createModelStatistics()
  statistics.add(MODEL, { ...CALL, hasHidden: true })
  assert.equal(statistics.hiddenTokens(MODEL), 4_000)
  assert.equal(statistics.hiddenTokens({ ...MODEL, figures: { ...NO_FIGURES, reasoning: 700 } }), 700)
  assert.equal(statistics.hiddenTokens({ ...MODEL, figures: { ...NO_FIGURES, reasoning: 0 } }), 0)
})

test('a tokenizer that makes more of a text than ours is learned of, within reason', () => {
  const ratioAfter = (promptRatio: number) => statisticsAfter({ ...CALL, promptRatio }).promptRatio(MODEL)
  assert.equal(createModelStatistics().promptRatio(MODEL), 1)
  assert.equal(ratioAfter(1.4), 1.4)
  assert.equal(ratioAfter(0.7), 1, 'a hold is never smaller than our own count')
  assert.equal(ratioAfter(40), 3, 'nor does one liar make others hold forty times as much')
})
