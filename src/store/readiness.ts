import { sql } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from './database.ts'
import { expectReachable } from './health.ts'
import { listMigrations } from './migrations.ts'
import { listFunctions } from './sql-functions.ts'

/** The things that a process lacks, in sentences for its operator. */
export interface Readiness {
  /** Without these it cannot do its work. */
  missing: string[]
  /** It works, but somebody should know. */
  warnings: string[]
}

const ANSWERED_WITHIN_MS = 1_000
const REACH_ASKED_EVERY_MS = 1_000
/** One slow answer does not take a process out of its balancer. */
const UNREACHED_AFTER_MS = 5_000

/**
 * Does the store answer? However often it is asked, there is one statement at a time and one a second, and one that hangs
 * counts as none.
 */
export function createReachability(db: Db): () => Promise<boolean> {
  let reachedMs = Number.NEGATIVE_INFINITY
  const ask = createSeldom(REACH_ASKED_EVERY_MS, async () => {
    await expectReachable(db)
    reachedMs = performance.now()
  })
  return async () => {
    await ask()
    return performance.now() - reachedMs < UNREACHED_AFTER_MS
  }
}

export interface SchemaNeeds {
  /** The functions that it calls. Those that these call are needed as well. */
  functions: readonly string[]
  /** Does it write calls and charges? */
  writesCalls?: boolean
  /** Told when a day has no partition. */
  onPartitionMissing?: () => void
}

const SCHEMA_ASKED_EVERY_MS = 15_000
/** Clocks of gateways may be ahead of the store's: tomorrow begins so much earlier. */
const TOMORROW_NEEDED = sql`interval '10 minutes'`

/**
 * Has the database what this version needs? Asked now and then; in between, and while the store does not answer, what it last
 * said counts, because who cannot reach it notices that elsewhere.
 */
export function createSchemaCheck(db: Db, needs: SchemaNeeds): () => Promise<Readiness> {
  let last: Readiness = { missing: ['The database has not answered yet.'], warnings: [] }
  const names = Promise.all([listMigrations(), functionsNeededBy(needs.functions)])
  // Each check that awaits it gets the error.
  names.catch(() => {})
  const ask = createSeldom(SCHEMA_ASKED_EVERY_MS, async () => {
    const [migrations, functions] = await names
    const lacking = await findLacking(
      db,
      migrations.map(({ name }) => name),
      functions,
    )
    last = readinessOf(lacking, needs)
    if (lacking.partitions.length > 0) needs.onPartitionMissing?.()
  })
  return async () => {
    await ask()
    return last
  }
}

/** Runs `work` at most that often, one at a time; waits for it a moment, and never fails. */
function createSeldom(everyMs: number, work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let endedMs = Number.NEGATIVE_INFINITY
  async function run(): Promise<void> {
    try {
      await work()
      endedMs = performance.now()
    } catch {
      // A caller that needs the answer sees that there is none.
    }
    running = undefined
  }
  return async () => {
    if (performance.now() - endedMs < everyMs) return
    running ??= run()
    await Promise.race([running, sleep(ANSWERED_WITHIN_MS, undefined, { ref: false })])
  }
}

interface Lacking {
  migrations: string[]
  functions: string[]
  partitions: { name: string; isNeeded: boolean }[]
}

const NOT_THERE = '42P01'
const NOT_ALLOWED = '42501'

async function findLacking(db: Db, migrations: readonly string[], functions: readonly string[]): Promise<Lacking> {
  const { rows } = await sql<Omit<Lacking, 'migrations'>>`
    select array(select name from unnest(${functions}::text[]) as name
        where not exists (select from pg_proc where proname = name and pronamespace = current_schema()::regnamespace)) as functions,
      (select coalesce(json_agg(json_build_object('name', parent || ' of ' || day, 'isNeeded', parent <> 'recommendations'
          and day <= ((now() + ${TOMORROW_NEEDED}) at time zone 'utc')::date) order by day, parent), '[]')
        from unnest(array['charges', 'calls', 'recommendations']) as parent,
          unnest(array[(now() at time zone 'utc')::date, (now() at time zone 'utc')::date + 1]) as day
        where to_regclass(parent || to_char(day, '_YYYYMMDD')) is null) as partitions`.execute(db)
  const [found] = rows
  if (!found) throw new Error('the store did not say what it has')
  return { ...found, migrations: await findUnapplied(db, migrations) }
}

async function findUnapplied(db: Db, migrations: readonly string[]): Promise<string[]> {
  try {
    const applied = await db.selectFrom('migrations').select('name').where('name', 'in', migrations).execute()
    const names = new Set(applied.map(({ name }) => name))
    return migrations.filter((name) => !names.has(name))
  } catch (error) {
    const { code } = error as { code?: unknown }
    // The right to read it came with one of them.
    if (code === NOT_THERE || code === NOT_ALLOWED) return migrations.slice(-1)
    throw error
  }
}

function readinessOf({ migrations, functions, partitions }: Lacking, { writesCalls = false }: SchemaNeeds): Readiness {
  const mend = 'Run "parley migrate".'
  const needed = partitions.filter(({ isNeeded }) => isNeeded && writesCalls)
  return {
    missing: [
      ...migrations.map((name) => `The migration ${name} is not applied. ${mend}`),
      ...functions.map((name) => `The database has no function ${name}. ${mend}`),
      ...needed.map(sentenceOfDay),
    ],
    warnings: partitions.filter((partition) => !needed.includes(partition)).map(sentenceOfDay),
  }
}

function sentenceOfDay({ name }: { name: string }): string {
  return `There is no partition ${name}: nothing of that day can be written.`
}

/** These, and those that are named in their bodies, and so on. */
export async function functionsNeededBy(entries: readonly string[]): Promise<string[]> {
  const functions = await listFunctions()
  const needed = new Set(entries)
  for (const name of needed) {
    const words = new Set(functions.find((each) => each.name === name)?.sql.match(/\w+/g))
    for (const other of functions) if (words.has(other.name)) needed.add(other.name)
  }
  return [...needed].toSorted()
}
