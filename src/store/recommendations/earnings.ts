import { sql, type RawBuilder } from 'kysely'
import type { Db } from '../database.ts'
import { goByIndexes } from '../planner.ts'

/** The earnings of a project. Reads sums, whatever the number of clicks and recommendations. */

export interface Earnings {
  /** The share of the price of a click, in hundredths of a percent; null: nothing was earned yet, so it is not known. */
  shareBps: number | null
  pending: bigint
  /** Went to the wallet, and stayed there. */
  released: bigint
  takenBack: bigint
}

export async function findEarnings(db: Db, projectId: string): Promise<Earnings> {
  const row = await db
    .selectFrom('earnings')
    .select(['share_bps as shareBps', 'pending_nanos as pending'])
    .select(['released_nanos as released', 'taken_back_nanos as takenBack'])
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  return row ?? { shareBps: null, pending: 0n, released: 0n, takenBack: 0n }
}

/** Sums what is pending in all projects of a publisher, without those that were deleted. */
export async function sumPending(db: Db, publisherId: string): Promise<bigint> {
  const { rows } = await sql<{ pending: bigint }>`
    select coalesce(sum(e.pending_nanos), 0)::int8 as pending from projects p join earnings e on e.project_id = p.id
    where p.publisher_id = ${publisherId} and p.archived_at is null`.execute(db)
  return rows[0]?.pending ?? 0n
}

export interface DueEarnings {
  /** The time of the oldest click whose share is pending. */
  firstClickAt: Date
  /** With what was earned later on the same day (UTC). */
  nanos: bigint
}

/** Returns the earnings that are released next. Undefined: nothing is pending. */
export async function findDueEarnings(tx: Db, projectId: string): Promise<DueEarnings | undefined> {
  await goByIndexes(tx)
  const pending = sql`clicks where project_id = ${projectId} and state = 'pending'`
  // Where the day ends is asked once: as a part of the sum, it is asked of every click that is pending.
  const { rows } = await sql<DueEarnings>`
    with first as materialized (select id, time_of_id(id) as at from ${pending} order by id limit 1),
      day as materialized (
        select id, at, first_id_of(date_trunc('day', at, 'UTC') + interval '1 day') as next_id from first)
    select d.at as "firstClickAt", (
      select sum(share_nanos)::int8 from ${pending} and id >= d.id and id < d.next_id) as nanos
    from day d`.execute(tx)
  return rows[0]
}

/** Full days in UTC; the end is not part of it. */
export interface Days {
  projectId: string
  from: Date
  to: Date
}

export interface ClicksOfVerdict {
  verdict: string
  clicks: bigint
  /** Earned by them and not taken back. */
  share: bigint
  takenBack: bigint
  takenBackNanos: bigint
}

export async function sumClicksByVerdict(db: Db, days: Days): Promise<ClicksOfVerdict[]> {
  const { rows } = await sql<ClicksOfVerdict>`
    select verdict, sum(clicks)::int8 as clicks, sum(share_nanos)::int8 as share, sum(taken_back)::int8 as "takenBack",
      sum(taken_back_nanos)::int8 as "takenBackNanos"
    from ${rowsOf('click_days', days)} group by 1 order by 2 desc, 1`.execute(db)
  return rows
}

export interface Earned {
  shown: bigint
  /** Paid for, and not taken back. */
  clicks: bigint
  earned: bigint
}

const EARNED = sql`sum(shown)::int8 as shown, sum(clicks)::int8 as clicks, sum(earned_nanos)::int8 as earned`

/** One row for each day on which something was shown or earned, in order. */
export async function sumEarnedByDay(db: Db, days: Days): Promise<(Earned & { at: Date })[]> {
  const { rows } = await sql<Earned & { at: Date }>`
    select day::timestamp at time zone 'UTC' as at, ${EARNED} from ${rowsOf('recommendation_days', days)}
    group by day order by day`.execute(db)
  return rows
}

export interface EarnedByAdvertiser extends Earned {
  id: string
  /** Null when the advertiser is not there any more. */
  name: string | null
}

/** Lists the advertisers that earned most for the project, the highest first. */
export async function listTopAdvertisers(db: Db, days: Days, most: number): Promise<EarnedByAdvertiser[]> {
  const { rows } = await sql<EarnedByAdvertiser>`
    select t.*, a.name from (
      select advertiser_id as id, ${EARNED} from ${rowsOf('recommendation_days', days)} group by 1
      order by earned desc, clicks desc, shown desc, id limit ${most}) t left join advertisers a on a.id = t.id
    order by t.earned desc, t.clicks desc, t.shown desc, t.id`.execute(db)
  return rows
}

/** Lists the categories that earned most, the highest first; the category is empty for offers that state none. */
export async function listEarningCategories(
  db: Db,
  days: Days,
  most: number,
): Promise<(Earned & { category: string })[]> {
  const { rows } = await sql<Earned & { category: string }>`
    select category, ${EARNED} from ${rowsOf('recommendation_days', days)} group by 1
    order by earned desc, clicks desc, shown desc, category limit ${most}`.execute(db)
  return rows
}

function rowsOf(table: 'click_days' | 'recommendation_days', { projectId, from, to }: Days): RawBuilder<unknown> {
  return sql`${sql.table(table)} where project_id = ${projectId}
    and day >= (${from}::timestamptz at time zone 'UTC')::date and day < (${to}::timestamptz at time zone 'UTC')::date`
}
