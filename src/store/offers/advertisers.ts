import { sql } from 'kysely'
import type { AdvertiserStatus } from '../../rules/accounts/advertisers.ts'
import type { Db } from '../database.ts'

export interface NewAdvertiser {
  id: string
  name: string
  legalName: string | null
  domain: string
  status: AdvertiserStatus
}

/** One that an operator adds, who has found out that the domain is theirs. */
export async function insertAdvertiser(db: Db, { id, name, legalName, domain, status }: NewAdvertiser): Promise<void> {
  const vouched = { domain_verified_at: sql<Date>`now()`, domain_proven_by: 'operator' }
  await db
    .insertInto('advertisers')
    .values({ id, name, legal_name: legalName, domain, status, ...vouched })
    .execute()
}

/** One that somebody has signed up. It is pending until an operator activates it: this login cannot say otherwise. */
export async function insertPendingAdvertiser(db: Db, advertiser: Omit<NewAdvertiser, 'status'>): Promise<void> {
  const { id, name, legalName, domain } = advertiser
  await db.insertInto('advertisers').values({ id, name, legal_name: legalName, domain }).execute()
}

/** By id or by name: names are unique. */
export async function findAdvertiser(db: Db, by: { id: string } | { name: string }) {
  const query = db.selectFrom('advertisers').selectAll()
  return ('id' in by ? query.where('id', '=', by.id) : query.where('name', '=', by.name)).executeTakeFirst()
}

/** Nobody else changes it until the transaction ends. */
export async function lockAdvertiser(tx: Db, id: string) {
  return tx.selectFrom('advertisers').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

export type DomainProof = 'dns' | 'file' | 'operator'

export async function setAdvertiserDomainProven(tx: Db, id: string, provenBy: DomainProof): Promise<void> {
  await tx
    .updateTable('advertisers')
    .set({ domain_verified_at: sql<Date>`now()`, domain_proven_by: provenBy })
    .where('id', '=', id)
    .execute()
}

export async function setAdvertiserStatus(db: Db, id: string, status: AdvertiserStatus): Promise<void> {
  await db.updateTable('advertisers').set({ status }).where('id', '=', id).execute()
}

export async function listAdvertisers(db: Db) {
  return db
    .selectFrom('advertisers as a')
    .selectAll('a')
    .select(({ selectFrom }) => [
      selectFrom('advertiser_wallets as w')
        .whereRef('w.advertiser_id', '=', 'a.id')
        .select('w.balance_nanos')
        .as('balance'),
      selectFrom('campaigns as c')
        .whereRef('c.advertiser_id', '=', 'a.id')
        .select(({ fn }) => fn.countAll<bigint>().as('n'))
        .as('campaigns'),
      selectFrom('offers as o')
        .whereRef('o.advertiser_id', '=', 'a.id')
        .where('o.removed_at', 'is', null)
        .select(({ fn }) => fn.countAll<bigint>().as('n'))
        .as('offers'),
    ])
    .orderBy('a.name')
    .limit(1_000)
    .execute()
}
