import type { Store } from '../../database.ts'
import { applyWith, findFreeWallets, type ApplyOptions } from './ledger-batch.ts'
import { createLedger, type Ledger, type LedgerOptions } from './ledger.ts'

/** The ledger over the connections that a store keeps for it. */
export function openLedger(
  { ledgerPool, ledgerSidePool }: Pick<Store, 'ledgerPool' | 'ledgerSidePool'>,
  statement: Omit<ApplyOptions, 'pool'>,
  options: Omit<LedgerOptions, 'side'> = {},
): Ledger {
  const side = {
    findFree: (projectIds: readonly string[]) => findFreeWallets(ledgerPool, projectIds),
    apply: applyWith({ ...statement, pool: ledgerSidePool }),
  }
  return createLedger(applyWith({ ...statement, pool: ledgerPool }), { ...options, side })
}
