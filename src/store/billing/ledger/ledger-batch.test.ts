import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf } from './ledger-batch.ts'
import type { Settlement } from '../settlement.ts'

const SETTLEMENT: Settlement = {
  callId: 'c',
  projectId: 'p',
  charge: 10n ** 18n,
  worth: 10n ** 18n + 1n,
  usage: { input: 1, cachedInput: 2, cacheWrite: 3, output: 4, reasoning: 5 },
  usageSource: 'reported',
  outcome: 'completed',
  requestId: 'r',
  streamed: true,
  status: 200,
  durationMs: 7,
  attempts: [{ deployment: 'd', provider: 'acme', ms: 6, failed: undefined }],
  hasIdempotencyKey: true,
}

const ROW = {
  n: 1,
  id: 'c',
  project_id: 'p',
  bill_nanos: '1000000000000000000',
  usage_nanos: '1000000000000000001',
  input_tokens: 1,
  cached_input_tokens: 2,
  cache_write_tokens: 3,
  output_tokens: 4,
  reasoning_tokens: 5,
  usage_source: 'reported',
  outcome: 'completed',
  request_id: 'r',
  streamed: true,
  status: 200,
  duration_ms: 7,
  attempts: [{ deployment: 'd', provider: 'acme', ms: 6 }],
  has_key: true,
}

function rowOf(settlement: Settlement): unknown {
  const [projectIds, settles, extensions, holds] = batchOf([{ part: 'settle', settlement }])
  assert.deepEqual([projectIds, extensions, holds], [['p'], null, null])
  return (JSON.parse(settles ?? '') as unknown[])[0]
}

test('each fact of a settled call is a column under its own name, and what is not known is not there', () => {
  assert.deepEqual(rowOf(SETTLEMENT), ROW)
  const facts = {
    deploymentId: 'd',
    conversationId: 'talk',
    finishReason: 'stop',
    errorCode: 'internal',
    firstTokenMs: 6,
    result: 'sealed',
  } as const
  assert.deepEqual(rowOf({ ...SETTLEMENT, ...facts }), {
    ...ROW,
    deployment_id: 'd',
    conversation_id: 'talk',
    finish_reason: 'stop',
    error_code: 'internal',
    first_token_ms: 6,
    result: 'sealed',
  })
})

test("a provider's report is kept where something was wrong with it, with whose it is, and nowhere else", () => {
  const reported = { input: 9, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }
  assert.deepEqual(rowOf({ ...SETTLEMENT, reported, anomalies: [] }), ROW)
  assert.deepEqual(rowOf({ ...SETTLEMENT, reported, anomalies: ['zero'] }), {
    ...ROW,
    anomalies: ['zero'],
    provider: 'acme',
    reported,
  })
})
