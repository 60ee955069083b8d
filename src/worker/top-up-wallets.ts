import type { StripeAccount } from '../actions/billing/stripe.ts'
import { tellFailedTopUps } from '../actions/billing/failed-top-ups.ts'
import type { Log } from '../platform/log.ts'
import { createOneByOne } from '../platform/one-by-one.ts'
import type { Secrets } from '../platform/secrets.ts'
import { SECOND_MS } from '../rules/durations.ts'
import type { Db } from '../store/database.ts'
import type { Tenants } from '../store/tenancy.ts'
import type { Job } from './job.ts'

/** Between a call that brings the balance below what was chosen and the charge. */
const TOP_UP_EVERY_MS = 10 * SECOND_MS

export interface TopUpOptions {
  db: Db
  tenants: Tenants
  log: Log
  secrets: Secrets
  consoleUrl: string
  stripe: StripeAccount | undefined
}

/** Charges the saved cards of those whose balance is low, tells admins of declines, and has Stripe forget removed cards. */
export function topUpWalletsJob(options: TopUpOptions): Job {
  return { name: 'top up wallets', everyMs: TOP_UP_EVERY_MS, run: () => topUpWallets(options) }
}

export async function topUpWallets({ stripe, ...options }: TopUpOptions): Promise<void> {
  if (!stripe) return
  // Loaded only where cards can be charged: Stripe's package takes time to load, and memory.
  const { chargeCards } = await import('../actions/billing/charge-cards.ts')
  const oneByOne = createOneByOne()
  const problems = await chargeCards({ db: options.db, account: stripe, log: options.log }, oneByOne)
  await tellFailedTopUps(options, oneByOne)
  oneByOne.throwFirst()
  const [first] = problems
  if (first !== undefined) throw new Error(`${first}: ${problems.length} payments or cards wait for its answer`)
}
