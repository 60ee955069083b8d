import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HungUp, ShutDown } from '../call.ts'
import { upstreamSignalOf } from './upstream-signal.ts'

function hangUp(readOnMs: number, reason: Error = new HungUp()) {
  const caller = new AbortController()
  const upstream = upstreamSignalOf(caller.signal, () => readOnMs)
  caller.abort(reason)
  return { upstream, reason }
}

test('a caller that hangs up cancels its call at once, when it is known what it has come to', () => {
  const { upstream, reason } = hangUp(0)
  assert.equal(upstream.signal.reason, reason)
})

test('else the answer is read on for as long as it may take to know, and no longer', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { upstream, reason } = hangUp(5_000)
  t.mock.timers.tick(4_999)
  assert.equal(upstream.signal.aborted, false)
  t.mock.timers.tick(1)
  assert.equal(upstream.signal.reason, reason)
})

test('a process that must end waits for nothing', () => {
  const { upstream, reason } = hangUp(5_000, new ShutDown())
  assert.equal(upstream.signal.reason, reason)
})

test('a caller that was gone before is noticed', () => {
  assert.ok(upstreamSignalOf(AbortSignal.abort(new HungUp()), () => 0).signal.aborted)
})

test('a call that is over is cancelled by nobody', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { upstream } = hangUp(5_000)
  upstream.release()
  t.mock.timers.tick(10_000)
  assert.equal(upstream.signal.aborted, false)
})
