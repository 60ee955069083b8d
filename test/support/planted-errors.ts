import { sql } from 'kysely'
import type { Db } from '../../src/store/database.ts'

export interface PlantedError {
  table: 'payments' | 'alerts'
  event: 'insert' | 'update'
  projectId: string
}

/** Rows of this one project cannot be written until what is returned is called. Needs the owner's connection. */
export async function plantError(db: Db, { table, event, projectId }: PlantedError): Promise<() => Promise<void>> {
  const name = sql.id(`planted_${projectId}`)
  const message = sql.raw(`planted for ${projectId}`)
  await sql`create function ${name}() returns trigger language plpgsql as $$
    begin raise exception '${message}'; end $$`.execute(db)
  await sql`create trigger ${name} before ${sql.raw(event)} on ${sql.table(table)} for each row
    when (new.project_id = ${sql.lit(projectId)}) execute function ${name}()`.execute(db)
  return async () => {
    await sql`drop function ${name}() cascade`.execute(db)
  }
}
