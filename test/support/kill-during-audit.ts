import { sql } from 'kysely'
import type { Db } from '../../src/store/database.ts'

/**
 * While this works, whoever writes into the audit log loses the connection in that very statement: as if the process had died
 * when the change was made and its transaction not yet committed.
 */
export async function killDuringAudit<T>(db: Db, work: () => Promise<T>): Promise<T> {
  await sql`
    create or replace function kill_during_audit() returns trigger language plpgsql security definer as $$
    begin
      perform pg_terminate_backend(pg_backend_pid());
      perform pg_sleep(5);
      return null;
    end $$`.execute(db)
  await sql`create trigger kill_during_audit after insert on audit_log for each row execute function kill_during_audit()`.execute(
    db,
  )
  try {
    return await work()
  } finally {
    await sql`drop trigger kill_during_audit on audit_log`.execute(db)
  }
}
