import { sql } from 'kysely'
import type { Nanos } from '../../rules/money.ts'
import type { Db } from '../database.ts'

/** The accounts that are not wallets; fixed ids, inserted by the ledger's migration. */
const ACCOUNTS = {
  cash: '00000000-0000-0000-0000-000000000002',
  promotion: '00000000-0000-0000-0000-000000000003',
  refunds: '00000000-0000-0000-0000-000000000005',
  adjustment: '00000000-0000-0000-0000-000000000008',
} as const

export async function findWallet(db: Db, projectId: string) {
  return db.selectFrom('wallets').selectAll().where('project_id', '=', projectId).executeTakeFirst()
}

/** Sums what all projects of a publisher owe together, including those that were deleted. */
export async function sumOwed(db: Db, publisherId: string): Promise<Nanos> {
  const { rows } = await sql<{ owed: Nanos }>`
    select coalesce(sum(w.owed_nanos), 0)::int8 as owed from projects p join wallets w on w.project_id = p.id
    where p.publisher_id = ${publisherId}`.execute(db)
  return rows[0]?.owed ?? 0n
}

/** A movement of money that somebody asked for. */
export interface Movement {
  id: string
  projectId: string
  amount: Nanos
  /** Makes a repeated movement a no-op. */
  reference: string
  reason: string | null
}

export type Credit = Movement & { kind: 'topup' | 'grant' }

/** Like all movements here, returns false when this reference was posted before: nothing has changed then. */
export function creditWallet(db: Db, credit: Credit): Promise<boolean> {
  const from = credit.kind === 'topup' ? ACCOUNTS.cash : ACCOUNTS.promotion
  return transfer(db, from, credit.projectId, credit, credit.kind)
}

export type AdvertiserCredit = Omit<Credit, 'projectId'> & { advertiserId: string }

/** The first credit of an advertiser makes its wallet. */
export async function creditAdvertiser(db: Db, { advertiserId, ...credit }: AdvertiserCredit): Promise<boolean> {
  await sql`select advertiser_account(${advertiserId})`.execute(db)
  return creditWallet(db, { ...credit, projectId: advertiserId })
}

export async function findAdvertiserBalance(db: Db, advertiserId: string): Promise<Nanos> {
  const row = await db
    .selectFrom('advertiser_wallets')
    .select('balance_nanos')
    .where('advertiser_id', '=', advertiserId)
    .executeTakeFirst()
  return row?.balance_nanos ?? 0n
}

/** Money goes back to who paid it, so the credit goes away. What the wallet does not have is refused, or owed. */
export async function refundWallet(db: Db, refund: Movement, mayOwe = false): Promise<boolean> {
  if (!mayOwe) return transfer(db, refund.projectId, ACCOUNTS.refunds, refund, 'refund')
  const { id, projectId, amount, reference, reason } = refund
  const { rows } = await sql<{ posted: boolean }>`
    select ledger_refund_owing(${id}, ${projectId}, ${amount}, ${reference}, ${reason}) as posted`.execute(db)
  return rows[0]?.posted ?? false
}

/** Adds to the wallet, or takes from it when the amount is negative. */
export function adjustWallet(db: Db, adjustment: Movement): Promise<boolean> {
  const { projectId, amount } = adjustment
  return amount > 0n
    ? transfer(db, ACCOUNTS.adjustment, projectId, adjustment, 'adjustment')
    : transfer(db, projectId, ACCOUNTS.adjustment, { ...adjustment, amount: -amount }, 'adjustment')
}

async function transfer(db: Db, debit: string, credit: string, movement: Movement, kind: string): Promise<boolean> {
  const { id, amount, reference, reason } = movement
  const { rows } = await sql<{ posted: boolean }>`
    select ledger_transfer(${id}, ${debit}, ${credit}, ${amount}, ${kind}, ${reference}, ${reason}, null)
      as posted`.execute(db)
  return rows[0]?.posted ?? false
}

/** Gives back what a call was charged, all of it or a part. */
export async function refundCall(db: Db, callId: string, refund: Movement): Promise<boolean> {
  const { id, projectId, amount, reference, reason } = refund
  const { rows } = await sql<{ posted: boolean }>`
    select ledger_refund_call(${id}, ${projectId}, ${callId}, ${amount}, ${reference}, ${reason}) as posted`.execute(db)
  return rows[0]?.posted ?? false
}

/** Posts the opposite of a transfer. What it takes and the wallet does not have is refused, or owed. */
export async function reverseTransfer(
  db: Db,
  transferId: string,
  reversal: Pick<Movement, 'id' | 'reference' | 'reason'>,
  mayOwe = false,
): Promise<boolean> {
  const { id, reference, reason } = reversal
  const reverse = sql.ref(mayOwe ? 'ledger_reverse_owing' : 'ledger_reverse')
  const { rows } = await sql<{ posted: boolean }>`
    select ${reverse}(${id}, ${transferId}, ${reference}, ${reason}) as posted`.execute(db)
  return rows[0]?.posted ?? false
}

/** Why the ledger refused a movement, by the rule that it would have broken; undefined: it was another failure. */
export function movementRefusalOf(error: unknown): MovementRefusal | undefined {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown }
  if (code === 'P0002') return 'not_found'
  return typeof constraint === 'string' && Object.hasOwn(REFUSALS, constraint)
    ? REFUSALS[constraint as keyof typeof REFUSALS]
    : undefined
}

const REFUSALS = {
  no_overdraft: 'not_available',
  transfers_reference_key: 'reference_taken',
  corrects_at_most_all: 'corrected_before',
  one_reversal_per_transfer: 'reversed_before',
  a_reversal_is_final: 'is_reversal',
} as const

export type MovementRefusal = 'not_found' | (typeof REFUSALS)[keyof typeof REFUSALS]

export async function findTransfer(db: Db, id: string) {
  return db.selectFrom('transfers').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Returns the effect that a call or a transfer has had on a wallet, with everything that has corrected it since. */
export async function effectOf(db: Db, projectId: string, id: string): Promise<Nanos> {
  const { rows } = await sql<{ effect: Nanos }>`select ledger_effect(${projectId}, ${id}) as effect`.execute(db)
  return rows[0]?.effect ?? 0n
}

/** The newest movements of a wallet: charges and transfers alike. */
export async function listEntries(db: Db, projectId: string, most: number) {
  return db
    .selectFrom('journal as j')
    .leftJoin('transfers as t', 't.id', 'j.id')
    .select(['j.id', 'j.kind', 'j.delta_nanos', 't.reference', 't.reason', 't.corrects', 'j.created_at'])
    .where('j.account_id', '=', projectId)
    .orderBy('j.created_at', 'desc')
    .orderBy('j.id', 'desc')
    .limit(most)
    .execute()
}

/** Releases the holds of gateways that have been silent for the lease. Returns how many. */
export async function sweepHolds(db: Db, leaseMs: number, longestCallMs: number, most: number): Promise<number> {
  const { rows } = await sql<{ swept: number }>`
    select ledger_sweep(${leaseMs} * interval '1 ms', ${longestCallMs} * interval '1 ms', ${most}) as swept`.execute(db)
  return rows[0]?.swept ?? 0
}
