import type { Metrics } from '../../metrics.ts'
import { DAY_MS, HOUR_MS } from '../../rules/durations.ts'
import { expireMails } from '../../store/accounts/mails.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'
import type { KeptDays } from '../kept-days.ts'

export interface ForgetMailsOptions {
  db: Db
  metrics: Pick<Metrics, 'rowsErased'>
  kept: Pick<KeptDays, 'mails'>
}

/** Forgets whom mails were sent to. */
export function forgetMailsJob({ db, metrics, kept }: ForgetMailsOptions): Job {
  return {
    name: 'forget mails',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft((most) => expireMails(db, kept.mails * DAY_MS, most), metrics.rowsErased.labels('mails')),
  }
}
