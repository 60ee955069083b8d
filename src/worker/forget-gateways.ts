import { DAY_MS, HOUR_MS } from '../rules/durations.ts'
import { forgetDeadGateways } from '../store/billing/gateways.ts'
import type { Db } from '../store/database.ts'
import type { Job } from './job.ts'

/** Far beyond any lease, so that whoever looks for a gateway that died today still finds it. */
const SILENT_FOR_MS = DAY_MS

/** Forgets gateways that died and hold nothing any more. Those that ended in order have removed themselves. */
export function forgetGatewaysJob({ db }: { db: Db }): Job {
  return { name: 'forget gateways', everyMs: HOUR_MS, run: () => forgetDeadGateways(db, SILENT_FOR_MS) }
}
