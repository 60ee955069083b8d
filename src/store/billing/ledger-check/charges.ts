import { sql, type RawBuilder } from 'kysely'
import { EXAMPLES_MAX, type Finding, type Invariant } from '../../../rules/billing/invariants.ts'
import { CLASS_COLUMNS, TOKEN_COLUMNS } from '../../../rules/billing/token-columns.ts'
import type { Db } from '../../database.ts'

/** Checks of one charge, of one call and of the two together, whatever else is in the ledger. */

export type Condition = RawBuilder<unknown>

interface Check {
  invariant: Invariant
  broken: Condition
  detail: RawBuilder<unknown>
}

/** The ids that a partition, or a slice of one, is for: whoever looks for one of them need not look into the others. */
export interface IdRange {
  lower: RawBuilder<unknown>
  upper: RawBuilder<unknown>
}

/** Some charges of one partition. */
export interface ChargeReading {
  table: RawBuilder<unknown>
  where: Condition
  /** Also looks at the call of each charge, at these ids. */
  callsAt: IdRange | undefined
  /** Only of charges from this id on; the others are in the fingerprint instead. */
  callsFrom?: RawBuilder<unknown>
}

export interface ChargeSums {
  charges: number
  /** By project: what was charged to it. */
  charged: Map<string, bigint>
  fingerprint: bigint
  findings: Finding[]
}

// In what follows, `c` is a charge, `v` its price version and `k` a call.

const worth = (type: 'int8' | 'numeric') => {
  const price = sql.raw(type)
  const terms = Object.values(CLASS_COLUMNS).map((column) => {
    return sql`${sql.ref(`c.${column}_tokens`)} * ${sql.ref(`v.${column}`)}::${price}`
  })
  return sql`(${sql.join(terms, sql` + `)})`
}
const EXACT_WORTH = sql`ceil(${worth('numeric')} / 1000000)`
/** Less than this of every class, at the highest price there can be, does not overflow eight bytes. */
const ARE_FEW_TOKENS = sql`(${sql.join(
  TOKEN_COLUMNS.names.map((name) => sql.ref(`c.${name}`)),
  sql` | `,
)}) < 131072`

/**
 * The least and the most that src/rules/billing/charging.ts and ledger_settle charge, as far as the row still shows it; the
 * first case that applies. The most frequent one is first: this is evaluated for every charge there is.
 */
const BILLS = [
  {
    // Reported usage is paid from the hold, and beyond it from what was available, which nobody remembers.
    when: sql`c.outcome = 'completed' and c.usage_source = 'reported'`,
    least: sql`least(c.usage_nanos, c.held_nanos)`,
    most: sql`c.usage_nanos`,
  },
  { when: sql`c.outcome = 'completed' and c.usage_source <> 'estimated'`, least: sql`null`, most: sql`0` },
  {
    // A caller who hangs up pays for all that this has caused, as far as the wallet can.
    when: sql`c.outcome = 'hung_up'`,
    least: sql`least(c.usage_nanos, 1)`,
    most: sql`c.usage_nanos`,
  },
  {
    // The hold, as its gateway knew it: the answer to an extension may have been lost, so the row's may be larger.
    when: sql`c.outcome in ('completed', 'hold_used_up')`,
    least: sql`least(c.usage_nanos, 1)`,
    most: sql`least(c.usage_nanos, c.held_nanos)`,
  },
  { when: sql`true`, least: sql`0`, most: sql`0` },
]
const byBill = (then: (bill: (typeof BILLS)[number]) => RawBuilder<unknown>) =>
  sql`(case ${sql.join(
    BILLS.map((bill) => sql`when ${bill.when} then ${then(bill)}`),
    sql` `,
  )} end)`
const BILL = sql`c.outcome || ', ' || c.usage_source || ' usage of ' || c.usage_nanos || ', hold of ' || c.held_nanos ||
  ', charged ' || c.charged_nanos`

const BILL_CHECKS: readonly Check[] = [
  {
    invariant: 'I4',
    broken: sql`(${byBill(({ least }) => sql`c.charged_nanos >= ${least}`)} is not true)`,
    detail: BILL,
  },
  { invariant: 'I5', broken: byBill(({ most }) => sql`c.charged_nanos > ${most}`), detail: BILL },
]
const OTHER_CHECKS: readonly Check[] = [
  {
    invariant: 'I4',
    broken: sql`(v.model_id is distinct from c.model_id)`,
    detail: sql`'its price version ' || c.price_version_id || ' is none of ' || c.model_id`,
  },
  {
    // Integers are four times faster than numerics.
    invariant: 'I4',
    broken: sql`(case when ${ARE_FEW_TOKENS}
      then c.usage_nanos <> (${worth('int8')} + 999999) / 1000000 else c.usage_nanos <> ${EXACT_WORTH} end)`,
    detail: sql`'usage of ' || c.usage_nanos || ', but its tokens at its price are worth ' || ${EXACT_WORTH}`,
  },
  {
    invariant: 'I6',
    broken: sql`(c.held_nanos <= 0 or c.held_at > c.settled_at)`,
    detail: sql`'hold of ' || c.held_nanos || ' at ' || c.held_at || ', settled at ' || c.settled_at`,
  },
]
const CHECKS = [...OTHER_CHECKS, ...BILL_CHECKS]

/** Whether any of the checks fails. Every charge goes through this, so both sides of its bill are looked at in one step. */
const IS_BROKEN = sql`(${sql.join(
  [
    ...OTHER_CHECKS.map(({ broken }) => broken),
    sql`(${byBill(({ least, most }) => sql`c.charged_nanos between ${least} and ${most}`)} is not true)`,
  ],
  sql` or `,
)})`

/** Null: there is no such call. A subquery and not a join: one look into one index, whatever the planner believes. */
const matchesCall = ({ lower, upper }: IdRange) => sql`
  (select k.outcome = c.outcome from calls k
    where k.id = c.id and k.id >= ${lower} and k.id < ${upper})`

const callChecks = (ids: IdRange, from = sql`c.id`): Check[] => [
  {
    invariant: 'I6',
    broken: sql`(c.id >= ${from} and ${matchesCall(ids)} is null)`,
    detail: sql`'there is no such call'`,
  },
  {
    invariant: 'I4',
    broken: sql`(c.id >= ${from} and not ${matchesCall(ids)})`,
    detail: sql`'its call has another outcome'`,
  },
]

/** Equal for a set of charges and the set of their calls; for any other two sets the chance is one in 2^64. */
const fingerprintOf = (row: 'c' | 'k', before?: RawBuilder<unknown>) => {
  const [id, outcome] = ['id', 'outcome'].map((column) => sql.ref(`${row}.${column}`))
  const upTo = before === undefined ? sql`` : sql`filter (where ${id} < ${before})`
  return sql`coalesce(bit_xor(uuid_hash_extended(${id}, hashtextextended(${outcome}, 0))) ${upTo}, 0)`
}

export async function sumCharges(tx: Db, reading: ChargeReading): Promise<ChargeSums> {
  const { table, where, callsAt, callsFrom = sql`c.id` } = reading
  const isBroken = callsAt
    ? sql`(${IS_BROKEN} or (c.id >= ${callsFrom} and ${matchesCall(callsAt)} is not true))`
    : IS_BROKEN
  const { rows } = await sql<ProjectSum>`
    select c.project_id, count(*)::int as charges, sum(c.charged_nanos)::text as charged,
      count(*) filter (where ${isBroken})::int as broken, ${fingerprintOf('c', reading.callsFrom)} as fingerprint
    from ${table} c left join price_versions v on v.id = c.price_version_id
    where ${where} group by c.project_id`.execute(tx)
  return {
    charges: rows.reduce((sum, row) => sum + row.charges, 0),
    charged: new Map(rows.map((row) => [row.project_id, BigInt(row.charged)])),
    fingerprint: rows.reduce((mixed, row) => mixed ^ row.fingerprint, 0n),
    findings: rows.some((row) => row.broken > 0)
      ? await findCharges(tx, reading, [...CHECKS, ...(callsAt ? callChecks(callsAt, callsFrom) : [])])
      : [],
  }
}

interface ProjectSum {
  project_id: string
  charges: number
  charged: string
  broken: number
  fingerprint: bigint
}

/** Charges whose call is missing or says something else. */
export async function findStrayCharges(tx: Db, reading: ChargeReading & { callsAt: IdRange }): Promise<Finding[]> {
  return findCharges(tx, reading, callChecks(reading.callsAt))
}

async function findCharges(tx: Db, reading: ChargeReading, checks: readonly Check[]): Promise<Finding[]> {
  const { table, where } = reading
  const findings: Finding[] = []
  for (const { invariant, broken, detail } of checks) {
    const rows = sql`
      select c.id::text as id, ${detail} as detail
      from ${table} c left join price_versions v on v.id = c.price_version_id
      where ${where} and ${broken}`
    findings.push(...(await findBroken(tx, invariant, rows)))
  }
  return findings
}

export async function fingerprintCalls(tx: Db, table: RawBuilder<unknown>, where: Condition): Promise<bigint> {
  const { rows } = await sql<{ fingerprint: bigint }>`
    select ${fingerprintOf('k')} as fingerprint from ${table} k where ${where}`.execute(tx)
  return rows[0]?.fingerprint ?? 0n
}

/** Calls that were recorded without being charged, be it nothing. */
export async function findStrayCalls(
  tx: Db,
  table: RawBuilder<unknown>,
  where: Condition,
  { lower, upper }: IdRange,
): Promise<Finding[]> {
  const rows = sql`
    select k.id::text as id, k.outcome || ', but there is no such charge' as detail from ${table} k
    where ${where}
      and (select true from charges c where c.id = k.id and c.id >= ${lower} and c.id < ${upper}) is null`
  return findBroken(tx, 'I4', rows)
}

/** Counts rows of `id` and `detail`, each of which breaks the invariant, and keeps the first few. */
export async function findBroken(tx: Db, invariant: Invariant, broken: RawBuilder<unknown>): Promise<Finding[]> {
  const { rows } = await sql<{ id: string; detail: string; violations: number }>`
    select id, detail, count(*) over ()::int as violations from (${broken}) as broken
    order by id limit ${EXAMPLES_MAX}`.execute(tx)
  const [first] = rows
  if (!first) return []
  return [{ invariant, violations: first.violations, examples: rows.map(({ id, detail }) => ({ id, detail })) }]
}
