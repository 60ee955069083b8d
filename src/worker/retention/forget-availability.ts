import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { expireAvailability } from '../../store/billing/availability-roll-up.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Erases how models and providers answered, once the status page does not show it any more. */
export function forgetAvailabilityJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  const forget = (table: 'availability_slots' | 'availability_days', keptMs: number) =>
    untilNoneIsLeft((most) => expireAvailability(db, table, keptMs, most), metrics.rowsErased.labels(table))
  return {
    name: 'forget availability',
    everyMs: HOUR_MS,
    async run() {
      await forget('availability_slots', KEPT_MS.availabilitySlots)
      await forget('availability_days', KEPT_MS.availabilityDays)
    },
  }
}
