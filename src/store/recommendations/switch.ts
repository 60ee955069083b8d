import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** The operator's switch for the whole installation. Matchers ask every few seconds. */
export async function readRecommendationSwitch(db: Db) {
  return db.selectFrom('recommendation_switch').select(['is_on', 'changed_at']).executeTakeFirstOrThrow()
}

export async function setRecommendationSwitch(db: Db, isOn: boolean): Promise<void> {
  await db
    .updateTable('recommendation_switch')
    .set({ is_on: isOn, changed_at: sql`now()` })
    .execute()
}

export async function listMatchers(db: Db) {
  return db.selectFrom('matchers').selectAll().orderBy('host').orderBy('id').limit(1_000).execute()
}
