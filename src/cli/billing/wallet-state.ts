import type { Db } from '../../store/database.ts'
import { findWallet } from '../../store/billing/wallets.ts'
import { expectId, unknownId } from '../failures.ts'

export async function walletOf(db: Db, projectId: string) {
  expectId('project', projectId)
  const wallet = await findWallet(db, projectId)
  if (!wallet) throw unknownId('project', projectId)
  const { balance_nanos, held_nanos, owed_nanos, open_holds } = wallet
  const available_nanos = balance_nanos - held_nanos
  return { project_id: projectId, balance_nanos, held_nanos, available_nanos, owed_nanos, open_holds }
}
