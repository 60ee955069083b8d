import { sql } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { Db } from '../database.ts'

export interface NewProvider {
  id: string
  name: string
  kind: string
  baseUrl: string
  settings?: Record<string, unknown>
}

export async function insertProvider(db: Db, { baseUrl, settings = {}, ...provider }: NewProvider): Promise<void> {
  await db
    .insertInto('providers')
    .values({ ...provider, base_url: baseUrl, settings: JSON.stringify(settings) })
    .execute()
}

export async function findProvider(db: Db, name: string) {
  return providersWithKeys(db).where('p.name', '=', name).executeTakeFirst()
}

export async function listProviders(db: Db) {
  return providersWithKeys(db).orderBy('p.name').execute()
}

function providersWithKeys(db: Db) {
  return db
    .selectFrom('providers as p')
    .selectAll('p')
    .select((p) =>
      jsonArrayFrom(
        p
          .selectFrom('provider_keys as k')
          .select(['k.id', 'k.name', 'k.last4', 'k.enabled', 'k.sealed_key', 'k.rejected_at', 'k.rejected_status'])
          .whereRef('k.provider_id', '=', 'p.id')
          .orderBy('k.created_at'),
      ).as('keys'),
    )
}

/** Returns false when there is no such provider. */
export async function updateProvider(
  db: Db,
  name: string,
  change: { base_url?: string; settings?: string; enabled?: boolean },
): Promise<boolean> {
  const result = await db.updateTable('providers').set(change).where('name', '=', name).executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export interface NewProviderKey {
  id: string
  providerId: string
  name: string
  sealedKey: string
  last4: string
}

/** Adds a key, or puts another in the place of the one with that name, which then counts as never refused. */
export async function upsertProviderKey(db: Db, key: NewProviderKey): Promise<void> {
  const sealed = { sealed_key: key.sealedKey, last4: key.last4 }
  await db
    .insertInto('provider_keys')
    .values({ id: key.id, provider_id: key.providerId, name: key.name, ...sealed })
    .onConflict((conflict) =>
      conflict
        .columns(['provider_id', 'name'])
        .doUpdateSet({ ...sealed, enabled: true, rejected_at: null, rejected_status: null }),
    )
    .execute()
}

/** Returns false when there is no such key. */
export async function updateProviderKey(
  db: Db,
  providerId: string,
  name: string,
  change: { enabled: boolean },
): Promise<boolean> {
  const result = await db
    .updateTable('provider_keys')
    .set({ ...change, rejected_at: null, rejected_status: null })
    .where('provider_id', '=', providerId)
    .where('name', '=', name)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Returns false when there is no such key. */
export async function deleteProviderKey(db: Db, providerId: string, name: string): Promise<boolean> {
  const result = await db
    .deleteFrom('provider_keys')
    .where('provider_id', '=', providerId)
    .where('name', '=', name)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}

export interface Rewrapped {
  id: string
  before: string
  after: string
}

/** Returns how many it changed: a key that was replaced meanwhile stays as it is. */
export async function updateSealedKeys(db: Db, keys: readonly Rewrapped[]): Promise<bigint> {
  const { numAffectedRows } = await sql`update provider_keys k set sealed_key = r.after
    from unnest(${keys.map(({ id }) => id)}::uuid[], ${keys.map(({ before }) => before)}::text[],
      ${keys.map(({ after }) => after)}::text[]) as r (id, before, after)
    where k.id = r.id and k.sealed_key = r.before`.execute(db)
  return numAffectedRows ?? 0n
}

/** For the operator to see; what gateways do about it, each does by itself. Undefined: the provider takes it again. */
export async function noteKeyRefusal(db: Db, keyId: string, refusal: KeyRefusal | undefined): Promise<void> {
  await db
    .updateTable('provider_keys')
    .set({ rejected_at: refusal ? new Date() : null, rejected_status: refusal?.status ?? null })
    .where('id', '=', keyId)
    .execute()
}

export interface KeyRefusal {
  status: number | undefined
}

export interface ProviderAbilities {
  id: string
  kind: string
  unsupportedFields: string[]
}

/** Lists what publishers may be told of each provider: needs no right to read where it is or how one signs in there. */
export async function listProviderAbilities(db: Db): Promise<ProviderAbilities[]> {
  const { rows } = await sql<ProviderAbilities>`
    select id, kind, array(select jsonb_array_elements_text(unsupported_fields)) as "unsupportedFields"
    from providers where enabled`.execute(db)
  return rows
}
