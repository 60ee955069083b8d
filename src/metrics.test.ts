import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from './metrics.ts'

test('every metric of ours is exposed under the name parley_…', async () => {
  const metrics = createMetrics()
  metrics.requests.inc({ route: '/v1/models', status: 200 })
  metrics.firstToken.observe({ model: 'm' }, 0.03)
  metrics.callsRunning.set(3)
  const text = await metrics.registry.metrics()
  assert.match(text, /^parley_requests_total\{route="\/v1\/models",status="200"\} 1$/m)
  assert.match(text, /^parley_first_token_seconds_bucket\{le="0.05",model="m"\} 1$/m)
  assert.match(text, /^parley_calls_running 3$/m)
  assert.match(text, /^parley_process_resident_memory_bytes \d+/m)
  for (const line of text.split('\n')) if (line.startsWith('# TYPE')) assert.match(line, /^# TYPE parley_/)
})

test('two gateways in one process count apart', async () => {
  const [one, other] = [createMetrics(), createMetrics()]
  one.holdsSwept.inc()
  assert.match(await one.registry.metrics(), /^parley_holds_swept_total 1$/m)
  assert.match(await other.registry.metrics(), /^parley_holds_swept_total 0$/m)
})

test('no metric is labelled with what identifies a caller', () => {
  const allowed = new Set([
    'route',
    'status',
    'code',
    'outcome',
    'model',
    'provider',
    'kind',
    'phase',
    'why',
    'invariant',
    'pass',
    // The holder of the share that was used up: a user or a network; and the end that noticed: gateway or matcher.
    'share',
    'by',
    'deployment',
    'table',
    'job',
    'share',
    'by',
    'reason',
    // The name of a provider's key.
    'key',
    'le',
    'quantile',
  ])
  const { registry: _, ...metrics } = createMetrics()
  for (const [name, metric] of Object.entries(metrics)) {
    const { labelNames } = metric as unknown as { labelNames: string[] }
    for (const label of labelNames) assert.ok(allowed.has(label), `${name} is labelled with ${label}`)
  }
})
