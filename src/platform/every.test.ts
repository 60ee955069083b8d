import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { every } from './every.ts'
import { createLog } from './log.ts'

/** Time that passes only when told to; after each step everything that became due has run to its end. */
function stopClock(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return async (ms: number) => {
    t.mock.timers.tick(ms)
    await turn()
  }
}

function createLines() {
  const lines: { level: string; msg: string; job: string; error?: string }[] = []
  return { lines, log: createLog('info', { write: (line) => lines.push(JSON.parse(line)) }) }
}

test('a job runs at once and then again and again, until it is stopped', async (t) => {
  const pass = stopClock(t)
  const { lines, log } = createLines()
  const job = t.mock.fn(() => Promise.resolve())
  const repeated = every(10, job, 'job', log)
  assert.equal(job.mock.callCount(), 1)
  await turn()
  for (let i = 0; i < 5; i++) await pass(10)
  assert.equal(job.mock.callCount(), 6)
  await pass(9)
  assert.equal(job.mock.callCount(), 6)
  repeated.stop()
  await pass(100)
  assert.equal(job.mock.callCount(), 6)
  assert.deepEqual(lines, [])
})

test('a slow run is never joined by a second one, and one that is stopped meanwhile is the last', async (t) => {
  const pass = stopClock(t)
  const finish: (() => void)[] = []
  const job = t.mock.fn(() => new Promise<void>((resolve) => finish.push(resolve)))
  const repeated = every(10, job, 'job', createLines().log)
  await pass(1_000)
  assert.equal(job.mock.callCount(), 1)
  finish.shift()?.()
  await turn()
  await pass(10)
  assert.equal(job.mock.callCount(), 2)
  repeated.stop()
  finish.shift()?.()
  await turn()
  await pass(1_000)
  assert.equal(job.mock.callCount(), 2)
})

test('a failing job is tried again; its failure and its recovery are said once each, without its text', async (t) => {
  const pass = stopClock(t)
  const { lines, log } = createLines()
  let failures = 3
  const job = t.mock.fn(() => (failures-- > 0 ? Promise.reject(new RangeError('hunter2')) : Promise.resolve()))
  const repeated = every(5, job, 'beat', log)
  await turn()
  for (let i = 0; i < 6; i++) await pass(5)
  repeated.stop()
  assert.equal(job.mock.callCount(), 7)
  assert.deepEqual(
    lines.map(({ level, msg, job: name, error }) => [level, msg, name, error]),
    [
      ['warn', 'failed, will be tried again', 'beat', 'RangeError'],
      ['info', 'recovered', 'beat', undefined],
    ],
  )
})

test('a failing job that runs seldom is tried again after a second', async (t) => {
  const pass = stopClock(t)
  let failures = 1
  const job = t.mock.fn(() => (failures-- > 0 ? Promise.reject(new Error('away')) : Promise.resolve()))
  const repeated = every(3_600_000, job, 'job', createLines().log)
  await turn()
  await pass(999)
  assert.equal(job.mock.callCount(), 1)
  await pass(1)
  assert.equal(job.mock.callCount(), 2)
  await pass(3_599_999)
  assert.equal(job.mock.callCount(), 2, 'and then seldom again')
  repeated.stop()
})

test('a job that is wanted soon runs at once, or once more when it already runs, and never twice at a time', async (t) => {
  const pass = stopClock(t)
  const { log } = createLines()
  const finish: (() => void)[] = []
  const job = t.mock.fn(() => new Promise<void>((resolve) => finish.push(resolve)))
  const repeated = every(1_000, job, 'job', log)
  for (let n = 0; n < 3; n++) repeated.soon()
  assert.equal(job.mock.callCount(), 1, 'it runs')
  finish.shift()?.()
  await turn()
  await pass(0)
  assert.equal(job.mock.callCount(), 2, 'once more, however often it was wanted')
  finish.shift()?.()
  await turn()
  await pass(999)
  assert.equal(job.mock.callCount(), 2, 'then it waits for its turn')
  repeated.soon()
  assert.equal(job.mock.callCount(), 3)
  finish.shift()?.()
  await turn()
  await pass(999)
  assert.equal(job.mock.callCount(), 3, 'which begins anew')
  await pass(1)
  assert.equal(job.mock.callCount(), 4)
  repeated.stop()
  repeated.soon()
  finish.shift()?.()
  await pass(5_000)
  assert.equal(job.mock.callCount(), 4)
})
