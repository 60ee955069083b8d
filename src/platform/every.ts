import { errorFields, type Log } from './log.ts'

export interface Repeated {
  /** Runs it without waiting for its turn; once more after the present run, if there is one. */
  soon(): void
  stop(): void
}

/** Runs a job at once and then again and again, one run at a time. A failing run is logged and tried again. */
export function every(ms: number, job: () => Promise<void>, name: string, log: Log): Repeated {
  let isStopped = false
  let isRunning = false
  let isWanted = false
  let timer: NodeJS.Timeout | undefined
  let hasFailed = false
  async function run(): Promise<void> {
    isRunning = true
    isWanted = false
    try {
      await job()
      if (hasFailed) log.info({ job: name }, 'recovered')
      hasFailed = false
    } catch (error) {
      if (!hasFailed) log.warn({ job: name, ...errorFields(error) }, 'failed, will be tried again')
      hasFailed = true
    }
    isRunning = false
    if (isStopped) return
    // What was asked for while it ran may have come too late for that run.
    const waitMs = isWanted ? 0 : hasFailed ? Math.min(ms, 1_000) : ms
    timer = setTimeout(() => void run(), waitMs)
  }
  void run()
  return {
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
