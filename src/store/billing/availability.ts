import { sql, type RawBuilder } from 'kysely'
import { LATENCY_COUNTS } from '../../rules/billing/usage-counts.ts'
import { CALLS_MIN, type Measured, type Slot, type Subject } from '../../rules/upstreams/availability.ts'
import type { Db } from '../database.ts'
import { sumArrays } from './usage.ts'

/** Reads how models and providers have answered. Rows are as many as models and slots, whatever the number of calls. */

export interface SubjectSums extends Subject {
  newest: Measured
  hour: Measured
  day: Measured
  hourFirstTokens: number[]
  dayFirstTokens: number[]
}

type Span = 'newest' | 'hour' | 'day'

/** Sums what was measured since each of these moments, at which slots begin; the day is the longest span. */
export async function sumAvailability(db: Db, since: Record<Span, Date>): Promise<SubjectSums[]> {
  const within = (span: Span) => sql`filter (where starts_at >= ${since[span]})`
  const measuredIn = (span: Span) => sql`json_build_object(${MEASURED(within(span))}) as ${sql.id(span)}`
  const { rows } = await sql<Subject & Record<Span, Told> & Pick<SubjectSums, 'hourFirstTokens' | 'dayFirstTokens'>>`
    select kind, name, ${measuredIn('newest')}, ${measuredIn('hour')}, ${measuredIn('day')},
      ${sumArrays('first_tokens', LATENCY_COUNTS, within('hour'))} as "hourFirstTokens",
      ${sumArrays('first_tokens', LATENCY_COUNTS)} as "dayFirstTokens"
    from availability_slots where starts_at >= ${since.day} group by 1, 2 order by 1, 2`.execute(db)
  return rows.map((row) =>
    Object.assign(row, { newest: measuredOf(row.newest), hour: measuredOf(row.hour), day: measuredOf(row.day) }),
  )
}

/** The measurements as JSON can hold them. */
interface Told {
  calls: number
  failures: number
  callers: string
  failedFor: string
}

const MEASURED = (filter: RawBuilder<unknown>) => sql`
  'calls', coalesce(sum(calls) ${filter}, 0), 'failures', coalesce(sum(failures) ${filter}, 0),
  'callers', coalesce(bit_or(callers) ${filter}, 0)::text, 'failedFor', coalesce(bit_or(failed_for) ${filter}, 0)::text`

function measuredOf({ calls, failures, callers, failedFor }: Told): Measured {
  return { calls, failures, callers: BigInt(callers), failedFor: BigInt(failedFor) }
}

export async function listAvailabilityDays(db: Db, since: Date): Promise<Slot[]> {
  const rows = await db
    .selectFrom('availability_days')
    .select(['starts_at', 'kind', 'name', 'calls', 'failures', 'callers', 'failed_for'])
    .where('starts_at', '>=', since)
    .orderBy('starts_at')
    .execute()
  return rows.map(slotOf)
}

/** Lists slots with enough calls of which many failed; the index has no others. */
export async function listSlotsInTrouble(db: Db, since: Date): Promise<Slot[]> {
  const { rows } = await sql<Row>`
    select starts_at, kind, name, calls, failures, callers, failed_for from availability_slots
    where starts_at >= ${since} and calls >= ${sql.lit(CALLS_MIN)} and failures * 10 >= calls order by starts_at`.execute(
    db,
  )
  return rows.map(slotOf)
}

interface Row {
  starts_at: Date
  kind: string
  name: string
  calls: bigint
  failures: bigint
  callers: bigint
  failed_for: bigint
}

function slotOf({ starts_at, kind, name, calls, failures, callers, failed_for }: Row): Slot {
  const measured = { calls: Number(calls), failures: Number(failures), callers, failedFor: failed_for }
  return { startsAt: starts_at, kind: kind as Slot['kind'], name, ...measured }
}
