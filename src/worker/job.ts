/** One kind of background work. It is idempotent, and safe to run in several workers at once. */
export interface Job {
  /** What the log calls it. */
  name: string
  everyMs: number
  run: () => Promise<void>
}

const ROWS_PER_STATEMENT = 1_000

/** Many small statements, so that none holds its locks for long. `work` handles up to `most` rows and returns how many. */
export async function untilNoneIsLeft(
  work: (most: number) => Promise<number>,
  counter?: { inc(by: number): void },
): Promise<void> {
  const workSome = () => work(ROWS_PER_STATEMENT)
  for (let done = await workSome(); done > 0; done = await workSome()) counter?.inc(done)
}
