import { setTimeout as sleep } from 'node:timers/promises'
import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import type { Db } from '../../store/database.ts'
import { forgetSessions, listProjectsOfEndedSessions } from '../../store/projects/browser-sessions.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** The ledger has the wallet of a busy project most of the time, and for a few milliseconds each. */
const LOCKED_MS_MAX = 2_000
const TRIED_AGAIN_AFTER_MS = 10

/** Forgets browser sessions a while after their end, with the budgets that were theirs. */
export function forgetBrowserSessionsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  const keptMs = KEPT_MS.browserSessions
  return {
    name: 'forget browser sessions',
    everyMs: HOUR_MS,
    async run() {
      for (const project of await listProjectsOfEndedSessions(db, keptMs)) {
        const erased = metrics.rowsErased.labels('browser_sessions')
        await untilNoneIsLeft((most) => forgetWhenFree(() => forgetSessions(db, project, keptMs, most)), erased)
      }
    },
  }
}

/** Returns how many were forgotten; none when the wallet was locked all the time, so that the next project has its turn. */
async function forgetWhenFree(forget: () => Promise<number | undefined>): Promise<number> {
  const untilMs = performance.now() + LOCKED_MS_MAX
  for (;;) {
    const forgotten = await forget()
    if (forgotten !== undefined) return forgotten
    if (performance.now() > untilMs) return 0
    await sleep(TRIED_AGAIN_AFTER_MS)
  }
}
