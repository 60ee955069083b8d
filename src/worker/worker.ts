import type { CheckDomain } from '../actions/projects/domain-check/check.ts'
import { every } from '../platform/every.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import type { Secrets } from '../platform/secrets.ts'
import type { Db } from '../store/database.ts'
import type { Tenants } from '../store/tenancy.ts'
import { checkDomainsJob } from './check-domains.ts'
import { checkLedgerJob } from './check-ledger.ts'
import { cutRetentionJob } from './cut-retention.ts'
import { expireAccessJob } from './expire-access.ts'
import { expireContentJob } from './expire-content.ts'
import { expireIdempotencyKeysJob } from './expire-idempotency-keys.ts'
import { forgetAnomaliesJob } from './forget-anomalies.ts'
import { forgetAttemptsJob } from './forget-attempts.ts'
import { forgetGatewaysJob } from './forget-gateways.ts'
import { forgetRestraintsJob } from './forget-restraints.ts'
import { grantTrialCreditsJob } from './grant-trial-credits.ts'
import type { Job } from './job.ts'
import { makePartitionsJob } from './make-partitions.ts'
import { reportAnomaliesJob } from './report-anomalies.ts'
import { rollUpUsageJob } from './roll-up-usage.ts'
import { sendMailsJob, type MailSettings } from './send-mails.ts'
import { sweepHoldsJob } from './sweep-holds.ts'
import { tellLowBalancesJob } from './tell-low-balances.ts'

/** Background work: each job is a file beside this one, which says what it does, how often, and why so. */
export interface Worker {
  stop(): void
}

export interface WorkerOptions {
  db: Db
  tenants: Tenants
  log: Log
  metrics: Metrics
  secrets: Secrets
  leaseMs: number
  mail: MailSettings
  checkDomain: CheckDomain
  /** The console's address, for links in mails. */
  consoleUrl: string
  /** Tests have a clock of their own. */
  repeat?: typeof every
}

export function createWorker({ repeat = every, ...options }: WorkerOptions): Worker {
  const stopping = new AbortController()
  const parts = { ...options, signal: stopping.signal }
  const sweepHolds = sweepHoldsJob(parts)
  const jobs: Job[] = [
    sweepHolds,
    cutRetentionJob(parts),
    expireContentJob(parts),
    expireIdempotencyKeysJob(parts),
    forgetRestraintsJob(parts),
    grantTrialCreditsJob(parts),
    sendMailsJob(parts),
    checkDomainsJob(parts),
    tellLowBalancesJob(parts),
    checkLedgerJob({ ...parts, sweepHolds: sweepHolds.run }),
    reportAnomaliesJob(parts),
    rollUpUsageJob(parts),
    expireAccessJob(parts),
    forgetAttemptsJob(parts),
    forgetAnomaliesJob(parts),
    makePartitionsJob(parts),
    forgetGatewaysJob(parts),
  ]
  const running = jobs.map(({ name, everyMs, run }) => repeat(everyMs, run, name, options.log))
  return {
    stop() {
      for (const job of running) job.stop()
      stopping.abort()
    },
  }
}
