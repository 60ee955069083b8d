import type { Command } from 'commander'
import type { CallOutcome, UsageSource } from '../../rules/billing/charging.ts'
import { formatCredits } from '../../rules/money.ts'
import {
  callIdOf,
  completionIdOf,
  recompute,
  type Receipt,
  type ReceiptAttempt,
  type Recomputation,
} from '../../rules/billing/receipts.ts'
import { CALL_ENDPOINTS, ID_EXAMPLES } from '../../rules/endpoints.ts'
import { CLASS_COLUMNS } from '../../rules/billing/token-columns.ts'
import { TOKEN_CLASSES } from '../../rules/billing/usage.ts'
import { findHold, findReceipt } from '../../store/billing/receipts.ts'
import { archivedTableOf, findArchivedDay } from '../../store/billing/sealed-days.ts'
import { CliError } from '../failures.ts'
import { classLabel, priceDocument } from '../catalogue/prices.ts'
import { facts, table, type Output } from '../print.ts'
import { addCommand, EXAMPLE_ID, withStore, type Session } from '../session.ts'

export function addReceiptCommand(program: Command): void {
  addCommand(program, 'receipt', 'show what a call did, what it cost and why', `parley receipt ${EXAMPLE_ID}`)
    .argument('<id>', `the id of the answer (${ID_EXAMPLES}), or a uuid`)
    .action(withStore(show))
}

const OUTCOMES: Record<CallOutcome, string> = {
  completed: 'the answer was complete',
  hung_up: 'the caller hung up',
  hold_used_up: 'the credit was used up, so the answer was ended early',
  upstream_failed: 'the provider failed',
  truncated: 'the provider’s answer was cut off',
  timed_out: 'the provider was too slow',
  gateway_failed: 'Parley failed',
  gateway_died: 'the gateway died during the call',
}

const SOURCES: Record<UsageSource, string> = {
  reported: 'as the provider reported',
  estimated: 'as Parley counted',
  none: 'the answer never began',
}

/** The gateway's own count is lost with it; if it was only late, its bill came afterwards and is among the corrections. */
const DIED = 'not known: the gateway was given up during the call'

async function show({ db }: Session, text: string): Promise<Output> {
  const id = callIdOf(text.toLowerCase())
  if (id === undefined) {
    throw new CliError(`"${text}" is not the id of a call: give the id of the answer (${ID_EXAMPLES}), or a uuid.`)
  }
  const receipt = await findReceipt(db, id)
  if (!receipt) return running(db, id)
  const again = recompute(receipt)
  const parts = [
    callFacts(receipt),
    tokenTable(receipt),
    moneyFacts(receipt, again),
    attemptTable(receipt),
    correctionTable(receipt),
  ]
  return { document: documentOf(receipt, again), text: parts.join('\n\n') }
}

async function running(db: Session['db'], id: string): Promise<Output> {
  const hold = await findHold(db, id)
  if (!hold) {
    const day = await findArchivedDay(db, id)
    if (day !== undefined) {
      throw new CliError(`The calls of ${day} are archived: ${id} is in ${archivedTableOf(day)}, or in its dump.`)
    }
    throw new CliError(
      `There is no call ${id}. Only calls that were admitted are kept: for others, search the log for the x-request-id.`,
    )
  }
  const { project_id, key_pair_id, model_id, amount_nanos, held_at } = hold
  return {
    document: { id, outcome: null, project_id, key_pair_id, model_id, held_nanos: amount_nanos, held_at },
    text: facts({
      call: id,
      project: project_id,
      'key pair': key_pair_id,
      model: model_id,
      time: held_at,
      outcome: 'still running',
      held: formatCredits(amount_nanos),
    }),
  }
}

function callFacts(receipt: Receipt): string {
  return facts({
    call: receipt.callId,
    answer: completionIdOf(receipt.callId, receipt.endpoint),
    endpoint: CALL_ENDPOINTS[receipt.endpoint].path,
    project: receipt.projectId,
    'key pair': receipt.keyPairId,
    model: receipt.modelId,
    conversation: receipt.conversationId,
    'request id': receipt.requestId,
    time: receipt.heldAt,
    settled: receipt.settledAt,
    outcome: `${receipt.outcome}: ${OUTCOMES[receipt.outcome]}`,
    status: receipt.status,
    error: receipt.errorCode,
    'finish reason': receipt.finishReason,
    streamed: receipt.streamed,
    'first token': receipt.firstTokenMs === null ? null : `${receipt.firstTokenMs} ms`,
    duration: `${receipt.durationMs} ms`,
  })
}

function tokenTable({ usage, price }: Receipt): string {
  return table(
    TOKEN_CLASSES.map((name) => ({
      tokens: classLabel(name),
      count: usage[name],
      'price per million': formatCredits(price[name]),
    })),
    '',
  )
}

function moneyFacts(receipt: Receipt, again: Recomputation): string {
  return facts({
    usage: receipt.outcome === 'gateway_died' ? DIED : SOURCES[receipt.usageSource],
    'price version': receipt.price.version,
    held: formatCredits(receipt.held),
    worth: formatCredits(receipt.worth),
    charged: formatCredits(receipt.charged),
    recomputed: `${formatCredits(again.charge)}, which ${again.matches ? 'matches' : 'DOES NOT MATCH: this receipt contradicts itself'}`,
    'upstream cost': upstreamCostOf(receipt),
    'recommendation credit': formatCredits(RECOMMENDATION_CREDIT),
  })
}

/** Nothing credits a call for what it recommended yet. */
const RECOMMENDATION_CREDIT = 0n

/** Adds up the costs that are known: an attempt at a provider whose cost is not known counts nothing. Null: none is known. */
function upstreamCostOf({ attempts }: Receipt): string | null {
  const known = attempts.map(costOf).filter((cost) => cost !== null)
  return known.length === 0 ? null : formatCredits(known.reduce((sum, cost) => sum + cost))
}

function costOf({ costNanos }: ReceiptAttempt): bigint | null {
  return costNanos === undefined ? null : BigInt(costNanos)
}

function attemptTable({ attempts, outcome }: Receipt): string {
  const hasFallbacks = attempts.some(({ model }) => model !== undefined)
  return table(
    attempts.map((attempt) => {
      const cost = costOf(attempt)
      return {
        attempt: attempt.provider,
        ...(hasFallbacks && { model: attempt.model ?? null }),
        result: attempt.failed ?? 'answered',
        after: `${attempt.ms} ms`,
        cost: cost === null ? null : formatCredits(cost),
        route: attempt.deployment,
      }
    }),
    outcome === 'gateway_died' ? 'Which providers were asked is not known.' : 'No provider was asked.',
  )
}

function correctionTable({ corrections }: Receipt): string {
  return table(
    corrections.map((correction) => ({
      correction: correction.kind,
      amount: formatCredits(correction.amount),
      time: correction.createdAt,
      id: correction.id,
      corrects: correction.corrects,
      reference: correction.reference,
      reason: correction.reason,
    })),
    'It was not corrected.',
  )
}

function documentOf(receipt: Receipt, again: Recomputation) {
  return {
    id: receipt.callId,
    completion_id: completionIdOf(receipt.callId, receipt.endpoint),
    endpoint: CALL_ENDPOINTS[receipt.endpoint].path,
    project_id: receipt.projectId,
    key_pair_id: receipt.keyPairId,
    model_id: receipt.modelId,
    conversation_id: receipt.conversationId,
    request_id: receipt.requestId,
    held_at: receipt.heldAt,
    settled_at: receipt.settledAt,
    outcome: receipt.outcome,
    status: receipt.status,
    error_code: receipt.errorCode,
    finish_reason: receipt.finishReason,
    streamed: receipt.streamed,
    first_token_ms: receipt.firstTokenMs,
    duration_ms: receipt.durationMs,
    tokens: Object.fromEntries(TOKEN_CLASSES.map((name) => [CLASS_COLUMNS[name], receipt.usage[name]])),
    usage_source: receipt.usageSource,
    price_version: receipt.price.version,
    price: priceDocument(receipt.price),
    held_nanos: receipt.held,
    worth_nanos: receipt.worth,
    charged_nanos: receipt.charged,
    recomputed: { worth_nanos: again.worth, charge_nanos: again.charge, matches: again.matches },
    recommendation_credit_nanos: RECOMMENDATION_CREDIT,
    attempts: receipt.attempts.map((attempt) => {
      const { provider, deployment, ms, failed = null } = attempt
      return { provider, deployment, ms, failed, cost_nanos: costOf(attempt) }
    }),
    corrections: receipt.corrections.map(({ id, kind, amount, reference, reason, corrects, createdAt }) => {
      return { id, kind, amount_nanos: amount, reference, reason, corrects, created_at: createdAt }
    }),
  }
}
