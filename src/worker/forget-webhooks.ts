import type { Metrics } from '../metrics.ts'
import { HOUR_MS } from '../rules/durations.ts'
import { KEPT_MS } from '../rules/retention.ts'
import type { Db } from '../store/database.ts'
import { forgetAlerts } from '../store/projects/alerts.ts'
import { forgetEvents } from '../store/projects/webhook-deliveries.ts'
import { forgetOldSecrets } from '../store/projects/webhook-endpoints.ts'
import { untilNoneIsLeft, type Job } from './job.ts'

/** Forgets events with their deliveries, alerts that are over, and signing secrets that were replaced. */
export function forgetWebhooksJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget webhooks',
    everyMs: HOUR_MS,
    async run() {
      const events = metrics.rowsErased.labels('webhook_events')
      await untilNoneIsLeft((most) => forgetEvents(db, KEPT_MS.webhookEvents, most), events)
      await untilNoneIsLeft((most) => forgetAlerts(db, KEPT_MS.alerts, most), metrics.rowsErased.labels('alerts'))
      await forgetOldSecrets(db)
    },
  }
}
