import { sql } from 'kysely'
import type { Db } from './database.ts'

/** What is known of one call: how it looked and what it cost. */
export async function findCall(db: Db, id: string) {
  return db
    .selectFrom('calls as c')
    .innerJoin('charges as m', 'm.id', 'c.id')
    .selectAll('c')
    .select([
      'm.held_nanos',
      'm.usage_nanos',
      'm.charged_nanos',
      'm.input_tokens',
      'm.cached_input_tokens',
      'm.cache_write_tokens',
      'm.output_tokens',
      'm.reasoning_tokens',
      'm.usage_source',
      'm.price_version_id',
    ])
    .where('c.id', '=', id)
    .executeTakeFirst()
}

/** A call that still runs, or whose gateway died a moment ago, is known only by its hold. */
export async function findHold(db: Db, callId: string) {
  return db.selectFrom('holds').selectAll().where('id', '=', callId).executeTakeFirst()
}

/** What was collected after the call had been released as dead, because its gateway did answer in the end. */
export async function findLateCharge(db: Db, callId: string) {
  return db
    .selectFrom('transfers')
    .select(['amount_nanos', 'created_at'])
    .where('reference', '=', sql<string>`'late:' || ${callId}`)
    .executeTakeFirst()
}
