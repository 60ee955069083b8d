import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { Client } from 'pg'
import { mayBeDone, type Db } from './database.ts'

/**
 * Each plane has a login of its own, with the rights of its role and no others (migrations/0020_database_logins.sql). The
 * one for tenants serves console and worker.
 */
export const LOGINS = ['gateway', 'console', 'worker', 'matcher', 'tenant'] as const
export type Login = (typeof LOGINS)[number]

/** The role that a login is a member of: everything its plane may do is granted to the role. */
export function roleOf(login: Login): string {
  return `parley_${login}`
}

export interface NewLogin {
  name: string
  password: string
}

export interface LoginsReport {
  created: string[]
  changed: string[]
}

export function loginNameOf(prefix: string, login: Login): string {
  return `${prefix}_${login}_login`
}

export function newPassword(): string {
  return randomBytes(24).toString('base64url')
}

/** The address of the same database for another login. */
export function urlWith(databaseUrl: string, { name, password }: NewLogin): string {
  const url = new URL(databaseUrl)
  url.username = encodeURIComponent(name)
  url.password = encodeURIComponent(password)
  return url.href
}

/** Logins that are there already, and who uses them now. */
export class LoginsExist extends Error {
  readonly names: readonly string[]
  readonly connections: number
  readonly databases: readonly string[]

  constructor(names: readonly string[], connections: number, databases: readonly string[]) {
    super(`${names.join(', ')}: there already`)
    this.names = names
    this.connections = connections
    this.databases = databases
  }
}

/** The connection broke while the changes were being committed: whether they are in force, nobody knows. */
export class LoginsUncertain extends Error {}

/**
 * Makes the logins, or gives those that are there these passwords, all or none. Running it again changes nothing else.
 * With `onlyNew` it refuses when one is there: whoever uses it would be locked out.
 */
export async function createLogins(
  databaseUrl: string,
  logins: Partial<Record<Login, NewLogin>>,
  { onlyNew = false } = {},
): Promise<LoginsReport> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'parley logins',
    connectionTimeoutMillis: 2_000,
  })
  // A connection that breaks fails its statement, too.
  client.on('error', () => {})
  await client.connect()
  const report: LoginsReport = { created: [], changed: [] }
  try {
    await client.query('begin')
    if (onlyNew) await refuseKnown(client, Object.values(logins))
    for (const login of LOGINS) {
      const { name, password } = logins[login] ?? {}
      if (name === undefined || password === undefined) continue
      const isNew = await putLogin(client, name, password)
      report[isNew ? 'created' : 'changed'].push(name)
      await grantOnce(client, roleOf(login), name)
      await grantToOwner(client, name)
    }
    await client.query('commit').catch((error: unknown) => {
      throw mayBeDone(error) ? new LoginsUncertain('the answer was lost') : error
    })
    return report
  } finally {
    await client.end()
  }
}

async function refuseKnown(client: Client, logins: readonly NewLogin[]): Promise<void> {
  const { rows } = await client.query<{ name: string; connections: number; databases: string[] }>(
    `select r.rolname::text as name, count(a.pid)::int as connections,
       coalesce(array_agg(distinct a.datname::text) filter (where a.datname is not null), '{}') as databases
     from pg_roles r left join pg_stat_activity a on a.usesysid = r.oid
     where r.rolname = any ($1) group by r.rolname order by r.rolname`,
    [logins.map(({ name }) => name)],
  )
  if (rows.length === 0) return
  throw new LoginsExist(
    rows.map(({ name }) => name),
    rows.reduce((sum, { connections }) => sum + connections, 0),
    [...new Set(rows.flatMap(({ databases }) => databases))],
  )
}

/** Returns true when there was no such login. */
async function putLogin(client: Client, name: string, password: string): Promise<boolean> {
  const { rows } = await client.query<{ is_super: boolean; can_connect: boolean }>(
    `select rolsuper as is_super, has_database_privilege(oid, current_database(), 'connect') as can_connect
     from pg_roles where rolname = $1`,
    [name],
  )
  const [known] = rows
  if (known?.is_super) throw new Error(`${name} is a superuser of the database: choose another name for this login`)
  const id = client.escapeIdentifier(name)
  // A verifier, as psql sends it too: the password itself would be in the log of a server that logs statements.
  const secret = client.escapeLiteral(verifierOf(password))
  await client.query(`${known ? 'alter' : 'create'} role ${id} login inherit password ${secret}`)
  if (known?.can_connect === false) {
    const { rows: names } = await client.query<{ name: string }>('select current_database() as name')
    await client.query(`grant connect on database ${client.escapeIdentifier(names[0]?.name ?? '')} to ${id}`)
  }
  return known === undefined
}

async function grantOnce(client: Client, role: string, to: string): Promise<void> {
  const { rows } = await client.query<{ has: boolean }>("select pg_has_role($2, $1, 'usage') as has", [role, to])
  if (!rows[0]?.has) await client.query(`grant ${client.escapeIdentifier(role)} to ${client.escapeIdentifier(to)}`)
}

/** So that the owner sees since when a transaction of this login runs (open_transactions). It gains nothing else by it. */
async function grantToOwner(client: Client, name: string): Promise<void> {
  const { rows } = await client.query<{ owner: string }>('select current_user as owner')
  await grantOnce(client, name, rows[0]?.owner ?? '')
}

const ITERATIONS = 4_096

/** SCRAM-SHA-256, as PostgreSQL stores it. */
function verifierOf(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, ITERATIONS, 32, 'sha256')
  const keyOf = (label: string) => createHmac('sha256', salted).update(label).digest()
  const storedKey = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  const serverKey = keyOf('Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}

/** The damage that a hostile statement could do under a login, and whether the login can do what its plane needs. */
export interface LoginStanding {
  name: string
  isSuperuser: boolean
  /** It owns the tables, or can become who does: row security and grants do not hold it. */
  isOwner: boolean
  /** It has the rights of the plane that uses it. */
  hasRole: boolean
}

export async function findStanding(db: Db, login: Login): Promise<LoginStanding> {
  const { rows } = await sql<LoginStanding>`
    select r.rolname as name, r.rolsuper as "isSuperuser", pg_has_role(r.oid, c.relowner, 'member') as "isOwner",
      exists (select from pg_roles p where p.rolname = ${roleOf(login)} and pg_has_role(r.oid, p.oid, 'usage'))
        as "hasRole"
    from pg_roles r, pg_class c where r.rolname = session_user and c.oid = 'charges'::regclass`.execute(db)
  const [standing] = rows
  if (!standing) throw new Error('the store did not say who is asking')
  return standing
}

/** Undefined: nothing is wrong with it. */
export function complaintOf({ name, isSuperuser, isOwner, hasRole }: LoginStanding, login: Login): string | undefined {
  if (isSuperuser) return `${name} is a superuser of the database`
  if (isOwner) return `${name} owns the tables`
  const whose = login === 'tenant' ? "the tenants'" : `the ${login}'s`
  return hasRole ? undefined : `${name} is not ${whose} login: the variables may be swapped`
}

/** Is there a login for any plane, other than who asks, that may connect to this database? */
export async function hasLogins(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from pg_roles p join pg_roles r on pg_has_role(r.oid, p.oid, 'usage')
    where p.rolname = any (${LOGINS.map(roleOf)}) and r.rolcanlogin and not r.rolsuper
      and r.rolname <> session_user and has_database_privilege(r.oid, current_database(), 'connect')
    limit 1`.execute(db)
  return rows.length > 0
}
