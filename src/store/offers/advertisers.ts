import { sql } from 'kysely'
import type { AdvertiserStatus } from '../../rules/accounts/advertisers.ts'
import type { Db } from '../database.ts'
import { LISTED_MAX } from '../listed.ts'

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

/** Whether it is gone: only where nobody acts for it, and it was never activated and has never paid. */
export async function forgetAdvertiser(tx: Db, id: string): Promise<boolean> {
  const { rows } = await sql<{ forgotten: boolean }>`select advertiser_forget(${id}) as forgotten`.execute(tx)
  return rows[0]?.forgotten ?? false
}

/** By id or by name: names are unique. */
export async function findAdvertiser(db: Db, by: { id: string } | { name: string }) {
  const query = db.selectFrom('advertisers').selectAll()
  return ('id' in by ? query.where('id', '=', by.id) : query.where('name', '=', by.name)).executeTakeFirst()
}

/** Whether somebody has that name, or one that readers could not tell from it. Nobody else takes it until the transaction ends. */
export async function isNameTaken(tx: Db, name: string): Promise<boolean> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`advertiser ${name.toLowerCase()}`}, 0))`.execute(tx)
  const { rows } = await sql`select 1 from advertisers where lower(name) = lower(${name}) limit 1`.execute(tx)
  return rows.length > 0
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

/** Null: its links lead straight to its offers. */
export async function setTrackingTemplate(db: Db, id: string, template: string | null): Promise<void> {
  await db.updateTable('advertisers').set({ tracking_template: template }).where('id', '=', id).execute()
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
    .limit(LISTED_MAX)
    .execute()
}
