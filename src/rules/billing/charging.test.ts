import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CALL_OUTCOMES, billFor, type Ending, type CallOutcome } from './charging.ts'
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
const COUNTED = { usage: { ...NO_USAGE, input: 100, output: 10 }, source: 'estimated' } as const
const REPORTED = { usage: { ...NO_USAGE, input: 90, output: 10, reasoning: 5 }, source: 'reported' } as const
const COUNTED_WORTH = 100n + 10n * 4n
const REPORTED_WORTH = 90n + 10n * 4n + 5n * 4n

function ending(outcome: CallOutcome, more: Partial<Ending> = {}): Ending {
  return { outcome, used: COUNTED, held: HELD, ...more }
}

/** The party that pays for what the provider produced before a call ended in this way. */
const PAYS: Record<CallOutcome, 'publisher' | 'operator'> = {
  completed: 'publisher',
  hung_up: 'publisher',
  hold_used_up: 'publisher',
  upstream_failed: 'operator',
  truncated: 'operator',
  timed_out: 'operator',
  gateway_failed: 'operator',
  gateway_died: 'operator',
}

for (const outcome of CALL_OUTCOMES) {
  const isCharged = PAYS[outcome] === 'publisher'
  const says = isCharged ? 'is charged' : 'is charged nothing, and its worth is recorded'

  test(`${outcome} with reported usage ${says}`, () => {
    assert.deepEqual(billFor(ending(outcome, { used: REPORTED }), PRICE), {
      ...REPORTED,
      worth: REPORTED_WORTH,
      charge: isCharged ? REPORTED_WORTH : 0n,
    })
  })

  test(`${outcome} without reported usage ${says}, by our own count`, () => {
    assert.deepEqual(billFor(ending(outcome), PRICE), {
      ...COUNTED,
      worth: COUNTED_WORTH,
      charge: isCharged ? COUNTED_WORTH : 0n,
    })
  })

  test(`${outcome} before a provider was at work costs nothing`, () => {
    assert.deepEqual(billFor(ending(outcome, { used: undefined }), PRICE), {
      usage: NO_USAGE,
      source: 'none',
      worth: 0n,
      charge: 0n,
    })
  })
}

test('a completed answer is charged what the provider reported, also beyond the hold', () => {
  assert.equal(billFor(ending('completed', { used: REPORTED, held: 120n }), PRICE).charge, REPORTED_WORTH)
})

test('a completed answer without a report never takes more than was held: the missing report is not its caller’s doing', () => {
  const { worth, charge } = billFor(ending('completed', { held: 120n }), PRICE)
  assert.deepEqual([worth, charge], [COUNTED_WORTH, 120n])
})

test('whoever hangs up pays for all that this has caused, also beyond the hold', () => {
  for (const used of [COUNTED, REPORTED]) {
    const { worth, charge } = billFor(ending('hung_up', { used, held: 120n }), PRICE)
    assert.equal(charge, worth)
  }
})

test('an answer that was cut because its hold was used up costs the hold', () => {
  for (const used of [COUNTED, REPORTED]) {
    assert.equal(billFor(ending('hold_used_up', { used, held: 120n }), PRICE).charge, 120n)
  }
})

test('every outcome stands in the charging table', () => {
  assert.deepEqual(Object.keys(PAYS).toSorted(), [...CALL_OUTCOMES].toSorted())
})
