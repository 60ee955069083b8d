import type { StripeAccount } from '../actions/billing/stripe.ts'
import type { FetchFeed } from '../actions/offers/fetch-feed.ts'
import type { CheckDomain } from '../actions/projects/domain-check/check.ts'
import { createJobs, type every } from '../platform/every.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import type { Secrets } from '../platform/secrets.ts'
import type { Db, Store } from '../store/database.ts'
import type { Tenants } from '../store/tenancy.ts'
import { addUpAdvertiserDaysJob } from './advertisers/add-up-advertiser-days.ts'
import { fetchFeedsJob } from './advertisers/fetch-feeds.ts'
import { forgetUploadsJob } from './advertisers/forget-uploads.ts'
import { importUploadsJob } from './advertisers/import-uploads.ts'
import { withdrawRemovedFeedsJob } from './advertisers/withdraw-removed-feeds.ts'
import { addMessageWordsJob } from './add-message-words.ts'
import { addUpFiguresJob } from './add-up-figures.ts'
import { checkDomainsJob } from './check-domains.ts'
import { checkLedgerJob } from './check-ledger.ts'
import { deliverWebhooksJob } from './deliver-webhooks.ts'
import { cutRetentionJob } from './retention/cut-retention.ts'
import { expireAccessJob } from './retention/expire-access.ts'
import { expireContentJob } from './retention/expire-content.ts'
import { expireIdempotencyKeysJob } from './retention/expire-idempotency-keys.ts'
import { forgetAdvertiserDaysJob } from './advertisers/forget-advertiser-days.ts'
import { forgetConversionsJob } from './advertisers/forget-conversions.ts'
import { forgetCampaignChancesJob } from './advertisers/forget-campaign-chances.ts'
import { forgetAnomaliesJob } from './retention/forget-anomalies.ts'
import { forgetAttemptsJob } from './retention/forget-attempts.ts'
import { forgetAvailabilityJob } from './retention/forget-availability.ts'
import { forgetBrowserSessionsJob } from './retention/forget-browser-sessions.ts'
import {
  eraseLeftoversJob,
  forgetConversationsJob,
  forgetMessagesJob,
  forgetSumsJob,
} from './retention/forget-conversations.ts'
import { forgetEndUsersJob } from './retention/forget-end-users.ts'
import { forgetFeedRunsJob } from './retention/forget-feed-runs.ts'
import { forgetGatewaysJob } from './retention/forget-gateways.ts'
import { forgetIgnoredFieldsJob } from './retention/forget-ignored-fields.ts'
import { forgetInvitationsJob } from './retention/forget-invitations.ts'
import { forgetMailsJob } from './retention/forget-mails.ts'
import { forgetOffersJob } from './retention/forget-offers.ts'
import { forgetOutcomesJob, forgetReportsJob } from './retention/forget-outcomes.ts'
import { forgetRefusedRequestsJob } from './retention/forget-refused-requests.ts'
import { forgetRestraintsJob } from './retention/forget-restraints.ts'
import { forgetUsageHoursJob } from './retention/forget-usage-hours.ts'
import { forgetVectorsJob } from './retention/forget-vectors.ts'
import { forgetWebhooksJob } from './forget-webhooks.ts'
import { grantTrialCreditsJob } from './grant-trial-credits.ts'
import { destroyClickSaltsJob } from './destroy-click-salts.ts'
import type { Job } from './job.ts'
import type { KeptDays } from './kept-days.ts'
import { makePartitionsJob } from './make-partitions.ts'
import { releaseEarningsJob } from './release-earnings.ts'
import type { PostWebhook } from './post-webhook.ts'
import { reportAnomaliesJob } from './report-anomalies.ts'
import { rollUpUsageJob } from './roll-up-usage.ts'
import { sendMailsJob, type MailSettings } from './send-mails.ts'
import { sweepHoldsJob } from './sweep-holds.ts'
import { tellLowBalancesJob } from './tell-low-balances.ts'
import { topUpWalletsJob } from './top-up-wallets.ts'
import { watchAlertsJob } from './watch-alerts.ts'

/** Background work: each job is a file beside this one, which says what it does, how often, and why so. */
export interface Worker {
  /** A sentence for each job that is failing now. */
  readonly failures: string[]
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
  postWebhook: PostWebhook
  fetchFeed: FetchFeed
  /** For one import of a feed: its statements may take long. */
  openImportStore: () => Store
  kept: KeptDays
  /** Whether the front page tells strangers what the installation does. */
  tellsFigures: boolean
  /** Undefined: no card is charged here. */
  stripe: StripeAccount | undefined
  /** The console's address, for links in mails. */
  consoleUrl: string
  /** Tests have a clock of their own. */
  repeat?: typeof every
}

export function createWorker({ repeat, ...options }: WorkerOptions): Worker {
  const stopping = new AbortController()
  const parts = { ...options, signal: stopping.signal }
  const sweepHolds = sweepHoldsJob(parts)
  const watched = createJobs(options, repeat)
  const jobs: Job[] = [
    sweepHolds,
    cutRetentionJob(parts),
    expireContentJob(parts),
    expireIdempotencyKeysJob(parts),
    forgetRestraintsJob(parts),
    grantTrialCreditsJob(parts),
    releaseEarningsJob(parts),
    destroyClickSaltsJob(parts),
    sendMailsJob(parts),
    checkDomainsJob(parts),
    tellLowBalancesJob(parts),
    topUpWalletsJob(parts),
    watchAlertsJob(parts),
    deliverWebhooksJob(parts),
    fetchFeedsJob(parts),
    importUploadsJob(parts),
    withdrawRemovedFeedsJob(parts),
    addUpAdvertiserDaysJob(parts),
    checkLedgerJob({ ...parts, sweepHolds: sweepHolds.run }),
    reportAnomaliesJob(parts),
    rollUpUsageJob(parts),
    expireAccessJob(parts),
    forgetBrowserSessionsJob(parts),
    forgetAttemptsJob(parts),
    forgetAnomaliesJob(parts),
    forgetConversationsJob(parts),
    forgetMessagesJob(parts),
    forgetSumsJob(parts),
    eraseLeftoversJob(parts),
    addMessageWordsJob(parts),
    forgetEndUsersJob(parts),
    forgetIgnoredFieldsJob(parts),
    forgetRefusedRequestsJob(parts),
    forgetMailsJob(parts),
    forgetInvitationsJob(parts),
    forgetFeedRunsJob(parts),
    forgetUploadsJob(parts),
    forgetOffersJob(parts),
    forgetVectorsJob(parts),
    forgetOutcomesJob(parts),
    forgetReportsJob(parts),
    forgetAdvertiserDaysJob(parts),
    forgetConversionsJob(parts),
    forgetCampaignChancesJob(parts),
    forgetUsageHoursJob(parts),
    forgetAvailabilityJob(parts),
    forgetWebhooksJob(parts),
    addUpFiguresJob(parts),
    makePartitionsJob(parts),
    forgetGatewaysJob(parts),
  ]
  const running = jobs.map(({ name, everyMs, run }) => watched.repeat(everyMs, run, name))
  return {
    get failures() {
      return watched.failures
    },
    stop() {
      for (const job of running) job.stop()
      stopping.abort()
    },
  }
}
