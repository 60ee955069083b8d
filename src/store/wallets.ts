import { sql } from 'kysely'
import type { Nanos } from '../rules/money.ts'
import type { Db } from './database.ts'

/** The accounts that are not wallets; fixed ids, inserted by the ledger's migration. */
const ACCOUNTS = {
  revenue: '00000000-0000-0000-0000-000000000001',
  cash: '00000000-0000-0000-0000-000000000002',
  promotion: '00000000-0000-0000-0000-000000000003',
} as const

export async function findWallet(db: Db, projectId: string) {
  return db.selectFrom('wallets').selectAll().where('project_id', '=', projectId).executeTakeFirst()
}

export interface Credit {
  id: string
  projectId: string
  amount: Nanos
  kind: 'topup' | 'grant'
  /** Makes a repeated credit a no-op. */
  reference: string
  reason: string | null
}

/** Returns false when this reference was credited before: nothing has changed then. */
export async function creditWallet(db: Db, credit: Credit): Promise<boolean> {
  const from = credit.kind === 'topup' ? ACCOUNTS.cash : ACCOUNTS.promotion
  const { rows } = await sql<{ posted: boolean }>`
    select ledger_transfer(${credit.id}, ${from}, ${credit.projectId}, ${credit.amount}, ${credit.kind},
      ${credit.reference}, ${credit.reason}, null) as posted`.execute(db)
  return rows[0]?.posted ?? false
}

/** The newest movements of a wallet: charges and transfers alike. */
export async function listEntries(db: Db, projectId: string, most: number) {
  return db
    .selectFrom('journal')
    .select(['id', 'kind', 'delta_nanos', 'created_at'])
    .where('account_id', '=', projectId)
    .orderBy('created_at', 'desc')
    .limit(most)
    .execute()
}

/** Releases the holds of gateways that have been silent for the lease. Returns how many. */
export async function sweepHolds(db: Db, leaseMs: number, longestCallMs: number, most: number): Promise<number> {
  const { rows } = await sql<{ swept: number }>`
    select ledger_sweep(${leaseMs} * interval '1 ms', ${longestCallMs} * interval '1 ms', ${most}) as swept`.execute(db)
  return rows[0]?.swept ?? 0
}

export async function ensurePartitions(db: Db): Promise<void> {
  await sql`select ensure_partitions()`.execute(db)
}
