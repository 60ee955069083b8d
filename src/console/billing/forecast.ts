import { DAY_MS } from '../../rules/durations.ts'
import { daysLeft } from '../../rules/billing/costs.ts'
import { sumUsageBriefly } from '../../store/billing/usage.ts'
import { findWallet } from '../../store/billing/wallets.ts'
import type { Db } from '../../store/database.ts'

const FORECAST_DAYS = 7

/** How long the credit lasts, by the last full days in UTC: every page that says it says the same. */
export async function forecastOf(db: Db, projectId: string) {
  const to = new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS)
  const from = new Date(to.getTime() - FORECAST_DAYS * DAY_MS)
  const { charged } = await sumUsageBriefly(db, { projectIds: [projectId], from, to, every: 'day' })
  const wallet = await findWallet(db, projectId)
  const available = wallet ? wallet.balance_nanos - wallet.held_nanos : 0n
  return {
    availableNanos: available,
    perDayNanos: charged / BigInt(FORECAST_DAYS),
    daysLeft: daysLeft(available, charged, FORECAST_DAYS),
  }
}
