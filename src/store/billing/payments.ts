import { sql } from 'kysely'
import type { Nanos } from '../../rules/money.ts'
import type { PaymentReturn } from '../../rules/billing/payments.ts'
import type { Db } from '../database.ts'

/** Payments that were asked for, what became of them, and what the provider has given back since. */

export interface NewPayment {
  sessionId: string
  projectId: string
  amount: Nanos
  currency: string
  /** The payer wants to keep the card for automatic top-ups. */
  savesCard?: boolean
}

export async function insertPayment(db: Db, payment: NewPayment): Promise<void> {
  await db
    .insertInto('payments')
    .values({
      session_id: payment.sessionId,
      project_id: payment.projectId,
      amount_nanos: payment.amount,
      currency: payment.currency,
      saves_card: payment.savesCard ?? false,
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

/** A page of what was asked to be paid, the newest first, after the payment of that name. */
export async function listTopUps(db: Db, projectId: string, search: { after: string | undefined; most: number }) {
  const { after, most } = search
  return db
    .selectFrom('payments')
    .select(['session_id', 'amount_nanos', 'tax_nanos', 'state', 'is_automatic', 'failure', 'created_at'])
    .where('project_id', '=', projectId)
    .$if(after !== undefined, (query) =>
      query.where(
        sql<boolean>`(created_at, session_id) < (select b.created_at, b.session_id from payments b
          where b.project_id = ${projectId} and b.session_id = ${after})`,
      ),
    )
    .orderBy('created_at', 'desc')
    .orderBy('session_id', 'desc')
    .limit(most)
    .execute()
}

/** Undefined also when it was not paid: there is nothing to show for it. */
export async function findPaid(db: Db, projectId: string, sessionId: string) {
  return db
    .selectFrom('payments')
    .select(['is_automatic', 'payment_intent'])
    .where('project_id', '=', projectId)
    .where('session_id', '=', sessionId)
    .where('payment_intent', 'is not', null)
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

export async function markPaid(tx: Db, sessionId: string, paymentIntent: string, tax: Nanos): Promise<void> {
  await tx
    .updateTable('payments')
    .set({ state: 'paid', payment_intent: paymentIntent, paid_at: sql<Date>`now()`, tax_nanos: tax, problem: null })
    .where('session_id', '=', sessionId)
    .execute()
}

/** Credits a payment that is marked as paid, once: the amount and the project are those of its row. */
export async function creditPayment(tx: Db, id: string, sessionId: string): Promise<void> {
  await sql`select ledger_credit_payment(${id}, ${sessionId}, 'paid through Stripe')`.execute(tx)
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

/**
 * Remembers how a return stands, unless it was told of later before: what went back to the payer so far, or that it came
 * back again. Returns false when nothing of it is new.
 */
export async function rememberReturn(tx: Db, back: PaymentReturn, reinstated: boolean): Promise<boolean> {
  const { id, paymentIntent, kind, amount, toldAt, stage } = back
  // If two reports differ only in what they say, the one that takes money back counts: so their order does not matter either.
  const { rows } = await sql`
    insert into payment_returns as r (id, payment_intent, kind, amount_nanos, told_at, stage, reinstated)
    values (${id}, ${paymentIntent}, ${kind}, ${amount}, ${toldAt}, ${stage}, ${reinstated})
    on conflict (id) do update set
      amount_nanos = greatest(r.amount_nanos, excluded.amount_nanos),
      (told_at, stage, reinstated) = (select s.told_at, s.stage, s.reinstated from (values
          (r.told_at, r.stage, r.reinstated), (excluded.told_at, excluded.stage, excluded.reinstated)
        ) s (told_at, stage, reinstated) order by s.told_at desc, s.stage desc, s.reinstated limit 1)
    where r.amount_nanos < excluded.amount_nanos
      or (r.told_at, r.stage, not r.reinstated) < (excluded.told_at, excluded.stage, not excluded.reinstated)
    returning r.id`.execute(tx)
  return rows.length > 0
}

export interface SettledReturns {
  /** The amount taken back from the wallet; `owed` is the part of it that the wallet did not have. */
  taken: Nanos
  owed: Nanos
  /** More than was left of the credit: the operator's loss. Below zero: so much of a loss was made good. */
  absorbed: Nanos
  givenBack: Nanos
}

/** Brings the wallet to where the payment's returns stand. Needs the lock of the payment, which must be credited. */
export async function settleReturns(tx: Db, paymentIntent: string): Promise<SettledReturns> {
  const { rows } = await sql<SettledReturns>`
    select taken, owed, absorbed, given_back as "givenBack" from ledger_settle_returns(${paymentIntent})`.execute(tx)
  return rows[0] ?? { taken: 0n, owed: 0n, absorbed: 0n, givenBack: 0n }
}
