import { sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import { MINUTE_MS } from '../rules/durations.ts'
import { fingerprintCalls, sumCharges } from './billing/ledger-check/charges.ts'
import { listPartitions, pagesOf } from './billing/ledger-check/entries.ts'
import { readingOf } from './billing/ledger-check/ledger-check.ts'
import { differencesOf, findSeal, insertSeal, type Seal, type SealedDay } from './billing/sealed-days.ts'
import type { Db } from './database.ts'
import type { LockHolder } from './lock-waits.ts'

/** Old days are put away: what a day came to is written down, then its tables are detached. Nothing is dropped. */
export interface OldDay extends SealedDay {
  /** Only tables that are still attached. */
  tables: OldTable[]
}

export interface OldTable {
  parent: 'charges' | 'calls' | 'recommendations'
  name: string
}

/** A gateway's clock may be a day and a half off, and a call takes an hour; all else is for whoever looks at last week. */
export const ARCHIVE_AFTER_DAYS_MIN = 7

/** Why a day cannot be put away, for the operator. */
export class NotArchived extends Error {}

/** Whole days that ended so long ago, the oldest first. */
export async function listOldDays(db: Db, olderThanDays: number): Promise<OldDay[]> {
  const { rows } = await sql<{ parent: OldTable['parent']; name: string; day: string; bounds: string }>`
    select p.relname as parent, c.relname as name, day::text, bound[1] || ' ' || bound[2] as bounds
    from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_class c on c.oid = i.inhrelid,
      regexp_match(pg_get_expr(c.relpartbound, c.oid), $$FROM [(]'(.+)'[)] TO [(]'(.+)'[)]$$) as bound,
      lateral (select (time_of_id(bound[1]::uuid) at time zone 'utc')::date as day) as d
    where i.inhparent in ('charges'::regclass, 'calls'::regclass, 'recommendations'::regclass)
      and c.relname = p.relname || to_char(day, '_YYYYMMDD')
      and day < (now() at time zone 'utc')::date - ${olderThanDays}::int
    order by day, array_position(array['charges', 'calls', 'recommendations'], p.relname::text)`.execute(db)
  return [...Map.groupBy(rows, ({ day }) => day)].map(([day, tables]) => ({
    day,
    bounds: tables[0]?.bounds ?? '',
    tables: tables.map(({ parent, name }) => ({ parent, name })),
  }))
}

/** Writes down what a day's charges came to, after reading all of them. Returns how many there are. */
export async function sealDay(db: Db, { day, bounds, tables }: OldDay): Promise<number> {
  const sealed = await findSeal(db, day)
  // Its charges may be gone already.
  if (sealed && !tables.some(({ parent }) => parent === 'charges')) return sealed.charges
  await expectOver(db, day)
  const { seal, callsFingerprint, isSound } = await readDay(db, bounds)
  if (!isSound || (!sealed && seal.fingerprint !== callsFingerprint)) {
    throw new NotArchived(`The charges of ${day} break an invariant. See: parley audit --full`)
  }
  const [difference] = sealed ? differencesOf(day, sealed, { charges: seal }) : []
  if (difference) {
    throw new NotArchived(`${day} was sealed before and has changed since: ${difference.examples[0]?.detail}.`)
  }
  await insertSeal(db, day, seal)
  return seal.charges
}

async function readDay(db: Db, bounds: string) {
  const read = readingOf(db)
  const seal: Seal = { charges: 0, fingerprint: 0n, charged: new Map() }
  let callsFingerprint = 0n
  let isSound = true
  for (const { parent, table, blocks, day } of await read(listPartitions)) {
    if (day !== bounds) continue
    for (const pages of pagesOf(blocks)) {
      if (parent === 'calls') {
        callsFingerprint ^= await read((tx) => fingerprintCalls(tx, table, pages('k')))
        continue
      }
      const sums = await read((tx) => sumCharges(tx, { table, where: pages('c'), callsAt: undefined }))
      seal.charges += sums.charges
      seal.fingerprint ^= sums.fingerprint
      for (const [id, nanos] of sums.charged) seal.charged.set(id, (seal.charged.get(id) ?? 0n) + nanos)
      isSound &&= sums.findings.length === 0
    }
  }
  return { seal, callsFingerprint, isSound }
}

/** Nothing of the day may still come, and everything that adds up charges must be past it. */
async function expectOver(db: Db, day: string): Promise<void> {
  const { rows } = await sql<{ has_holds: boolean; is_counted: boolean; is_audited: boolean }>`
    select exists (select from holds where id >= first_id_of(${day}::timestamp at time zone 'utc')
        and id < first_id_of((${day}::timestamp + interval '1 day') at time zone 'utc')) as has_holds,
      coalesce((select through > d.settled_by from usage_progress), false) as is_counted,
      coalesce((select through > d.settled_by from audit_checkpoint), false) as is_audited
    from (select (${day}::timestamp + interval '1 day') at time zone 'utc' + interval '38 hours' as settled_by) as d`.execute(
    db,
  )
  const [state] = rows
  if (!state || state.has_holds) {
    throw new NotArchived(`A call of ${day} still holds credit. Start a worker, which releases it: parley serve worker`)
  }
  if (!state.is_counted) {
    throw new NotArchived(
      `The usage of ${day} is not summed up yet. Start a worker, which does it: parley serve worker`,
    )
  }
  if (!state.is_audited) {
    throw new NotArchived(`${day} is not audited yet: a transaction has been open since before it. End that one first.`)
  }
}

export interface ArchivePatience {
  pauseMs: number
  giveUpAfterMs: number
}

const PATIENCE: ArchivePatience = { pauseMs: 2_000, giveUpAfterMs: 10 * MINUTE_MS }
/** A pending request for this lock stops all calls that come after it, so it is asked for briefly, and again later. */
const LOCK_TIMEOUT_MS = 100
const LOCK_TIMEOUT = '55P03'

/** Detaches a table and returns its new name. It is whole afterwards, or as it was. */
export async function detachTable(
  db: Db,
  day: string,
  table: OldTable,
  onWait: (holders: readonly LockHolder[]) => void,
  { pauseMs, giveUpAfterMs }: ArchivePatience = PATIENCE,
): Promise<string> {
  const giveUpAtMs = performance.now() + giveUpAfterMs
  for (;;) {
    try {
      return await detachOnce(db, day, table)
    } catch (error) {
      if ((error as { code?: unknown }).code !== LOCK_TIMEOUT) throw error
      if (performance.now() + pauseMs > giveUpAtMs) {
        throw new NotArchived(
          `${table.name} was in use all the time and stays where it is. Run it again when that is over.`,
        )
      }
      onWait(await findHolders(db, table))
    }
    await sleep(pauseMs)
  }
}

function detachOnce(db: Db, day: string, { parent, name }: OldTable): Promise<string> {
  const archived = `archived_${name}`
  return db.transaction().execute(async (tx) => {
    await sql`select set_config('lock_timeout', ${`${LOCK_TIMEOUT_MS}ms`}, true)`.execute(tx)
    await sql`alter table ${sql.table(parent)} detach partition ${sql.table(name)}`.execute(tx)
    await sql`alter table ${sql.table(name)} rename to ${sql.ref(archived)}`.execute(tx)
    if (parent === 'charges') {
      // Nobody can write charges now; what was detached without a seal would be missing from the ledger.
      await expectOver(tx, day)
      const { rows } = await sql`
        update sealed_days set archived_at = clock_timestamp() where day = ${day}::date returning day`.execute(tx)
      if (rows.length !== 1) throw new NotArchived(`${day} is not sealed.`)
    }
    return archived
  })
}

async function findHolders(db: Db, { parent, name }: OldTable): Promise<LockHolder[]> {
  const { rows } = await sql<{ pid: number; name: string | null; since: Date | null }>`
    select distinct a.pid, coalesce(nullif(a.application_name, ''), a.usename) as name, a.xact_start as since
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.granted and l.relation in (${parent}::regclass, ${name}::regclass)
      and a.pid <> pg_backend_pid()
      -- An owner without pg_read_all_stats does not see since when other users' transactions run.
      and coalesce(a.xact_start < now() - interval '1 second', true) order by since limit 3`.execute(db)
  return rows.map((row) => ({ pid: row.pid, name: row.name ?? undefined, since: row.since ?? undefined }))
}
