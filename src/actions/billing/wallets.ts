import { TOP_UP_MAX } from '../../rules/billing/payments.ts'
import { formatCredits, type Nanos } from '../../rules/money.ts'
import { deleteAlert, findAlert, setAlert } from '../../store/billing/wallet-alerts.ts'
import * as store from '../../store/billing/wallets.ts'
import type { Movement } from '../../store/billing/wallets.ts'
import type { Tx } from '../../store/database.ts'
import { findProject } from '../../store/projects/projects.ts'
import type { Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { postEvent } from '../events.ts'
import { notThere, wrongField } from '../refusals.ts'
import { refuseInSandbox } from '../sandbox.ts'

/**
 * Money that somebody moves. Nothing is edited: what was wrong is corrected by another movement. Each returns false when its
 * reference was posted before: then nothing has changed, and the log says nothing.
 */

interface MovementInput {
  project: ProjectAtHand
  movement: Movement
}

export async function creditWallet(
  tx: Tx,
  actor: Actor,
  { project, movement, kind }: MovementInput & { kind: 'topup' | 'grant' },
): Promise<boolean> {
  if (kind === 'topup') await refuseInSandbox(tx, project, 'topUp')
  const posted = await store.creditWallet(tx, { ...movement, kind })
  if (posted && kind === 'topup') await postTopUp(tx, project.id, movement.amount, 'operator')
  const action = kind === 'topup' ? 'wallet.topped_up' : 'wallet.granted'
  return auditMovement(tx, actor, project, posted, action, movement)
}

/** After it is posted, so that the wallet is locked: events of one wallet are told in the order of its movements. */
export async function postTopUp(
  tx: Tx,
  projectId: string,
  amount: Nanos,
  source: 'payment' | 'operator',
): Promise<void> {
  const data = { amount_nanos: String(amount), source }
  await postEvent(tx, { projectId, type: 'wallet.topped_up', objectKey: `wallet:${projectId}`, data })
}

/** Credit whose price was paid back goes away. What the wallet does not have is refused, or owed. */
export async function refundWallet(
  tx: Tx,
  actor: Actor,
  { project, movement, mayOwe }: MovementInput & { mayOwe: boolean },
): Promise<boolean> {
  await refuseInSandbox(tx, project, 'refund')
  const posted = await store.refundWallet(tx, movement, mayOwe)
  return auditMovement(tx, actor, project, posted, 'wallet.refunded', movement)
}

/** Gives back what a call was charged, all of it or a part. */
export async function refundCall(
  tx: Tx,
  actor: Actor,
  { project, movement, callId }: MovementInput & { callId: string },
): Promise<boolean> {
  const posted = await store.refundCall(tx, callId, movement)
  return auditMovement(tx, actor, project, posted, 'wallet.call_refunded', movement, { call: callId })
}

/** Adds to the wallet, or takes from it when the amount is negative. */
export async function adjustWallet(tx: Tx, actor: Actor, { project, movement }: MovementInput): Promise<boolean> {
  const posted = await store.adjustWallet(tx, movement)
  return auditMovement(tx, actor, project, posted, 'wallet.adjusted', movement)
}

interface Reversal {
  original: { id: string; debit_account: string; credit_account: string }
  movement: Pick<Movement, 'id' | 'amount' | 'reference' | 'reason'>
  mayOwe: boolean
}

/** Posts the opposite of a transfer. */
export async function reverseTransfer(
  tx: Tx,
  actor: Actor,
  { original, movement, mayOwe }: Reversal,
): Promise<boolean> {
  const row = (await findProject(tx, original.credit_account)) ?? (await findProject(tx, original.debit_account))
  if (!row) throw notThere('project')
  const project = { id: row.id, name: row.name, publisherId: row.publisher_id }
  const posted = await store.reverseTransfer(tx, original.id, movement, mayOwe)
  return auditMovement(tx, actor, project, posted, 'wallet.reversed', movement, { transfer: original.id })
}

/** Below which balance the owners are told; null: never. */
export async function changeAlert(
  tx: Tx,
  actor: Actor,
  { project, threshold }: { project: ProjectAtHand; threshold: Nanos | null },
): Promise<void> {
  if (threshold !== null && (threshold === 0n || threshold > TOP_UP_MAX))
    throw wrongField('thresholdNanos', `More than nothing, and at most ${formatCredits(TOP_UP_MAX)}.`)
  const before = await findAlert(tx, project.id)
  await (threshold === null ? deleteAlert(tx, project.id) : setAlert(tx, project.id, threshold))
  const details = { before: thresholdText(before), after: thresholdText(threshold) }
  await auditProject(tx, actor, project, 'wallet.alert_changed', { details })
}

function thresholdText(nanos: Nanos | null | undefined): string {
  return nanos == null ? 'off' : formatCredits(nanos)
}

async function auditMovement(
  tx: Tx,
  actor: Actor,
  project: ProjectAtHand,
  posted: boolean,
  action: string,
  { amount, reference }: Pick<Movement, 'amount' | 'reference'>,
  more: Record<string, unknown> = {},
): Promise<boolean> {
  const details = { amount: formatCredits(amount), reference, ...more }
  if (posted) await auditProject(tx, actor, project, action, { details })
  return posted
}
