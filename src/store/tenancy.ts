import { createHmac } from 'node:crypto'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { Database } from './schema.gen.ts'

/** The Db of database.ts, which makes tenants of it and so cannot be imported here. */
type Db = Kysely<Database>

/**
 * The second wall between publishers, and between advertisers. Inside `withTenant`, the database itself shows and takes only
 * rows of that publisher (and project) or advertiser: a statement that forgets its `where` finds nothing of anybody else. The
 * tenant is signed, and the login of these connections may do nothing else: a hostile statement can neither name another
 * tenant nor gain anything by leaving the role. Role and tenant end with the transaction, so that a pooled connection carries
 * neither to the next request.
 */
export type Tenant = PublisherTenant | AdvertiserTenant

export interface PublisherTenant {
  publisherId: string
  projectId?: string
}

export interface AdvertiserTenant {
  advertiserId: string
}

/** Where tenants' transactions run, and how their tenant is signed. */
export interface Tenants {
  db: Db
  sign(tenant: Tenant): Promise<string>
}

/** Far longer than any transaction. Who got hold of a signed tenant can use it no longer than this. */
const GOOD_FOR_SECONDS = 3_600

/** `db`: connections for tenants. `keyDb`: of a login that may read the key. */
export function createTenants(db: Db, keyDb: Db): Tenants {
  let key: Promise<Buffer> | undefined
  return {
    db,
    async sign(tenant) {
      key ??= readKey(keyDb)
      // The next transaction asks again: the database may only have been away.
      key.catch(() => (key = undefined))
      const expires = Math.floor(Date.now() / 1_000) + GOOD_FOR_SECONDS
      const signed = `${nameOf(tenant)}/${expires}`
      const signature = createHmac('sha256', await key).update(signed)
      return `${signed}/${signature.digest('hex')}`
    },
  }
}

/** As tenant_context reads it. No id of a publisher begins like the name of an advertiser. */
function nameOf(tenant: Tenant): string {
  return 'advertiserId' in tenant
    ? `advertiser:${tenant.advertiserId}/`
    : `${tenant.publisherId}/${tenant.projectId ?? ''}`
}

async function readKey(db: Db): Promise<Buffer> {
  const { key } = await db.selectFrom('tenant_key').select('key').executeTakeFirstOrThrow()
  return key
}

export async function withTenant<T>(
  tenants: Tenants,
  tenant: Tenant,
  work: (tx: Transaction<Database>) => Promise<T>,
): Promise<T> {
  const signed = await tenants.sign(tenant)
  const role = 'advertiserId' in tenant ? 'parley_advertiser' : 'parley_tenant'
  return tenants.db.transaction().execute(async (tx) => {
    await sql`select set_config('parley.tenant', ${signed}, true), set_config('role', ${role}, true)`.execute(tx)
    return work(tx)
  })
}

/** Narrows a publisher's transaction to one of its projects, also to one that is about to be made. */
export async function enterProject(tenants: Tenants, tx: Db, tenant: Required<PublisherTenant>): Promise<void> {
  await sql`select set_config('parley.tenant', ${await tenants.sign(tenant)}, true)`.execute(tx)
}
