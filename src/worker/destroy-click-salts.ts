import { HOUR_MS } from '../rules/durations.ts'
import type { Db } from '../store/database.ts'
import { destroyClickSalts } from '../store/recommendations/clicks.ts'
import type { Job } from './job.ts'

/** After it, nobody can tell which network a click of that day came from. */
export function destroyClickSaltsJob({ db }: { db: Db }): Job {
  return { name: 'destroy click salts', everyMs: HOUR_MS, run: async () => void (await destroyClickSalts(db)) }
}
