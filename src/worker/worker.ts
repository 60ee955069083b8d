import type { CheckDomain } from '../actions/projects/domain-check/check.ts'
import { every } from '../platform/every.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Secrets } from '../platform/secrets.ts'
import { BEATS_PER_LEASE, IDEMPOTENCY_KEPT_MS, LONGEST_CALL_MS } from '../rules/limits.ts'
import { expireContent } from '../store/calls/conversations.ts'
import type { Db } from '../store/database.ts'
import { forgetDeadGateways } from '../store/billing/gateways.ts'
import { expireKeys } from '../store/calls/idempotency.ts'
import { expireRestraints } from '../store/recommendations/records.ts'
import { cutSome } from '../store/calls/retention-cuts.ts'
import type { Tenants } from '../store/tenancy.ts'
import { expireThrottles } from '../store/accounts/throttles.ts'
import { grantDueTrialCredits } from '../store/billing/trial-credit.ts'
import { expireAnomalies } from '../store/billing/usage-anomalies.ts'
import { expireProofs } from '../store/accounts/users.ts'
import { ensurePartitions, sweepHolds } from '../store/billing/wallets.ts'
import { createAnomalyAlert } from './report-anomalies.ts'
import { auditLedger } from './check-ledger.ts'
import { checkDueDomains } from './check-domains.ts'
import { tellLowBalances } from './tell-low-balances.ts'
import { rollUpUsage } from './roll-up-usage.ts'
import { createMailer, type MailSettings } from './send-mails.ts'

/** Background work. Every job is idempotent and safe to run in several workers at once. */
export interface Worker {
  stop(): void
}

const EXPIRE_EVERY_MS = 60_000
const AUDIT_EVERY_MS = 60_000
const ROLL_UP_EVERY_MS = 10_000
/** Between a call that empties the wallet and the mail about it. */
const ALERT_EVERY_MS = 10_000
const HOUSEKEEPING_EVERY_MS = 3_600_000
/** A person waits for it. */
const MAIL_EVERY_MS = 1_000
/** The first check of a new domain is due after a minute. */
const DOMAINS_EVERY_MS = 10_000
const THROTTLES_KEPT_MS = 24 * 3_600_000
const ANOMALIES_KEPT_MS = 90 * 24 * 3_600_000
const ROWS_PER_STATEMENT = 1_000

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

export function createWorker({
  db,
  tenants,
  log,
  metrics,
  secrets,
  leaseMs,
  mail,
  checkDomain,
  consoleUrl,
  repeat = every,
}: WorkerOptions): Worker {
  const sweepSome = () => sweepHolds(db, leaseMs, LONGEST_CALL_MS, ROWS_PER_STATEMENT)
  let sweeping: Promise<void> | undefined
  // One at a time, so that nothing is counted twice.
  const sweep = () =>
    (sweeping ??= untilNoneIsLeft(sweepSome, metrics.holdsSwept).finally(() => {
      sweeping = undefined
    }))
  const expireText = () => expireContent(db, ROWS_PER_STATEMENT)
  const cutRetention = async () => {
    while (await cutSome(db, LONGEST_CALL_MS)) if (stopping.signal.aborted) return
  }
  const expireIdempotency = () => expireKeys(db, IDEMPOTENCY_KEPT_MS, ROWS_PER_STATEMENT)
  const expireAccess = () => expireProofs(db, ROWS_PER_STATEMENT)
  const forgetAttempts = () => expireThrottles(db, THROTTLES_KEPT_MS, ROWS_PER_STATEMENT)
  const forgetAnomalies = () => expireAnomalies(db, ANOMALIES_KEPT_MS, ROWS_PER_STATEMENT)
  const forgetRestraints = () => expireRestraints(db, ROWS_PER_STATEMENT)
  const grantTrials = () => grantDueTrialCredits(db, ROWS_PER_STATEMENT)
  const mailer = createMailer({ db, log, secrets, settings: mail })
  const stopping = new AbortController()
  // What nobody swept while no worker ran, or while the store was away, is no defect of the ledger.
  const checkLedger = async () => {
    await sweep().catch(() => {}) // its own job tells of it
    await auditLedger({ db, log, metrics, leaseMs, signal: stopping.signal })
  }
  const domains = { db, tenants, secrets, consoleUrl, check: checkDomain, signal: stopping.signal }
  const jobs = [
    repeat(leaseMs / BEATS_PER_LEASE, sweep, 'sweep holds', log),
    repeat(EXPIRE_EVERY_MS, cutRetention, 'cut retention', log),
    repeat(EXPIRE_EVERY_MS, () => untilNoneIsLeft(expireText, metrics.messagesExpired), 'expire content', log),
    repeat(EXPIRE_EVERY_MS, () => untilNoneIsLeft(expireIdempotency), 'expire idempotency keys', log),
    repeat(EXPIRE_EVERY_MS, () => untilNoneIsLeft(forgetRestraints), 'forget restraints', log),
    repeat(EXPIRE_EVERY_MS, () => untilNoneIsLeft(grantTrials), 'grant trial credit', log),
    repeat(MAIL_EVERY_MS, () => mailer.sendDue(), 'send mails', log),
    repeat(DOMAINS_EVERY_MS, () => checkDueDomains(domains), 'check domains', log),
    repeat(ALERT_EVERY_MS, () => tellLowBalances({ db, tenants, secrets, consoleUrl }), 'low balances', log),
    repeat(AUDIT_EVERY_MS, checkLedger, 'audit', log),
    repeat(AUDIT_EVERY_MS, createAnomalyAlert({ db, log, metrics }), 'usage anomalies', log),
    repeat(ROLL_UP_EVERY_MS, () => rollUpUsage({ db, signal: stopping.signal }), 'roll up usage', log),
    repeat(HOUSEKEEPING_EVERY_MS, () => untilNoneIsLeft(expireAccess), 'expire sessions', log),
    repeat(HOUSEKEEPING_EVERY_MS, () => untilNoneIsLeft(forgetAttempts), 'forget attempts', log),
    repeat(HOUSEKEEPING_EVERY_MS, () => untilNoneIsLeft(forgetAnomalies), 'forget usage anomalies', log),
    repeat(HOUSEKEEPING_EVERY_MS, () => ensurePartitions(db), 'partitions', log),
    repeat(HOUSEKEEPING_EVERY_MS, () => forgetDeadGateways(db), 'forget gateways', log),
  ]
  return {
    stop() {
      for (const job of jobs) job.stop()
      stopping.abort()
      mailer.close()
    },
  }
}

/** Many small statements, so that none holds its locks for long. */
async function untilNoneIsLeft(work: () => Promise<number>, counter?: { inc(by: number): void }): Promise<void> {
  for (let done = await work(); done > 0; done = await work()) counter?.inc(done)
}
