import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { Client } from 'pg'
import type { Db } from './database.ts'

/**
 * Each plane has a login of its own, with the rights of its role and no others (migrations/0020_database_logins.sql). The
 * one for tenants serves console and worker.
 */
export const LOGINS = ['gateway', 'console', 'worker', 'matcher', 'tenant'] as const
export type Login = (typeof LOGINS)[number]

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

/** Makes the logins, or gives those that are there these passwords. Running it again changes nothing else. */
export async function createLogins(
  databaseUrl: string,
  logins: Partial<Record<Login, NewLogin>>,
): Promise<LoginsReport> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'parley logins',
    connectionTimeoutMillis: 2_000,
  })
  await client.connect()
  const report: LoginsReport = { created: [], changed: [] }
  try {
    await client.query('begin')
    for (const login of LOGINS) {
      const { name, password } = logins[login] ?? {}
      if (name === undefined || password === undefined) continue
      const isNew = await putLogin(client, name, password)
      report[isNew ? 'created' : 'changed'].push(name)
      await grantOnce(client, `parley_${login}`, name)
      await grantToOwner(client, name)
    }
    await client.query('commit')
    return report
  } finally {
    await client.end()
  }
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

/** What a login could do if a hostile statement ran under it. */
export interface LoginStanding {
  name: string
  isSuperuser: boolean
  /** It owns the tables, or can become who does: row security and grants do not hold it. */
  isOwner: boolean
}

export async function findStanding(db: Db): Promise<LoginStanding> {
  const { rows } = await sql<LoginStanding>`
    select r.rolname as name, r.rolsuper as "isSuperuser", pg_has_role(r.oid, c.relowner, 'member') as "isOwner"
    from pg_roles r, pg_class c where r.rolname = session_user and c.oid = 'charges'::regclass`.execute(db)
  const [standing] = rows
  if (!standing) throw new Error('the store did not say who is asking')
  return standing
}

/** Undefined: nothing is wrong with it. */
export function complaintOf({ name, isSuperuser, isOwner }: LoginStanding): string | undefined {
  if (isSuperuser) return `${name} is a superuser of the database`
  return isOwner ? `${name} owns the tables` : undefined
}
