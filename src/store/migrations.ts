import { readFile, readdir } from 'node:fs/promises'
import type { Client } from 'pg'
import { textDigestOf } from '../rules/text-digest.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)

export interface Migration {
  name: string
  sql: string
  checksum: string
}

export async function listMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, FOLDER), 'utf8')
      return { name, sql, checksum: textDigestOf(sql).toString('hex') }
    }),
  )
}

export const MIGRATIONS_TABLE =
  'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())'

/** By name, the checksum of the text that was applied. */
export async function appliedMigrations(client: Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string }>('select name, checksum from migrations')
  return new Map(rows.map((row) => [row.name, row.checksum]))
}

/** The text is not the one that was applied: a file was edited, or is of another build. */
export class ForeignMigration extends Error {
  constructor(name: string) {
    super(
      `Migration ${name}: this copy of Parley has another text of it than the one that migrated the database. Install the released files.`,
    )
  }
}

/** Those that are missing. Throws when an applied one was edited afterwards. */
export function pendingOf(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): Migration[] {
  for (const { name, checksum } of migrations) {
    const before = applied.get(name)
    if (before !== undefined && before !== checksum) {
      throw new ForeignMigration(name)
    }
  }
  return migrations.filter((migration) => !applied.has(migration.name))
}

/** Has a version that came after this one migrated the database? */
export function isFromNewer(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): boolean {
  const known = new Set(migrations.map(({ name }) => name))
  return [...applied.keys()].some((name) => !known.has(name))
}
