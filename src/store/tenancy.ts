import { sql } from 'kysely'
import type { Db } from './database.ts'

/**
 * The second wall between publishers. Inside `withTenant`, the database itself shows and takes only rows of that publisher
 * (and project): a statement that forgets its `where` finds nothing of anybody else. The role and the names end with the
 * transaction, so that a pooled connection carries neither to the next request.
 */
export interface Tenant {
  publisherId: string
  projectId?: string
}

export function withTenant<T>(db: Db, tenant: Tenant, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (tx) => {
    await sql`select set_config('parley.publisher', ${tenant.publisherId}, true),
      set_config('parley.project', ${tenant.projectId ?? ''}, true), set_config('role', 'parley_tenant', true)`.execute(
      tx,
    )
    return work(tx)
  })
}

/** Narrows a publisher's transaction to one of its projects, also to one that is about to be made. */
export async function enterProject(tx: Db, projectId: string): Promise<void> {
  await sql`select set_config('parley.project', ${projectId}, true)`.execute(tx)
}
