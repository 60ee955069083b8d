import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareOf, type searchCheapest } from './simulation/hostile.ts'
import { inThread } from './support/thread.ts'

/** Enough that each weakness that there once was is found: the last of them took about 1,500. */
const TRIES = 3_000
const SEEDS = [1, 2]

for (const seed of SEEDS) {
  test(`a tenant who looks for the cheapest way pays for what it causes, whatever it tries (seed ${seed})`, async (t) => {
    const module = new URL('simulation/hostile.ts', import.meta.url)
    const found = await inThread<typeof searchCheapest>(module, 'searchCheapest', TRIES, seed)
    const { strategy, result } = found.cheapest
    t.diagnostic(`${found.tried} strategies, the cheapest paid ${(100 * shareOf(result)).toFixed(2)} % of its bill`)
    assert.deepEqual(found.violations, [])
    assert.ok(shareOf(result) >= 0.99, `${result.paid} of ${result.billed}: ${JSON.stringify(strategy, null, 1)}`)
    assert.ok(found.billed > 1_000_000_000n, 'the providers did work')
  })
}
