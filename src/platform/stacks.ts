/** Runs something that makes errors of which nobody reads the stack. To record one takes longer than all the rest of an error. */
export function withoutStacks(work: () => void): void {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    work()
  } finally {
    Error.stackTraceLimit = limit
  }
}
