import { sql, type RawBuilder } from 'kysely'
import { DAY_MS } from '../../rules/durations.ts'
import type { Db } from '../database.ts'

/** An end user as people look at them, with what their calls came to since a day. */
export interface EndUserRow {
  id: string
  label: string | null
  firstSeenAt: Date
  lastSeenAt: Date
  /** Microseconds since 1970, to go on exactly there. */
  lastSeenUs: bigint
  calls: bigint
  tokens: bigint
  charged: bigint
}

const COUNTED_DAYS = 30

/** Where their sums begin: thirty days of UTC, today's included. */
export function sumsSince(now: number): Date {
  return new Date(Math.floor(now / DAY_MS) * DAY_MS - (COUNTED_DAYS - 1) * DAY_MS)
}

export interface EndUserPlace {
  lastSeenUs: bigint
  id: string
}

/** Lists end users, the most recently seen first. */
export async function listEndUsers(
  db: Db,
  projectId: string,
  { since, after, most }: { since: Date; after?: EndUserPlace | undefined; most: number },
): Promise<EndUserRow[]> {
  const at = sql`(timestamptz 'epoch' + ${after?.lastSeenUs ?? 0n}::int8 * interval '1 microsecond')`
  const before = after ? sql`and last_seen_at <= ${at} and (last_seen_at, id) < (${at}, ${after.id}::uuid)` : sql``
  return describe(db, since, latest(projectId, before, most))
}

/** Part of a label is looked for among this many of those that were seen last. An id is found whenever that was. */
const SEARCHED_MAX = 5_000

/** Finds end users with one of these ids, and those whose label has this text in it. */
export async function searchEndUsers(
  db: Db,
  projectId: string,
  { since, ids, label, most }: { since: Date; ids: readonly string[]; label?: string | undefined; most: number },
): Promise<EndUserRow[]> {
  const byId = sql`select * from end_users where project_id = ${projectId} and id = any (${ids}::uuid[])`
  const byLabel =
    label === undefined
      ? sql``
      : sql`union select * from (${latest(projectId, sql``, SEARCHED_MAX)}) newest
          where strpos(lower(newest.label), lower(${label})) > 0`
  return describe(
    db,
    since,
    sql`select * from (${byId} ${byLabel}) found order by last_seen_at desc, id desc limit ${most}`,
  )
}

function latest(projectId: string, before: RawBuilder<unknown>, most: number): RawBuilder<unknown> {
  return sql`select * from end_users where project_id = ${projectId} ${before}
    order by last_seen_at desc, id desc limit ${most}`
}

async function describe(db: Db, since: Date, from: RawBuilder<unknown>): Promise<EndUserRow[]> {
  const { rows } = await sql<EndUserRow>`
    select u.id, u.label, u.first_seen_at as "firstSeenAt", u.last_seen_at as "lastSeenAt",
      (extract(epoch from u.last_seen_at) * 1000000)::int8 as "lastSeenUs", s.calls, s.tokens, s.charged
    from (${from}) u cross join lateral (
      select coalesce(sum(d.calls), 0)::int8 as calls, coalesce(sum(d.tokens), 0)::int8 as tokens,
        coalesce(sum(d.charged_nanos), 0)::int8 as charged
      from end_user_days d where d.project_id = u.project_id and d.end_user_id = u.id and d.starts_at >= ${since}) s
    order by u.last_seen_at desc, u.id desc`.execute(db)
  return rows
}
