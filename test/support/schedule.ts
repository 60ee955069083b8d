import assert from 'node:assert/strict'
import type { every } from '../../src/platform/every.ts'

interface Job {
  periodMs: number
  waitedMs: number
  isStopped: boolean
  run: () => Promise<void>
}

/** Time that passes for one job, as far as its test says. */
export function createSchedule() {
  const jobs = new Map<string, Job>()
  const repeat: typeof every = (periodMs, run, name) => {
    const job = { periodMs, waitedMs: 0, isStopped: false, run }
    jobs.set(name, job)
    return {
      name,
      failingForMs: undefined,
      soon: () => assert.fail('no job is wanted soon'),
      stop: () => (job.isStopped = true),
    }
  }
  const pass = async (name: string, ms: number) => {
    const job = jobs.get(name)
    assert.ok(job, `the worker has no job "${name}"`)
    job.waitedMs += ms
    if (job.waitedMs < job.periodMs) return
    job.waitedMs = 0
    await job.run()
  }
  return { jobs, repeat, pass }
}
