import { sql, type RawBuilder } from 'kysely'
import { FIRST_UUID, LAST_UUID, timeOfUuid } from '../../../platform/uuid.ts'
import type { Finding } from '../../../rules/billing/invariants.ts'
import { HOUR_MS, MINUTE_MS } from '../../../rules/durations.ts'
import { findBroken, findStrayCalls, sumCharges, type ChargeSums, type Condition, type IdRange } from './charges.ts'
import type { Sums } from './checkpoint.ts'
import type { Db } from '../../database.ts'

/** The result of reading the ledger's entries: charges and transfers. */
export interface Entries {
  charges: number
  /** Both sides of everything. */
  sums: Sums
  /** By day: zero when its charges and its calls are the same, as far as both were read. */
  fingerprints: Map<string, bigint>
  findings: Finding[]
}

/** A day of charges or of calls. */
export interface Partition extends IdRange {
  parent: 'charges' | 'calls'
  oid: string
  table: RawBuilder<unknown>
  blocks: number
  /** The same for the charges and the calls of a day. */
  day: string
  endsAt: Date
}

export interface Reading {
  /** A short transaction: no snapshot is held for longer than one of these takes. */
  read<T>(work: (tx: Db) => Promise<T>): Promise<T>
  partitions: readonly Partition[]
  signal: AbortSignal | undefined
}

export const REVENUE = '00000000-0000-0000-0000-000000000001'
const FOREVER = sql`'infinity'::timestamptz`
/** No statement may run into its timeout: 128 MiB are some 600,000 charges, read in half a second. */
const BLOCKS_PER_STATEMENT = 16_384
/** Fewer, because each looks for its call. */
const CHARGES_PER_STATEMENT = 200_000

/** Their sizes are asked of `pg_inherits`: of `pg_class`, PostgreSQL would measure every table and index that there is. */
export async function listPartitions(tx: Db): Promise<Partition[]> {
  const { rows } = await sql<PartitionRow>`
    select p.relname as parent, c.oid::text as oid, n.nspname as schema, c.relname as name,
      coalesce(bound[1], ${FIRST_UUID}) as lower, coalesce(bound[2], ${LAST_UUID}) as upper,
      (pg_relation_size(i.inhrelid) / current_setting('block_size')::int)::int as blocks
    from pg_inherits i join pg_class p on p.oid = i.inhparent join pg_class c on c.oid = i.inhrelid
      join pg_namespace n on n.oid = c.relnamespace,
      regexp_match(pg_get_expr(c.relpartbound, c.oid), $$FROM [(]'(.+)'[)] TO [(]'(.+)'[)]$$) as bound
    where i.inhparent in ('charges'::regclass, 'calls'::regclass) and pg_relation_size(i.inhrelid) > 0
    order by c.relname`.execute(tx)
  return rows.map(({ parent, oid, schema, name, lower, upper, blocks }) => ({
    parent,
    oid,
    table: sql.table(`${schema}.${name}`),
    blocks,
    day: `${lower} ${upper}`,
    lower: sql`${lower}::uuid`,
    upper: sql`${upper}::uuid`,
    endsAt: timeOfUuid(upper),
  }))
}

interface PartitionRow {
  parent: 'charges' | 'calls'
  oid: string
  schema: string
  name: string
  lower: string
  upper: string
  blocks: number
}

/** Reads everything settled after `from` and up to `to`. The very last part has no end: a gateway's clock may be ahead. */
export async function readSettled(reading: Reading, from: Date, to: Date, isLast: boolean): Promise<Entries> {
  const { read, signal } = reading
  const entries = noEntries()
  for (const hour of spansOf(from, to, HOUR_MS, isLast)) {
    for (const { partition, span } of await findSlices(reading, hour)) {
      signal?.throwIfAborted()
      const { table, day, lower, upper } = partition
      const where = isSettledIn(span)
      addCharges(entries, day, await read((tx) => sumCharges(tx, { table, where, callsAt: { lower, upper } })))
    }
  }
  entries.findings.push(...(await findStrayCallsBetween(reading, from, to, isLast)))
  const end = isLast ? FOREVER : sql`${to}`
  await read((tx) => addTransfers(tx, entries, sql`t.created_at > ${from} and t.created_at <= ${end}`))
  return entries
}

/** Calls by the time at which they began, so one that took very long is looked at only by the next full pass. */
export async function findStrayCallsBetween(
  { read, signal }: Reading,
  from: Date,
  to: Date,
  isLast: boolean,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const minute of spansOf(from, to, MINUTE_MS, isLast)) {
    signal?.throwIfAborted()
    const ids = { lower: firstIdOf(minute.from), upper: minute.to ? firstIdOf(minute.to) : sql`${LAST_UUID}::uuid` }
    const where = sql`k.id >= ${ids.lower} and k.id < ${ids.upper}`
    findings.push(...(await read((tx) => findStrayCalls(tx, sql.table('calls'), where, ids))))
  }
  return findings
}

/** Sums everything settled after `from`, as the snapshot of `tx` has it: nothing but the sums. */
export async function sumAfter(tx: Db, from: Date): Promise<Sums> {
  const entries = noEntries()
  const { rows } = await sql<{ project_id: string; charged: string }>`
    select c.project_id, sum(c.charged_nanos)::text as charged from charges c where c.settled_at > ${from}
    group by c.project_id`.execute(tx)
  for (const { project_id, charged } of rows) move(entries.sums, project_id, REVENUE, BigInt(charged))
  const transfers = await sql<{ debit: string; credit: string; amount: string }>`
    select t.debit_account as debit, t.credit_account as credit, sum(t.amount_nanos)::text as amount
    from transfers t where t.created_at > ${from} group by t.debit_account, t.credit_account`.execute(tx)
  for (const { debit, credit, amount } of transfers.rows) move(entries.sums, debit, credit, BigInt(amount))
  return entries.sums
}

/** After `from` and up to `to`, or without an end. */
interface Span {
  from: Date
  to: Date | undefined
}

function* spansOf(from: Date, to: Date, lengthMs: number, isLast: boolean): Generator<Span> {
  let start = from.getTime()
  const end = to.getTime()
  for (; isLast ? start + lengthMs < end : start < end; start += lengthMs) {
    yield { from: new Date(start), to: new Date(Math.min(start + lengthMs, end)) }
  }
  if (isLast) yield { from: new Date(start), to: undefined }
}

function isSettledIn({ from, to }: Span): Condition {
  return sql`c.settled_at > ${from} and c.settled_at <= ${to ?? FOREVER}`
}

export function firstIdOf(moment: Date): RawBuilder<unknown> {
  return sql`first_id_of(${moment})`
}

/** Cuts an hour into pieces that one statement can read, by counting first. Usually it is one piece of one partition. */
async function findSlices({ read, partitions }: Reading, hour: Span): Promise<{ partition: Partition; span: Span }[]> {
  const { rows } = await read((tx) =>
    sql<{ oid: string; minute: Date; charges: number }>`
      select c.tableoid::text as oid, date_trunc('minute', c.settled_at) as minute, count(*)::int as charges
      from charges c where ${isSettledIn(hour)} group by 1, 2 order by 1, 2`.execute(tx),
  )
  return partitions.flatMap((partition) => {
    const minutes = rows.filter(({ oid }) => oid === partition.oid)
    return minutes.length === 0 ? [] : cut(hour, minutes).map((span) => ({ partition, span }))
  })
}

function cut(hour: Span, minutes: readonly { minute: Date; charges: number }[]): Span[] {
  const spans: Span[] = []
  let { from } = hour
  let charges = 0
  for (const { minute, charges: more } of minutes) {
    if (charges > 0 && charges + more > CHARGES_PER_STATEMENT) {
      spans.push({ from, to: minute })
      from = minute
      charges = 0
    }
    charges += more
  }
  return [...spans, { from, to: hour.to }]
}

export async function blocksOfTransfers(tx: Db): Promise<number> {
  const { rows } = await sql<{ blocks: number }>`
    select (pg_relation_size('transfers') / current_setting('block_size')::int)::int as blocks`.execute(tx)
  return rows[0]?.blocks ?? 0
}

/** A call whose charge was archived afterwards: it was right then, and can no longer be looked up. */
const isOfArchived = (prefix: 'late:' | 'absorbed:') => sql`
  (select t.created_at <= s.archived_at and t.reference = ${sql.lit(prefix)} || t.corrects from sealed_days s
    where s.day = (time_of_id(t.corrects) at time zone 'utc')::date)`

/** Is the transfer `t` a late charge, or what was absorbed of one, but not the one of a call that was swept? */
const IS_WRONGLY_LATE = sql`(case
  when t.kind = 'late_charge' then coalesce((select c.outcome = 'gateway_died' and t.reference = 'late:' || c.id
    and t.debit_account = c.project_id from charges c where c.id = t.corrects), ${isOfArchived('late:')}) is not true
  when t.kind = 'absorbed' and t.credit_account = ${REVENUE} then coalesce((select c.outcome = 'gateway_died'
    and t.reference = 'absorbed:' || c.id from charges c where c.id = t.corrects), ${isOfArchived('absorbed:')}) is not true
  else false end)`

export async function addTransfers(tx: Db, entries: Entries, where: Condition): Promise<void> {
  const { rows } = await sql<{ debit: string; credit: string; amount: string; broken: number }>`
    select t.debit_account as debit, t.credit_account as credit, sum(t.amount_nanos)::text as amount,
      count(*) filter (where ${IS_WRONGLY_LATE})::int as broken
    from transfers t where ${where} group by t.debit_account, t.credit_account`.execute(tx)
  for (const { debit, credit, amount } of rows) move(entries.sums, debit, credit, BigInt(amount))
  if (rows.every(({ broken }) => broken === 0)) return
  const wrong = sql`
    select t.id::text as id, t.reference || ' is not the one late charge of a call that was swept' as detail
    from transfers t where ${where} and ${IS_WRONGLY_LATE}`
  entries.findings.push(...(await findBroken(tx, 'I3', wrong)))
}

export function addCharges(
  entries: Entries,
  day: string,
  { charges, charged, fingerprint, findings }: ChargeSums,
): void {
  entries.charges += charges
  for (const [projectId, amount] of charged) move(entries.sums, projectId, REVENUE, amount)
  mix(entries.fingerprints, day, fingerprint)
  entries.findings.push(...findings)
}

export function mix(fingerprints: Map<string, bigint>, day: string, fingerprint: bigint): void {
  fingerprints.set(day, (fingerprints.get(day) ?? 0n) ^ fingerprint)
}

/** Adds what was read elsewhere. */
export function addEntries(entries: Entries, { charges, sums, fingerprints, findings }: Entries): void {
  entries.charges += charges
  for (const [id, nanos] of sums) entries.sums.set(id, (entries.sums.get(id) ?? 0n) + nanos)
  for (const [day, fingerprint] of fingerprints) mix(entries.fingerprints, day, fingerprint)
  entries.findings.push(...findings)
}

function move(sums: Sums, debit: string, credit: string, amount: bigint): void {
  sums.set(debit, (sums.get(debit) ?? 0n) - amount)
  sums.set(credit, (sums.get(credit) ?? 0n) + amount)
}

export function noEntries(): Entries {
  return { charges: 0, sums: new Map(), fingerprints: new Map(), findings: [] }
}

/** Conditions on the row of this name, which together are true of every row of so many blocks exactly once. */
export function* pagesOf(blocks: number): Generator<(row: 'c' | 'k' | 't') => Condition> {
  for (let first = 0; first < blocks; first += BLOCKS_PER_STATEMENT) {
    const [start, end] = [`(${first},0)`, `(${first + BLOCKS_PER_STATEMENT},0)`]
    yield (row) => sql`${sql.ref(`${row}.ctid`)} >= ${start}::tid and ${sql.ref(`${row}.ctid`)} < ${end}::tid`
  }
}
