import type { Db } from './database.ts'

export async function insertPublisher(
  db: Db,
  publisher: { id: string; name: string; email: string | null; activatedAt: Date | null },
): Promise<void> {
  await db
    .insertInto('publishers')
    .values({ id: publisher.id, name: publisher.name, email: publisher.email, activated_at: publisher.activatedAt })
    .execute()
}

/** Returns false when there is no such publisher. */
export async function setPublisherActivated(db: Db, id: string, activatedAt: Date | null): Promise<boolean> {
  const result = await db
    .updateTable('publishers')
    .set({ activated_at: activatedAt })
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
    .limit(1_000)
    .execute()
}
