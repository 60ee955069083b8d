import { sql } from 'kysely'
import { Client } from 'pg'
import type { Db, Tx } from '../../src/store/database.ts'

/**
 * A clock for a whole database that runs behind the real one: defaults, statements and functions all see it. Sessions that
 * begin after `installClock` look for `now()` in a schema of the test before PostgreSQL's own.
 */
export interface DatabaseClock {
  /** The time that it shows. */
  nowMs(): number
  setBehind(ms: number): Promise<void>
  close(): Promise<void>
}

/** Anything of ours first, then the clock's, then PostgreSQL's: tables that are made go where they belong. */
const SEARCH_PATH = 'public, parley_clock, pg_catalog'

const INSTALL = `
  create schema parley_clock;
  -- Found by its key: the ledger's connections have sequential scans switched off, and would compile what they cost.
  create table parley_clock.hand (one boolean primary key, behind interval not null);
  insert into parley_clock.hand values (true, '0');
  create function parley_clock.now() returns timestamptz language sql stable as
    'select pg_catalog.now() - (select behind from parley_clock.hand where one)';
  grant usage on schema parley_clock to public;
  grant select on parley_clock.hand to public;
  do $$
  declare found record;
  begin
    execute format('alter database %I set search_path = ${SEARCH_PATH}', current_database());
    for found in select p.oid::regprocedure as name from pg_proc p
      where p.pronamespace = 'public'::regnamespace and p.proconfig::text like '%search_path%' loop
      execute format('alter function %s set search_path = ${SEARCH_PATH}, pg_temp', found.name);
    end loop;
    for found in select d.adrelid::regclass as name, a.attname as column, pg_get_expr(d.adbin, d.adrelid) as value
      from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
      where pg_get_expr(d.adbin, d.adrelid) like '%now()%' loop
      execute format('alter table %s alter column %I set default %s', found.name, found.column,
        replace(found.value, 'now()', 'parley_clock.now()'));
    end loop;
  end $$`

export async function installClock(databaseUrl: string): Promise<DatabaseClock> {
  const client = new Client({ connectionString: databaseUrl })
  client.on('error', () => {}) // The database is dropped under it.
  await client.connect()
  await client.query(INSTALL)
  let behindMs = 0
  return {
    nowMs: () => Date.now() - behindMs,
    async setBehind(ms) {
      behindMs = ms
      await client.query(`update parley_clock.hand set behind = $1 * interval '1 ms'`, [ms])
    },
    close: () => client.end(),
  }
}

/**
 * Does something as if it were so much later for these functions of the database, in a transaction of which nobody else sees
 * that the clock was moved: for a world that is running, whose sessions and leases know the time.
 */
export function later<T>(db: Db, ms: number, functions: readonly string[], work: (tx: Tx) => Promise<T>): Promise<T> {
  return db.transaction().execute(async (tx) => {
    await sql`create schema parley_later`.execute(tx)
    await sql`create function parley_later.now() returns timestamptz language sql stable as
      ${sql.lit(`select pg_catalog.now() + ${ms} * interval '1 ms'`)}`.execute(tx)
    const seeing = (path: string) =>
      Promise.all(
        functions.map((name) => sql`alter function ${sql.raw(name)} set search_path = ${sql.raw(path)}`.execute(tx)),
      )
    await seeing('public, parley_later, pg_catalog, pg_temp')
    const result = await work(tx)
    await seeing('public, pg_temp')
    await sql`drop schema parley_later cascade`.execute(tx)
    return result
  })
}
