import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { promisify } from 'node:util'
import { CALL_OUTCOMES } from '../src/rules/billing/charging.ts'
import { PLANTED } from './simulation/planted.ts'
import { runSeeds, traceSeed } from './simulation/seeds.ts'
import { inThread } from './support/thread.ts'

/** A few seconds of what `node test/simulation/run.ts` does for as long as one likes. */
const HEALTHY_SEEDS = 2_000
/** Within so many seeds a bug must show. */
const PLANTED_SEEDS_MAX = 500

let healthy: Awaited<ReturnType<typeof runSeeds>>

before(async () => {
  const module = new URL('simulation/seeds.ts', import.meta.url)
  healthy = await inThread<typeof runSeeds>(module, 'runSeeds', { from: 1, count: HEALTHY_SEEDS })
})

test('calls, hang-ups, crashes, pauses, lost answers and sweeps in any order keep every promise about money', async () => {
  const [first] = healthy.failures
  if (!first) return
  const { lines } = await traceSeed(first.seed)
  assert.fail(`seed ${first.seed}:\n${lines.join('\n')}\n${first.violations.join('\n')}`)
})

test('what the simulation is about does happen in it', () => {
  const expected = [
    ...CALL_OUTCOMES,
    'extension',
    'overrun paid from what is available',
    'shortfall',
    'late_charge',
    'absorbed',
    'chargeback',
    'reversal',
    'owed',
    'collection',
    'credit_owed',
    'held and never settled by its gateway',
    'answered and not settled in time',
    'second deployment',
    'second attempt at the same deployment',
    'second key',
    'upstream_failed without an attempt',
    'provider_rate_limited without an attempt',
    'max_tokens lowered',
    'answered from the stored result',
    'credit_insufficient',
    'credit_held',
    'concurrency_limited',
    'rate_limited',
    'budget_held',
    'budget_used_up',
    'store_unavailable',
    'overloaded',
    'idempotency_running',
    'idempotency_mismatch',
  ]
  assert.deepEqual(
    expected.filter((sight) => !healthy.sightings.has(sight)),
    [],
  )
})

test('the same seed gives the same run, so that a failure can be looked at', async () => {
  for (const seed of [3, 17, 58]) {
    const { lines } = await traceSeed(seed)
    assert.ok(lines.length > 3)
    assert.deepEqual((await traceSeed(seed)).lines, lines)
  }
})

for (const planted of Object.keys(PLANTED)) {
  test(`a planted bug is found: ${planted}`, async () => {
    const { failures } = await runSeeds({ from: 1, count: PLANTED_SEEDS_MAX, planted, onSeed: Boolean })
    assert.equal(failures.length, 1, `not found in ${PLANTED_SEEDS_MAX} seeds`)
  })
}

test('the command ends with 1 and tells the seed and its events when an invariant is broken, and with 0 otherwise', async () => {
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [join(import.meta.dirname, 'simulation/run.ts'), ...args], {
      timeout: 60_000,
    })
  const { stdout } = await run('--seeds', '20', '--threads', '1')
  assert.match(stdout, /^simulation: seeds=20 violations=0$/m)
  const broken = run('--seeds', '20', '--threads', '1', '--planted', 'settle: keeps what the call did not use')
  await assert.rejects(broken, (error: { code?: number; stdout?: string }) => {
    assert.equal(error.code, 1)
    assert.match(error.stdout ?? '', /^seed \d+:\n +0\.000 s +gateway 1 +starts$/m)
    assert.match(error.stdout ?? '', /^ +\d+\.\d+ s .* VIOLATION: I2: wallet \d holds /m)
    assert.match(error.stdout ?? '', /^simulation: seeds=20 violations=[1-9]\d*$/m)
    return true
  })
})
