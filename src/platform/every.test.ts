import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createJobs, every } from './every.ts'
import { createLog } from './log.ts'

/** Time that passes only when told to; after each step everything that became due has run to its end. */
function stopClock(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  return async (ms: number) => {
    nowMs += ms
    t.mock.timers.tick(ms)
    await turn()
  }
}

function createLines() {
  const lines: {
    level: string
    msg: string
    job: string
    error?: string
    failingForSeconds?: number
    failedForSeconds?: number
    failures?: number
  }[] = []
  const measured = new Map<string, number>()
  const gauge = (name: string) => ({
    set: ({ job }: { job: string }, value: number) => measured.set(`${job} ${name}`, value),
    inc: ({ job }: { job: string }, by = 1) =>
      measured.set(`${job} ${name}`, (measured.get(`${job} ${name}`) ?? 0) + by),
  })
  const metrics = {
    jobPeriod: gauge('period'),
    jobSucceeded: gauge('succeeded'),
    jobSeconds: gauge('seconds'),
    jobFailures: gauge('failures'),
  }
  return { lines, measured, metrics, log: createLog('info', { write: (line) => lines.push(JSON.parse(line)) }) }
}

test('a job runs at once and then again and again, until it is stopped', async (t) => {
  const pass = stopClock(t)
  const { lines, ...watch } = createLines()
  const job = t.mock.fn(() => Promise.resolve())
  const repeated = every(10, job, 'job', watch)
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
  const repeated = every(10, job, 'job', createLines())
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
  const { lines, ...watch } = createLines()
  let failures = 3
  const job = t.mock.fn(() => (failures-- > 0 ? Promise.reject(new RangeError('hunter2')) : Promise.resolve()))
  const repeated = every(5, job, 'beat', watch)
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

test('a job that goes on failing is told of after 1, 2, 4 … minutes and then every hour, with for how long; so is its end', async (t) => {
  const pass = stopClock(t)
  const { lines, ...watch } = createLines()
  let isBroken = true
  const job = () => (isBroken ? Promise.reject(new Error('away')) : Promise.resolve())
  const repeated = every(3_600_000, job, 'send mails', watch)
  await turn()
  assert.equal(repeated.failingForMs, 0)
  for (let second = 0; second < 5 * 3_600; second++) await pass(1_000)
  const told = lines.splice(0)
  assert.deepEqual(
    told.map(({ level, failingForSeconds }) => [level, failingForSeconds]),
    [['warn', undefined], ...[1, 2, 4, 8, 16, 32, 64, 124, 184, 244].map((minutes) => ['error', minutes * 60])],
  )
  assert.equal(repeated.failingForMs, 5 * 3_600_000)
  isBroken = false
  await pass(1_000)
  assert.deepEqual(
    lines.map(({ msg, failedForSeconds, failures }) => [msg, failedForSeconds, failures]),
    [['recovered', 5 * 3_600 + 1, 5 * 3_600 + 1]],
  )
  assert.equal(repeated.failingForMs, undefined)
  repeated.stop()
})

test('how often a job runs, fails and last succeeded, and how long it took, is measured; before its first success, since its start', async (t) => {
  const pass = stopClock(t)
  t.mock.timers.setTime(1_700_000_000_000)
  const { measured, ...watch } = createLines()
  let failures = 2
  const job = async () => {
    await new Promise((resolve) => setTimeout(resolve, 300))
    if (failures-- > 0) throw new Error('away')
  }
  const repeated = every(2_000, job, 'audit', watch)
  await pass(300)
  await pass(1_000)
  await pass(300)
  const measures = (succeeded: number) => ({
    'audit period': 2,
    'audit succeeded': 1_700_000_000 + succeeded,
    'audit seconds': 0.3,
    'audit failures': 2,
  })
  assert.deepEqual(Object.fromEntries(measured), measures(0))
  await pass(1_000)
  await pass(300)
  assert.deepEqual(Object.fromEntries(measured), measures(2.9))
  repeated.stop()
})

test('jobs that are failing are named together, each with for how long', async (t) => {
  const pass = stopClock(t)
  const jobs = createJobs(createLines())
  const fail = () => Promise.reject(new Error('away'))
  const running = [
    jobs.repeat(1_000, fail, 'lease'),
    jobs.repeat(1_000, () => Promise.resolve(), 'catalogue'),
    jobs.repeat(1_000, fail, 'partitions'),
  ]
  await turn()
  assert.deepEqual(jobs.failures.length, 2)
  for (const [ms, told] of [
    [119_000, '119 s'],
    [1_000, '2 min'],
    [7_080_000, '2 h'],
  ] as const) {
    await pass(ms)
    const sentences = ['lease', 'partitions'].map((name) => `The job "${name}" has been failing for ${told}.`)
    assert.deepEqual(jobs.failures, sentences)
  }
  for (const job of running) job.stop()
})

test('a failing job that runs seldom is tried again after a second', async (t) => {
  const pass = stopClock(t)
  let failures = 1
  const job = t.mock.fn(() => (failures-- > 0 ? Promise.reject(new Error('away')) : Promise.resolve()))
  const repeated = every(3_600_000, job, 'job', createLines())
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
  const { lines: _, ...watch } = createLines()
  const finish: (() => void)[] = []
  const job = t.mock.fn(() => new Promise<void>((resolve) => finish.push(resolve)))
  const repeated = every(1_000, job, 'job', watch)
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
