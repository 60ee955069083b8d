import { sql, type RawBuilder } from 'kysely'
import { LAST_UUID } from '../../platform/uuid.ts'
import type { LedgerKind } from '../../rules/billing/ledger-labels.ts'
import { DAY_MS } from '../../rules/durations.ts'
import type { Nanos } from '../../rules/money.ts'
import type { Db } from '../database.ts'

/**
 * A wallet's movements, newest first: transfers one by one, and what calls were charged as one row for each UTC day. The
 * days come from the roll-ups, so a page costs the same with ten calls and with ten million. A day's usage stands at the
 * end of its day, and the balance beside each row is the sum of that row and everything below it.
 */
export interface LedgerRow {
  kind: LedgerKind
  /** The id of the transfer; the same for every day of usage. */
  id: string
  /** Microseconds since 1970, as the store counts them: two transfers may be closer than a millisecond. */
  atUs: bigint
  delta: Nanos
  balanceAfter: Nanos
  /** Null unless the row is a day of usage. */
  calls: bigint | null
  reference: string | null
  reason: string | null
  corrects: string | null
}

/** Everything before it is still to come, and sums to `balance`. */
export interface LedgerPlace {
  atUs: bigint
  id: string
  balance: Nanos
}

export interface LedgerSearch {
  projectId: string
  kinds?: readonly LedgerKind[] | undefined
  from?: Date | undefined
  to?: Date | undefined
  after?: LedgerPlace | undefined
  most: number
}

const DAY_US = BigInt(DAY_MS) * 1_000n
const ROWS_PER_STATEMENT = 200
/** A kind that hardly occurs is searched this far; then the page ends and `next` goes on. */
const STATEMENTS_MAX = 25

export async function listLedger(
  db: Db,
  search: LedgerSearch,
): Promise<{ rows: LedgerRow[]; next: LedgerPlace | undefined }> {
  let { place, waiting } = await findStart(db, search)
  const rows: LedgerRow[] = []
  for (let statement = 0; statement < STATEMENTS_MAX; statement++) {
    const found = withWaiting(await readRows(db, search, place), waiting)
    const isLast = found.length < ROWS_PER_STATEMENT
    waiting = undefined
    for (const row of found) {
      const balanceAfter = place.balance
      place = { atUs: row.atUs, id: row.id, balance: balanceAfter - row.delta }
      if (!search.kinds || search.kinds.includes(row.kind)) rows.push({ ...row, balanceAfter })
      if (rows.length === search.most && !(isLast && row === found.at(-1))) return { rows, next: place }
    }
    if (isLast) return { rows, next: undefined }
  }
  return { rows, next: place }
}

interface Start {
  place: LedgerPlace
  waiting: Waiting | undefined
}

/** Charged, and not rolled up yet. It is what the transfers and the rolled-up days leave unexplained of the balance. */
interface Waiting {
  delta: Nanos
  todayEndsUs: bigint
}

async function findStart(db: Db, { projectId, to, after }: LedgerSearch): Promise<Start> {
  if (after) return { place: after, waiting: undefined }
  const { rows } = await sql<{ balance: Nanos; explained: Nanos; today: bigint }>`
    select w.balance_nanos as balance, ${micros(sql`date_trunc('day', now(), 'UTC')`)} as today,
      (${sumOfTransfers('credit_account', projectId, to)} - ${sumOfTransfers('debit_account', projectId, to)}
      - coalesce((select sum(d.charged_nanos) from usage_days d where d.project_id = ${projectId}
          ${to ? sql`and d.starts_at <= ${to}::timestamptz - interval '24 hours'` : sql``}), 0))::int8 as explained
    from wallets w where w.project_id = ${projectId}`.execute(db)
  const [row] = rows
  if (!row) throw new Error('a project without a wallet')
  const todayEndsUs = row.today + DAY_US - 1n
  const toUs = to && BigInt(to.getTime()) * 1_000n
  if (toUs !== undefined && toUs <= todayEndsUs)
    return { place: { atUs: toUs, id: LAST_UUID, balance: row.explained }, waiting: undefined }
  const delta = row.balance - row.explained
  return {
    place: { atUs: todayEndsUs + DAY_US, id: LAST_UUID, balance: row.balance },
    waiting: delta < 0n ? { delta, todayEndsUs } : undefined,
  }
}

/** Today's row tells of every call, also of those that the roll-up has yet to see. */
function withWaiting(rows: Movement[], waiting: Waiting | undefined): Movement[] {
  if (!waiting) return rows
  const [first, ...others] = rows
  if (first?.kind === 'usage' && first.atUs >= waiting.todayEndsUs)
    return [{ ...first, delta: first.delta + waiting.delta }, ...others]
  const nothing = { reference: null, reason: null, corrects: null, calls: null }
  return [{ kind: 'usage', id: LAST_UUID, atUs: waiting.todayEndsUs, delta: waiting.delta, ...nothing }, ...rows]
}

type Movement = Omit<LedgerRow, 'balanceAfter'>

async function readRows(db: Db, { projectId, from }: LedgerSearch, before: LedgerPlace): Promise<Movement[]> {
  const at = sql`(timestamptz 'epoch' + ${before.atUs}::int8 * interval '1 microsecond')`
  const since = from ?? new Date(0)
  const transfers = (account: 'credit_account' | 'debit_account', delta: RawBuilder<unknown>) => sql`
    (select t.id, t.kind, ${delta} as delta, ${micros(sql`t.created_at`)} as "atUs", null::int8 as calls, t.reference,
      t.reason, t.corrects
    from transfers t where ${sql.ref(`t.${account}`)} = ${projectId} and t.created_at <= ${at}
      and (t.created_at, t.id) < (${at}, ${before.id}::uuid) and t.created_at >= ${since}
    order by t.created_at desc, t.id desc limit ${ROWS_PER_STATEMENT})`
  const { rows } = await sql<Movement>`
    select * from (
      ${transfers('credit_account', sql`t.amount_nanos`)}
      union all ${transfers('debit_account', sql`-t.amount_nanos`)}
      union all
      (select ${LAST_UUID}::uuid, 'usage', -sum(d.charged_nanos)::int8, ${micros(sql`d.starts_at`)} + ${DAY_US}::int8 - 1,
        sum(d.calls)::int8, null, null, null
      from usage_days d where d.project_id = ${projectId} and d.starts_at < ${at} and d.starts_at >= ${since}
        and ${micros(sql`d.starts_at`)} + ${DAY_US}::int8 - 1 < ${before.atUs}::int8
      group by d.starts_at having sum(d.charged_nanos) > 0 order by d.starts_at desc limit ${ROWS_PER_STATEMENT})
    ) movements order by "atUs" desc, id desc limit ${ROWS_PER_STATEMENT}`.execute(db)
  return rows
}

function micros(moment: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(extract(epoch from ${moment}) * 1000000)::int8`
}

function sumOfTransfers(
  account: 'credit_account' | 'debit_account',
  projectId: string,
  to: Date | undefined,
): RawBuilder<unknown> {
  return sql`coalesce((select sum(t.amount_nanos) from transfers t where ${sql.ref(`t.${account}`)} = ${projectId}
    ${to ? sql`and t.created_at < ${to}` : sql``}), 0)`
}

/** Sums the charges from the beginning of that day on, as far as they are rolled up. */
export async function sumChargedSince(db: Db, projectId: string, since: Date): Promise<Nanos> {
  const { rows } = await sql<{ charged: Nanos }>`
    select coalesce(sum(charged_nanos), 0)::int8 as charged from usage_days
    where project_id = ${projectId} and starts_at >= ${since}`.execute(db)
  return rows[0]?.charged ?? 0n
}
