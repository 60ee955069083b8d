/**
 * Turns for long work that is done in steps: one step of one piece of work in each round of the event loop, in the order
 * in which they asked. However much of it there is, everything else waits for one step and not for all of them.
 */
export function createTurns(): () => Promise<void> {
  const waiting: (() => void)[] = []

  function callNext(): void {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(callNext)
  }

  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 1) setImmediate(callNext)
    })
}
