import type { FetchFeed } from '../actions/offers/fetch-feed.ts'
import type { CheckDomain } from '../actions/projects/domain-check/check.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../metrics.ts'
import type { Passwords } from '../platform/passwords.ts'
import type { Secrets } from '../platform/secrets.ts'
import type { MatcherClient } from '../recommend/matcher-client.ts'
import type { RehearsalClient } from '../recommend/rehearsal-client.ts'
import type { SafetyProof } from '../rules/recommendations/monetization.ts'
import type { Nanos } from '../rules/money.ts'
import type { Db } from '../store/database.ts'
import type { Tenants } from '../store/tenancy.ts'
import type { Auth } from './accounts/auth.ts'
import type { StripeAccount } from '../actions/billing/stripe.ts'
import type { Shares } from './shares.ts'

/** Facts of this installation that the console acts by and shows. */
export interface Installation {
  /** The console's own public address, without a slash at its end. */
  consoleUrl: string
  /** Where publishers send their requests. */
  gatewayUrl: string
  /** Where the console's own servers reach the gateway. */
  gatewayInternalUrl: string
  /** The prefix of the keys made here, by which a request finds its installation. */
  cell: string
  /** Whether credit can be bought: a payment provider is configured. */
  canPay: boolean
  /** Whether the operator activates each publisher, instead of the confirmed address. */
  requiresApproval: boolean
  /** For the sandbox of a publisher that signs up, or where there are none for its first verified domain. */
  trialCredit: Nanos
  /** The operator's own, below which sandboxes have their names. Undefined: there are none. */
  sandboxDomain: string | undefined
  /** The parts of the public pages that are shown. */
  publicPages: {
    /** Figures of the whole installation on the front page. */
    figures: boolean
    status: boolean
    /** Whether the status page names providers beside models. */
    providers: boolean
  }
}

/** Everything that a console route can touch. */
export interface World {
  /** The store of all publishers, for signing in and the like. Handlers get a transaction of their tenant instead. */
  db: Db
  tenants: Tenants
  log: Log
  metrics: Metrics
  secrets: Secrets
  passwords: Passwords
  shares: Shares
  auth: Auth
  checkDomain: CheckDomain
  /** With little patience: somebody waits for it. */
  fetchFeed: FetchFeed
  /** Undefined: nothing can be paid here. */
  stripe: StripeAccount | undefined
  /** The matcher of this host, or wherever the settings say that it is. */
  matcher: MatcherClient
  /** The same, for what takes a minute and must not be in the way of replies. */
  rehearsals: RehearsalClient
  /** Whether this version may show recommendations to readers. */
  safetyProof: () => SafetyProof
  installation: Installation
}
