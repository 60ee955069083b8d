import { sql } from 'kysely'
import { LONGEST_CALL_MS } from '../../../rules/limits.ts'
import type { Finding } from '../../../rules/billing/invariants.ts'
import { findStrayCalls, findStrayCharges, fingerprintCalls, sumCharges } from './charges.ts'
import {
  addCharges,
  addEntries,
  addTransfers,
  blocksOfTransfers,
  findStrayCallsBetween,
  firstIdOf,
  mix,
  noEntries,
  pagesOf,
  REVENUE,
  type Entries,
  type Partition,
  type Reading,
} from './entries.ts'
import { differencesOf, findSeal, listSealedDays, type Seal } from '../sealed-days.ts'
import type { Db } from '../../database.ts'

/** PostgreSQL's code for it. */
const UNDEFINED_TABLE = '42P01'
const LANES = 2

/**
 * Every entry up to `boundary` and every call, page by page, each in a snapshot of its own: what was settled up to there does
 * not change any more. To look up the call of each charge would take three times as long as everything else together, so
 * only the fingerprints of days are compared, of all calls that began before those that may still have been running.
 */
export async function readAll(reading: Reading, boundary: Date): Promise<Entries> {
  const { read } = reading
  const cut = await read((tx) => findCut(tx, boundary))
  const days = await readPartitions(reading, boundary, cut)
  const entries = noEntries()
  for (const day of days.values()) addEntries(entries, day)
  const archived = await addSealed(reading, days, entries)
  for (const pages of pagesOf(await read(blocksOfTransfers))) {
    reading.signal?.throwIfAborted()
    await read((tx) => addTransfers(tx, entries, sql`${pages('t')} and t.created_at <= ${boundary}`))
  }
  entries.findings.push(...(await findStrayCallsBetween(reading, cut, boundary, false)))
  const differing = [...entries.fingerprints].filter(([day, mixed]) => mixed !== 0n && !archived.has(day))
  entries.findings.push(...(await findStrays(reading, new Set(differing.map(([day]) => day)), boundary, cut)))
  return entries
}

/**
 * A moment before which no call began that was settled after `boundary`, or is not settled yet. If there is one after all,
 * because a clock was wrong, its day is compared call by call.
 */
async function findCut(tx: Db, boundary: Date): Promise<Date> {
  const { rows } = await sql<{ cut: Date }>`
    select date_trunc('milliseconds', greatest(${boundary}::timestamptz - ${LONGEST_CALL_MS} * interval '1 ms',
      least(${boundary}::timestamptz, (select min(time_of_id(h.id)) from holds h),
        (select min(time_of_id(c.id)) from charges c where c.settled_at > ${boundary})))) as cut`.execute(tx)
  return rows[0]?.cut ?? boundary
}

/** Without those that were archived meanwhile: what was read of them does not count. */
async function readPartitions(reading: Reading, boundary: Date, cut: Date): Promise<Map<Partition, Entries>> {
  const days = new Map(reading.partitions.map((partition) => [partition, noEntries()]))
  const parts = [...days].flatMap(([partition, entries]) =>
    [...pagesOf(partition.blocks)].map((pages) => ({ partition, entries, pages })),
  )
  // Shared: each lane takes the next part when it is done with one.
  const left = parts.values()
  let hasFailed = false
  const readParts = async () => {
    for (const part of left) {
      if (hasFailed || !days.has(part.partition)) continue
      try {
        reading.signal?.throwIfAborted()
        await readPages(reading, part, boundary, cut)
      } catch (error) {
        if ((error as { code?: unknown }).code === UNDEFINED_TABLE) {
          days.delete(part.partition)
          continue
        }
        hasFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, readParts))
  return days
}

interface Part {
  partition: Partition
  entries: Entries
  pages: ReturnType<typeof pagesOf> extends Generator<infer Pages> ? Pages : never
}

async function readPages({ read }: Reading, { partition, entries, pages }: Part, boundary: Date, cut: Date) {
  const { parent, table, day, lower, upper, endsAt } = partition
  const first = firstIdOf(cut)
  if (parent === 'calls') {
    const where = sql`${pages('k')} and k.id < ${first}`
    mix(entries.fingerprints, day, await read((tx) => fingerprintCalls(tx, table, where)))
    return
  }
  const where = sql`${pages('c')} and c.settled_at <= ${boundary}`
  const compared = endsAt > cut ? { callsAt: { lower, upper }, callsFrom: first } : { callsAt: undefined }
  addCharges(entries, day, await read((tx) => sumCharges(tx, { table, where, ...compared })))
}

/**
 * Adds the sums of sealed days: they stand in for rows that are archived, and are compared with those that are not. Returns the
 * archived days.
 */
async function addSealed(
  { read, signal }: Reading,
  days: ReadonlyMap<Partition, Entries>,
  entries: Entries,
): Promise<Set<string>> {
  const archived = new Set<string>()
  const rowsOf = new Map([...days].map(([{ parent, day }, rows]) => [`${parent} ${day}`, rows]))
  for (const { day, bounds } of await read(listSealedDays)) {
    signal?.throwIfAborted()
    const seal = await read((tx) => findSeal(tx, day))
    if (!seal) continue
    const charges = rowsOf.get(`charges ${bounds}`)
    const calls = rowsOf.get(`calls ${bounds}`)
    entries.findings.push(
      ...differencesOf(day, seal, {
        charges: charges && sealOf(charges, bounds),
        callsFingerprint: calls?.fingerprints.get(bounds),
      }),
    )
    if (!charges) addCharges(entries, bounds, { ...seal, charges: 0, findings: [] })
    if (!calls) mix(entries.fingerprints, bounds, seal.fingerprint)
    if (!charges || !calls) archived.add(bounds)
  }
  return archived
}

function sealOf({ charges, sums, fingerprints }: Entries, bounds: string): Seal {
  const charged = [...sums].filter(([id]) => id !== REVENUE).map(([id, nanos]): [string, bigint] => [id, -nanos])
  return { charges, fingerprint: fingerprints.get(bounds) ?? 0n, charged: new Map(charged) }
}

/** Compares the charges and calls of some days one by one, as far as they began before `cut`. */
async function findStrays(
  { read, partitions, signal }: Reading,
  days: ReadonlySet<string>,
  boundary: Date,
  cut: Date,
): Promise<Finding[]> {
  const findings: Finding[] = []
  const first = firstIdOf(cut)
  for (const { parent, table, blocks, day, lower, upper } of partitions) {
    if (!days.has(day)) continue
    for (const pages of pagesOf(blocks)) {
      signal?.throwIfAborted()
      const found = await read((tx) =>
        parent === 'calls'
          ? findStrayCalls(tx, table, sql`${pages('k')} and k.id < ${first}`, { lower, upper })
          : findStrayCharges(tx, {
              table,
              where: sql`${pages('c')} and c.settled_at <= ${boundary} and c.id < ${first}`,
              callsAt: { lower, upper },
            }),
      )
      findings.push(...found)
    }
  }
  return findings
}
