import type { Clock, Process } from './clock.ts'

/** Notes what happened, for a reader. */
export type Trace = (process: Process, text: string) => void

export function createTrace(clock: Clock, lines: string[] | undefined): Trace {
  if (!lines) return () => {}
  return (process, text) => {
    const seconds = (clock.nowMs / 1_000).toFixed(3).padStart(9)
    lines.push(`${seconds} s  ${process.name.padEnd(12)} ${text}`)
  }
}
