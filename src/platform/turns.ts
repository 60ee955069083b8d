/**
 * Turns for long work that is done in steps: so many steps in each round of the event loop, in the order in which
 * they were asked for. However much work there is, everything else waits for these steps and not for all of them.
 */
export function createTurns(stepsPerRound = 1): () => Promise<void> {
  const waiting: (() => void)[] = []

  function callNext(): void {
    for (const step of waiting.splice(0, stepsPerRound)) step()
    if (waiting.length > 0) setImmediate(callNext)
  }

  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 1) setImmediate(callNext)
    })
}
