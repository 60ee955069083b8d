import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** The recommendations that a project shows to everyone, where its publisher wants it. */

export async function isLibraryPublic(db: Db, projectId: string): Promise<boolean> {
  const { rows } = await sql<{ isPublic: boolean }>`
    select is_library_public as "isPublic" from monetization where project_id = ${projectId}`.execute(db)
  return rows[0]?.isPublic ?? false
}

/** The row is there: it was locked before. */
export async function setLibraryPublic(tx: Db, projectId: string, isPublic: boolean): Promise<void> {
  await tx
    .updateTable('monetization')
    .set({ is_library_public: isPublic, changed_at: sql`now()` })
    .where('project_id', '=', projectId)
    .execute()
}

/** Finds the project of a public library. Undefined: there is no such project, or its library is not public. */
export async function findLibrary(db: Db, projectId: string): Promise<{ project: string } | undefined> {
  const { rows } = await sql<{ project: string }>`
    select p.name as project from projects p join monetization m on m.project_id = p.id
    where p.id = ${projectId} and m.is_library_public and p.archived_at is null`.execute(db)
  return rows[0]
}

/** One wording of one advertiser. */
export interface ShownAd {
  /** Null when the advertiser is not there any more. */
  advertiser: string | null
  /** Null where the operator has not stated it. */
  legalName: string | null
  headline: string
  label: string
  times: number
  firstAt: Date
  lastAt: Date
}

export interface ShownAds {
  ads: ShownAd[]
  /** There were more recommendations than were looked at. */
  isMore: boolean
}

/**
 * Lists what readers were shown since then, most recent first. Only the newest `seenMax` recommendations are looked at, so that
 * a project with millions of them costs no more than one with many.
 */
export async function listShownAds(
  db: Db,
  projectId: string,
  { since, seenMax, adsMax }: { since: Date; seenMax: number; adsMax: number },
): Promise<ShownAds> {
  const { rows } = await sql<ShownAd & { seen: number }>`
    with seen as materialized (
      select id, advertiser_id, headline, label, state from recommendations
      where project_id = ${projectId} and id >= first_id_of(${since}) order by id desc limit ${seenMax}
    ), shown as (
      select advertiser_id, headline, label, count(*)::int as times, min(time_of_id(id)) as first_at,
        max(time_of_id(id)) as last_at
      from seen where state = 'delivered' and headline is not null group by advertiser_id, headline, label)
    select a.name as advertiser, a.legal_name as "legalName", s.headline, s.label, s.times,
      s.first_at as "firstAt", s.last_at as "lastAt", (select count(*)::int from seen) as seen
    from shown s left join advertisers a on a.id = s.advertiser_id
    order by s.last_at desc, s.headline limit ${adsMax}`.execute(db)
  const ads = rows.map(({ advertiser, legalName, headline, label, times, firstAt, lastAt }) => {
    return { advertiser, legalName, headline, label, times, firstAt, lastAt }
  })
  return { ads, isMore: (rows[0]?.seen ?? 0) >= seenMax || ads.length >= adsMax }
}
