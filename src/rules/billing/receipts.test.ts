import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { billFor, CALL_OUTCOMES, type Ending } from './charging.ts'
import type { Nanos } from '../money.ts'
import type { Price } from './pricing.ts'
import { CALL_ENDPOINTS, type CallEndpointName } from '../endpoints.ts'
import { callIdOf, completionIdOf, recompute, savedOn, type Receipt } from './receipts.ts'

const ID = '0199d3c4-7a10-7c3e-9a53-1f2e3d4c5b6a'
const PRICE: Price = {
  version: 7n,
  input: 1_500_000_000n,
  cachedInput: 150_000_000n,
  cacheWrite: 1_875_000_000n,
  output: 6_000_000_000n,
  reasoning: 7_000_000_000n,
}
const USED = { input: 1_000, cachedInput: 333, cacheWrite: 77, output: 512, reasoning: 9 }
const COUNTED = { input: 1_010, cachedInput: 0, cacheWrite: 0, output: 498, reasoning: 0 }
const MORE_THAN_ENOUGH: Nanos = 1_000_000_000n

/** Builds the receipt that the gateway stores; `charged` differs from the bill where the wallet could not pay an overrun. */
function receiptOf(ending: Ending, charged?: Nanos): Receipt {
  const bill = billFor(ending, PRICE)
  return {
    endpoint: 'chat',
    callId: ID,
    projectId: ID,
    keyPairId: ID,
    modelId: 'm',
    conversationId: null,
    requestId: 'r',
    outcome: ending.outcome,
    finishReason: 'stop',
    errorCode: null,
    streamed: true,
    status: 200,
    usage: bill.usage,
    usageSource: bill.source,
    price: PRICE,
    held: ending.held,
    worth: bill.worth,
    charged: charged ?? bill.charge,
    firstTokenMs: 1,
    durationMs: 2,
    attempts: [],
    corrections: [],
    heldAt: new Date(0),
    settledAt: new Date(1),
  }
}

const REPORTED: Ending['used'] = { usage: USED, source: 'reported' }
const ESTIMATED: Ending['used'] = { usage: COUNTED, source: 'estimated' }

describe('a receipt of what was billed matches when its charge is computed again', () => {
  for (const outcome of CALL_OUTCOMES) {
    for (const used of [REPORTED, ESTIMATED, undefined]) {
      const source = used?.source ?? 'none'
      if (outcome === 'completed' && source === 'none') continue
      test(`${outcome}, usage ${source}`, () => {
        const { worth } = billFor({ outcome, used, held: MORE_THAN_ENOUGH }, PRICE)
        for (const held of [1n, worth - 1n, worth, worth + 1n, MORE_THAN_ENOUGH].filter((amount) => amount > 0n)) {
          const receipt = receiptOf({ outcome, used, held })
          const { charge } = billFor({ outcome, used, held }, PRICE)
          assert.deepEqual(recompute(receipt), { worth, charge, matches: true })
          assert.equal(receipt.usageSource, source)
        }
      })
    }
  }
})

test('an overrun that the wallet paid in part matches, down to the hold and not below', () => {
  const ending: Ending = { outcome: 'completed', used: REPORTED, held: 1_000_000n }
  const { charge } = billFor(ending, PRICE)
  for (const charged of [charge, charge - 1n, ending.held]) assert.ok(recompute(receiptOf(ending, charged)).matches)
  for (const charged of [charge + 1n, ending.held - 1n, 0n]) assert.ok(!recompute(receiptOf(ending, charged)).matches)
})

describe('a receipt that was changed afterwards does not match', () => {
  const paid = receiptOf({ outcome: 'completed', used: REPORTED, held: MORE_THAN_ENOUGH })
  const tokens = (Object.keys(USED) as (keyof typeof USED)[]).map((name): [string, Receipt] => [
    `${name} tokens`,
    { ...paid, usage: { ...USED, [name]: USED[name] + 1 } },
  ])
  const prices = (Object.keys(USED) as (keyof typeof USED)[]).map((name): [string, Receipt] => [
    `${name} price`,
    { ...paid, price: { ...PRICE, [name]: PRICE[name] - 1_000_000n } },
  ])
  const free = CALL_OUTCOMES.filter((outcome) => !['completed', 'hung_up', 'hold_used_up'].includes(outcome))
  const outcomes = free.map((outcome): [string, Receipt] => [`outcome ${outcome}`, { ...paid, outcome }])
  const silent = receiptOf({ outcome: 'hung_up', used: undefined, held: 5n })
  const capped = receiptOf({ outcome: 'hold_used_up', used: REPORTED, held: 5n })
  const changed: [string, Receipt][] = [
    ...tokens,
    ...prices,
    ...outcomes,
    ['worth', { ...paid, worth: paid.worth + 1n }],
    ['charged more', { ...paid, charged: paid.charged + 1n }],
    ['charged less', { ...paid, charged: paid.charged - 1n }],
    ['usage source', { ...paid, usageSource: 'none' }],
    ['tokens of an answer that never began', { ...silent, usage: { ...silent.usage, output: 1 } }],
    ['charge of an answer that never began', { ...silent, charged: 1n }],
    ['completed without usage', { ...silent, outcome: 'completed' }],
    ['a smaller hold', { ...capped, held: 4n }],
    ['a larger hold', { ...capped, held: 6n }],
  ]
  for (const [what, receipt] of changed) {
    test(what, () => assert.equal(recompute(receipt).matches, false))
  }
  test('unchanged they all match', () => {
    for (const receipt of [paid, silent, capped]) assert.ok(recompute(receipt).matches)
  })
})

test('a call is found by its uuid and by the id of its answer, and by nothing else', () => {
  assert.equal(completionIdOf(ID, 'chat'), 'chatcmpl-0199d3c47a107c3e9a531f2e3d4c5b6a')
  assert.equal(callIdOf(completionIdOf(ID, 'chat')), ID)
  assert.equal(callIdOf(ID), ID)
  for (const text of [
    '',
    'chatcmpl-',
    'chatcmpl-1',
    `${ID}0`,
    `x${ID}`,
    `chatcmpl-chatcmpl-${ID}`,
    `${ID}\n`,
    'g'.repeat(32),
  ])
    assert.equal(callIdOf(text), undefined, text)
})

test('a receipt says what the cache has saved, and of a call that cost nothing, nothing', () => {
  const used = { usage: USED, source: 'reported' as const }
  const saved = (333n * 1_350_000_000n - 77n * 375_000_000n) / 1_000_000n
  assert.equal(savedOn(receiptOf({ outcome: 'completed', used, held: MORE_THAN_ENOUGH })), saved)
  assert.equal(savedOn(receiptOf({ outcome: 'truncated', used, held: MORE_THAN_ENOUGH })), 0n)
})

test('the id of an answer of every endpoint leads back to its call', () => {
  for (const name of Object.keys(CALL_ENDPOINTS) as CallEndpointName[])
    assert.equal(callIdOf(completionIdOf(ID, name)), ID)
})
