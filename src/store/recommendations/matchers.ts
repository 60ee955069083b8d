import { sql } from 'kysely'
import type { Db } from '../database.ts'

export interface MatcherBeat {
  id: string
  host: string
  state: 'starting' | 'ready' | 'switched_off'
  /** Why it is switched off, in words for the operator. */
  problem: string | undefined
  offers: number
  /** The encoder whose vectors it uses; undefined until it is open. */
  encoder: string | undefined
}

/** Says that a matcher lives, and how it is. Those that have been silent for a day are forgotten. */
export async function beatMatcher(db: Db, { id, host, state, problem, offers, encoder }: MatcherBeat): Promise<void> {
  await sql`
    insert into matchers (id, host, state, problem, offers)
    values (${id}, ${host.slice(0, 255)}, ${state}, ${problem?.slice(0, 1_000) ?? null}, ${offers})
    on conflict (id) do update
      set state = excluded.state, problem = excluded.problem, offers = excluded.offers, beat_at = now()`.execute(db)
  await sql`delete from matchers where beat_at < now() - interval '1 day'`.execute(db)
  if (encoder !== undefined) await noteEncoder(db, encoder)
}

/** One that ended in order. */
export async function removeMatcher(db: Db, id: string): Promise<void> {
  await db.deleteFrom('matchers').where('id', '=', id).execute()
}

/** Written once an hour: an encoder counts as used for days. */
async function noteEncoder(db: Db, model: string): Promise<void> {
  await sql`
    insert into encoders (model) values (${model})
    on conflict (model) do update set used_at = now() where encoders.used_at < now() - interval '1 hour'`.execute(db)
}
