import { sql } from 'kysely'
import type { Db, Tx } from '../database.ts'

/** Files of feeds that members have sent: what each would change is looked at before it is published. */

export interface NewUpload {
  id: string
  advertiserId: string
  campaignId: string
  feed: string
  currency: string | null
  fileName: string
  file: Buffer
}

export async function insertUpload(tx: Db, upload: NewUpload): Promise<void> {
  const { id, advertiserId, campaignId, feed, currency, fileName, file } = upload
  await tx
    .insertInto('feed_uploads')
    .values({ id, advertiser_id: advertiserId, campaign_id: campaignId, feed, currency, file_name: fileName, file })
    .execute()
}

/** Deletes uploads that were never confirmed: an advertiser who sends another file has no use for them. */
export async function deleteUnconfirmedUploads(tx: Db, advertiserId: string): Promise<void> {
  await tx
    .deleteFrom('feed_uploads')
    .where('advertiser_id', '=', advertiserId)
    .where('state', 'in', ['to_check', 'checked'])
    .execute()
}

export async function countPublishingUploads(tx: Db, advertiserId: string): Promise<number> {
  const { n } = await tx
    .selectFrom('feed_uploads')
    .select(({ fn }) => fn.countAll<bigint>().as('n'))
    .where('advertiser_id', '=', advertiserId)
    .where('state', '=', 'to_publish')
    .executeTakeFirstOrThrow()
  return Number(n)
}

/** Without its file. Nobody else changes it until the transaction ends. */
export async function lockUpload(tx: Tx, advertiserId: string, id: string) {
  return uploads(tx, advertiserId, id).forUpdate('u').executeTakeFirst()
}

export async function findUpload(tx: Db, advertiserId: string, id: string) {
  return uploads(tx, advertiserId, id).executeTakeFirst()
}

function uploads(tx: Db, advertiserId: string, id: string) {
  return tx
    .selectFrom('feed_uploads as u')
    .innerJoin('campaigns as c', 'c.id', 'u.campaign_id')
    .select(['u.id', 'u.feed', 'u.campaign_id', 'c.name as campaign', 'u.currency', 'u.file_name', 'u.state'])
    .select(['u.report', 'u.problem', 'u.created_at'])
    .where('u.advertiser_id', '=', advertiserId)
    .where('u.id', '=', id)
}

export async function confirmUpload(tx: Tx, id: string, isRemovalConfirmed: boolean): Promise<void> {
  await tx
    .updateTable('feed_uploads')
    .set({ state: 'to_publish', is_removal_confirmed: isRemovalConfirmed, due_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute()
}

export async function deleteUpload(tx: Tx, id: string): Promise<void> {
  await tx.deleteFrom('feed_uploads').where('id', '=', id).execute()
}

export interface DueUpload {
  id: string
  advertiserId: string
  advertiser: string
  /** The advertiser's. */
  domain: string
  campaignId: string
  feed: string
  currency: string | null
  file: Buffer
  state: 'to_check' | 'to_publish'
  isRemovalConfirmed: boolean
}

/** Claims due uploads for the lease, one of each advertiser. */
export async function claimDueUploads(
  db: Db,
  { most, leaseMs, busy }: { most: number; leaseMs: number; busy: readonly string[] },
): Promise<DueUpload[]> {
  const { rows } = await sql<DueUpload>`
    update feed_uploads u set due_at = now() + ${leaseMs} * interval '1 ms'
    from advertisers a
    where a.id = u.advertiser_id and u.id in (
      select d.id from feed_uploads d join advertisers s on s.id = d.advertiser_id
      where d.due_at <= now() and s.status <> 'suspended' and d.advertiser_id <> all (${busy}::uuid[])
        and not exists (select from feed_uploads e where e.advertiser_id = d.advertiser_id and e.due_at <= now() and e.id < d.id)
      order by d.due_at limit ${most} for update of d skip locked)
    returning u.id, u.advertiser_id as "advertiserId", a.name as advertiser, a.domain, u.campaign_id as "campaignId", u.feed,
      u.currency, u.file, u.state, u.is_removal_confirmed as "isRemovalConfirmed"`.execute(db)
  return rows
}

export interface UploadEnd {
  state: 'checked' | 'published' | 'failed'
  report?: object
  /** In words. */
  problem?: string
}

/** Unless it was discarded meanwhile, or confirmed. What was published and what failed needs its file no more. */
export async function noteUpload(db: Db, { id, state }: DueUpload, end: UploadEnd): Promise<void> {
  await db
    .updateTable('feed_uploads')
    .set({
      state: end.state,
      due_at: null,
      problem: end.problem?.slice(0, 1_000) ?? null,
      ...(end.report && { report: JSON.stringify(end.report) }),
      ...(end.state !== 'checked' && { file: null }),
    })
    .where('id', '=', id)
    .where('state', '=', state)
    .execute()
}

/** Somebody else imports its feed just now. */
export async function postponeUpload(db: Db, { id, state }: DueUpload, waitMs: number): Promise<void> {
  await db
    .updateTable('feed_uploads')
    .set({ due_at: sql<Date>`now() + ${waitMs} * interval '1 ms'` })
    .where('id', '=', id)
    .where('state', '=', state)
    .execute()
}

/** Returns how many were forgotten. */
export async function expireUploads(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from feed_uploads where id in (
      select id from feed_uploads where id < first_id_of(now() - ${keptMs} * interval '1 ms') limit ${most})`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0n)
}
