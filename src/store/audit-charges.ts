import { sql, type RawBuilder } from 'kysely'
import { EXAMPLES_MAX, type Finding, type Invariant } from '../rules/invariants.ts'
import type { Db } from './database.ts'

/** What one charge, one call and the two together can be checked for, whatever else is in the ledger. */

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
  /** Of those, which are summed and checked; the others are only part of the fingerprint. */
  isCounted: Condition
  /** Also looks at the call of each charge, at these ids. */
  callsAt: IdRange | undefined
}

export interface ChargeSums {
  /** One per project: what was charged to it. */
  charged: Map<string, bigint>
  counted: number
  rows: number
  fingerprint: bigint
  findings: Finding[]
}

// In what follows, `c` is a charge, `v` its price version and `k` a call.

const worth = (type: 'int8' | 'numeric') => {
  const price = sql.raw(type)
  return sql`(c.input_tokens * v.input::${price} + c.cached_input_tokens * v.cached_input::${price}
    + c.cache_write_tokens * v.cache_write::${price} + c.output_tokens * v.output::${price}
    + c.reasoning_tokens * v.reasoning::${price})`
}
const EXACT_WORTH = sql`ceil(${worth('numeric')} / 1000000)`
const TOKENS = sql`(c.input_tokens::int8 + c.cached_input_tokens + c.cache_write_tokens + c.output_tokens + c.reasoning_tokens)`
const BILL = sql`c.outcome || ', ' || c.usage_source || ' usage of ' || c.usage_nanos || ', hold of ' || c.held_nanos ||
  ', charged ' || c.charged_nanos`

/** What src/rules/charging.ts and ledger_settle make of every charge, as far as its row still shows it. */
const CHECKS: readonly Check[] = [
  {
    invariant: 'I4',
    broken: sql`(v.model_id is distinct from c.model_id)`,
    detail: sql`'its price version ' || c.price_version_id || ' is none of ' || c.model_id`,
  },
  {
    // Integers are four times faster than numerics, and below this many tokens no price can make them overflow.
    invariant: 'I4',
    broken: sql`(case when ${TOKENS} <= 900000
      then c.usage_nanos <> (${worth('int8')} + 999999) / 1000000 else c.usage_nanos <> ${EXACT_WORTH} end)`,
    detail: sql`'usage of ' || c.usage_nanos || ', but its tokens at its price are worth ' || ${EXACT_WORTH}`,
  },
  {
    // Reported usage is paid in full as far as the hold reaches. For an estimate, the gateway may have believed the hold
    // smaller than it was (the answer to an extension can be lost), so only that it was charged at all is certain.
    invariant: 'I4',
    broken: sql`(c.outcome in ('completed', 'hung_up', 'hold_used_up') and c.usage_nanos > 0 and c.charged_nanos <= 0
      or c.outcome = 'completed' and (c.usage_source = 'none'
        or c.usage_source = 'reported' and c.charged_nanos < least(c.usage_nanos, c.held_nanos)))`,
    detail: BILL,
  },
  {
    // Only reported usage may take more than was held, from what was available: an estimate is ours.
    invariant: 'I5',
    broken: sql`(c.charged_nanos > c.usage_nanos
      or c.charged_nanos <> 0 and c.outcome not in ('completed', 'hung_up', 'hold_used_up')
      or c.charged_nanos > c.held_nanos and (c.outcome <> 'completed' or c.usage_source <> 'reported'))`,
    detail: BILL,
  },
  {
    invariant: 'I6',
    broken: sql`(c.held_nanos <= 0 or c.held_at > c.settled_at)`,
    detail: sql`'hold of ' || c.held_nanos || ' at ' || c.held_at || ', settled at ' || c.settled_at`,
  },
]

/** Null: there is no such call. A subquery and not a join: one look into one index, whatever the planner believes. */
const matchesCall = ({ lower, upper }: IdRange) => sql`
  (select k.project_id = c.project_id and k.outcome = c.outcome from calls k
    where k.id = c.id and k.id >= ${lower} and k.id < ${upper})`

const callChecks = (ids: IdRange): Check[] => [
  { invariant: 'I6', broken: sql`(${matchesCall(ids)} is null)`, detail: sql`'there is no such call'` },
  { invariant: 'I4', broken: sql`(not ${matchesCall(ids)})`, detail: sql`'its call has another project or outcome'` },
]

/** Equal for a set of charges and the set of their calls; for any other two sets the chance is one in 2^64. */
const fingerprintOf = (row: 'c' | 'k') => {
  const [id, project, outcome] = ['id', 'project_id', 'outcome'].map((column) => sql.ref(`${row}.${column}`))
  return sql`coalesce(bit_xor(uuid_hash_extended(${id}, uuid_hash_extended(${project}, hashtextextended(${outcome}, 0)))), 0)`
}

export async function sumCharges(tx: Db, reading: ChargeReading): Promise<ChargeSums> {
  const { table, where, isCounted, callsAt } = reading
  const isBroken = sql.join(
    [...CHECKS.map(({ broken }) => broken), callsAt ? sql`(${matchesCall(callsAt)} is not true)` : sql`false`],
    sql` or `,
  )
  const { rows } = await sql<ProjectSum>`
    select c.project_id, count(*)::int as rows, count(*) filter (where ${isCounted})::int as counted,
      coalesce(sum(c.charged_nanos) filter (where ${isCounted}), 0)::text as charged,
      count(*) filter (where ${isCounted} and (${isBroken}))::int as broken, ${fingerprintOf('c')} as fingerprint
    from ${table} c left join price_versions v on v.id = c.price_version_id
    where ${where} group by c.project_id`.execute(tx)
  return {
    charged: new Map(rows.map((row) => [row.project_id, BigInt(row.charged)])),
    counted: rows.reduce((sum, row) => sum + row.counted, 0),
    rows: rows.reduce((sum, row) => sum + row.rows, 0),
    fingerprint: rows.reduce((mixed, row) => mixed ^ row.fingerprint, 0n),
    findings: rows.some((row) => row.broken > 0)
      ? await findCharges(tx, reading, [...CHECKS, ...(callsAt ? callChecks(callsAt) : [])])
      : [],
  }
}

interface ProjectSum {
  project_id: string
  rows: number
  counted: number
  charged: string
  broken: number
  fingerprint: bigint
}

/** Charges whose call is missing or says something else. */
export async function findStrayCharges(tx: Db, reading: ChargeReading & { callsAt: IdRange }): Promise<Finding[]> {
  return findCharges(tx, reading, callChecks(reading.callsAt))
}

async function findCharges(tx: Db, reading: ChargeReading, checks: readonly Check[]): Promise<Finding[]> {
  const { table, where, isCounted } = reading
  const findings: Finding[] = []
  for (const { invariant, broken, detail } of checks) {
    const rows = sql`
      select c.id::text as id, ${detail} as detail
      from ${table} c left join price_versions v on v.id = c.price_version_id
      where ${where} and ${isCounted} and ${broken}`
    findings.push(...(await findBroken(tx, invariant, rows)))
  }
  return findings
}

export async function fingerprintCalls(tx: Db, table: RawBuilder<unknown>, where: Condition) {
  const { rows } = await sql<{ rows: number; fingerprint: bigint }>`
    select count(*)::int as rows, ${fingerprintOf('k')} as fingerprint from ${table} k where ${where}`.execute(tx)
  return rows[0] ?? { rows: 0, fingerprint: 0n }
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
