import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SimulatedCall } from '../simulator/calls.ts'
import { judge } from './exactness/judge.ts'
import type { Rule, Trial } from './exactness/trial.ts'

/** The judge of an exactness run must itself be known to bite. A prompt token costs 1,000 nanos, an output token 4,000. */

const BILL = { fresh: 5_000, cached: 0, cacheWrite: 0, completion: 100, reasoning: 0 }
const BILLED = 5_400_000n

interface Case {
  pays: Rule
  charged: bigint
  bill?: Partial<typeof BILL>
  chunks?: number
  funds?: bigint
}

/** Returns the judge's complaints about a case. */
function verdict({ pays, charged, bill, chunks = 0, funds }: Case): string[] {
  const trial: Trial = {
    id: 't',
    kind: 'k',
    body: {},
    caller: { does: 'read' },
    pays,
    ...(funds !== undefined && { funds }),
  }
  const calls = [{ bill: { ...BILL, ...bill } }] as unknown as SimulatedCall[]
  const charge = { mark: 't', charged, held: charged, outcome: 'completed', source: 'reported' } as const
  const { isUndercharged, isOvercharged, isFree } = judge(trial, { status: 200, chunks }, calls, [charge])
  return [...(isUndercharged ? ['under'] : []), ...(isOvercharged ? ['over'] : []), ...(isFree ? ['free'] : [])]
}

test('what was billed is charged to the nano, unless the table says otherwise', () => {
  assert.deepEqual(verdict({ pays: 'billed', charged: BILLED }), [])
  assert.deepEqual(verdict({ pays: 'billed', charged: BILLED - 1n }), ['under'])
  assert.deepEqual(verdict({ pays: 'billed', charged: BILLED + 1n }), ['over'])
  assert.deepEqual(verdict({ pays: 'billed', charged: 0n }), ['under', 'free'])
  assert.deepEqual(verdict({ pays: 'nothing', charged: 0n }), [])
  assert.deepEqual(verdict({ pays: 'nothing', charged: 1n }), ['over'])
})

test('a count of ours may be off by a hundred prompt tokens, or by one percent', () => {
  assert.deepEqual(verdict({ pays: 'counted', charged: BILLED - 100_000n }), [])
  assert.deepEqual(verdict({ pays: 'counted', charged: BILLED - 100_001n }), ['under'])
  assert.deepEqual(verdict({ pays: 'counted', charged: BILLED + 100_001n }), ['over'])
  const bill = { fresh: 1_000_000, completion: 0 }
  assert.deepEqual(verdict({ pays: 'counted', bill, charged: 990_000_000n }), [])
  assert.deepEqual(verdict({ pays: 'counted', bill, charged: 989_999_999n }), ['under'])
})

test('who left midway pays for the prompt and what arrived at least, and for what was billed at most', () => {
  assert.deepEqual(verdict({ pays: 'streamed', chunks: 10, charged: 5_040_000n }), [])
  assert.deepEqual(verdict({ pays: 'streamed', chunks: 10, charged: 5_039_999n }), ['under'])
  assert.deepEqual(verdict({ pays: 'streamed', chunks: 10, charged: BILLED + 1n }), ['over'])
})

test('little credit is charged to the last nano, and thoughts of a model without any are not', () => {
  assert.deepEqual(verdict({ pays: 'funds', funds: 200_000n, charged: 200_000n }), [])
  assert.deepEqual(verdict({ pays: 'funds', funds: 200_000n, charged: 199_999n }), ['under'])
  assert.deepEqual(verdict({ pays: 'no thoughts', bill: { reasoning: 70_000 }, charged: BILLED }), [])
  assert.deepEqual(verdict({ pays: 'no thoughts', bill: { reasoning: 70_000 }, charged: BILLED + 4_000n }), ['over'])
})
