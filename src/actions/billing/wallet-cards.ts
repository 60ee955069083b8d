import { afterChange, FRESH_STARTS_MAX, problemOf, type AutoTopUp } from '../../rules/billing/auto-top-ups.ts'
import { formatCredits } from '../../rules/money.ts'
import { countOfDay } from '../../store/accounts/audit-log.ts'
import {
  deleteAutoTopUp,
  findAutoTopUp,
  findLastTopUp,
  lockAutoTopUp,
  setAutoTopUp,
} from '../../store/billing/top-ups/auto-top-ups.ts'
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

/** Switches automatic top-ups on, changes them, or resumes them after declines. */
export async function changeAutoTopUp(
  tx: Tx,
  actor: Actor,
  { project, chosen }: { project: ProjectAtHand; chosen: AutoTopUp },
): Promise<void> {
  await refuseInSandbox(tx, project, 'topUp')
  const problem = problemOf(chosen)
  if (problem) throw wrongField(FIELDS[problem.field], problem.message)
  const card = await findCard(tx, project.id)
  if (!card) throw conflict('There is no saved card to charge. Save one with your next top-up.')
  const before = await lockAutoTopUp(tx, project.id)
  const last = await findLastTopUp(tx, project.id)
  const isOfThisCard = last?.paymentMethod === card.paymentMethod
  const wasDeclined = isOfThisCard && (before ? before.declines > 0 : last.state === 'expired')
  const freshStarts = await countFreshStarts(tx, project)
  const after = afterChange({ before, chosen, wasDeclined, freshStarts })
  if (!after) throw conflict(`The card was declined, and tried again ${FRESH_STARTS_MAX} times in 24 hours. ${INSTEAD}`)
  await setAutoTopUp(tx, project.id, chosen, after.standing)
  const wasResumed = before?.pausedAt != null && after.standing.pausedAt === null
  const details = {
    before: before ? inWords(before) : 'off',
    after: inWords(chosen),
    ...(wasResumed && { resumed: true }),
    ...(after.isFreshStart && { [FRESH_START]: true }),
  }
  await auditProject(tx, actor, project, CHANGED, { details })
}

const CHANGED = 'wallet.auto_top_up_changed'
const FRESH_START = 'triedAnew'
const INSTEAD = 'Save another card with your next top-up, or try again tomorrow.'

/** From the log, which stays when top-ups are switched off: off and on again is no way around the limit. */
function countFreshStarts(tx: Tx, { id: projectId, publisherId }: ProjectAtHand): Promise<number> {
  return countOfDay(tx, { publisherId, projectId }, { action: CHANGED, detail: FRESH_START })
}

export async function switchAutoTopUpOff(tx: Tx, actor: Actor, { project }: { project: ProjectAtHand }): Promise<void> {
  const before = await findAutoTopUp(tx, project.id)
  if (!before || !(await deleteAutoTopUp(tx, project.id))) return
  const details = { before: inWords(before), after: 'off' }
  await auditProject(tx, actor, project, CHANGED, { details })
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
