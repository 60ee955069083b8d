import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../platform/log.ts'
import { createMetrics } from '../metrics.ts'
import type { Call } from './call.ts'
import type { Gateway } from './gateway.ts'
import { observeCall } from './observe.ts'

test('latencies are counted in seconds, the first token’s and the whole call’s each for itself', async () => {
  const metrics = createMetrics()
  const call = {
    endpoint: 'chat',
    startedMs: performance.now() - 4_000,
    signal: new AbortController().signal,
    caller: {},
    facts: { attempts: [], firstTokenMs: 1_500 },
    progress: { model: 'm' },
  } as unknown as Call
  observeCall({ log: createLog('silent'), metrics } as unknown as Gateway, call, 200, undefined)
  const sumOf = async (name: 'firstToken' | 'duration') =>
    (await metrics[name].get()).values.find(({ metricName }) => metricName?.endsWith('_sum'))?.value
  assert.equal(await sumOf('firstToken'), 1.5)
  const seconds = Number(await sumOf('duration'))
  assert.ok(seconds >= 4 && seconds < 60, `${seconds} s`)
})
