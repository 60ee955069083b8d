import { shareOf, type FullShare } from '../../rules/calls/shares.ts'
import type { IntakeLimits } from '../../rules/limits.ts'
import { createShares, type Holder } from './shares.ts'

/** The memory that bodies of requests take, from the first byte that is kept to the end of their calls. */
export interface Memory {
  take(who: Holder, bytes: number): FullShare | undefined
  give(who: Holder, bytes: number): void
  /** Takes it as soon as others have given enough back; resolves to what was still full when the time was over. */
  wait(who: Holder, bytes: number, withinMs: number): Promise<FullShare | undefined>
}

export function createMemory(
  { bodiesBytesMax, keyPairBodiesPercent }: IntakeLimits,
  onChange: (bytes: number) => void,
): Memory {
  const share = shareOf(bodiesBytesMax, keyPairBodiesPercent)
  // The second half is for those who have less than an equal part of the first.
  const all = bodiesBytesMax / 2
  const shares = createShares({ all, most: bodiesBytesMax, project: share, keyPair: share }, onChange)
  /** In the order in which they came. */
  const waiting = new Set<() => void>()

  return {
    take: (who, bytes) => shares.take(who, bytes),
    give(who, bytes) {
      shares.give(who, bytes)
      for (const tryAgain of waiting) tryAgain()
    },
    wait(who, bytes, withinMs) {
      return new Promise((resolve) => {
        let full: FullShare | undefined
        const finish = () => {
          clearTimeout(timer)
          waiting.delete(tryAgain)
          resolve(full)
        }
        const tryAgain = () => {
          full = shares.take(who, bytes)
          if (full === undefined) finish()
        }
        const timer = setTimeout(finish, withinMs)
        waiting.add(tryAgain)
        tryAgain()
      })
    },
  }
}
