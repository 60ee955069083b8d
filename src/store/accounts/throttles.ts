import { sql } from 'kysely'
import type { Db } from '../database.ts'

/**
 * Counts one more attempt of each subject (a digest) in its window and returns how many there were, in order. Counted in
 * the database, so that neither a restart nor a second console gives anybody more attempts.
 */
export async function countAttempts(db: Db, subjects: readonly Buffer[], windowMs: number): Promise<Attempts[]> {
  const { rows } = await sql<{ subject: Buffer; attempts: number; ends_in_ms: number }>`
    insert into throttles as t (subject)
    select subject from unnest(${subjects}::bytea[]) as subject order by subject
    on conflict (subject) do update set
      attempts = case when t.started_at > now() - ${windowMs} * interval '1 ms' then least(t.attempts + 1, 1000000) else 1 end,
      started_at = case when t.started_at > now() - ${windowMs} * interval '1 ms' then t.started_at else now() end
    returning subject, attempts,
      greatest(0, ${windowMs} - extract(epoch from now() - started_at) * 1000)::int as ends_in_ms`.execute(db)
  return subjects.map((subject) => {
    const row = rows.find((candidate) => candidate.subject.equals(subject))
    return { attempts: row?.attempts ?? 1, endsInMs: row?.ends_in_ms ?? windowMs }
  })
}

export interface Attempts {
  attempts: number
  endsInMs: number
}

export async function forgetAttempts(db: Db, subjects: readonly Buffer[]): Promise<void> {
  await db.deleteFrom('throttles').where('subject', 'in', subjects).execute()
}

export async function forgetOneAttempt(db: Db, subject: Buffer): Promise<void> {
  await db
    .updateTable('throttles')
    .set({ attempts: sql`greatest(attempts - 1, 0)` })
    .where('subject', '=', subject)
    .execute()
}

/** Returns how many were forgotten. */
export async function expireThrottles(db: Db, keptMs: number, most: number): Promise<number> {
  const result = await sql`
    delete from throttles where subject in (
      select subject from throttles where started_at < now() - ${keptMs} * interval '1 ms' limit ${most})`.execute(db)
  return Number(result.numAffectedRows ?? 0n)
}
