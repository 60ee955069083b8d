import type { Nanos } from '../money.ts'

/** The causes of changes to a wallet's balance: calls, day by day, and every kind of transfer. */
export const LEDGER_KINDS = [
  'usage',
  'topup',
  'grant',
  'ad_revenue',
  'refund',
  'chargeback',
  'expiry',
  'adjustment',
  'reversal',
  'late_charge',
  'absorbed',
  'owed',
  'collection',
] as const
export type LedgerKind = (typeof LEDGER_KINDS)[number]

const TITLES: Record<LedgerKind, string> = {
  usage: 'Usage',
  topup: 'Top-up',
  grant: 'Credit granted',
  ad_revenue: 'Earnings',
  refund: 'Refund',
  chargeback: 'Chargeback',
  expiry: 'Credit expired',
  adjustment: 'Adjustment',
  reversal: 'Reversal',
  late_charge: 'Late charge',
  absorbed: 'Absorbed by the operator',
  owed: 'Owed',
  collection: 'Debt paid',
}

/** The kind in one to three words. A refund goes either way: credit for a call comes back, a payment goes back. */
export function titleOfMovement(kind: LedgerKind, delta: Nanos): string {
  if (kind === 'refund' && delta < 0n) return 'Payment refunded'
  return TITLES[kind]
}
