import { errorFields, type Log } from './log.ts'

export interface Repeated {
  readonly name: string
  /** For how long it has been failing; undefined when its last run went well. */
  readonly failingForMs: number | undefined
  /** Runs it without waiting for its turn; once more after the present run, if there is one. */
  soon(): void
  stop(): void
}

/** Where it is said how a job does. */
export interface JobWatch {
  log: Log
  metrics: {
    jobPeriod: JobGauge
    jobSucceeded: JobGauge
    jobSeconds: JobGauge
    jobFailures: { inc(labels: { job: string }, by?: number): void }
  }
}

interface JobGauge {
  set(labels: { job: string }, value: number): void
}

const RETRY_MS = 1_000
/** A job that goes on failing is told of after a minute, and then when that is twice as long ago, or an hour. */
const TOLD_AGAIN_MS = { least: 60_000, most: 3_600_000 }

/** Runs a job at once and then again and again, one run at a time. A failing run is told of and tried again. */
export function every(ms: number, job: () => Promise<void>, name: string, watch: JobWatch): Repeated {
  let isStopped = false
  let isRunning = false
  let isWanted = false
  let timer: NodeJS.Timeout | undefined
  const health = watchHealth(name, watch)
  watch.metrics.jobPeriod.set({ job: name }, ms / 1_000)
  async function run(): Promise<void> {
    isRunning = true
    isWanted = false
    const startedMs = performance.now()
    try {
      await job()
      health.succeeded()
    } catch (error) {
      health.failed(error)
    }
    watch.metrics.jobSeconds.set({ job: name }, (performance.now() - startedMs) / 1_000)
    isRunning = false
    if (isStopped) return
    // A request for a run that came during this one may have come too late for it.
    const waitMs = isWanted ? 0 : health.failingForMs === undefined ? ms : Math.min(ms, RETRY_MS)
    timer = setTimeout(() => void run(), waitMs)
  }
  void run()
  return {
    name,
    get failingForMs() {
      return health.failingForMs
    },
    soon() {
      isWanted = true
      if (isStopped || isRunning) return
      clearTimeout(timer)
      void run()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

function secondsSince(ms: number): number {
  return Math.round((performance.now() - ms) / 1_000)
}

/** Says when a job begins to fail, that it still does, and that it does no more. */
function watchHealth(job: string, { log, metrics }: JobWatch) {
  let failure: { sinceMs: number; times: number; toldAtMs: number } | undefined
  // One that never succeeds is overdue as well, counted from its start.
  metrics.jobSucceeded.set({ job }, Date.now() / 1_000)
  metrics.jobFailures.inc({ job }, 0)
  return {
    get failingForMs() {
      return failure && performance.now() - failure.sinceMs
    },
    succeeded(): void {
      metrics.jobSucceeded.set({ job }, Date.now() / 1_000)
      if (!failure) return
      log.info({ job, failedForSeconds: secondsSince(failure.sinceMs), failures: failure.times }, 'recovered')
      failure = undefined
    },
    failed(error: unknown): void {
      metrics.jobFailures.inc({ job })
      const nowMs = performance.now()
      if (!failure) {
        failure = { sinceMs: nowMs, times: 1, toldAtMs: nowMs }
        log.warn({ job, ...errorFields(error) }, 'failed, will be tried again')
        return
      }
      failure.times += 1
      const { least, most } = TOLD_AGAIN_MS
      const waitMs = Math.min(Math.max(failure.toldAtMs - failure.sinceMs, least), most)
      if (nowMs - failure.toldAtMs < waitMs) return
      failure.toldAtMs = nowMs
      const fields = { failingForSeconds: secondsSince(failure.sinceMs), failures: failure.times }
      log.error({ job, ...fields, ...errorFields(error) }, 'still failing: nothing of this job is done')
    },
  }
}

/** As `every`, for jobs whose failures are told together. */
export type Repeat = (ms: number, job: () => Promise<void>, name: string) => Repeated

export interface Jobs {
  repeat: Repeat
  /** A sentence for each that is failing now. */
  readonly failures: string[]
}

export function createJobs(watch: JobWatch, repeat: typeof every = every): Jobs {
  const jobs: Repeated[] = []
  return {
    repeat(ms, run, name) {
      const job = repeat(ms, run, name, watch)
      jobs.push(job)
      return job
    },
    get failures() {
      return jobs.flatMap(({ name, failingForMs }) =>
        failingForMs === undefined ? [] : [`The job "${name}" has been failing for ${durationOf(failingForMs)}.`],
      )
    },
  }
}

function durationOf(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  return seconds < 120
    ? `${seconds} s`
    : seconds < 7_200
      ? `${Math.round(seconds / 60)} min`
      : `${Math.round(seconds / 3_600)} h`
}
