import { sql } from 'kysely'
import type { Db } from './database.ts'

/** Days of charges, calls and recommendations. functions/make_partition.sql makes one, without a call waiting for it. */
export interface PartitionReport {
  made: string[]
  daysAhead: number
  /** Somebody else was changing one of the tables: the rest is made next time. */
  isBusy: boolean
}

const LOCK_TIMEOUT = '55P03'
const DAYS_LOOKED_AT = 30

/** Each in a transaction of its own, so that none holds a lock while the next one waits for its own. */
export async function ensurePartitions(db: Db): Promise<PartitionReport> {
  const made: string[] = []
  let isBusy = false
  try {
    for (let name = await makePartition(db); name !== null; name = await makePartition(db)) made.push(name)
  } catch (error) {
    if ((error as { code?: unknown }).code !== LOCK_TIMEOUT) throw error
    isBusy = true
  }
  return { made, daysAhead: await partitionDaysAhead(db), isBusy }
}

async function makePartition(db: Db): Promise<string | null> {
  const { rows } = await sql<{ name: string | null }>`select make_partition() as name`.execute(db)
  return rows[0]?.name ?? null
}

/** How many whole days after today have their partitions; -1 when even today has not. */
export async function partitionDaysAhead(db: Db): Promise<number> {
  const { rows } = await sql<{ missing: number }>`
    select coalesce(min(d), ${DAYS_LOOKED_AT + 1}::int) as missing
    from generate_series(0, ${DAYS_LOOKED_AT}::int) as d, unnest(array['charges', 'calls', 'recommendations']) as parent
    where not exists (select from pg_class where relispartition
      and oid = to_regclass(parent || '_' || to_char((now() at time zone 'utc')::date + d, 'YYYYMMDD')))`.execute(db)
  return (rows[0]?.missing ?? 0) - 1
}
