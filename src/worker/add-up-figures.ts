import { DAY_MS, HOUR_MS } from '../rules/durations.ts'
import { percentileOf } from '../rules/billing/usage-counts.ts'
import { tellableCalls } from '../rules/public-figures.ts'
import { countCallsByPublisher, sumFirstTokens, writePublicFigures } from '../store/billing/public-figures.ts'
import type { Db } from '../store/database.ts'
import type { Job } from './job.ts'

const DAYS = 30

export interface FiguresJobOptions {
  db: Db
  tellsFigures: boolean
}

/**
 * Adds up what the front page tells strangers, where the operator wants that. Here and not in the console, whose login sees no
 * usage outside of a tenant's transaction; and only what may be told is written down.
 */
export function addUpFiguresJob({ db, tellsFigures }: FiguresJobOptions): Job {
  return {
    name: 'add up figures',
    everyMs: HOUR_MS,
    async run() {
      if (!tellsFigures) return
      const calls = tellableCalls(await countCallsByPublisher(db, DAYS * DAY_MS))
      const firstTokens = await sumFirstTokens(db, DAY_MS)
      // Calls that may not be counted in public may not be timed in public either.
      await writePublicFigures(db, { calls, firstTokenMs: calls === null ? null : percentileOf(firstTokens, 0.5) })
    },
  }
}
