/**
 * Tests open each plane with a login of its own, as installations do: a forgotten grant fails. Logins belong to the whole
 * server, so they are made once and used by every test database.
 */
import { createHash } from 'node:crypto'
import { Client } from 'pg'
import { LOGIN_VARIABLES } from '../../src/config.ts'
import {
  createLogins,
  loginNameOf,
  LOGINS,
  urlWith,
  type Login,
  type NewLogin,
} from '../../src/store/database-logins.ts'

const PREFIX = 'parley_test'

/** As secret as the password of who owns the server. */
function testLogin(ownerUrl: string, login: Login): NewLogin {
  const password = createHash('sha256')
    .update(`test logins ${new URL(ownerUrl).password}`)
    .digest('hex')
  return { name: loginNameOf(PREFIX, login), password }
}

/** Makes those that are missing. Nobody else does so meanwhile if the caller holds a lock, or the server is their own. */
export async function ensureTestLogins(ownerUrl: string): Promise<void> {
  const client = new Client({ connectionString: ownerUrl })
  await client.connect()
  const hasAll = await hasTestLogins(client)
  await client.end()
  if (hasAll) return
  await createLogins(ownerUrl, Object.fromEntries(LOGINS.map((login) => [login, testLogin(ownerUrl, login)])))
}

export async function hasTestLogins(client: Client): Promise<boolean> {
  const names = LOGINS.map((login) => loginNameOf(PREFIX, login))
  const { rowCount } = await client.query('select from pg_roles where rolname = any ($1)', [names])
  return rowCount === names.length
}

/** The address of this database for one plane. */
export function loginUrl(ownerUrl: string, login: Login): string {
  return urlWith(ownerUrl, testLogin(ownerUrl, login))
}

/** DATABASE_URL, and the variables of all logins. */
export function databaseEnv(ownerUrl: string): Record<string, string> & { DATABASE_URL: string } {
  const logins = LOGINS.map((login) => [LOGIN_VARIABLES[login], loginUrl(ownerUrl, login)])
  return { DATABASE_URL: ownerUrl, ...(Object.fromEntries(logins) as Record<string, string>) }
}
