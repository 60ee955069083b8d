import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../metrics.ts'
import { createLog } from '../platform/log.ts'
import { METADATA_BYTES_PER_DAY } from '../rules/calls/metadata.ts'
import { DAY_MS } from '../rules/durations.ts'
import type { Db } from '../store/database.ts'
import type { Call } from './call.ts'
import { createCallMetadata } from './call-metadata.ts'

/** As much as a call can have: 8 KiB. */
const PAIRS = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [String.fromCodePoint(97 + n), 'x'.repeat(511)]))
const CALLS_PER_DAY = METADATA_BYTES_PER_DAY / (16 * 512)

test('metadata beyond the day of a project is counted and not kept, and the next day begins anew', async () => {
  const metrics = createMetrics()
  const clock = { ms: 20_000 * DAY_MS }
  const kept = new Map<string, number>()
  const metadata = createCallMetadata({
    db: undefined as unknown as Db,
    log: createLog('silent'),
    metrics,
    now: () => clock.ms,
    insert: (_, calls) => {
      for (const { projectId } of calls) kept.set(projectId, (kept.get(projectId) ?? 0) + 1)
      return Promise.resolve([])
    },
  })
  async function send(projectId: string, calls: number): Promise<void> {
    const caller = { projectId, contentRetentionDays: 30 }
    for (let n = 0; n < calls; n++) {
      metadata.record({ id: 'call', caller, body: { metadata: PAIRS }, progress: {} } as unknown as Call)
      if (n % 500 === 0) await metadata.idle()
    }
    await metadata.idle()
  }
  const overBudget = async () => (await metrics.metadataOverBudget.get()).values[0]?.value
  await send('greedy', CALLS_PER_DAY)
  assert.equal(await overBudget(), 0)
  await send('greedy', 3)
  await send('modest', 1)
  assert.equal(await overBudget(), 3)
  assert.deepEqual(Object.fromEntries(kept), { greedy: CALLS_PER_DAY, modest: 1 })
  clock.ms += DAY_MS
  await send('greedy', 1)
  assert.equal(await overBudget(), 3)
  assert.equal(kept.get('greedy'), CALLS_PER_DAY + 1)
})
