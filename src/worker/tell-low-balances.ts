import type { Secrets } from '../platform/secrets.ts'
import { SECOND_MS } from '../rules/durations.ts'
import { formatCredits } from '../rules/money.ts'
import type { Db } from '../store/database.ts'
import { mailOwners } from '../actions/mails.ts'
import { withTenant, type Tenants } from '../store/tenancy.ts'
import { listDueAlerts, markTold, rearmAlerts, type DueAlert } from '../store/billing/wallet-alerts.ts'
import type { Job } from './job.ts'

/** Between a call that empties the wallet and the mail about it. */
const TELL_EVERY_MS = 10 * SECOND_MS
const ALERTS_PER_RUN = 500

export interface LowBalanceOptions {
  db: Db
  tenants: Tenants
  secrets: Secrets
  consoleUrl: string
}

export function tellLowBalancesJob(options: LowBalanceOptions): Job {
  return { name: 'low balances', everyMs: TELL_EVERY_MS, run: () => tellLowBalances(options) }
}

/** Tells the owners of every project whose balance has fallen below the amount that they chose. */
export async function tellLowBalances(options: LowBalanceOptions): Promise<void> {
  await rearmAlerts(options.db)
  for (const alert of await listDueAlerts(options.db, ALERTS_PER_RUN)) await tell(options, alert)
}

async function tell({ tenants, secrets, consoleUrl }: LowBalanceOptions, alert: DueAlert): Promise<void> {
  const { publisherId, projectId, project, balance, threshold } = alert
  await withTenant(tenants, { publisherId, projectId }, async (tx) => {
    // The mark and the mails are one transaction: told once, and never not at all.
    if (!(await markTold(tx, alert))) return
    const amounts = { balance: formatCredits(balance), threshold: formatCredits(threshold) }
    const data = { project, ...amounts, link: `${consoleUrl}/projects/${projectId}/wallet` }
    await mailOwners(tx, secrets, { template: 'low_balance', data })
  })
}
