import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { Client } from 'pg'

const FOLDER = new URL('../../migrations/', import.meta.url)
/** Any number, as long as every Parley process uses the same. */
const LOCK = 7_253_941

export interface Migration {
  name: string
  sql: string
  checksum: string
}

export interface MigrationReport {
  applied: string[]
  total: number
}

export async function listMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).toSorted()
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, FOLDER), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

/** Applies what is missing, in order, each in its own transaction, one process at a time. */
export async function migrate(databaseUrl: string): Promise<MigrationReport> {
  const client = new Client({ connectionString: databaseUrl, application_name: 'parley migrate' })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK])
    await client.query(
      'create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())',
    )
    const migrations = await listMigrations()
    const pending = pendingOf(migrations, await appliedMigrations(client))
    for (const migration of pending) {
      await client.query('begin')
      await client.query(migration.sql)
      await client.query('insert into migrations (name, checksum) values ($1, $2)', [
        migration.name,
        migration.checksum,
      ])
      await client.query('commit')
    }
    return { applied: pending.map((migration) => migration.name), total: migrations.length }
  } finally {
    // Ends the transaction and the lock too, whatever happened.
    await client.end()
  }
}

/** The names of migrations that the database still lacks. Throws when an applied one was edited afterwards. */
export async function pendingMigrations(databaseUrl: string): Promise<string[]> {
  const client = new Client({
    connectionString: databaseUrl,
    application_name: 'parley migrations',
    connectionTimeoutMillis: 2_000,
  })
  await client.connect()
  try {
    const exists = await client.query<{ found: boolean }>("select to_regclass('migrations') is not null as found")
    const applied = exists.rows[0]?.found ? await appliedMigrations(client) : new Map<string, string>()
    return pendingOf(await listMigrations(), applied).map((migration) => migration.name)
  } finally {
    await client.end()
  }
}

async function appliedMigrations(client: Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string }>('select name, checksum from migrations')
  return new Map(rows.map((row) => [row.name, row.checksum]))
}

function pendingOf(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): Migration[] {
  for (const { name, checksum } of migrations) {
    const before = applied.get(name)
    if (before !== undefined && before !== checksum) {
      throw new Error(
        `Migration ${name} was changed after it had been applied. Restore the file and add a new migration instead.`,
      )
    }
  }
  return migrations.filter((migration) => !applied.has(migration.name))
}
