import { sql } from 'kysely'
import type { Funds } from '../../rules/recommendations/pacing.ts'
import type { Db } from '../database.ts'

/** Funds as they are read. */
export interface FundsRow extends Omit<Funds, 'dayMs'> {
  /** When the day began that `spentTodayNanos` was spent on. */
  day: Date
}

/** The columns for campaign `c`, for use with FUNDS_TABLES. */
export const FUNDS = sql`c.pacing, c.bid_nanos as "bidNanos", c.daily_budget_nanos as "dailyBudgetNanos",
  c.total_budget_nanos as "totalBudgetNanos", coalesce(w.balance_nanos, 0) as "balanceNanos",
  coalesce(t.spent_nanos, 0) as "spentNanos", coalesce(d.spent_nanos, 0) as "spentTodayNanos",
  date_trunc('day', now(), 'utc') as day`

export const FUNDS_TABLES = sql`left join advertiser_wallets w on w.advertiser_id = c.advertiser_id
  left join campaign_totals t on t.campaign_id = c.id
  left join campaign_days d on d.campaign_id = c.id and d.day = (now() at time zone 'utc')::date`

/** Returns the funds of those campaigns that exist, by their ids. */
export async function readFunds(db: Db, campaignIds: readonly string[]): Promise<Map<string, Funds>> {
  const { rows } = await sql<FundsRow & { id: string }>`
    select c.id, ${FUNDS} from campaigns c ${FUNDS_TABLES} where c.id = any (${campaignIds}::uuid[])`.execute(db)
  return new Map(rows.map(({ id, ...row }) => [id, fundsOf(row)]))
}

export function fundsOf({ day, ...row }: FundsRow): Funds {
  return { ...row, dayMs: day.getTime() }
}
