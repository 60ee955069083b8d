import { errorFields, type Log } from './log.ts'

/** Runs a job at once and then again and again, one run at a time. A failing run is logged and tried again. */
export function every(ms: number, job: () => Promise<void>, name: string, log: Log): { stop(): void } {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let hasFailed = false
  async function run(): Promise<void> {
    try {
      await job()
      if (hasFailed) log.info({ job: name }, 'recovered')
      hasFailed = false
    } catch (error) {
      if (!hasFailed) log.warn({ job: name, ...errorFields(error) }, 'failed, will be tried again')
      hasFailed = true
    }
    if (!isStopped) timer = setTimeout(() => void run(), hasFailed ? Math.min(ms, 1_000) : ms)
  }
  void run()
  return {
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
