import { readFile, readdir } from 'node:fs/promises'
import type { Client } from 'pg'
import { textDigestOf } from '../rules/text-digest.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)

export interface Migration {
  name: string
  sql: string
  checksum: string
  /** The newest migration that a program must know to work with this one. Undefined: every program does. */
  oldestProgram: string | undefined
}

/** In a comment of a migration that takes something away: `-- Oldest program: 0024`. */
const OLDEST_PROGRAM = /^-- Oldest program: (\d{4})$/m

export async function listMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, FOLDER), 'utf8')
      const oldestProgram = OLDEST_PROGRAM.exec(sql)?.[1]
      return { name, sql, checksum: textDigestOf(sql).toString('hex'), oldestProgram }
    }),
  )
}

export const MIGRATIONS_TABLE =
  'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())'

export interface AppliedMigration {
  name: string
  /** Computed from the text that was applied. */
  checksum: string
  oldestProgram: string | null
}

/** By way of JSON, because the column comes with a migration that may still be missing. */
export const APPLIED_MIGRATIONS = `select name, checksum, to_jsonb(m) ->> 'oldest_program' as "oldestProgram"
  from migrations m order by name`

export async function appliedMigrations(client: Client): Promise<AppliedMigration[]> {
  return (await client.query<AppliedMigration>(APPLIED_MIGRATIONS)).rows
}

/** The text is not the one that was applied: a file was edited, or is of another build. */
export class ForeignMigration extends Error {
  constructor(name: string) {
    super(
      `Migration ${name}: this copy of Parley has another text of it than the one that migrated the database. Install the released files.`,
    )
  }
}

/** A newer version has taken away what this one needs. */
export class DatabaseTooNew extends Error {
  constructor(newer: string, oldestProgram: string, newest: string) {
    super(
      `The database was migrated by a newer version of Parley (${newer}), and works with programs that have migration ` +
        `${oldestProgram} or a later one. This program ends with ${newest}. Install the newer version.`,
    )
  }
}

/** Returns the migrations that are missing. Throws when an applied one was edited afterwards. */
export function pendingOf(migrations: readonly Migration[], applied: readonly AppliedMigration[]): Migration[] {
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]))
  for (const { name, checksum } of migrations) {
    if ((checksums.get(name) ?? checksum) !== checksum) throw new ForeignMigration(name)
  }
  return migrations.filter(({ name }) => !checksums.has(name))
}

/**
 * The names of those that only a newer version has. Usually this one works on their tables, as during every update. Throws
 * when one of them says that it does not.
 */
export function newerOf(migrations: readonly Migration[], applied: readonly AppliedMigration[]): string[] {
  const known = new Set(migrations.map(({ name }) => name))
  const newest = numberOf(migrations.at(-1)?.name ?? '')
  const newer = applied.filter(({ name }) => !known.has(name))
  for (const { name, oldestProgram } of newer) {
    if (oldestProgram !== null && oldestProgram > newest) throw new DatabaseTooNew(name, oldestProgram, newest)
  }
  return newer.map(({ name }) => name)
}

/** `0016` */
export function numberOf(migration: string): string {
  return /^\d+/.exec(migration)?.[0] ?? migration
}
