import { sql } from 'kysely'
import { inTransaction, type Db } from '../database.ts'

/** Text that was stored under a longer retention goes earlier when its project chooses a shorter one. */

const CONVERSATIONS_PER_STEP = 100

export async function requestCut(tx: Db, projectId: string, days: number): Promise<void> {
  await sql`insert into retention_cuts (project_id, days) values (${projectId}, ${days})
    on conflict (project_id) do update set days = excluded.days, reached = '', due_at = now(), is_last = false`.execute(
    tx,
  )
}

/** The project keeps text for longer again. What was shortened already stays so. */
export async function withdrawCut(tx: Db, projectId: string): Promise<void> {
  await tx.deleteFrom('retention_cuts').where('project_id', '=', projectId).execute()
}

/**
 * Shortens the text of some conversations; the job that erases expired text does the rest. A call that began before the
 * change may add text with the old retention as late as `longestCallMs` after it, so everything is gone through twice.
 * Returns false when nothing is due.
 */
export function cutSome(db: Db, longestCallMs: number): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const cut = await tx
      .selectFrom('retention_cuts')
      .selectAll()
      .where('due_at', '<=', sql<Date>`now()`)
      .orderBy('due_at')
      .limit(1)
      .forUpdate()
      .skipLocked()
      .executeTakeFirst()
    if (!cut) return false
    const conversations = await tx
      .selectFrom('conversations')
      .select('id')
      .where('project_id', '=', cut.project_id)
      .where('id', '>', cut.reached)
      .orderBy('id')
      .limit(CONVERSATIONS_PER_STEP)
      .execute()
    const ids = conversations.map(({ id }) => id)
    const reached = ids.at(-1)
    const change = tx.updateTable('retention_cuts').where('project_id', '=', cut.project_id)
    if (reached !== undefined) {
      await shorten(tx, cut.project_id, ids, cut.days)
      await change.set({ reached }).execute()
    } else if (cut.is_last) {
      await withdrawCut(tx, cut.project_id)
    } else {
      const due_at = sql<Date>`now() + ${longestCallMs} * interval '1 ms'`
      await change.set({ reached: '', is_last: true, due_at }).execute()
    }
    return true
  })
}

async function shorten(tx: Db, projectId: string, conversations: readonly string[], days: number): Promise<void> {
  await sql`update messages set content_expires_at = created_at + ${days} * interval '1 day'
    where project_id = ${projectId} and conversation_id = any (${conversations}::text[]) and content is not null
      and content_expires_at > created_at + ${days} * interval '1 day'`.execute(tx)
}
