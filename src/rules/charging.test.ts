import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUTCOMES, billFor, type Ending, type Outcome } from './charging.ts'
import type { Price } from './pricing.ts'
import { NO_USAGE } from './usage.ts'

const PRICE: Price = {
  version: 1n,
  input: 1_000_000n,
  cachedInput: 500_000n,
  cacheWrite: 0n,
  output: 4_000_000n,
  reasoning: 4_000_000n,
}
const HELD = 1_000n
/** Worth 100 + 10 × 4 nanos. */
const COUNTED = { ...NO_USAGE, input: 100, output: 10 }
/** Worth 90 + 10 × 4 + 5 × 4 nanos. */
const REPORTED = { ...NO_USAGE, input: 90, output: 10, reasoning: 5 }
const COUNTED_WORTH = 140n
const REPORTED_WORTH = 150n

function ending(outcome: Outcome, more: Partial<Ending> = {}): Ending {
  return { outcome, started: true, reported: undefined, counted: COUNTED, held: HELD, ...more }
}

/** Who pays for what the provider produced before the call ended so. */
const PAYS: Record<Outcome, 'publisher' | 'operator'> = {
  completed: 'publisher',
  hung_up: 'publisher',
  hold_used_up: 'publisher',
  upstream_failed: 'operator',
  truncated: 'operator',
  timed_out: 'operator',
  gateway_failed: 'operator',
  gateway_died: 'operator',
}

for (const outcome of OUTCOMES) {
  const isCharged = PAYS[outcome] === 'publisher'
  const says = isCharged ? 'is charged' : 'is charged nothing, and its worth is recorded'

  test(`${outcome} with reported usage ${says}`, () => {
    assert.deepEqual(billFor(ending(outcome, { reported: REPORTED }), PRICE), {
      usage: REPORTED,
      source: 'reported',
      worth: REPORTED_WORTH,
      charge: isCharged ? REPORTED_WORTH : 0n,
    })
  })

  test(`${outcome} without reported usage ${says}, by our own count`, () => {
    assert.deepEqual(billFor(ending(outcome), PRICE), {
      usage: COUNTED,
      source: 'estimated',
      worth: COUNTED_WORTH,
      charge: isCharged ? COUNTED_WORTH : 0n,
    })
  })

  test(`${outcome} with a reported zero is a report, not a missing one`, () => {
    assert.deepEqual(billFor(ending(outcome, { reported: NO_USAGE }), PRICE), {
      usage: NO_USAGE,
      source: 'reported',
      worth: 0n,
      charge: 0n,
    })
  })

  test(`${outcome} by our own count never takes more than was held`, () => {
    const { worth, charge } = billFor(ending(outcome, { held: 120n }), PRICE)
    assert.equal(worth, COUNTED_WORTH)
    assert.equal(charge, isCharged ? 120n : 0n)
  })

  if (outcome === 'completed') continue
  for (const reported of [undefined, REPORTED, NO_USAGE]) {
    const report = reported === undefined ? 'no' : reported === NO_USAGE ? 'a zero' : 'a'
    test(`${outcome} before an answer began costs nothing, with ${report} report`, () => {
      assert.deepEqual(billFor(ending(outcome, { started: false, reported }), PRICE), {
        usage: NO_USAGE,
        source: 'none',
        worth: 0n,
        charge: 0n,
      })
    })
  }
}

test('an empty but complete answer is charged for its prompt', () => {
  const empty = { ...NO_USAGE, input: 100 }
  assert.equal(billFor(ending('completed', { started: false, counted: empty }), PRICE).charge, 100n)
  assert.equal(billFor(ending('completed', { started: false, reported: empty }), PRICE).charge, 100n)
})

test('a completed answer is charged what the provider reported, also beyond the hold', () => {
  assert.equal(billFor(ending('completed', { reported: REPORTED, held: 120n }), PRICE).charge, REPORTED_WORTH)
})

test('an answer that was cut off is never charged beyond its hold, whatever was reported', () => {
  for (const outcome of ['hung_up', 'hold_used_up'] as const) {
    assert.equal(billFor(ending(outcome, { reported: REPORTED, held: 120n }), PRICE).charge, 120n)
  }
})

test('every outcome stands in the charging table', () => {
  assert.deepEqual(Object.keys(PAYS).toSorted(), [...OUTCOMES].toSorted())
})
