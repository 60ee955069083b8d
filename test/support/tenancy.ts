import { sql } from 'kysely'
import type { Db } from '../../src/store/database.ts'
import { withTenant, type Tenant, type Tenants } from '../../src/store/tenancy.ts'

export type Rows = Record<string, unknown[]>

/** Every table that says whose its rows are. */
export async function ownedTables(db: Db) {
  const { rows } = await sql<{ name: string; isWalled: boolean; hasPolicy: boolean; isReadable: boolean }>`
    select distinct c.relname as name, c.relrowsecurity as "isWalled",
      exists (
        select from pg_policy p where p.polrelid = c.oid and p.polroles = array['parley_tenant'::regrole]::oid[]
      ) as "hasPolicy",
      has_table_privilege('parley_tenant', c.oid, 'select') as "isReadable"
    from pg_class c join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
      and (a.attname in ('project_id', 'publisher_id') or c.relname in ('publishers', 'projects', 'transfers'))
    order by 1`.execute(db)
  return rows
}

/** Everything that a tenant gets when it asks for everything. */
export function rowsAs(tenants: Tenants, tenant: Tenant, table: string): Promise<unknown[]> {
  return withTenant(tenants, tenant, async (tx) => {
    const { rows } = await sql`select ${sql.raw(`to_json(t)::text from ${table} t`)}`.execute(tx)
    return rows
  })
}

export function insertInvitation(tx: Db, { id, publisherId }: { id: string; publisherId: string }) {
  const row = {
    id,
    publisher_id: publisherId,
    email: 'a@example.com',
    role: 'viewer',
    invited_by: 'x',
    inviter_id: id,
    expires_at: new Date(),
  }
  return tx.insertInto('invitations').values(row).execute()
}
