/** Whether a measurement of time means anything: on a shared host, other machines may take the processor meanwhile. */
import { readFileSync } from 'node:fs'
import type { Figures } from './verdict.ts'

const STOLEN_SHARE_MAX = 0.02
/** How much longer than the median the p99 of an undisturbed tenant is, at most. */
const P99_TIMES_MAX = 4

/** From now on. What it returns tells whether all was calm until then, as it was for the tenant alone. */
export function watchCalm(): (alone: Figures) => boolean {
  const since = processorTimes()
  return (alone) => {
    const now = processorTimes()
    const stolenShare = (now.stolen - since.stolen) / (now.all - since.all)
    return stolenShare <= STOLEN_SHARE_MAX && alone.p99Ms <= alone.p50Ms * P99_TIMES_MAX
  }
}

/** Since the machine began, in the kernel's own unit. */
function processorTimes(): { all: number; stolen: number } {
  const [, ...times] = (/^cpu .*$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[0] ?? '').split(/ +/).map(Number)
  // user, nice, system, idle, iowait, irq, softirq, steal; the guests' that follow are part of the first two.
  return { all: times.slice(0, 8).reduce((sum, time) => sum + time, 0), stolen: times[7] ?? 0 }
}
