import { sql } from 'kysely'
import type { Db } from '../database.ts'

/** The outbox. A mail is written in the transaction of what it tells of, and sent by a worker afterwards. */

export async function insertMail(
  db: Db,
  mail: { id: string; recipient: string; template: string; sealedBody: string },
): Promise<void> {
  const { id, recipient, template, sealedBody } = mail
  await db.insertInto('mails').values({ id, recipient, template, sealed_body: sealedBody }).execute()
}

export interface OutgoingMail {
  id: string
  recipient: string
  template: string
  sealed_body: string
  attempts: number
}

/** Nobody sits and waits for these, and there may be many at once. */
const NEWS = sql.join(['alert_opened', 'alert_closed', 'low_balance', 'webhook_off'].map((name) => sql.lit(name)))

/**
 * Takes mails that are due, those first that somebody waits for, and puts their next attempt off before anything is sent:
 * another worker does not send them too, and a worker that dies meanwhile leaves them to be tried again. The wait doubles
 * from half a minute to an hour.
 */
export async function claimMails(db: Db, most: number): Promise<OutgoingMail[]> {
  const { rows } = await sql<OutgoingMail>`
    update mails set attempts = attempts + 1,
      next_attempt_at = now() + least(interval '1 hour', interval '30 seconds' * 2 ^ least(attempts, 10))
    where id in (
      select id from mails where sent_at is null and given_up_at is null and next_attempt_at <= now()
      order by template in (${NEWS}), next_attempt_at limit ${most} for update skip locked)
    returning id, recipient, template, sealed_body, attempts`.execute(db)
  return rows
}

/** The body goes with it: its links open accounts. */
export async function markMailSent(db: Db, id: string): Promise<void> {
  await db
    .updateTable('mails')
    .set({ sent_at: sql`now()`, sealed_body: null })
    .where('id', '=', id)
    .execute()
}

export async function giveUpMail(db: Db, id: string): Promise<void> {
  await db
    .updateTable('mails')
    .set({ given_up_at: sql`now()`, sealed_body: null })
    .where('id', '=', id)
    .execute()
}

/** Forgets mails of before, whatever became of them: one that still waits then has links that lead nowhere. Returns how many. */
export async function expireMails(db: Db, keptMs: number, most: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from mails where id in (
      select id from mails where id < first_id_of(now() - ${keptMs} * interval '1 ms') order by id limit ${most})`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0n)
}
