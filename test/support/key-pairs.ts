import type { Db } from '../../src/store/database.ts'

/** As if an operator had switched the pair: gateways notice it by themselves. */
export async function setKeyPairActive(db: Db, publishableKey: string, active: boolean): Promise<void> {
  await db.updateTable('key_pairs').set({ active }).where('publishable_key', '=', publishableKey).execute()
}
