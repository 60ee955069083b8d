import { sql } from 'kysely'
import { LONGEST_CALL_MS } from '../../../rules/limits.ts'
import { INVARIANTS, mergeFindings, type Finding, type Invariant } from '../../../rules/billing/invariants.ts'
import { DAY_MS, MINUTE_MS } from '../../../rules/durations.ts'
import { findBroken } from './charges.ts'
import { checkClicks } from './clicks.ts'
import { findBoundary, findCheckpoint, saveCheckpoint, type Checkpoint, type Sums } from './checkpoint.ts'
import { addEntries, listPartitions, noEntries, readSettled, sumAfter, type Reading } from './entries.ts'
import { readAll } from './full.ts'
import type { Db } from '../../database.ts'

/**
 * Checks the ledger while it is in use: no lock on any row, and many statements that are short each, with a snapshot each,
 * because one that is held for long makes every call slower. What was settled up to a boundary does not change any more, so
 * it does not matter when it is read; what came after it is summed up in one snapshot with the wallets. Starts from what was
 * read before, unless that is a day old or the caller asks for everything.
 */
export interface LedgerCheck {
  isFull: boolean
  /** Charges and transfers settled up to here were not read again. */
  since: Date | undefined
  /** Charges and transfers settled up to here will not be read again before the next full pass. */
  through: Date
  fullAt: Date
  seconds: number
  chargesBefore: bigint
  verdicts: Verdict[]
}

export interface Verdict extends Finding {
  checked: number
  of: 'wallets' | 'charges' | 'open holds' | 'advertisers' | 'projects with earnings' | 'campaigns'
}

export interface LedgerCheckOptions {
  isFull: boolean
  leaseMs: number
  signal?: AbortSignal
  /** Entries younger than this are read again by the next pass. */
  marginMs?: number
}

const MARGIN_MS = 5 * MINUTE_MS
const FULL_EVERY_MS = DAY_MS
/** How long a worker may take to release a hold whose lease has ended. */
const SWEPT_WITHIN_MS = MINUTE_MS

/** How often a pass begins again because another one has moved the checkpoint on meanwhile. */
const ATTEMPTS_MAX = 5

export async function checkLedger(db: Db, options: LedgerCheckOptions): Promise<LedgerCheck> {
  const startedMs = performance.now()
  for (let attempt = 1; ; attempt++) {
    // A pass over everything starts from no checkpoint: the last attempt cannot be overtaken.
    const pass = await readLedger(db, attempt < ATTEMPTS_MAX ? options : { ...options, isFull: true })
    if (!pass) continue
    await saveCheckpoint(db, pass.before, pass.checkpoint, pass.settled.sums)
    return {
      isFull: pass.before === undefined,
      since: pass.before?.through,
      through: pass.checkpoint.through,
      fullAt: pass.checkpoint.fullAt,
      seconds: (performance.now() - startedMs) / 1000,
      chargesBefore: pass.before?.charges ?? 0n,
      verdicts: pass.verdicts,
    }
  }
}

/** A snapshot for each statement of it. */
export function readingOf(db: Db): Reading['read'] {
  return (work) =>
    db
      .transaction()
      .setAccessMode('read only')
      .execute(async (tx) => {
        await tune(tx)
        return work(tx)
      })
}

/**
 * Statistics lag behind what is newest, so the planner expects a single row where there are thousands, and takes fresh
 * partitions for small. It is told what is right for many rows. Compiling would take longer than any of the statements.
 */
async function tune(tx: Db): Promise<void> {
  await sql`select set_config('enable_seqscan', 'off', true), set_config('enable_nestloop', 'off', true),
    set_config('enable_sort', 'off', true), set_config('jit', 'off', true),
    set_config('max_parallel_workers_per_gather', '0', true)`.execute(tx)
}

/** Undefined when another pass has moved the checkpoint on meanwhile. */
async function readLedger(db: Db, options: LedgerCheckOptions) {
  const marginMs = options.marginMs ?? MARGIN_MS
  const read = readingOf(db)
  const first = await findBoundary(db, marginMs)
  const checkpoint = await findCheckpoint(db)
  const before =
    checkpoint && !options.isFull && isUsable(checkpoint, first.boundary, first.now) ? checkpoint : undefined
  const reading: Reading = { read, partitions: await read(listPartitions), signal: options.signal }
  const settled = before ? noEntries() : await readAll(reading, first.boundary)
  // To read everything takes a while, and what was settled meanwhile need not be read in the last snapshot.
  const { boundary, now } = before ? first : await findLaterBoundary(db, marginMs, first)
  addEntries(settled, await readSettled(reading, before?.through ?? first.boundary, boundary, false))
  const recent = await readSettled(reading, boundary, now, true)
  const settledFindings = mergeFindings([...(before?.findings ?? []), ...settled.findings])
  const last = await snapshot(db).execute(async (tx) => {
    await tune(tx)
    if (before && !isSame(before, await findCheckpoint(tx))) return undefined
    const balances = await checkBalances(tx, before, [settled.sums, await sumAfter(tx, boundary)])
    return { balances, holds: await checkHolds(tx, options.leaseMs), owed: await checkOwed(tx) }
  })
  if (!last) return undefined
  const { balances, holds, owed } = last
  const findings = [...settledFindings, ...recent.findings, ...balances.findings, ...holds.findings, ...owed]
  return {
    before,
    settled,
    checkpoint: {
      through: boundary,
      charges: (before?.charges ?? 0n) + BigInt(settled.charges),
      fullAt: before?.fullAt ?? first.now,
      findings: settledFindings,
    },
    verdicts: verdictsOf(findings, settled.charges + recent.charges, balances, holds.holds),
  }
}

function snapshot(db: Db) {
  return db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
}

/** A clock that was set back meanwhile does not take it back. */
async function findLaterBoundary(db: Db, marginMs: number, first: { boundary: Date; now: Date }) {
  const later = await findBoundary(db, marginMs)
  return later.boundary > first.boundary ? later : first
}

function isSame(before: Checkpoint, now: Checkpoint | undefined): boolean {
  return now?.through.getTime() === before.through.getTime() && now.fullAt.getTime() === before.fullAt.getTime()
}

/** A boundary before the checkpoint means that the clock was set back, or that a transaction had been overlooked. */
function isUsable({ through, fullAt }: Checkpoint, boundary: Date, now: Date): boolean {
  const fullForMs = now.getTime() - fullAt.getTime()
  return fullForMs >= 0 && fullForMs < FULL_EVERY_MS && boundary >= through
}

/** I1, the journal, and I10 to I12. */
async function checkBalances(tx: Db, before: Checkpoint | undefined, parts: readonly Sums[]) {
  const ids = parts.flatMap((sums) => [...sums.keys()])
  const amounts = parts.flatMap((sums) => [...sums.values()].map(String))
  const entries = sql`(
    select account_id, sum(nanos) as nanos from (
      select account_id, entries_nanos as nanos from audit_sums where ${before !== undefined}
      union all select * from unnest(${ids}::uuid[], ${amounts}::numeric[])
    ) as every_part group by account_id)`
  const wrong = await findBroken(
    tx,
    'I1',
    sql`select coalesce(w.project_id, e.account_id)::text as id, case when w.project_id is null then 'has no wallet'
        else 'balance of ' || w.balance_nanos end || ', entries sum to ' || coalesce(e.nanos, 0) as detail
      from wallets w full join ${entries} e on e.account_id = w.project_id
      where w.balance_nanos is distinct from coalesce(e.nanos, 0)
        and not exists (select 1 from accounts a where a.id = e.account_id and a.kind <> 'wallet')`,
  )
  const unbalanced = await findBroken(
    tx,
    'journal',
    sql`select 'journal' as id, 'sums to ' || sum(nanos) as detail from (
        select balance_nanos::numeric as nanos from wallets
        union all select e.nanos from ${entries} e join accounts a on a.id = e.account_id where a.kind <> 'wallet'
      ) as every_account having sum(nanos) <> 0`,
  )
  const { rows } = await sql<{ wallets: number }>`select count(*)::int as wallets from wallets`.execute(tx)
  const clicks = await checkClicks(tx, entries)
  return {
    findings: [...wrong, ...unbalanced, ...clicks.findings],
    wallets: rows[0]?.wallets ?? 0,
    clicks: clicks.checked,
  }
}

/** I2, what holds say of I3, and I7. */
async function checkHolds(tx: Db, leaseMs: number) {
  const wrong = await findBroken(
    tx,
    'I2',
    sql`select coalesce(w.project_id, h.project_id)::text as id,
        'balance of ' || coalesce(w.balance_nanos, 0) || ', ' || coalesce(w.held_nanos, 0) || ' held by '
          || coalesce(w.open_holds, 0) || ', open holds are ' || coalesce(h.nanos, 0) || ' in '
          || coalesce(h.holds, 0) as detail
      from wallets w full join (
        select project_id, sum(amount_nanos) as nanos, count(*) as holds from holds group by project_id
      ) h on h.project_id = w.project_id
      where w.project_id is null or w.balance_nanos < w.held_nanos
        or w.held_nanos <> coalesce(h.nanos, 0) or w.open_holds <> coalesce(h.holds, 0)`,
  )
  // A hold that rose again, because its request arrived twice, is given back in that time (ledger_give_back).
  const both = await findBroken(
    tx,
    'I3',
    sql`select h.id::text as id, 'is held and charged' as detail from holds h
      where h.held_at < now() - ${leaseMs + SWEPT_WITHIN_MS} * interval '1 ms'
        and (select true from charges c where c.id = h.id)`,
  )
  const unguarded = await findBroken(
    tx,
    'I3',
    sql`select c.relname as id, 'has no valid key against double charges' as detail from pg_class c
      where (c.oid in ('charges'::regclass, 'transfers'::regclass)
          or c.oid in (select inhrelid from pg_inherits where inhparent = 'charges'::regclass))
        and not exists (select 1 from pg_index x
          where x.indrelid = c.oid and x.indisunique and x.indisvalid and x.indnkeyatts = 1
            and x.indkey[0] = (select a.attnum from pg_attribute a where a.attrelid = c.oid
              and a.attname = case when c.relname = 'transfers' then 'reference' else 'id' end))`,
  )
  const stuck = await findBroken(
    tx,
    'I7',
    sql`select h.id::text as id, 'held since ' || h.held_at || coalesce(', its gateway last seen ' || g.beat_at, '')
        as detail
      from holds h left join gateways g on g.id = h.gateway_id
      where coalesce(g.beat_at, h.held_at) < now() - ${leaseMs + SWEPT_WITHIN_MS} * interval '1 ms'
        or h.held_at < now() - ${LONGEST_CALL_MS + SWEPT_WITHIN_MS} * interval '1 ms'`,
  )
  const { rows } = await sql<{ holds: number }>`select count(*)::int as holds from holds`.execute(tx)
  return { findings: [...wrong, ...both, ...unguarded, ...stuck], holds: rows[0]?.holds ?? 0 }
}

const RECEIVABLE = sql`'00000000-0000-0000-0000-000000000009'::uuid`

/** I8. Few wallets ever owe anything, so all of it is read each time. */
function checkOwed(tx: Db): Promise<Finding[]> {
  return findBroken(
    tx,
    'I8',
    sql`select coalesce(w.project_id, a.project_id)::text as id, 'owes ' || coalesce(w.owed_nanos, 0)
        || ', was advanced ' || coalesce(a.nanos, 0) || ', has ' || coalesce(w.balance_nanos - w.held_nanos, 0)
        || ' available' as detail
      from wallets w full join (
        select project_id, sum(nanos) as nanos from (
          select credit_account as project_id, amount_nanos as nanos from transfers where debit_account = ${RECEIVABLE}
          union all
          select debit_account, -amount_nanos from transfers where credit_account = ${RECEIVABLE}
        ) as advances group by project_id
      ) a on a.project_id = w.project_id
      where coalesce(w.owed_nanos, 0) <> coalesce(a.nanos, 0)
        or (w.owed_nanos > 0 and w.balance_nanos > w.held_nanos)`,
  )
}

function verdictsOf(
  found: readonly Finding[],
  charges: number,
  { wallets, clicks }: Awaited<ReturnType<typeof checkBalances>>,
  holds: number,
): Verdict[] {
  const checked: Record<Invariant, [number, Verdict['of']]> = {
    I1: [wallets, 'wallets'],
    I2: [wallets, 'wallets'],
    I3: [charges, 'charges'],
    I4: [charges, 'charges'],
    I5: [charges, 'charges'],
    I6: [charges, 'charges'],
    I7: [holds, 'open holds'],
    I8: [wallets, 'wallets'],
    I9: [charges, 'charges'],
    I10: [clicks.advertisers, 'advertisers'],
    I11: [clicks.earnings, 'projects with earnings'],
    I12: [clicks.campaigns, 'campaigns'],
    journal: [wallets, 'wallets'],
  }
  const findings = mergeFindings(found)
  return (Object.keys(INVARIANTS) as Invariant[]).map((invariant) => {
    const { violations, examples } = findings.find((finding) => finding.invariant === invariant) ?? NOTHING
    const [count, of] = checked[invariant]
    return { invariant, checked: count, of, violations, examples }
  })
}

const NOTHING = { violations: 0, examples: [] }
