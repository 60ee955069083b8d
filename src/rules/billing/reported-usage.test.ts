import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { NO_FIGURES } from '../catalogue/figures.ts'
import { isWhole, judgeReport, usageBounds, type UsageBounds } from './reported-usage.ts'
import { completionTokensOf, NO_USAGE, promptTokensOf, type Usage } from './usage.ts'

const COUNTED: Usage = { ...NO_USAGE, input: 1_000, output: 100 }
const PROMPT_MAX = 4_000
const OUTPUT_MAX = 500
const SEEN = { bytes: 400, thoughtBytes: 0, toolCalls: 0 }

/** For a model that does not reason, unless told otherwise. */
function boundsOf(figure: number | 'unknown' = 0, seen: Partial<typeof SEEN> = {}): UsageBounds {
  const reasoning = figure === 'unknown' ? undefined : figure
  return usageBounds(PROMPT_MAX, OUTPUT_MAX, { ...SEEN, ...seen }, { ...NO_FIGURES, reasoning })
}

function judge(reported: Partial<Usage>, bounds: UsageBounds = boundsOf()) {
  return judgeReport({ ...NO_USAGE, ...reported }, COUNTED, bounds)
}

test('a possible report is believed to the token, however far it is from our own count', () => {
  for (const reported of [
    COUNTED,
    { input: PROMPT_MAX, output: 1 },
    { input: 1, output: 464 },
    { input: 100, cachedInput: 800, cacheWrite: 100, output: 80 },
  ]) {
    assert.deepEqual(judge(reported), { usage: { ...NO_USAGE, ...reported }, source: 'reported', anomalies: [] })
  }
})

test('a model that may think unseen is believed up to all that it was allowed', () => {
  for (const figure of ['unknown', 32_000] as const) {
    const reported = { input: 1_000, output: 100, reasoning: 400 }
    const { usage, anomalies } = judge(reported, boundsOf(figure))
    assert.deepEqual([usage, anomalies], [{ ...NO_USAGE, ...reported }, []])
    const undivided = { input: 1_000, output: 500 }
    assert.deepEqual(judge(undivided, boundsOf(figure)).anomalies, [], 'thoughts are not told apart everywhere')
  }
})

test('a prompt has at most as many tokens as bytes were sent: more is cut to that, and the cache is kept', () => {
  const { usage, anomalies } = judge({ input: 1_000_000, cachedInput: 500, output: 100 })
  assert.deepEqual(usage, { ...NO_USAGE, input: PROMPT_MAX - 500, cachedInput: 500, output: 100 })
  assert.deepEqual(anomalies, ['prompt_too_large'])
})

test('a visible answer has at most as many tokens as bytes came, and a few for its end', () => {
  const { usage, anomalies } = judge({ input: 1_000, output: 465 })
  assert.equal(usage.output, 400 + 64)
  assert.deepEqual(anomalies, ['output_too_large'])
  assert.deepEqual(judge({ input: 1_000, output: 465 }, boundsOf(0, { toolCalls: 1 })).anomalies, [])
})

test('no answer is longer than it was allowed to be: what exceeds it is taken off the thoughts first', () => {
  const { usage, anomalies } = judge({ input: 1_000, output: 450, reasoning: 60_000 }, boundsOf('unknown'))
  assert.deepEqual([usage.output, usage.reasoning], [450, 50])
  assert.deepEqual(anomalies, ['output_too_large'])
  for (const bounds of [boundsOf('unknown'), boundsOf(0, { bytes: 10_000 })]) {
    const visible = judge({ input: 1_000, output: 501 }, bounds)
    assert.deepEqual([visible.usage.output, visible.anomalies], [500, ['output_too_large']])
    assert.deepEqual(judge({ input: 1_000, output: 500 }, bounds).anomalies, [])
  }
})

test('a model that does not reason has no thoughts to charge for, unless it showed some', () => {
  assert.deepEqual(judge({ input: 1_000, output: 100, reasoning: 7 }), {
    usage: COUNTED,
    source: 'reported',
    anomalies: ['unexpected_reasoning'],
  })
  const shown = boundsOf(0, { thoughtBytes: 90 })
  assert.deepEqual(judge({ input: 1_000, output: 100, reasoning: 20 }, shown).anomalies, [])
  assert.equal(judge({ input: 1_000, output: 100, reasoning: 200 }, shown).usage.reasoning, 90 + 64)
})

test('zeros for an answer that is there are replaced by our own count', () => {
  const ours = { source: 'estimated', anomalies: ['zero'] }
  assert.deepEqual(judge({}), { usage: COUNTED, ...ours })
  assert.deepEqual(judge({ input: 900 }), { usage: { ...NO_USAGE, input: 900, output: 100 }, ...ours })
  assert.deepEqual(judge({ output: 90 }), { usage: { ...NO_USAGE, input: 1_000, output: 90 }, ...ours })
})

test('a zero for an answer that said nothing is believed', () => {
  const silent = boundsOf(0, { bytes: 0 })
  const believed = { usage: { ...NO_USAGE, input: 900 }, source: 'reported', anomalies: [] }
  assert.deepEqual(judge({ input: 900 }, silent), believed)
})

test('only the part of a report that is no count is replaced by our own', () => {
  for (const nonsense of [-1, 0.5, Number.NaN, Infinity, 2 ** 53, 1_000_000_001, '5' as unknown as number]) {
    const ours = { source: 'estimated', anomalies: ['not_a_count'] }
    const prompt = judge({ input: nonsense, output: 90 })
    assert.deepEqual(prompt, { usage: { ...NO_USAGE, input: 1_000, output: 90 }, ...ours })
    const answer = judge({ input: 900, output: nonsense })
    assert.deepEqual(answer, { usage: { ...NO_USAGE, input: 900, output: 100 }, ...ours })
  }
})

test('more cached than the prompt has is cut to the prompt: it is no reason to throw the report away', () => {
  // 161 of 7 prompt tokens were cached, says one provider; adapters subtract.
  assert.deepEqual(judge({ input: 7 - 161, cachedInput: 161, output: 90 }), {
    usage: { ...NO_USAGE, cachedInput: 7, output: 90 },
    source: 'reported',
    anomalies: ['cache_too_large'],
  })
  // 2,161 of 2,168 were read from the cache and written to it, says another.
  assert.deepEqual(judge({ input: 2_168 - 2 * 2_161, cachedInput: 2_161, cacheWrite: 2_161, output: 90 }), {
    usage: { ...NO_USAGE, cachedInput: 2_161, cacheWrite: 7, output: 90 },
    source: 'reported',
    anomalies: ['cache_too_large'],
  })
})

test('more thoughts than completion are no thoughts: the total stands', () => {
  const { usage, anomalies } = judge({ input: 900, output: 5 - 60_000, reasoning: 60_000 }, boundsOf('unknown'))
  assert.deepEqual([usage.output, usage.reasoning], [5, 0])
  assert.deepEqual(anomalies, ['not_a_count'])
})

test('a whole report needs no count of ours, and any other does', () => {
  assert.ok(isWhole({ ...NO_USAGE, input: 1, output: 1 }, boundsOf()))
  for (const part of [{ input: 1 }, { output: 1 }, { input: Number.NaN, output: 1 }, { input: 1, output: -1 }])
    assert.ok(!isWhole({ ...NO_USAGE, ...part }, boundsOf()), JSON.stringify(part))
  assert.ok(isWhole({ ...NO_USAGE, input: 1 }, boundsOf(0, { bytes: 0 })))
})

test('whatever a provider says, the charge stays within what is possible, and whatever was changed is flagged', () => {
  const anything = fc.oneof(fc.integer({ min: -10, max: 700 }), fc.double(), fc.integer())
  const report = fc.record({
    input: anything,
    cachedInput: anything,
    cacheWrite: anything,
    output: anything,
    reasoning: anything,
  })
  const figures = fc.constantFrom('unknown' as const, 0, 32_000)
  fc.assert(
    fc.property(report, figures, fc.nat(300), fc.nat(100), (reported, figure, bytes, thoughtBytes) => {
      const bounds = boundsOf(figure, { bytes, thoughtBytes })
      const { usage, anomalies } = judgeReport(reported, COUNTED, bounds)
      for (const count of Object.values(usage)) assert.ok(Number.isSafeInteger(count) && count >= 0, String(count))
      assert.ok(promptTokensOf(usage) <= PROMPT_MAX)
      assert.ok(completionTokensOf(usage) <= OUTPUT_MAX)
      const isChanged = Object.entries(usage).some(([name, count]) => reported[name as keyof Usage] !== count)
      if (anomalies.length === 0) assert.ok(!isChanged, JSON.stringify([reported, usage]))
    }),
    { numRuns: 5_000 },
  )
})
