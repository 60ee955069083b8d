import type { Metrics } from '../../metrics.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { expireInvitations } from '../../store/accounts/invitations.ts'
import type { Db } from '../../store/database.ts'
import { untilNoneIsLeft, type Job } from '../job.ts'

/** Forgets invitations that ended long ago. */
export function forgetInvitationsJob({ db, metrics }: { db: Db; metrics: Pick<Metrics, 'rowsErased'> }): Job {
  return {
    name: 'forget invitations',
    everyMs: HOUR_MS,
    run: () =>
      untilNoneIsLeft(
        (most) => expireInvitations(db, KEPT_MS.invitations, most),
        metrics.rowsErased.labels('invitations'),
      ),
  }
}
