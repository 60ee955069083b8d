import { sql, type RawBuilder } from 'kysely'
import { NO_DECLINES, type AutoTopUp, type Standing } from '../../../rules/billing/auto-top-ups.ts'
import { PAYMENT_CURRENCY } from '../../../rules/billing/payments.ts'
import type { Nanos } from '../../../rules/money.ts'
import type { Db } from '../../database.ts'
import type { Card } from './wallet-cards.ts'

/** Top-ups that are charged to a saved card: what was chosen, who is due, and what was asked of the payment provider. */

export type AutoTopUpRow = AutoTopUp & Standing

function settings(db: Db, projectId: string) {
  return db
    .selectFrom('auto_top_ups')
    .select([
      'threshold_nanos as threshold',
      'amount_nanos as amount',
      'month_max_nanos as monthMax',
      'declines',
      'next_try_at as nextTryAt',
      'paused_at as pausedAt',
    ])
    .where('project_id', '=', projectId)
}

/** Undefined: top-ups are not automatic. */
export async function findAutoTopUp(db: Db, projectId: string): Promise<AutoTopUpRow | undefined> {
  return settings(db, projectId).executeTakeFirst()
}

/** Locks the row: only its holder begins a payment of the project, or counts what the month has had. */
export async function lockAutoTopUp(tx: Db, projectId: string): Promise<AutoTopUpRow | undefined> {
  return settings(tx, projectId).forUpdate().executeTakeFirst()
}

export async function setAutoTopUp(
  tx: Db,
  projectId: string,
  chosen: AutoTopUp,
  standing: Standing = NO_DECLINES,
): Promise<void> {
  const values = {
    threshold_nanos: chosen.threshold,
    amount_nanos: chosen.amount,
    month_max_nanos: chosen.monthMax,
    declines: standing.declines,
    next_try_at: standing.nextTryAt,
    paused_at: standing.pausedAt,
  }
  await tx
    .insertInto('auto_top_ups')
    .values({ project_id: projectId, ...values })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(values))
    .execute()
}

export async function deleteAutoTopUp(tx: Db, projectId: string): Promise<boolean> {
  const result = await tx.deleteFrom('auto_top_ups').where('project_id', '=', projectId).executeTakeFirst()
  return result.numDeletedRows > 0n
}

/**
 * The sum that was charged in this month of UTC, or may yet be: a payment counts for the month in which it was begun. By the
 * clock that dates payments: one that is ahead would begin the next month too early, with nothing charged in it.
 */
function chargedThisMonth(project: RawBuilder<string>): RawBuilder<Nanos> {
  return sql`(select coalesce(sum(m.amount_nanos), 0)::int8 from payments m
    where m.project_id = ${project} and m.is_automatic and m.state <> 'expired'
      and m.created_at >= date_trunc('month', now() at time zone 'utc') at time zone 'utc')`
}

export async function sumThisMonth(db: Db, projectId: string): Promise<Nanos> {
  const { rows } = await sql<{ sum: Nanos }>`select ${chargedThisMonth(sql`${projectId}`)} as sum`.execute(db)
  return rows[0]?.sum ?? 0n
}

export interface DueTopUp {
  projectId: string
  publisherId: string
}

/**
 * Lists projects whose balance is below what they chose. Projects that owe are left out: a payment was taken back, so the bank
 * may not want the next one either. So are those whose month is used up: they would take the places of all that come after
 * them.
 */
export async function listDueTopUps(db: Db, most: number): Promise<DueTopUp[]> {
  const { rows } = await sql<DueTopUp>`
    select a.project_id as "projectId", p.publisher_id as "publisherId"
    from auto_top_ups a join wallets w on w.project_id = a.project_id join projects p on p.id = a.project_id
      join publishers u on u.id = p.publisher_id
    where w.balance_nanos < a.threshold_nanos and w.owed_nanos = 0
      and a.paused_at is null and (a.next_try_at is null or a.next_try_at <= now())
      and p.archived_at is null and not p.is_sandbox and u.activated_at is not null
      and exists (select from wallet_cards c where c.project_id = a.project_id and c.removed_at is null)
      and not exists (select from payments b where b.project_id = a.project_id and b.is_automatic and b.state = 'created')
      and a.amount_nanos + ${chargedThisMonth(sql`a.project_id`)} <= a.month_max_nanos
    order by a.project_id limit ${most}`.execute(db)
  return rows
}

/** The last try, whatever became of it. It outlives the settings, which go when top-ups are switched off. */
export async function findLastTopUp(db: Db, projectId: string) {
  return db
    .selectFrom('payments')
    .select(['state', 'payment_method_id as paymentMethod'])
    .where('project_id', '=', projectId)
    .where('is_automatic', '=', true)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Looked at again under the lock: another worker may have topped up since. */
export async function isStillDue(tx: Db, projectId: string, threshold: Nanos): Promise<boolean> {
  const { rows } = await sql<{ due: boolean }>`
    select w.balance_nanos < ${threshold}::int8 and w.owed_nanos = 0 and not exists (
      select from payments b where b.project_id = w.project_id and b.is_automatic and b.state = 'created') as due
    from wallets w where w.project_id = ${projectId}`.execute(tx)
  return rows[0]?.due ?? false
}

export interface PendingTopUp {
  /** The id that both sides use. */
  id: string
  projectId: string
  customer: string
  paymentMethod: string
  amount: Nanos
  createdAt: Date
  /** Why what was paid could not be credited. */
  problem: string | null
}

type NewTopUp = { id: string; projectId: string; amount: Nanos } & Pick<Card, 'customer' | 'paymentMethod'>

export async function insertTopUp(tx: Db, topUp: NewTopUp): Promise<void> {
  await tx
    .insertInto('payments')
    .values({
      session_id: topUp.id,
      project_id: topUp.projectId,
      amount_nanos: topUp.amount,
      currency: PAYMENT_CURRENCY,
      is_automatic: true,
      customer_id: topUp.customer,
      payment_method_id: topUp.paymentMethod,
    })
    .execute()
}

/** Whether top-ups are still automatic, of a project that was not deleted, with the card that this one was begun for. */
export async function isStillWanted(db: Db, { projectId, paymentMethod }: PendingTopUp): Promise<boolean> {
  const { rows } = await sql`
    select from auto_top_ups a join projects p on p.id = a.project_id join wallet_cards c on c.project_id = a.project_id
    where a.project_id = ${projectId} and p.archived_at is null
      and c.payment_method_id = ${paymentMethod} and c.removed_at is null`.execute(db)
  return rows.length > 0
}

/**
 * Asked for, without an answer that was heard: of a worker that was killed, or while the provider was away. Those last that
 * wait for the operator: they would take the places of the others.
 */
export async function listPendingTopUps(db: Db, most: number): Promise<PendingTopUp[]> {
  const { rows } = await sql<PendingTopUp>`
    select session_id as id, project_id as "projectId", customer_id as customer, payment_method_id as "paymentMethod",
      amount_nanos as amount, created_at as "createdAt", problem
    from payments where is_automatic and state = 'created' order by problem is not null, created_at limit ${most}`.execute(
    db,
  )
  return rows
}

export async function setTax(db: Db, id: string, tax: Nanos): Promise<void> {
  await db
    .updateTable('payments')
    .set({ tax_nanos: tax })
    .where('session_id', '=', id)
    .where('state', '=', 'created')
    .execute()
}

/** False when its end is known already. */
export async function markFailed(tx: Db, id: string, failure: string): Promise<boolean> {
  const result = await tx
    .updateTable('payments')
    .set({ state: 'expired', failure })
    .where('session_id', '=', id)
    .where('state', '=', 'created')
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function setStanding(tx: Db, projectId: string, standing: Standing): Promise<void> {
  await tx
    .updateTable('auto_top_ups')
    .set({ declines: standing.declines, next_try_at: standing.nextTryAt, paused_at: standing.pausedAt })
    .where('project_id', '=', projectId)
    .execute()
}

export async function setUntold(tx: Db, projectId: string, failure: string): Promise<void> {
  await tx.updateTable('auto_top_ups').set({ untold_failure: failure }).where('project_id', '=', projectId).execute()
}

export interface UntoldFailure {
  projectId: string
  publisherId: string
  project: string
}

export async function listUntold(db: Db, most: number): Promise<UntoldFailure[]> {
  const { rows } = await sql<UntoldFailure>`
    select a.project_id as "projectId", p.publisher_id as "publisherId", p.name as project
    from auto_top_ups a join projects p on p.id = a.project_id
    where a.untold_failure is not null order by a.project_id limit ${most}`.execute(db)
  return rows
}

/** Returns what is to be told, once: the mark and the mails are one transaction. */
export async function takeUntold(tx: Db, projectId: string) {
  const row = await tx
    .selectFrom('auto_top_ups')
    .select(['untold_failure as failure', 'amount_nanos as amount', 'paused_at as pausedAt'])
    .where('project_id', '=', projectId)
    .where('untold_failure', 'is not', null)
    .forUpdate()
    .executeTakeFirst()
  if (!row) return undefined
  await tx.updateTable('auto_top_ups').set({ untold_failure: null }).where('project_id', '=', projectId).execute()
  return { ...row, failure: row.failure ?? '' }
}
