import { HOUR_MS } from '../../rules/durations.ts'
import { KEPT_MS } from '../../rules/retention.ts'
import { forgetDeadGateways } from '../../store/billing/gateways.ts'
import type { Db } from '../../store/database.ts'
import type { Job } from '../job.ts'

/** Forgets gateways that died and hold nothing any more. Those that ended in order have removed themselves. */
export function forgetGatewaysJob({ db }: { db: Db }): Job {
  return { name: 'forget gateways', everyMs: HOUR_MS, run: () => forgetDeadGateways(db, KEPT_MS.gateways) }
}
