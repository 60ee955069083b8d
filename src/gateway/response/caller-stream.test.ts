import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { SLOW_READER_TOTAL_MS } from '../../rules/limits.ts'
import { createCallerStream } from './caller-stream.ts'

const BREAK_MS = 29_000

/** A caller that reads only when told to, and a clock that the test turns. */
function setUp(t: TestContext) {
  let nowMs = 0
  t.mock.timers.enable({ apis: ['setTimeout'] })
  t.mock.method(performance, 'now', () => nowMs)
  const res = Object.assign(new EventEmitter(), { destroyed: false, write: () => false, destroy: () => {} })
  res.destroy = () => void (res.destroyed = true)
  let slowReaders = 0
  const stream = createCallerStream(res as unknown as ServerResponse, { onSlowReader: () => void slowReaders++ })
  const pass = (ms: number) => {
    nowMs += ms
    t.mock.timers.tick(ms)
  }
  return { stream, res, pass, cutOff: () => [slowReaders, res.destroyed] }
}

test('a caller may take breaks, but all of them together have an end', async (t) => {
  const { stream, res, pass, cutOff } = setUp(t)
  const breaks = Math.floor(SLOW_READER_TOTAL_MS / BREAK_MS)
  for (let n = 0; n < breaks; n++) {
    stream.add('text')
    await new Promise(process.nextTick)
    pass(BREAK_MS)
    assert.deepEqual(cutOff(), [0, false], `after ${n + 1} breaks`)
    res.emit('drain')
  }
  stream.add('text')
  await new Promise(process.nextTick)
  pass(SLOW_READER_TOTAL_MS - breaks * BREAK_MS - 1)
  assert.deepEqual(cutOff(), [0, false])
  pass(1)
  assert.deepEqual(cutOff(), [1, true])
})
