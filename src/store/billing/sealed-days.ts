import { sql } from 'kysely'
import type { Finding } from '../../rules/billing/invariants.ts'
import type { Db } from '../database.ts'

/** The totals of a day of charges when it was sealed: migrations/0025_sealed_days.sql. */
export interface Seal {
  charges: number
  fingerprint: bigint
  /** By project: what was charged to it. */
  charged: Map<string, bigint>
}

/** A day and the partitions of that day, by the bounds that they have in common. */
export interface SealedDay {
  /** `2026-10-01` */
  day: string
  /** As in `Partition`. */
  bounds: string
}

/** SQL: the first id of a day, and of the one after it. */
const BOUNDS = sql`first_id_of(day::timestamp at time zone 'utc')::text || ' ' ||
  first_id_of((day + 1)::timestamp at time zone 'utc')::text`

export async function listSealedDays(db: Db): Promise<SealedDay[]> {
  const { rows } = await sql<SealedDay>`select day::text, ${BOUNDS} as bounds from sealed_days order by day`.execute(db)
  return rows
}

export async function findSeal(db: Db, day: string): Promise<Seal | undefined> {
  const { rows } = await sql<{ charges: bigint; fingerprint: bigint }>`
    select charges, fingerprint from sealed_days where day = ${day}::date`.execute(db)
  const [seal] = rows
  if (!seal) return undefined
  const sums = await sql<{ account_id: string; charged: string }>`
    select account_id, charged_nanos::text as charged from sealed_sums where day = ${day}::date`.execute(db)
  return {
    charges: Number(seal.charges),
    fingerprint: seal.fingerprint,
    charged: new Map(sums.rows.map(({ account_id, charged }) => [account_id, BigInt(charged)])),
  }
}

/** Writes a seal down, whole or not at all. One that is there already stays. */
export async function insertSeal(db: Db, day: string, { charges, fingerprint, charged }: Seal): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ day: string }>`
      insert into sealed_days (day, charges, fingerprint) values (${day}::date, ${charges}, ${fingerprint})
      on conflict (day) do nothing returning day::text`.execute(tx)
    if (rows.length === 0) return
    await sql`
      insert into sealed_sums (day, account_id, charged_nanos)
      select ${day}::date, account_id, charged
      from unnest(${[...charged.keys()]}::uuid[], ${[...charged.values()].map(String)}::numeric[]) as s (account_id, charged)`.execute(
      tx,
    )
  })
}

/** I9: how rows differ from what was sealed. Without rows of calls, their fingerprint is not known. */
export function differencesOf(
  day: string,
  seal: Seal,
  rows: { charges?: Seal | undefined; callsFingerprint?: bigint | undefined },
): Finding[] {
  const details: string[] = []
  const { charges, callsFingerprint } = rows
  if (callsFingerprint !== undefined && callsFingerprint !== seal.fingerprint) {
    details.push('its calls are not those that were sealed')
  }
  if (charges) {
    if (charges.charges !== seal.charges) details.push(`${charges.charges} charges, ${seal.charges} were sealed`)
    else if (charges.fingerprint !== seal.fingerprint) details.push('its charges are not those that were sealed')
    const ids = new Set([...seal.charged.keys(), ...charges.charged.keys()])
    const wrong = [...ids].filter((id) => (seal.charged.get(id) ?? 0n) !== (charges.charged.get(id) ?? 0n))
    if (wrong.length > 0) details.push(`wallets that were charged another sum than was sealed: ${wrong.length}`)
  }
  if (details.length === 0) return []
  return [{ invariant: 'I9', violations: 1, examples: [{ id: day, detail: details.join('; ') }] }]
}

/** The day of a call whose charge was put away; undefined when it was not. */
export async function findArchivedDay(db: Db, callId: string): Promise<string | undefined> {
  const { rows } = await sql<{ day: string }>`
    select day::text from sealed_days
    where archived_at is not null and day = (time_of_id(${callId}::uuid) at time zone 'utc')::date`.execute(db)
  return rows[0]?.day
}

/** Where its charges are, until somebody drops that table. */
export function archivedTableOf(day: string): string {
  return `archived_charges_${day.replaceAll('-', '')}`
}
