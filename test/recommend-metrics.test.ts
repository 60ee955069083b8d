import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  hitAtOne,
  judgedOnly,
  kappaOf,
  mean,
  ndcgAt,
  percentile,
  upperBoundOfNone,
} from '../bench/recommend/metrics.ts'
import { figuresOf, verdictOf, type Shown } from '../bench/recommend/conversation-bar.ts'
import { isReached, linesOf } from '../bench/recommend/report.ts'
import { isInTestHalf, type Annotations, type Conversation } from '../bench/recommend/sets.ts'

const near = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 0.000_5, `${actual} is not ${expected}`)

test('nDCG is the example that was reckoned by hand', () => {
  const judgements = new Map([
    ['great', 3],
    ['good', 2],
    ['bad', 0],
  ])
  // Gains 7 and 3. Best: 7/1 + 3/1.58496 = 8.8928. Here: 3/1 + 0 + 7/2 = 6.5.
  near(ndcgAt(['good', 'bad', 'great'], judgements, 10), 6.5 / 8.8928)
  near(ndcgAt(['great', 'good', 'bad'], judgements, 10), 1)
  near(ndcgAt(['good', 'bad', 'great'], judgements, 2), 3 / 8.8928)
  near(ndcgAt([], judgements, 10), 0)
  near(ndcgAt(['bad'], new Map([['bad', 0]]), 10), 0)
})

test('what nobody judged counts as irrelevant, unless it is taken out first', () => {
  const judgements = new Map([['good', 1]])
  const ranking = ['unknown', 'good']
  near(ndcgAt(ranking, judgements, 10), 1 / Math.log2(3))
  near(ndcgAt(judgedOnly(ranking, judgements), judgements, 10), 1)
})

test('the first item is a hit from the stated grade on, and never when it is missing or was not judged', () => {
  const judgements = new Map([
    ['acceptable', 1],
    ['good', 2],
  ])
  assert.equal(hitAtOne(['good', 'acceptable'], judgements, 2), 1)
  assert.equal(hitAtOne(['acceptable', 'good'], judgements, 2), 0)
  assert.equal(hitAtOne(['unknown', 'good'], judgements, 1), 0)
  assert.equal(hitAtOne([], judgements, 0), 0)
})

test("kappa is Cohen's: agreement beyond chance", () => {
  // The usual example: 20 both yes, 5 and 10 one of them, 15 both no. Observed 0.7, by chance 0.5.
  const pairs = [
    ...Array.from({ length: 20 }, () => ['yes', 'yes'] as const),
    ...Array.from({ length: 5 }, () => ['yes', 'no'] as const),
    ...Array.from({ length: 10 }, () => ['no', 'yes'] as const),
    ...Array.from({ length: 15 }, () => ['no', 'no'] as const),
  ]
  near(kappaOf(pairs), 0.4)
  near(
    kappaOf([
      [1, 1],
      [0, 0],
    ]),
    1,
  )
  near(
    kappaOf([
      [1, 0],
      [0, 1],
    ]),
    -1,
  )
  assert.equal(kappaOf([]), 0)
})

test('none seen of 500 still leaves 0.6 % possible', () => {
  near(upperBoundOfNone(500), 0.006)
  assert.equal(upperBoundOfNone(0), 1)
})

test('means and percentiles are those of the values themselves', () => {
  assert.equal(mean([1, 2, 6]), 3)
  assert.equal(mean([]), 0)
  assert.equal(percentile([5, 1, 4, 2, 3], 0.5), 3)
  assert.equal(percentile([5, 1, 4, 2, 3], 0.95), 5)
})

test('a conversation stays in its half, and the halves are halves', () => {
  const ids = Array.from({ length: 1_000 }, (_, i) => `c${i}`)
  const inTest = ids.filter(isInTestHalf)
  assert.ok(inTest.length > 440 && inTest.length < 560, `${inTest.length} of 1,000`)
  // The first bytes of their SHA-256 are 26, 8f, 81 and d6.
  assert.deepEqual(['c001', 'c002', 'c003', 'c004'].map(isInTestHalf), [false, true, true, false])
})

function annotations(grades: Record<string, number>): Annotations {
  return new Map([['c1', new Map(Object.entries(grades))]])
}

const ANNOTATED = {
  a: annotations({ good: 2, doubtful: 1, odd: -1, harmful: -1, poor: 0 }),
  b: annotations({ good: 1, doubtful: 0, odd: 0, harmful: -1, poor: 0 }),
  c: annotations({ doubtful: 1, odd: 0 }),
}

test('two annotators make a verdict, a third decides where they disagree, and what nobody judged is not relevant', () => {
  const verdicts = ['good', 'doubtful', 'odd', 'harmful', 'poor', 'unknown'].map((id) => verdictOf(ANNOTATED, 'c1', id))
  assert.deepEqual(verdicts, ['relevant', 'relevant', 'not relevant', 'absurd', 'not relevant', 'not judged'])
})

test('precision is of what was shown, and coverage of all conversations', () => {
  const conversation = { id: 'c1' } as Conversation
  const shown = ['good', 'harmful', 'unknown', undefined].map((offerId): Shown => ({
    conversation,
    offerId,
    relevance: 0.5,
    outcome: 'matched',
  }))
  const figures = figuresOf({ conversations: [], ...ANNOTATED }, shown)
  near(figures.hit, 1 / 3)
  near(figures.absurd, 1 / 3)
  near(figures.coverage, 3 / 4)
  assert.equal(figures.notJudged, 1)
})

test('one figure below its bar makes the line fall short', () => {
  const figures = [
    { name: 'P@1', value: 0.8, bar: { atLeast: 0.8 } },
    { name: 'absurd', value: 0.021, unit: 'percent', bar: { atMost: 0.02 } },
  ] as const
  assert.equal(isReached({ bar: 'E0', figures: [figures[0]] }), true)
  assert.equal(isReached({ bar: 'E0', figures: [...figures] }), false)
  assert.deepEqual(linesOf({ bar: 'E0', figures: [...figures], details: ['more'] }), [
    'E0  P@1 0.800 (>= 0.8)  absurd 2.1 % (<= 2 %)  falls short',
    '   more',
  ])
})
