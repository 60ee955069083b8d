import { sql } from 'kysely'
import type { Db } from '../../src/store/database.ts'
import { withTenant, type Tenant, type Tenants } from '../../src/store/tenancy.ts'

export type Rows = Record<string, unknown[]>

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
