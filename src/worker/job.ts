import { SECOND_MS } from '../rules/durations.ts'

/** One kind of background work. It is idempotent, and safe to run in several workers at once. */
export interface Job {
  /** The name that the log uses. */
  name: string
  everyMs: number
  run: () => Promise<void>
}

const ROWS_PER_STATEMENT = 1_000

/** Work that is left then waits for the next run: a job that has years to catch up with must not look like one that hangs. */
const RUN_MS_MAX = 20 * SECOND_MS

interface RowCounter {
  inc(by: number): void
}

/** Many small statements, so that none holds its locks for long. `work` handles up to `most` rows and returns how many. */
export async function untilNoneIsLeft(work: (most: number) => Promise<number>, counter?: RowCounter): Promise<void> {
  await forAWhile(async (most) => {
    const done = await work(most)
    counter?.inc(done)
    return done > 0
  })
}

/** `step` says whether there is more to do. Returns false when its time was over before that. */
export async function forAWhile(step: (most: number) => Promise<boolean>): Promise<boolean> {
  const untilMs = performance.now() + RUN_MS_MAX
  while (await step(ROWS_PER_STATEMENT)) if (performance.now() > untilMs) return false
  return true
}

/** Goes through a table from its first row to its last, and begins again: for what no index leads to. */
export function createWalk<Place>(
  step: (after: Place | undefined, most: number) => Promise<{ reached: Place | undefined; erased: number }>,
  counter: RowCounter,
): () => Promise<void> {
  let after: Place | undefined
  return async () => {
    await forAWhile(async (most) => {
      const { reached, erased } = await step(after, most)
      counter.inc(erased)
      after = reached
      return reached !== undefined
    })
  }
}
