/** How much work something is, on a machine that others use as well. */
import assert from 'node:assert/strict'

const TRIES = 5
const YARDSTICK_STEPS = 2_000_000
/** The time that the yardstick takes on an idle core of the slowest machine that we develop on. */
const YARDSTICK_MS = 10

/**
 * Fails when `work` would take longer than `mostMs` on an idle core. What slows the machine down at that moment slows the
 * yardstick down, too, and is not counted; a try that was disturbed all the same is followed by another.
 */
export function assertEffort(mostMs: number, work: () => unknown, what = ''): void {
  let leastMs = Infinity
  for (let n = 0; n < TRIES && leastMs > mostMs; n++) {
    const slowness = Math.max(1, timeOf(yardstick) / YARDSTICK_MS)
    leastMs = Math.min(leastMs, timeOf(work) / slowness)
  }
  assert.ok(leastMs <= mostMs, `${what} took ${Math.round(leastMs)} ms, and ${mostMs} ms are allowed`.trim())
}

/** Not by the clock, on which a busy machine also works for others. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function timeOf(work: () => unknown): number {
  const startedMs = cpuMs()
  work()
  return cpuMs() - startedMs
}

function yardstick(): number {
  let sum = 0
  for (let n = 0; n < YARDSTICK_STEPS; n++) sum = (sum * 31 + n) | 0
  return sum
}
