import type { Db } from '../database.ts'
import { LISTED_MAX } from '../listed.ts'

export async function insertPublisher(
  db: Db,
  publisher: { id: string; name: string; email: string | null; activatedAt: Date | null },
): Promise<void> {
  await db
    .insertInto('publishers')
    .values({ id: publisher.id, name: publisher.name, email: publisher.email, activated_at: publisher.activatedAt })
    .execute()
}

/**
 * An operator's decision, which the confirmation of an address that is still awaited does not change. Returns false when
 * there is no such publisher.
 */
export async function setPublisherActivated(db: Db, id: string, activatedAt: Date | null): Promise<boolean> {
  const result = await db
    .updateTable('publishers')
    .set({ activated_at: activatedAt, confirmation_awaited_from: null })
    .where('id', '=', id)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function listPublishers(db: Db) {
  return db
    .selectFrom('publishers as u')
    .leftJoin('projects as p', 'p.publisher_id', 'u.id')
    .select(({ fn }) => [
      'u.id',
      'u.name',
      'u.email',
      'u.activated_at',
      'u.created_at',
      fn.count<bigint>('p.id').as('projects'),
    ])
    .groupBy('u.id')
    .orderBy('u.created_at')
    .limit(LISTED_MAX)
    .execute()
}

export async function setPublisherName(db: Db, id: string, name: string): Promise<void> {
  await db.updateTable('publishers').set({ name }).where('id', '=', id).execute()
}

/** Nobody else makes a project for it until the transaction ends. Undefined: there is no such publisher. */
export async function lockPublisher(tx: Db, id: string) {
  return tx
    .selectFrom('publishers')
    .select(['id', 'name', 'email', 'activated_at'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
}

/** Nobody is left to act for it: its requests are refused and its keys end. The ledger keeps what happened. */
export async function closePublisher(db: Db, id: string): Promise<void> {
  await db
    .updateTable('publishers')
    .set({ activated_at: null, confirmation_awaited_from: null, trial_credit_nanos: 0n, email: null })
    .where('id', '=', id)
    .execute()
  // An invitation accepted after this would make its receiver the owner of something that cannot be used.
  await db.deleteFrom('invitations').where('publisher_id', '=', id).execute()
  const projects = db.selectFrom('projects').select('id').where('publisher_id', '=', id)
  await db.updateTable('key_pairs').set({ active: false }).where('project_id', 'in', projects).execute()
}
