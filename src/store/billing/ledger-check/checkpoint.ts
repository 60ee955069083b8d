import { sql } from 'kysely'
import type { Finding } from '../../../rules/billing/invariants.ts'
import type { Db } from '../../database.ts'

/** The result of what was read before: migrations/0006_audit.sql says why it can be relied on. */
export interface Checkpoint {
  through: Date
  charges: bigint
  fullAt: Date
  findings: readonly Finding[]
}

/** Account id to the sum of its entries, in nanos. */
export type Sums = Map<string, bigint>

/**
 * The latest moment before which the ledger can no longer change: nothing that began earlier is still running. Entries
 * carry the time at which their transaction began, so what commits from now on is younger. Must be asked before the
 * snapshot is taken: asked afterwards, a transaction that ended in between would be neither running nor in the snapshot.
 * The margin covers what this rule does not: a clock that is set back a little, and transactions of roles whose activity
 * this one may not see.
 */
export async function findBoundary(db: Db, marginMs: number): Promise<{ boundary: Date; now: Date }> {
  const { rows } = await sql<{ boundary: Date; now: Date }>`
    select date_trunc('milliseconds', least(now() - ${marginMs} * interval '1 ms',
      min(began_at) - interval '1 microsecond')) as boundary, date_trunc('milliseconds', now()) as now
    from open_transactions()`.execute(db)
  const [row] = rows
  if (!row) throw new Error('the store did not say what time it is')
  return row
}

export async function findCheckpoint(db: Db): Promise<Checkpoint | undefined> {
  const row = await db.selectFrom('audit_checkpoint').selectAll().executeTakeFirst()
  return row && { ...row, fullAt: row.full_at, findings: row.findings as Finding[] }
}

/** Moves on from `before`, or, with nothing before, replaces what there is. Only the sums of `since` are written. */
export async function saveCheckpoint(
  db: Db,
  before: Checkpoint | undefined,
  checkpoint: Checkpoint,
  since: Sums,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const isMine = before ? await moveOn(tx, before, checkpoint) : await replace(tx, checkpoint)
    // Another pass was faster, and its checkpoint is as good.
    if (!isMine) return
    await sql`
      insert into audit_sums (account_id, entries_nanos)
      select * from unnest(${[...since.keys()]}::uuid[], ${[...since.values()].map(String)}::numeric[])
      on conflict (account_id) do update set entries_nanos = audit_sums.entries_nanos + excluded.entries_nanos`.execute(
      tx,
    )
  })
}

async function moveOn(tx: Db, before: Checkpoint, { through, charges, findings }: Checkpoint): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('audit_checkpoint')
    .set({ through, charges, findings: JSON.stringify(findings) })
    .where('through', '=', before.through)
    .where('full_at', '=', before.fullAt)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

async function replace(tx: Db, { through, charges, fullAt, findings }: Checkpoint): Promise<boolean> {
  const row = { through, charges, full_at: fullAt, findings: JSON.stringify(findings) }
  await tx
    .insertInto('audit_checkpoint')
    .values(row)
    .onConflict((conflict) => conflict.column('only_row').doUpdateSet(row))
    .execute()
  await tx.deleteFrom('audit_sums').execute()
  return true
}
