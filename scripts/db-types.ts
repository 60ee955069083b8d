/**
 * Writes src/store/schema.gen.ts, what Kysely knows about the tables, from a freshly migrated database. `--check` writes
 * nothing and fails when the committed file differs, so that a migration cannot leave the types behind.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { createTestDatabase, openTestPostgres } from '../test/support/database.ts'

interface Column {
  table: string
  column: string
  /** The name in pg_type: of the elements when `is_array`, of the underlying type for a domain. */
  type: string
  is_array: boolean
  labels: string[] | null
  nullable: boolean
  has_default: boolean
}

const SCHEMA_PATH = join(import.meta.dirname, '../src/store/schema.gen.ts')

const TYPES: Record<string, string> = {
  bool: 'boolean',
  bytea: 'Buffer',
  date: 'Date',
  float4: 'number',
  float8: 'number',
  inet: 'string',
  int2: 'number',
  int4: 'number',
  int8: 'bigint',
  json: 'unknown',
  jsonb: 'unknown',
  numeric: 'string',
  text: 'string',
  timestamptz: 'Date',
  uuid: 'string',
  varchar: 'string',
  xid8: 'string',
}

/** Extensions bring tables of their own, which are not ours to query. */
const COLUMNS = `
select c.relname as "table", a.attname as "column", base.typname as type,
  t.typcategory = 'A' and t.typtype = 'b' as is_array,
  (select array_agg(e.enumlabel::text order by e.enumsortorder) from pg_enum e where e.enumtypid = base.oid) as labels,
  not (a.attnotnull or t.typnotnull) as nullable,
  (a.atthasdef or a.attidentity <> '') and c.relkind in ('r', 'p') as has_default
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
join pg_type t on t.oid = a.atttypid
join pg_type base on base.oid =
  case when t.typtype = 'd' then t.typbasetype when t.typcategory = 'A' then t.typelem else t.oid end
where c.relnamespace = 'public'::regnamespace
  and c.relkind in ('r', 'p', 'v', 'm')
  and not c.relispartition
  and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
order by c.relname, a.attnum`

const { values: flags } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const generated = sourceOf(await readColumns())
if (!flags.check) {
  await writeFile(SCHEMA_PATH, generated)
} else {
  const committed = await readFile(SCHEMA_PATH, 'utf8').catch(() => '')
  if (committed !== generated) {
    console.error(`src/store/schema.gen.ts is not what the migrations make: run "node scripts/db-types.ts"`)
    console.error(firstDifference(committed, generated))
    process.exitCode = 1
  }
}

async function readColumns(): Promise<Column[]> {
  const server = await openTestPostgres()
  try {
    const database = await createTestDatabase(server.url)
    const client = new Client({ connectionString: database.url })
    try {
      await client.connect()
      return (await client.query<Column>(COLUMNS)).rows
    } finally {
      await client.end()
      await database.drop()
    }
  } finally {
    await server.stop()
  }
}

function sourceOf(columns: Column[]): string {
  const tables = Map.groupBy(columns, (column) => column.table)
  const interfaces = [...tables].map(([table, its]) => interfaceOf(pascalCase(table), its.map(fieldOf)))
  const database = interfaceOf(
    'Database',
    [...tables.keys()].map((table) => `${table}: ${pascalCase(table)}`),
  )
  const head = [
    '// Generated from migrations/ by `node scripts/db-types.ts`. Do not edit: change a migration and generate again.',
    `import type { Generated } from 'kysely'`,
  ]
  return `${head.join('\n')}\n\n${[...interfaces, database].join('\n\n')}\n`
}

function interfaceOf(name: string, fields: string[]): string {
  return `export interface ${name} {\n${fields.map((field) => `  ${field}\n`).join('')}}`
}

function fieldOf(column: Column): string {
  const value = valueOf(column)
  const type = column.nullable && value !== 'unknown' ? `${value} | null` : value
  return `${column.column}: ${column.has_default ? `Generated<${type}>` : type}`
}

function valueOf(column: Column): string {
  const element = column.labels?.map((label) => `'${label}'`).join(' | ') ?? TYPES[column.type]
  // Guessing would let a wrong type into every query that reads the column.
  if (element === undefined)
    throw new Error(`${column.table}.${column.column}: teach scripts/db-types.ts the type ${column.type}`)
  if (!column.is_array) return element
  return element.includes(' ') ? `(${element})[]` : `${element}[]`
}

function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|_)([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function firstDifference(committed: string, fresh: string): string {
  const before = committed.split('\n')
  const after = fresh.split('\n')
  const at = after.findIndex((line, n) => line !== before[n])
  const line = at === -1 ? after.length : at
  return `line ${line + 1}\n- ${before[line] ?? '(end of file)'}\n+ ${after[line] ?? '(end of file)'}`
}
