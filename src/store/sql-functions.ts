import { readFile, readdir } from 'node:fs/promises'
import { DatabaseError, type Client } from 'pg'
import { textDigestOf } from '../rules/text-digest.ts'
import { isUnavailable } from './database.ts'

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
  /** It never had the text that they have here. */
  pending: SqlFunction[]
  /** It has that text. */
  current: SqlFunction[]
  /** It had that text, until another one took its place. */
  replaced: SqlFunction[]
}

export async function findFunctionStates(client: Client): Promise<FunctionStates> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    'select name, checksum from applied_functions order by applied_at',
  )
  const texts = Map.groupBy(rows, ({ name }) => name)
  const functions = await listFunctions()
  const isKnown = ({ name, checksum }: SqlFunction) => texts.get(name)?.some((text) => text.checksum === checksum)
  const isLast = ({ name, checksum }: SqlFunction) => texts.get(name)?.at(-1)?.checksum === checksum
  return {
    pending: functions.filter((each) => !isKnown(each)),
    current: functions.filter(isLast),
    replaced: functions.filter((each) => isKnown(each) && !isLast(each)),
  }
}

/** Those that do not exist: a migration may have dropped one together with a type or a table that it needs. */
export async function findDropped(client: Client, functions: readonly SqlFunction[]): Promise<SqlFunction[]> {
  const { rows } = await client.query<{ name: string }>(
    'select proname as name from pg_proc where pronamespace = current_schema()::regnamespace',
  )
  const existing = new Set(rows.map(({ name }) => name))
  return functions.filter(({ name }) => !existing.has(name))
}

/** The database refuses what the file says. Whoever applied it rolls back, so no function was changed. */
export class BrokenFunction extends Error {
  constructor(name: string, cause: DatabaseError) {
    super(`The database refuses functions/${name}.sql (${cause.message}). No function was changed.`, { cause })
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
    `insert into applied_functions (name, checksum) select * from unnest($1::text[], $2::text[])
     on conflict (name, checksum) do update set applied_at = excluded.applied_at`,
    [functions.map(({ name }) => name), functions.map(({ checksum }) => checksum)],
  )
}

async function applyFunction(client: Client, { name, sql }: SqlFunction): Promise<void> {
  try {
    await client.query(sql)
  } catch (error) {
    if (!(error instanceof DatabaseError) || isUnavailable(error) || error.code === NO_RIGHT) throw error
    throw new BrokenFunction(name, error)
  }
}
