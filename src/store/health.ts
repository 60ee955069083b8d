import { sql } from 'kysely'
import type { Db } from './database.ts'
import { APPLIED_MIGRATIONS, listMigrations, newerOf, type AppliedMigration } from './migrations.ts'
import { listFunctions } from './sql-functions.ts'

/** Throws when the store cannot be asked anything. */
export async function expectReachable(db: Db): Promise<void> {
  await sql`select 1`.execute(db)
}

/** The facts about the store itself that `parley doctor` asks for. */
export async function serverFacts(db: Db): Promise<ServerFacts> {
  const { rows } = await sql<Omit<ServerFacts, 'major'> & { number: number }>`
    select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
      clock_timestamp() as now, current_setting('transaction_read_only')::boolean as "isReadOnly",
      pg_is_in_recovery() as "isStandby"`.execute(db)
  const [facts] = rows
  if (!facts) throw new Error('the store said nothing about itself')
  const { number, ...rest } = facts
  return { ...rest, major: Math.floor(number / 10_000) }
}

/** Makes a small table and takes it back: fails where the disk is full, which nothing that only reads would notice. */
export async function tryToWrite(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`create temp table doctor on commit drop as
      select repeat('x', 1000) as filler from generate_series(1, 100)`.execute(tx)
  })
}

export interface ServerFacts {
  version: string
  major: number
  now: Date
  isReadOnly: boolean
  isStandby: boolean
}

/** Names of migrations that only a newer version has. Throws when this version does not work on their tables. */
export async function newerMigrations(db: Db): Promise<string[]> {
  const { rows } = await sql.raw<AppliedMigration>(APPLIED_MIGRATIONS).execute(db)
  return newerOf(await listMigrations(), rows)
}

/** Names of functions of this version that the store does not have. */
export async function missingFunctions(db: Db): Promise<string[]> {
  const names = (await listFunctions()).map(({ name }) => name)
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${names}::text[]) as name
    where not exists (select from pg_proc where proname = name and pronamespace = current_schema()::regnamespace)`.execute(
    db,
  )
  return rows.map(({ name }) => name)
}

/** Holds that a worker should have released by now. */
export async function countStuckHolds(db: Db, silentForMs: number, olderThanMs: number): Promise<bigint> {
  const { rows } = await sql<{ stuck: bigint }>`
    select count(*) as stuck from holds h left join gateways g on g.id = h.gateway_id
    where g.beat_at is null or g.beat_at < now() - ${silentForMs} * interval '1 ms'
      or h.held_at < now() - ${olderThanMs} * interval '1 ms'`.execute(db)
  return rows[0]?.stuck ?? 0n
}

/** Enough to see that it is late; nobody needs to know by how many millions. */
const LATE_CLICKS_MAX = 10_000

/** Counts the clicks whose shares a worker should have released by now, and the days whose salts it should have destroyed. */
export async function findAdvertisingDelays(db: Db, pendingMs: number): Promise<{ clicks: bigint; saltDays: bigint }> {
  const { rows } = await sql<{ clicks: bigint; saltDays: bigint }>`
    select (select count(*) from click_salts where day < (now() at time zone 'utc')::date - 2) as "saltDays",
      (select count(*) from (
        -- The shares of a deactivated publisher stay pending.
        select from clicks k join projects p on p.id = k.project_id join publishers u on u.id = p.publisher_id
        where k.state = 'pending' and k.id < first_id_of(now() - ${pendingMs} * interval '1 ms')
          and u.activated_at is not null limit ${LATE_CLICKS_MAX}) late) as clicks`.execute(db)
  return rows[0] ?? { clicks: 0n, saltDays: 0n }
}

/** How far the furthest project is from its first answer: each count includes the condition of the one before it. */
export async function countCallers(db: Db) {
  const { rows } = await sql<Callers>`
    select count(*) as projects,
      count(*) filter (where activated) as activated,
      count(*) filter (where activated and verified) as verified,
      count(*) filter (where activated and verified and has_keys) as with_keys,
      count(*) filter (where activated and verified and has_keys and available > 0) as with_credit
    from (
      select u.activated_at is not null as activated, d.verified_at is not null as verified,
        exists (select 1 from key_pairs k where k.project_id = p.id and k.active
          and (k.expires_at is null or k.expires_at > now())) as has_keys,
        w.balance_nanos - w.held_nanos as available
      from projects p join publishers u on u.id = p.publisher_id join domains d on d.project_id = p.id
        join wallets w on w.project_id = p.id
    ) as every_project`.execute(db)
  const [callers] = rows
  if (!callers) throw new Error('the store did not count')
  return callers
}

export interface Callers {
  projects: bigint
  activated: bigint
  verified: bigint
  with_keys: bigint
  with_credit: bigint
}
