import type { Command } from 'commander'
import { completionIdOf } from '../../rules/billing/receipts.ts'
import { releaseTimeOf, type ClickState } from '../../rules/clicks/earnings.ts'
import { VERDICT_LABELS } from '../../rules/clicks/verdict.ts'
import { endpointOf } from '../../rules/endpoints.ts'
import { formatCredits } from '../../rules/money.ts'
import { findEndpoints } from '../../store/calls/calls.ts'
import { findClickReceipt, type ClickReceipt } from '../../store/recommendations/click-pages.ts'
import { CliError, isId } from '../failures.ts'
import { facts, table, type Output } from '../print.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

/** The row that publisher and advertiser see, and what it moved in the ledger. */
export function addClickReceiptCommand(click: Command): void {
  addCommand(
    click,
    'show',
    'show what became of a click, what it cost and who got it',
    `parley click show ${EXAMPLE_ID}`,
  )
    .argument('<click>', 'its id')
    .action(withStore(show))
}

async function show({ db }: Session, id: string): Promise<Output> {
  if (!isId(id)) throw new CliError(`"${id}" is not the id of a click, which is a uuid.`)
  const click = await findClickReceipt(db, id)
  if (!click) throw new CliError(`There is no click ${id}.`)
  const call = await callOf(db, click)
  return { document: documentOf(click, call), text: `${factsOf(click, call)}\n\n${movementTable(click)}` }
}

/** The id of the answer that the recommendation stood under; null: it is kept no longer. */
async function callOf(db: Session['db'], { projectId, callId }: ClickReceipt): Promise<string | null> {
  if (callId === null) return null
  const endpoints = await findEndpoints(db, projectId, [callId])
  return completionIdOf(callId, endpointOf(endpoints.get(callId)))
}

const STATES: Record<ClickState, string> = {
  unpaid: 'it was not paid for',
  pending: 'the share is pending',
  released: 'the share went to the project’s wallet',
  reversed: 'it was taken back',
}

function factsOf(click: ClickReceipt, call: string | null): string {
  const { label, explanation } = VERDICT_LABELS[click.verdict]
  return facts({
    click: click.id,
    time: click.at,
    verdict: `${click.verdict}: ${label}. ${explanation}`,
    price: formatCredits(click.price),
    share: formatCredits(click.share),
    state: `${click.state}: ${STATES[click.state]}`,
    ...(click.state === 'pending' && { 'released from': releaseTimeOf(click.at) }),
    project: click.project ?? click.projectId,
    advertiser: click.advertiser ?? click.advertiserId,
    campaign: click.campaign ?? click.campaignId,
    offer: click.headline ?? click.offerId,
    recommendation: click.recommendationId,
    shown: click.shownAt,
    call,
  })
}

function movementTable({ movements }: ClickReceipt): string {
  return table(
    movements.map(({ reference, nanos, at, reason, id }) => {
      return { movement: reference, amount: formatCredits(nanos), time: at, id, reason }
    }),
    'It moved nothing in the ledger.',
  )
}

function documentOf(click: ClickReceipt, call: string | null) {
  const { id, at, verdict, state, movements } = click
  return {
    id,
    at,
    verdict,
    label: VERDICT_LABELS[verdict].label,
    price_nanos: click.price,
    share_nanos: click.share,
    state,
    releases_at: state === 'pending' ? releaseTimeOf(at) : null,
    project_id: click.projectId,
    advertiser_id: click.advertiserId,
    campaign_id: click.campaignId,
    offer_id: click.offerId,
    headline: click.headline,
    recommendation_id: click.recommendationId,
    shown_at: click.shownAt,
    call,
    movements: movements.map((movement) => {
      const { kind, nanos, reference, reason } = movement
      return { id: movement.id, kind, amount_nanos: nanos, reference, reason, at: movement.at }
    }),
  }
}
