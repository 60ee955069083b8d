import { sql, type RawBuilder } from 'kysely'
import { FAILURES, LATENCY_COUNTS } from '../../rules/billing/usage-counts.ts'
import { CALLERS_OWN, SLOT_MS } from '../../rules/upstreams/availability.ts'
import type { Db } from '../database.ts'

/** How models and providers have answered, of all publishers together: written with the usage roll-up, and forgotten. */

const FAILED = sql`outcome in (${sql.join([...FAILURES].map((outcome) => sql.lit(outcome)))})`
const OWN = sql`(${sql.join(CALLERS_OWN.map((kind) => sql.lit(kind)))})`
const KEY = sql`starts_at, kind, name`
const SUMS = sql`calls = a.calls + excluded.calls, failures = a.failures + excluded.failures,
  callers = a.callers | excluded.callers, failed_for = a.failed_for | excluded.failed_for`

/**
 * Parts of a statement that add what is in `facts`: a model is judged by calls, a provider by each try. Rows are taken in the
 * order of their keys, as everywhere: two that write the same ones never wait for each other in a circle.
 */
export function addToAvailability(facts: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    asked as materialized (
      select f.*, 1::int8 << (hashtextextended(p.publisher_id::text, 0) & 63)::int as bit, attempts->-1->>'failed' as last_failed
      from ${facts} f join projects p on p.id = f.project_id
    ), measured as materialized (
      select began_at, 'model' as kind, model_id as name, ${FAILED} as failed, first_token_bucket, bit from asked
      where not (${FAILED} and last_failed is not null and last_failed in ${OWN})
      union all
      select began_at, 'provider', try->>'provider', try->>'failed' is not null, null, bit
      from asked, json_array_elements(attempts) as try
      where try->>'failed' is null or try->>'failed' not in ${OWN}
    ), slots as (
      insert into availability_slots as a (${KEY}, calls, failures, callers, failed_for, first_tokens)
      select date_bin(${SLOT_MS} * interval '1 ms', began_at, timestamptz '2000-01-01 00:00:00Z'), kind, name, ${COUNTED},
        array[${sql.join(Array.from({ length: LATENCY_COUNTS }, (_, n) => sql`count(*) filter (where first_token_bucket = ${sql.lit(n)})`))}]::int4[]
      from measured group by 1, 2, 3 order by 1, 2, 3
      on conflict (${KEY}) do update set ${SUMS}, first_tokens = add_counts(a.first_tokens, excluded.first_tokens)
    ), days as (
      insert into availability_days as a (${KEY}, calls, failures, callers, failed_for)
      select date_trunc('day', began_at, 'UTC'), kind, name, ${COUNTED} from measured group by 1, 2, 3 order by 1, 2, 3
      on conflict (${KEY}) do update set ${SUMS}
    )`
}

const COUNTED = sql`count(*), count(*) filter (where failed), bit_or(bit), coalesce(bit_or(bit) filter (where failed), 0)`

/** Erases what nobody is shown any more. Returns how many rows. */
export async function expireAvailability(
  db: Db,
  table: 'availability_slots' | 'availability_days',
  keptMs: number,
  most: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)} where (${KEY}) in (
      select ${KEY} from ${sql.table(table)} where starts_at < now() - ${keptMs} * interval '1 ms'
      order by starts_at limit ${most})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
