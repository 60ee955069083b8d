import { sql } from 'kysely'
import type { Nanos } from '../rules/money.ts'
import type { PaymentReturn } from '../rules/payments.ts'
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

/** Remembers what went back to the payer so far. Returns false when that much was known before, or was given up since. */
export async function rememberReturn(tx: Db, { id, paymentIntent, kind, amount }: PaymentReturn): Promise<boolean> {
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

/** Remembers that it came back again, also when this is told of first. Returns false when that was known before. */
export async function rememberReinstated(tx: Db, { id, paymentIntent, kind, amount }: PaymentReturn): Promise<boolean> {
  const row = await tx
    .insertInto('payment_returns')
    .values({ id, payment_intent: paymentIntent, kind, amount_nanos: amount, reinstated_at: sql<Date>`now()` })
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet({ reinstated_at: sql<Date>`now()` })
        .where('payment_returns.reinstated_at', 'is', null),
    )
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

export interface SettledReturns {
  /** All that was taken back, of which this much is owed. */
  taken: Nanos
  owed: Nanos
  /** More than was left of the credit: the operator's loss. */
  absorbed: Nanos
  givenBack: Nanos
}

/**
 * Takes what went back to the payer out of the wallet that the payment was credited to, and gives back what came back
 * again. Needs the lock of the payment, which must be credited.
 */
export async function settleReturns(tx: Db, paymentIntent: string): Promise<SettledReturns> {
  const { rows } = await sql<Omit<SettledReturns, 'givenBack'>>`
    select coalesce(sum(due), 0)::int8 as taken, coalesce(sum((t).owed), 0)::int8 as owed,
      coalesce(sum((t).absorbed), 0)::int8 as absorbed
    from (
      select due, ledger_take_back(project_id, credited, due, kind, reference, 'by Stripe') as t from (
        select p.project_id, t.id as credited, r.amount_nanos - r.settled_nanos as due, r.kind,
          'stripe:' || r.id || ':' || r.amount_nanos as reference
        from payments p
          join transfers t on t.reference = 'stripe:' || p.payment_intent
          join payment_returns r on r.payment_intent = p.payment_intent
        where p.payment_intent = ${paymentIntent} and r.amount_nanos > r.settled_nanos and r.reinstated_at is null
        order by r.id
      ) open_returns
    ) taken_back`.execute(tx)
  await sql`update payment_returns set settled_nanos = amount_nanos
    where payment_intent = ${paymentIntent} and reinstated_at is null`.execute(tx)
  const givenBack = await giveBackReinstated(tx, paymentIntent)
  await sql`update payments p set state = case when p.amount_nanos <= (
      select coalesce(sum(r.amount_nanos), 0) from payment_returns r
      where r.payment_intent = p.payment_intent and r.reinstated_at is null) then 'refunded' else 'paid' end
    where p.payment_intent = ${paymentIntent}`.execute(tx)
  const [settled] = rows
  return { taken: settled?.taken ?? 0n, owed: settled?.owed ?? 0n, absorbed: settled?.absorbed ?? 0n, givenBack }
}

/** Reverses what was taken for returns that came back again. A transfer is reversed once: the reference says so. */
async function giveBackReinstated(tx: Db, paymentIntent: string): Promise<Nanos> {
  const { rows } = await sql<{ given: Nanos }>`
    select coalesce(sum(amount) filter (where ledger_reinstate(id)), 0)::int8 as given
    from (
      select t.id, t.amount_nanos as amount from payment_returns r
        join transfers credited on credited.reference = 'stripe:' || r.payment_intent
        join transfers t on t.corrects = credited.id and t.kind = r.kind
          and starts_with(t.reference, 'stripe:' || r.id || ':')
      where r.payment_intent = ${paymentIntent} and r.reinstated_at is not null and r.settled_nanos > 0
    ) taken_before`.execute(tx)
  await sql`update payment_returns set settled_nanos = 0
    where payment_intent = ${paymentIntent} and reinstated_at is not null`.execute(tx)
  return rows[0]?.given ?? 0n
}
