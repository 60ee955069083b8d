import { sql } from 'kysely'
import type { Db } from '../../database.ts'

/** Cards that publishers have saved: one for each wallet, and those that the payment provider is still to forget. */

export interface Card {
  paymentMethod: string
  customer: string
  brand: string
  last4: string
  expMonth: number
  expYear: number
}

export async function findCard(db: Db, projectId: string): Promise<Card | undefined> {
  return db
    .selectFrom('wallet_cards')
    .select([
      'payment_method_id as paymentMethod',
      'customer_id as customer',
      'brand',
      'last4',
      'exp_month as expMonth',
      'exp_year as expYear',
    ])
    .where('project_id', '=', projectId)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
}

/** The payer of this checkout wants the card to be saved, and it is not yet. */
export async function isCardAwaited(db: Db, sessionId: string): Promise<boolean> {
  const row = await db
    .selectFrom('payments')
    .select('project_id')
    .where('session_id', '=', sessionId)
    .where('saves_card', '=', true)
    .executeTakeFirst()
  return row !== undefined
}

/** Returns whose it is, or undefined when it was saved before: an event that comes again must not bring back a removed card. */
export async function takeAwaitedCard(tx: Db, sessionId: string): Promise<string | undefined> {
  const row = await tx
    .updateTable('payments')
    .set({ saves_card: false })
    .where('session_id', '=', sessionId)
    .where('saves_card', '=', true)
    .returning('project_id')
    .executeTakeFirst()
  return row?.project_id
}

export async function insertCard(tx: Db, projectId: string, card: Card): Promise<void> {
  await tx
    .insertInto('wallet_cards')
    .values({
      payment_method_id: card.paymentMethod,
      project_id: projectId,
      customer_id: card.customer,
      brand: card.brand,
      last4: card.last4,
      exp_month: card.expMonth,
      exp_year: card.expYear,
    })
    .execute()
}

/** Nothing new is charged to it from here on. False when there was none. */
export async function removeCard(tx: Db, projectId: string): Promise<boolean> {
  const result = await tx
    .updateTable('wallet_cards')
    .set({ removed_at: sql`now()` })
    .where('project_id', '=', projectId)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Removed, or of a project that was deleted, and no longer needed to find out what became of a payment. */
export async function listRemovedCards(db: Db, most: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select c.payment_method_id as id from wallet_cards c join projects j on j.id = c.project_id
    where (c.removed_at is not null or j.archived_at is not null) and not exists (select from payments p
      where p.project_id = c.project_id and p.payment_method_id = c.payment_method_id and p.state = 'created')
    order by c.saved_at limit ${most}`.execute(db)
  return rows.map(({ id }) => id)
}

export async function forgetCard(db: Db, paymentMethod: string): Promise<void> {
  await db.deleteFrom('wallet_cards').where('payment_method_id', '=', paymentMethod).execute()
}
