import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCallLog } from './calls.ts'
import type { SimulatedCall } from './calls.ts'

function callNumber(n: number): SimulatedCall {
  return {
    id: String(n),
    model: 'sim',
    authorization: undefined,
    headers: {},
    body: {},
    promptTokens: 1,
    mark: undefined,
    bill: undefined,
    generatedTokens: 0,
    ended: 'running',
  }
}

test('the log keeps the newest calls, and forgets the oldest when they are too many', () => {
  const log = createCallLog()
  for (let n = 0; n < 50_000; n++) log.add(callNumber(n), 100)
  assert.ok(log.calls.length <= 20_000 && log.calls.length > 15_000)
  assert.equal(log.calls.at(-1)?.id, '49999')
  assert.equal(log.calls[0]?.id, String(50_000 - log.calls.length))
  assert.equal(log.total(), 50_000)
})

test('the log forgets the oldest when their bodies are too large', () => {
  const log = createCallLog()
  for (let n = 0; n < 100; n++) log.add(callNumber(n), 8 * 1024 * 1024)
  assert.ok(log.calls.length <= 8 && log.calls.length >= 4)
  assert.equal(log.calls.at(-1)?.id, '99')
})

test('a call that is forgotten while it runs is still counted as running', () => {
  const log = createCallLog()
  const call = callNumber(1)
  log.add(call, 1)
  log.clear()
  assert.equal(log.running(), 1)
  log.end(call, 'completed')
  assert.equal(log.running(), 0)
  assert.equal(call.ended, 'completed')
})
