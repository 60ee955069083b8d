import { readFile, readdir } from 'node:fs/promises'
import { DatabaseError, type Client } from 'pg'
import { textDigestOf } from '../rules/text-digest.ts'
import { isUnavailable } from './database.ts'
import { isLostRace } from './lock-waits.ts'

const FOLDER = new URL('../../functions/', import.meta.url)

/** A function of the database. Its file in functions/ has its only body. */
export interface SqlFunction {
  name: string
  sql: string
  checksum: string
}

export async function listFunctions(): Promise<SqlFunction[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.sql')).toSorted()
  return Promise.all(
    files.map(async (file) => {
      const sql = await readFile(new URL(file, FOLDER), 'utf8')
      return { name: file.slice(0, -'.sql'.length), sql, checksum: textDigestOf(sql).toString('hex') }
    }),
  )
}

/**
 * Every text that was ever applied, and not the last one alone: a process of the version before, which may start again while
 * this version is rolled out, finds its own texts here and does not put them back.
 */
export const FUNCTIONS_TABLE = `create table if not exists applied_functions (name text not null, checksum text not null,
  applied_at timestamptz not null default now(), primary key (name, checksum))`

/** By what the database has of them. */
export interface FunctionStates {
  /** It never had the text that they have here, or the function is gone. */
  pending: SqlFunction[]
  /** It has that text. */
  current: SqlFunction[]
  /** It has that text, but the version before applied it, and did not note what PostgreSQL made of it. */
  unsure: SqlFunction[]
  /** It had that text, until another one took its place. */
  replaced: SqlFunction[]
  /** Functions, pending ones aside, that are not in the database as they were applied last: they were edited by hand. */
  edited: SqlFunction[]
}

export interface FunctionScope {
  /** A newer version has migrated the database: a function that is gone may be one that it has no more. */
  isFromNewer: boolean
  /** Every function counts as pending, whatever the database has. */
  isAll?: boolean
}

export async function findFunctionStates(client: Client, scope: FunctionScope): Promise<FunctionStates> {
  const functions = await listFunctions()
  if (scope.isAll) return { pending: functions, current: [], unsure: [], replaced: [], edited: [] }
  // By way of JSON, because the column comes with a migration that may still be missing.
  const { rows } = await client.query<{ name: string; checksum: string; noted: string | null; actual: string | null }>(
    `select name, checksum, to_jsonb(f) ->> 'definition_digest' as noted, ${definitionDigestOf('f.name')} as actual
     from applied_functions f order by applied_at`,
  )
  const texts = Map.groupBy(rows, ({ name }) => name)
  const lastOf = ({ name }: SqlFunction) => texts.get(name)?.at(-1)
  const gone = new Set(scope.isFromNewer ? [] : (await findDropped(client, functions)).map(({ name }) => name))
  const isKnown = ({ name, checksum }: SqlFunction) => texts.get(name)?.some((text) => text.checksum === checksum)
  const isLast = (each: SqlFunction) => lastOf(each)?.checksum === each.checksum
  const isNoted = (each: SqlFunction) => lastOf(each)?.noted !== null
  const isEdited = (each: SqlFunction) => isNoted(each) && lastOf(each)?.noted !== lastOf(each)?.actual
  const isPending = (each: SqlFunction) => !isKnown(each) || gone.has(each.name)
  const others = functions.filter((each) => !isPending(each))
  return {
    pending: functions.filter(isPending),
    current: others.filter((each) => isLast(each) && isNoted(each)),
    unsure: others.filter((each) => isLast(each) && !isNoted(each)),
    replaced: others.filter((each) => !isLast(each)),
    edited: others.filter(isEdited),
  }
}

/** SQL: what a function of that name does, as PostgreSQL has it. Rights and owner are no part of it. */
function definitionDigestOf(name: string): string {
  return `(select encode(sha256(convert_to(jsonb_agg(jsonb_build_array(pg_get_function_arguments(p.oid),
      pg_get_function_result(p.oid), l.lanname, p.prosrc, p.prosecdef, p.provolatile, p.proisstrict, p.proparallel,
      p.proconfig) order by p.oid::regprocedure::text)::text, 'UTF8')), 'hex')
    from pg_proc p join pg_language l on l.oid = p.prolang
    where p.proname = ${name} and p.pronamespace = current_schema()::regnamespace)`
}

/**
 * Finds the functions that do not exist: a migration may have dropped one together with a type or a table that it needs, or it
 * was dropped by hand.
 */
export async function findDropped(client: Client, functions: readonly SqlFunction[]): Promise<SqlFunction[]> {
  const { rows } = await client.query<{ name: string }>(
    'select proname as name from pg_proc where pronamespace = current_schema()::regnamespace',
  )
  const existing = new Set(rows.map(({ name }) => name))
  return functions.filter(({ name }) => !existing.has(name))
}

/** The database refuses what the file says. Whoever applied it rolls back, so nothing of that transaction was changed. */
export class BrokenFunction extends Error {
  constructor(name: string, cause: DatabaseError) {
    const what = `The database refuses functions/${name}.sql (${cause.message})`
    super(`${what}. No function was changed, and a migration that came with it was rolled back.`, { cause })
  }
}

/** PostgreSQL's code for it. That is the login's fault and not the function's. */
const NO_RIGHT = '42501'

/** Within a transaction of the caller's. Tells of each before it is applied. */
export async function applyFunctions(
  client: Client,
  functions: readonly SqlFunction[],
  onEach: (name: string) => void,
): Promise<void> {
  if (functions.length === 0) return
  // First all of them unchecked, so that their order does not matter; then each once more, with all others in place.
  for (const isChecked of [false, true]) {
    await client.query(`set local check_function_bodies = ${isChecked ? 'on' : 'off'}`)
    for (const each of functions) {
      onEach(each.name)
      await applyFunction(client, each)
    }
  }
  await client.query(
    `insert into applied_functions (name, checksum, definition_digest)
     select f.name, f.checksum, ${definitionDigestOf('f.name')} from unnest($1::text[], $2::text[]) as f (name, checksum)
     on conflict (name, checksum) do update
       set applied_at = excluded.applied_at, definition_digest = excluded.definition_digest`,
    [functions.map(({ name }) => name), functions.map(({ checksum }) => checksum)],
  )
}

async function applyFunction(client: Client, { name, sql }: SqlFunction): Promise<void> {
  try {
    await client.query(sql)
  } catch (error) {
    if (!(error instanceof DatabaseError) || isUnavailable(error) || isLostRace(error)) throw error
    if (error.code === NO_RIGHT) throw error
    throw new BrokenFunction(name, error)
  }
}
