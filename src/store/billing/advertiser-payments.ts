import { sql } from 'kysely'
import type { Nanos } from '../../rules/money.ts'
import type { Db } from '../database.ts'
import type { SettledReturns } from './payments.ts'

/** Payments by advertisers, and what became of them. The balance itself: findAdvertiserBalance in wallets.ts. */

export interface AdvertiserPayment {
  sessionId: string
  advertiserId: string
  amount: Nanos
  currency: string
}

export async function insertAdvertiserPayment(db: Db, payment: AdvertiserPayment): Promise<void> {
  const { sessionId, advertiserId, amount, currency } = payment
  await db
    .insertInto('advertiser_payments')
    .values({ session_id: sessionId, advertiser_id: advertiserId, amount_nanos: amount, currency })
    .execute()
}

export async function findAdvertiserPayment(db: Db, advertiserId: string, sessionId: string) {
  return db
    .selectFrom('advertiser_payments')
    .select(['state', 'amount_nanos', 'paid_at'])
    .where('advertiser_id', '=', advertiserId)
    .where('session_id', '=', sessionId)
    .executeTakeFirst()
}

export async function lockAdvertiserPayment(tx: Db, sessionId: string) {
  return tx
    .selectFrom('advertiser_payments')
    .selectAll()
    .where('session_id', '=', sessionId)
    .forUpdate()
    .executeTakeFirst()
}

export async function findAdvertiserPaymentByIntent(tx: Db, paymentIntent: string) {
  return tx.selectFrom('advertiser_payments').selectAll().where('payment_intent', '=', paymentIntent).executeTakeFirst()
}

export async function markAdvertiserPaid(tx: Db, sessionId: string, paymentIntent: string, tax: Nanos): Promise<void> {
  await tx
    .updateTable('advertiser_payments')
    .set({ state: 'paid', payment_intent: paymentIntent, paid_at: sql<Date>`now()`, tax_nanos: tax, problem: null })
    .where('session_id', '=', sessionId)
    .execute()
}

/** Returns false when it was paid, or expired before. */
export async function markAdvertiserPaymentExpired(db: Db, sessionId: string): Promise<boolean> {
  const result = await db
    .updateTable('advertiser_payments')
    .set({ state: 'expired' })
    .where('session_id', '=', sessionId)
    .where('state', '=', 'created')
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function noteAdvertiserProblem(tx: Db, sessionId: string, problem: string): Promise<void> {
  await tx.updateTable('advertiser_payments').set({ problem }).where('session_id', '=', sessionId).execute()
}

/** Credits a payment that is marked as paid, once: the amount and the advertiser are those of its row. */
export async function creditAdvertiserPayment(tx: Db, id: string, sessionId: string): Promise<void> {
  await sql`select ledger_credit_advertiser(${id}, ${sessionId})`.execute(tx)
}

/** Brings the wallet to where the payment's returns stand. Needs the lock of the payment, which must be credited. */
export async function settleAdvertiserReturns(tx: Db, paymentIntent: string): Promise<SettledReturns> {
  const { rows } = await sql<Omit<SettledReturns, 'owed'>>`
    select taken, absorbed, given_back as "givenBack" from ledger_settle_advertiser_returns(${paymentIntent})`.execute(
    tx,
  )
  return { taken: 0n, absorbed: 0n, givenBack: 0n, ...rows[0], owed: 0n }
}

export interface AdvertiserMovement {
  id: string
  kind: string
  deltaNanos: Nanos
  reference: string | null
  reason: string | null
  createdAt: Date
}

/** Lists the movements of the transaction's advertiser, newest first; clicks that were paid for are in listSpentByDay. */
export async function listAdvertiserMovements(tx: Db, most: number): Promise<AdvertiserMovement[]> {
  const { rows } = await sql<AdvertiserMovement>`
    select id, kind, delta_nanos as "deltaNanos", reference, reason, created_at as "createdAt"
    from advertiser_movements(${most})`.execute(tx)
  return rows
}

export interface SpentOnDay {
  /** When it began, in UTC. */
  at: Date
  clicks: number
  spentNanos: Nanos
}

/** Lists the cost of clicks on each of the last days, today included; days without any clicks are listed, too. */
export async function listSpentByDay(tx: Db, advertiserId: string, days: number): Promise<SpentOnDay[]> {
  const { rows } = await sql<SpentOnDay>`
    select t.day::timestamp at time zone 'utc' as at, coalesce(sum(d.clicks), 0)::int4 as clicks,
      coalesce(sum(d.spent_nanos), 0)::int8 as "spentNanos"
    from generate_series(0, ${days}::int - 1) as n (n)
      cross join lateral (select (now() at time zone 'utc')::date - n.n as day) t
      left join (campaign_days d join campaigns c on c.id = d.campaign_id and c.advertiser_id = ${advertiserId})
        on d.day = t.day
    group by t.day order by t.day`.execute(tx)
  return rows
}
