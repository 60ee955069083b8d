import type { Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import { HOUR_MS, MINUTE_MS } from '../rules/durations.ts'
import type { Db } from '../store/database.ts'
import { sumAnomalies } from '../store/billing/usage-anomalies.ts'
import type { Job } from './job.ts'

const REPORT_EVERY_MS = MINUTE_MS
/** The window in which anomalies count: the metrics say that it is the last hour. */
const WINDOW_MS = HOUR_MS

export interface AnomalyJobOptions {
  db: Db
  log: Log
  metrics: Pick<Metrics, 'anomalousCalls' | 'anomalousProjects'>
}

export function reportAnomaliesJob(options: AnomalyJobOptions): Job {
  return { name: 'usage anomalies', everyMs: REPORT_EVERY_MS, run: createAnomalyAlert(options) }
}

/**
 * Tells the operator of providers whose reports cannot be right: in the metrics by provider and kind, and in the log with
 * the project that has most of them, because one project with all of them is looking for a way around the charge.
 */
export function createAnomalyAlert({ db, log, metrics }: AnomalyJobOptions): () => Promise<void> {
  const told = new Map<string, number>()
  return async () => {
    const sums = await sumAnomalies(db, { sinceMs: WINDOW_MS })
    metrics.anomalousCalls.reset()
    metrics.anomalousProjects.reset()
    for (const { provider, kind, calls, projects, project, projectCalls } of sums) {
      metrics.anomalousCalls.set({ provider, kind }, calls)
      metrics.anomalousProjects.set({ provider, kind }, projects)
      // Once, and again when it has become ten times as much.
      const key = `${provider} ${kind}`
      if (calls >= 10 * (told.get(key) ?? 0.1)) {
        told.set(key, calls)
        log.warn({ provider, kind, calls, projects, project, projectCalls }, 'usage was reported that cannot be right')
      }
    }
    const seen = new Set(sums.map(({ provider, kind }) => `${provider} ${kind}`))
    for (const key of told.keys()) if (!seen.has(key)) told.delete(key)
  }
}
