import { sql } from 'kysely'
import type { Nanos } from '../rules/money.ts'
import type { ReturnKind } from '../rules/payments.ts'
import type { Db } from './database.ts'

/** What was asked to be paid, what became of it, and what the provider has given back since. */

export interface NewPayment {
  sessionId: string
  projectId: string
  amount: Nanos
  currency: string
}

export async function insertPayment(db: Db, payment: NewPayment): Promise<void> {
  await db
    .insertInto('payments')
    .values({
      session_id: payment.sessionId,
      project_id: payment.projectId,
      amount_nanos: payment.amount,
      currency: payment.currency,
    })
    .execute()
}

export async function listPayments(db: Db, projectId: string, most: number) {
  return db
    .selectFrom('payments')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('created_at', 'desc')
    .limit(most)
    .execute()
}

export async function findPayment(db: Db, projectId: string, sessionId: string) {
  return db
    .selectFrom('payments')
    .select(['state', 'amount_nanos', 'paid_at'])
    .where('project_id', '=', projectId)
    .where('session_id', '=', sessionId)
    .executeTakeFirst()
}

/**
 * Until the transaction ends, nobody else handles an event about this payment. A lock on its row would not do: what is
 * taken back may be told of before the row knows which payment it became.
 */
export async function lockPaymentIntent(tx: Db, paymentIntent: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`payment:${paymentIntent}`}, 0))`.execute(tx)
}

export async function lockPayment(tx: Db, sessionId: string) {
  return tx.selectFrom('payments').selectAll().where('session_id', '=', sessionId).forUpdate().executeTakeFirst()
}

export async function findPaymentByIntent(tx: Db, paymentIntent: string) {
  return tx.selectFrom('payments').selectAll().where('payment_intent', '=', paymentIntent).executeTakeFirst()
}

export async function markPaid(tx: Db, sessionId: string, paymentIntent: string): Promise<void> {
  await tx
    .updateTable('payments')
    .set({ state: 'paid', payment_intent: paymentIntent, paid_at: sql<Date>`now()`, problem: null })
    .where('session_id', '=', sessionId)
    .execute()
}

/** Returns false when it was paid, or expired before. */
export async function markExpired(db: Db, sessionId: string): Promise<boolean> {
  const result = await db
    .updateTable('payments')
    .set({ state: 'expired' })
    .where('session_id', '=', sessionId)
    .where('state', '=', 'created')
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function noteProblem(tx: Db, sessionId: string, problem: string): Promise<void> {
  await tx.updateTable('payments').set({ problem }).where('session_id', '=', sessionId).execute()
}

export interface Return {
  id: string
  paymentIntent: string
  kind: ReturnKind
  /** Everything that went back under this id so far. */
  amount: Nanos
}

/** Remembers what went back to the payer. Returns false when that much was known before. */
export async function rememberReturn(tx: Db, { id, paymentIntent, kind, amount }: Return): Promise<boolean> {
  const row = await tx
    .insertInto('payment_returns')
    .values({ id, payment_intent: paymentIntent, kind, amount_nanos: amount })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ amount_nanos: amount }).where('payment_returns.amount_nanos', '<', amount),
    )
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Takes what went back to the payer out of the wallet that the payment was credited to. Returns what of it the wallet
 * could not pay, which is absorbed. Needs the lock of the payment, which must be credited.
 */
export async function settleReturns(tx: Db, paymentIntent: string): Promise<Nanos> {
  const { rows } = await sql<{ absorbed: Nanos }>`
    select coalesce(sum(due - ledger_take_back(project_id, credited, due, kind, reference, 'by Stripe')), 0)::int8 as absorbed
    from (
      select p.project_id, t.id as credited, r.amount_nanos - r.settled_nanos as due, r.kind,
        'stripe:' || r.id || ':' || r.amount_nanos as reference
      from payments p
        join transfers t on t.reference = 'stripe:' || p.payment_intent
        join payment_returns r on r.payment_intent = p.payment_intent
      where p.payment_intent = ${paymentIntent} and r.amount_nanos > r.settled_nanos
    ) open_returns`.execute(tx)
  await sql`update payment_returns set settled_nanos = amount_nanos where payment_intent = ${paymentIntent}`.execute(tx)
  await sql`update payments p set state = 'refunded' where p.payment_intent = ${paymentIntent} and p.amount_nanos <=
    (select sum(r.amount_nanos) from payment_returns r where r.payment_intent = p.payment_intent)`.execute(tx)
  return rows[0]?.absorbed ?? 0n
}
