import { sql } from 'kysely'
import { connectClient } from './connecting.ts'
import type { Db } from './database.ts'
import { LOGINS, roleOf } from './database-logins.ts'

/**
 * The roles of the logins, and the one that the tenants' login takes on for an advertiser. They belong to the whole server and
 * are in no dump: where one is missing, a restore loses every grant and policy of each table that names it, those of the other
 * roles included.
 */
export const ROLES = [...LOGINS.map(roleOf), 'parley_advertiser']

/**
 * Makes those that are missing, as the migrations do; a server that has them all is left as it is. The tenants' login serves
 * advertisers, too: it may become their role, and has none of its rights before it does.
 */
export async function createRoles(databaseUrl: string): Promise<string[]> {
  const client = await connectClient({ connectionString: databaseUrl, application_name: 'parley roles' })
  try {
    await client.query('begin')
    const { rows } = await client.query<{ name: string }>(
      `select name from unnest($1::text[]) with ordinality as r (name, n)
       where not exists (select from pg_roles where rolname = name) order by n`,
      [ROLES],
    )
    for (const { name } of rows) await client.query(`create role ${name} nologin nobypassrls`)
    const { rows: known } = await client.query<Record<'inherits' | 'isMember' | 'hasRights' | 'isOwners', boolean>>(
      `select rolinherit as inherits, pg_has_role(oid, 'parley_advertiser', 'member') as "isMember",
         pg_has_role(oid, 'parley_advertiser', 'usage') as "hasRights", pg_has_role(current_user, oid, 'member') as "isOwners"
       from pg_roles where rolname = 'parley_tenant'`,
    )
    const { inherits, isMember, hasRights, isOwners } = known[0] ?? {}
    if (inherits) await client.query('alter role parley_tenant noinherit')
    // Since PostgreSQL 16, a membership stays as it was granted.
    if (hasRights) await client.query('revoke parley_advertiser from parley_tenant')
    if (hasRights || !isMember) await client.query('grant parley_advertiser to parley_tenant')
    if (!isOwners) await client.query('grant parley_tenant to current_user')
    await client.query('commit')
    return rows.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

export interface RoleFaults {
  missing: string[]
  /** The tenants' role cannot become the advertisers', or has its rights all the time. */
  isTenantWrong: boolean
  /** Tables that row security closes to everybody, because their policies are gone. */
  closed: string[]
  /** Functions that anybody may call. */
  open: string[]
}

export async function findRoleFaults(db: Db): Promise<RoleFaults> {
  const { rows } = await sql<RoleFaults>`
    select
      array(select name from unnest(${ROLES}::text[]) name where not exists (select from pg_roles where rolname = name)) as missing,
      exists (select from pg_roles t join pg_roles a on a.rolname = 'parley_advertiser' where t.rolname = 'parley_tenant'
        and (not pg_has_role(t.oid, a.oid, 'member') or pg_has_role(t.oid, a.oid, 'usage'))) as "isTenantWrong",
      array(select c.relname::text from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relrowsecurity
        and not c.relispartition and not exists (select from pg_policy where polrelid = c.oid) order by 1) as closed,
      array(select p.proname::text from pg_proc p where p.pronamespace = current_schema()::regnamespace
        and has_function_privilege('public', p.oid, 'execute') order by 1) as open`.execute(db)
  const [faults] = rows
  if (!faults) throw new Error('the store did not say what its roles are')
  return faults
}
