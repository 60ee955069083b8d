import type { Db } from '../../src/store/database.ts'
import { SCALARS } from '../../src/store/billing/usage-roll-up.ts'
import { HOUR_MS } from '../../src/rules/durations.ts'

export const UNIT_MS = { usage_hours: HOUR_MS, usage_days: 24 * HOUR_MS }
type UsageTable = keyof typeof UNIT_MS

export interface UsageRow extends Partial<Record<(typeof SCALARS)[number], bigint>> {
  project_id: string
  starts_at: Date
  /** Counts in the order of CALL_OUTCOMES. */
  outcomes?: number[]
}

const NOTHING = Object.fromEntries(SCALARS.map((name) => [name, 0n]))
const WHAT = {
  model_id: 'sim-small',
  price_version_id: 1n,
  outcomes: [],
  statuses: [],
  first_tokens: [],
  durations: [],
}

/** Writes sums for an hour or a day as the worker would have, bypassing it. */
export async function addUsageRows(db: Db, table: UsageTable, rows: readonly UsageRow[]): Promise<void> {
  const values = rows.map((row) => ({ ...NOTHING, ...WHAT, key_pair_id: row.project_id, ...row }))
  await db
    .insertInto(table)
    .values(values as never)
    .execute()
}

/**
 * Each hour, or day, before the end cost twice what the one after it cost, beginning with one nano: a sum tells exactly
 * which are in it.
 */
export async function addDoubling(db: Db, table: UsageTable, project: string, endMs: number, count: number) {
  const rows = Array.from({ length: count }, (_, n) => {
    return {
      project_id: project,
      starts_at: new Date(endMs - (n + 1) * UNIT_MS[table]),
      charged_nanos: 1n << BigInt(n),
    }
  })
  await addUsageRows(db, table, rows)
}

/** The total cost of the hours, or days, from the first to the last before the end. */
export function doubled(first: number, last: number): bigint {
  return (1n << BigInt(last)) - (1n << BigInt(first - 1))
}
