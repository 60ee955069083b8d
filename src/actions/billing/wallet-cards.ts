import type { AutoTopUp } from '../../rules/billing/auto-top-ups.ts'
import { problemOf } from '../../rules/billing/auto-top-ups.ts'
import { formatCredits } from '../../rules/money.ts'
import { deleteAutoTopUp, findAutoTopUp, setAutoTopUp } from '../../store/billing/top-ups/auto-top-ups.ts'
import {
  findCard,
  insertCard,
  removeCard,
  takeAwaitedCard,
  type Card,
} from '../../store/billing/top-ups/wallet-cards.ts'
import type { Db, Tx } from '../../store/database.ts'
import { findProject } from '../../store/projects/projects.ts'
import { PARLEY, type Actor } from '../actor.ts'
import { auditProject, type ProjectAtHand } from '../audit.ts'
import { conflict, notThere, wrongField } from '../refusals.ts'
import { refuseInSandbox } from '../sandbox.ts'

/** The saved card of a wallet, and what may be charged to it while nobody is there. */

const FIELDS = { threshold: 'thresholdNanos', amount: 'amountNanos', monthMax: 'monthMaxNanos' } as const

/** Switches automatic top-ups on, changes them, or resumes them after declines: saving is an admin's word that it may go on. */
export async function changeAutoTopUp(
  tx: Tx,
  actor: Actor,
  { project, chosen }: { project: ProjectAtHand; chosen: AutoTopUp },
): Promise<void> {
  await refuseInSandbox(tx, project, 'topUp')
  const problem = problemOf(chosen)
  if (problem) throw wrongField(FIELDS[problem.field], problem.message)
  if (!(await findCard(tx, project.id)))
    throw conflict('There is no saved card to charge. Save one with your next top-up.')
  const before = await findAutoTopUp(tx, project.id)
  await setAutoTopUp(tx, project.id, chosen)
  const wasPaused = before?.pausedAt != null
  const details = {
    before: before ? inWords(before) : 'off',
    after: inWords(chosen),
    ...(wasPaused && { resumed: true }),
  }
  await auditProject(tx, actor, project, 'wallet.auto_top_up_changed', { details })
}

export async function switchAutoTopUpOff(tx: Tx, actor: Actor, { project }: { project: ProjectAtHand }): Promise<void> {
  const before = await findAutoTopUp(tx, project.id)
  if (!before || !(await deleteAutoTopUp(tx, project.id))) return
  const details = { before: inWords(before), after: 'off' }
  await auditProject(tx, actor, project, 'wallet.auto_top_up_changed', { details })
}

/** From here on nothing is charged to it. A worker has Stripe forget it, and then forgets it, too. */
export async function removeSavedCard(tx: Tx, actor: Actor, { project }: { project: ProjectAtHand }): Promise<void> {
  const card = await findCard(tx, project.id)
  if (!card || !(await removeCard(tx, project.id))) throw notThere('card')
  const wasOn = await deleteAutoTopUp(tx, project.id)
  const details = { card: cardInWords(card), ...(wasOn && { autoTopUp: 'off' }) }
  await auditProject(tx, actor, project, 'wallet.card_removed', { details })
}

/** The card of a checkout whose payer wanted it kept. It takes the place of the one before. False when it was kept already. */
export async function saveCard(db: Db, sessionId: string, card: Card | undefined): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const projectId = await takeAwaitedCard(tx, sessionId)
    const row = projectId === undefined ? undefined : await findProject(tx, projectId)
    if (!row || !card) return false
    await removeCard(tx, row.id)
    await insertCard(tx, row.id, card)
    const project = { id: row.id, name: row.name, publisherId: row.publisher_id }
    await auditProject(tx, PARLEY, project, 'wallet.card_saved', { details: { card: cardInWords(card) } })
    return true
  })
}

function inWords({ threshold, amount, monthMax }: AutoTopUp): string {
  return `${formatCredits(amount)} below ${formatCredits(threshold)}, at most ${formatCredits(monthMax)} a month`
}

function cardInWords({ brand, last4 }: Card): string {
  return `${brand} ${last4}`
}
