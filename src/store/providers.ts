import type { Db } from './database.ts'

export interface NewProvider {
  id: string
  name: string
  kind: string
  baseUrl: string
  sealedApiKey: string | null
}

export async function insertProvider(db: Db, provider: NewProvider): Promise<void> {
  await db
    .insertInto('providers')
    .values({
      id: provider.id,
      name: provider.name,
      kind: provider.kind,
      base_url: provider.baseUrl,
      sealed_api_key: provider.sealedApiKey,
    })
    .execute()
}

export async function findProvider(db: Db, name: string) {
  return db.selectFrom('providers').selectAll().where('name', '=', name).executeTakeFirst()
}

export async function listProviders(db: Db) {
  return db.selectFrom('providers').selectAll().orderBy('name').execute()
}

/** Returns false when there is no such provider. */
export async function updateProvider(
  db: Db,
  name: string,
  change: { base_url?: string; sealed_api_key?: string | null; enabled?: boolean },
): Promise<boolean> {
  const result = await db.updateTable('providers').set(change).where('name', '=', name).executeTakeFirst()
  return result.numUpdatedRows > 0n
}
