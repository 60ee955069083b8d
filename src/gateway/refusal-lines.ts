import { rateOf, takeToken, type Bucket } from '../rules/calls/token-bucket.ts'

/** Decides which refusals are logged: all of them, unless there are so many that they would fill the disk. Metrics count all. */
export interface RefusalLines {
  /** How many of this code were left out since the last that was logged. Undefined: leave this one out, too. */
  next(code: string): { leftOut?: number } | undefined
}

/** For each error code. */
const LINES_PER_SECOND = 10

export function createRefusalLines(now: () => number = () => performance.now()): RefusalLines {
  const rate = rateOf(LINES_PER_SECOND)
  /** As many as there are codes. */
  const codes = new Map<string, { bucket: Bucket | undefined; leftOut: number }>()
  return {
    next(code) {
      const before = codes.get(code) ?? { bucket: undefined, leftOut: 0 }
      const { bucket, waitMs } = takeToken(before.bucket, rate, now())
      const isLogged = waitMs === 0
      codes.set(code, { bucket, leftOut: isLogged ? 0 : before.leftOut + 1 })
      if (!isLogged) return undefined
      return before.leftOut === 0 ? {} : { leftOut: before.leftOut }
    },
  }
}
