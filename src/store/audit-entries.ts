import { sql, type RawBuilder } from 'kysely'
import type { Finding } from '../rules/invariants.ts'
import {
  findBroken,
  findStrayCalls,
  findStrayCharges,
  fingerprintCalls,
  sumCharges,
  type ChargeSums,
  type Condition,
  type IdRange,
} from './audit-charges.ts'
import type { Sums } from './audit-checkpoint.ts'
import type { Db } from './database.ts'

/** What was read of the ledger's entries: charges and transfers. */
export interface Entries {
  charges: number
  transfers: number
  /** Both sides of everything. */
  sums: Sums
  findings: Finding[]
}

/** A day of charges or of calls. */
export interface Partition extends IdRange {
  parent: 'charges' | 'calls'
  table: RawBuilder<unknown>
  blocks: number
  /** The same for the charges and the calls of a day. */
  day: string
}

export interface Reading {
  tx: Db
  partitions: readonly Partition[]
  signal: AbortSignal | undefined
}

const REVENUE = '00000000-0000-0000-0000-000000000001'
const FIRST_ID = '00000000-0000-0000-0000-000000000000'
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const FOREVER = sql`'infinity'::timestamptz`
/** No statement may run into its timeout: 128 MiB are some 600,000 charges, read in half a second. */
const BLOCKS_PER_STATEMENT = 16_384
const SLICE_MS = 60_000

export async function listPartitions(tx: Db): Promise<Partition[]> {
  const { rows } = await sql<PartitionRow>`
    select p.relname as parent, n.nspname as schema, c.relname as name, 
      coalesce(bound[1], ${FIRST_ID}) as lower, coalesce(bound[2], ${LAST_ID}) as upper,
      (pg_relation_size(c.oid) / current_setting('block_size')::int)::int as blocks
    from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_class c on c.oid = i.inhrelid
      join pg_namespace n on n.oid = c.relnamespace,
      regexp_match(pg_get_expr(c.relpartbound, c.oid), $$FROM [(]'(.+)'[)] TO [(]'(.+)'[)]$$) as bound
    where i.inhparent in ('charges'::regclass, 'calls'::regclass) and pg_relation_size(c.oid) > 0
    order by c.relname`.execute(tx)
  return rows.map(({ parent, schema, name, lower, upper, blocks }) => ({
    parent,
    table: sql.table(`${schema}.${name}`),
    blocks,
    day: `${lower} ${upper}`,
    lower: sql`${lower}::uuid`,
    upper: sql`${upper}::uuid`,
  }))
}

interface PartitionRow {
  parent: 'charges' | 'calls'
  schema: string
  name: string
  lower: string
  upper: string
  blocks: number
}

/** Every entry up to `boundary`, page by page. */
export async function readAll(reading: Reading, boundary: Date): Promise<Entries> {
  const { tx, partitions, signal } = reading
  const entries = noEntries()
  const isCounted = sql`c.settled_at <= ${boundary}`
  // To look up the call of every charge takes three times as long as everything else together. So the fingerprints of a
  // day's charges and calls are compared, and one is looked up by the other only where they differ.
  const differences = new Map<string, Difference>()
  for (const { parent, table, blocks, day } of partitions) {
    const difference = differences.get(day) ?? { rows: 0, fingerprint: 0n }
    differences.set(day, difference)
    for (const pages of pagesOf(blocks)) {
      signal?.throwIfAborted()
      if (parent === 'calls') {
        const seen = await fingerprintCalls(tx, table, pages('k'))
        difference.rows -= seen.rows
        difference.fingerprint ^= seen.fingerprint
      } else {
        const seen = await sumCharges(tx, { table, where: pages('c'), isCounted, callsAt: undefined })
        addCharges(entries, seen)
        difference.rows += seen.rows
        difference.fingerprint ^= seen.fingerprint
      }
    }
  }
  const differing = partitions.filter(({ day }) => isDifferent(differences.get(day)))
  entries.findings.push(...(await findStrays({ ...reading, partitions: differing }, boundary)))
  const blocks = await blocksOfTransfers(tx)
  for (const pages of pagesOf(blocks)) {
    await addTransfers(tx, entries, sql`${pages('t')} and t.created_at <= ${boundary}`)
  }
  return entries
}

interface Difference {
  rows: number
  fingerprint: bigint
}

function isDifferent(difference: Difference | undefined): boolean {
  return difference?.rows !== 0 || difference.fingerprint !== 0n
}

/** Compares charges and calls one by one, as far as `readSettled` will not do it. */
async function findStrays({ tx, partitions, signal }: Reading, boundary: Date): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { parent, table, blocks, lower, upper } of partitions) {
    const counterpart = { lower, upper }
    for (const pages of pagesOf(blocks)) {
      signal?.throwIfAborted()
      const isCounted = sql`c.settled_at <= ${boundary}`
      const found =
        parent === 'calls'
          ? findStrayCalls(tx, table, sql`${pages('k')} and k.id < first_id_of(${boundary})`, counterpart)
          : findStrayCharges(tx, { table, where: pages('c'), isCounted, callsAt: counterpart })
      findings.push(...(await found))
    }
  }
  return findings
}

/** What was settled after `from` and up to `to`, minute by minute. */
export async function readSettled(reading: Reading, from: Date, to: Date, isLast: boolean): Promise<Entries> {
  const { tx, signal } = reading
  const entries = noEntries()
  const partitions = await findPartitionsSettledAfter(reading, from)
  for (const slice of slicesOf(from, to, isLast)) {
    signal?.throwIfAborted()
    for (const { table, lower, upper } of partitions) {
      const where = sql`c.settled_at > ${slice.from} and c.settled_at <= ${slice.to}`
      addCharges(entries, await sumCharges(tx, { table, where, isCounted: sql`true`, callsAt: { lower, upper } }))
    }
    // A call carries the time at which it began, so one that took long is looked at only by the next full pass.
    const { lower, upper } = slice
    const isInSlice = sql`k.id >= ${lower} and k.id < ${upper}`
    entries.findings.push(...(await findStrayCalls(tx, sql.table('calls'), isInSlice, slice)))
  }
  const end = isLast ? FOREVER : sql`${to}`
  await addTransfers(tx, entries, sql`t.created_at > ${from} and t.created_at <= ${end}`)
  return entries
}

interface Slice extends IdRange {
  from: Date
  to: RawBuilder<unknown>
}

/** The last slice has no end: a gateway's clock may be ahead. */
function* slicesOf(from: Date, to: Date, isLast: boolean): Generator<Slice> {
  for (let ms = from.getTime(); ms < to.getTime(); ms += SLICE_MS) {
    const end = Math.min(ms + SLICE_MS, to.getTime())
    const isEndless = isLast && end === to.getTime()
    yield {
      from: new Date(ms),
      to: isEndless ? FOREVER : sql`${new Date(end)}`,
      lower: sql`first_id_of(${new Date(ms)})`,
      upper: isEndless ? sql`${LAST_ID}::uuid` : sql`first_id_of(${new Date(end)})`,
    }
  }
}

/** Usually one or two of hundreds. */
async function findPartitionsSettledAfter({ tx, partitions }: Reading, from: Date): Promise<Partition[]> {
  const charges = partitions.filter(({ parent }) => parent === 'charges')
  if (charges.length === 0) return []
  const questions = charges.map(
    ({ table }, n) => sql`select ${n}::int as n where exists (select 1 from ${table} where settled_at > ${from})`,
  )
  const { rows } = await sql<{ n: number }>`${sql.join(questions, sql` union all `)}`.execute(tx)
  const found = new Set(rows.map(({ n }) => n))
  return charges.filter((_, n) => found.has(n))
}

async function blocksOfTransfers(tx: Db): Promise<number> {
  const { rows } = await sql<{ blocks: number }>`
    select (pg_relation_size('transfers') / current_setting('block_size')::int)::int as blocks`.execute(tx)
  return rows[0]?.blocks ?? 0
}

/** Is the transfer `t` a late charge, or what was absorbed of one, but not the one of a call that was swept? */
const IS_WRONGLY_LATE = sql`(case
  when t.kind = 'late_charge' then (select c.outcome = 'gateway_died' and t.reference = 'late:' || c.id
    and t.debit_account = c.project_id from charges c where c.id = t.corrects) is not true
  when t.kind = 'absorbed' and t.credit_account = ${REVENUE} then (select c.outcome = 'gateway_died'
    and t.reference = 'absorbed:' || c.id from charges c where c.id = t.corrects) is not true
  else false end)`

async function addTransfers(tx: Db, entries: Entries, where: Condition): Promise<void> {
  const { rows } = await sql<{ debit: string; credit: string; transfers: number; amount: string; broken: number }>`
    select t.debit_account as debit, t.credit_account as credit, count(*)::int as transfers,
      sum(t.amount_nanos)::text as amount, count(*) filter (where ${IS_WRONGLY_LATE})::int as broken
    from transfers t where ${where} group by t.debit_account, t.credit_account`.execute(tx)
  for (const { debit, credit, transfers, amount } of rows) {
    entries.transfers += transfers
    move(entries.sums, debit, credit, BigInt(amount))
  }
  if (rows.every(({ broken }) => broken === 0)) return
  const wrong = sql`
    select t.id::text as id, t.reference || ' is not the one late charge of a call that was swept' as detail
    from transfers t where ${where} and ${IS_WRONGLY_LATE}`
  entries.findings.push(...(await findBroken(tx, 'I3', wrong)))
}

function addCharges(entries: Entries, { charged, counted, findings }: ChargeSums): void {
  entries.charges += counted
  entries.findings.push(...findings)
  for (const [projectId, amount] of charged) move(entries.sums, projectId, REVENUE, amount)
}

function move(sums: Sums, debit: string, credit: string, amount: bigint): void {
  sums.set(debit, (sums.get(debit) ?? 0n) - amount)
  sums.set(credit, (sums.get(credit) ?? 0n) + amount)
}

function noEntries(): Entries {
  return { charges: 0, transfers: 0, sums: new Map(), findings: [] }
}

/** Conditions on the row of this name, which together are true of every row of so many blocks exactly once. */
function* pagesOf(blocks: number): Generator<(row: 'c' | 'k' | 't') => Condition> {
  for (let first = 0; first < blocks; first += BLOCKS_PER_STATEMENT) {
    const [start, end] = [`(${first},0)`, `(${first + BLOCKS_PER_STATEMENT},0)`]
    yield (row) => sql`${sql.ref(`${row}.ctid`)} >= ${start}::tid and ${sql.ref(`${row}.ctid`)} < ${end}::tid`
  }
}
