import { sql } from 'kysely'
import { IGNORED_FIELDS_PER_DAY_MAX } from '../../rules/calls/ignored-fields.ts'
import { inTransaction, type Db } from '../database.ts'

/** How often requests of a project had a field that nobody reads. */
export interface IgnoredField {
  projectId: string
  name: string
  times: number
  lastAt: Date
}

/**
 * Adds to the day's counts. A project has so many names a day and no more, however many gateways write: one at a time does,
 * so that each sees what the others have added.
 */
export async function countIgnoredFields(db: Db, fields: readonly IgnoredField[]): Promise<void> {
  const rows = JSON.stringify(
    fields.map(({ projectId, name, times, lastAt }) => ({ project_id: projectId, name, times, last_at: lastAt })),
  )
  await inTransaction(db, async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtext('ignored_fields'))`.execute(tx)
    await sql`
      with sent as (
        select s.*, (now() at time zone 'utc')::date as day
        from json_to_recordset(${rows}) as s (project_id uuid, name text, times int8, last_at timestamptz)
      ), told_apart as (
        select s.*, f.name is null as is_new, row_number() over (
          partition by s.project_id, s.day, f.name is null order by s.times desc, s.name) as place
        from sent s left join ignored_fields f on f.project_id = s.project_id and f.day = s.day and f.name = s.name
      )
      insert into ignored_fields as f (project_id, day, name, times, last_at)
      select project_id, day, name, times, last_at from told_apart t
      where not is_new or place + (select count(*) from ignored_fields o
        where o.project_id = t.project_id and o.day = t.day) <= ${IGNORED_FIELDS_PER_DAY_MAX}
      on conflict (project_id, day, name) do update
        set times = f.times + excluded.times, last_at = greatest(f.last_at, excluded.last_at)`.execute(tx)
  })
}

/** Lists the fields of the days that are kept, the most recently sent first. */
export async function listIgnoredFields(
  db: Db,
  projectId: string,
  { keptMs, most }: { keptMs: number; most: number },
): Promise<{ name: string; times: bigint; lastAt: Date }[]> {
  const { rows } = await sql<{ name: string; times: bigint; lastAt: Date }>`
    select name, sum(times)::int8 as times, max(last_at) as "lastAt" from ignored_fields
    where project_id = ${projectId} and day >= (now() at time zone 'utc')::date - ${keptMs} * interval '1 ms'
    group by name order by max(last_at) desc, name limit ${most}`.execute(db)
  return rows
}

/** Returns how many were forgotten. */
export async function forgetIgnoredFields(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ignored_fields where (project_id, day, name) in (
      select project_id, day, name from ignored_fields
      where day < (now() at time zone 'utc')::date - ${keptMs} * interval '1 ms' limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
