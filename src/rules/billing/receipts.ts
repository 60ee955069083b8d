import { billFor, type CallOutcome, type UsageSource } from './charging.ts'
import { savedByCaches } from './costs.ts'
import { CALL_ENDPOINTS, ID_PREFIXES, type CallEndpointName } from '../endpoints.ts'
import type { Nanos } from '../money.ts'
import type { Price } from './pricing.ts'
import { perClass, TOKEN_CLASSES, type Usage } from './usage.ts'

/** The immutable record of what a call cost and why: everything that its charge can be computed from again. */
export interface Receipt {
  callId: string
  endpoint: CallEndpointName
  projectId: string
  keyPairId: string
  modelId: string
  conversationId: string | null
  requestId: string
  outcome: CallOutcome
  finishReason: string | null
  errorCode: string | null
  streamed: boolean
  status: number
  usage: Usage
  usageSource: UsageSource
  price: Price
  held: Nanos
  worth: Nanos
  charged: Nanos
  firstTokenMs: number | null
  durationMs: number
  attempts: readonly ReceiptAttempt[]
  corrections: readonly Correction[]
  heldAt: Date
  settledAt: Date
}

/** A later movement that names this call, such as a late charge or a refund, or the reversal of one. */
export interface Correction {
  id: string
  kind: string
  amount: Nanos
  reference: string
  reason: string | null
  /** The call, or the correction that this one reverses. */
  corrects: string | null
  createdAt: Date
}

export interface ReceiptAttempt {
  deployment: string
  provider: string
  /** Set where the call names several. */
  model?: string
  ms: number
  failed?: string
  /** The provider's charge to the operator for it, if known. */
  costNanos?: string
}

export interface Recomputation {
  worth: Nanos
  charge: Nanos
  /** False: the receipt contradicts itself, which the audit reports as well. */
  matches: boolean
}

/** The charge again, from the receipt alone: token buckets times the frozen price, by the charging table. */
export function recompute(receipt: Receipt): Recomputation {
  const { outcome, usage, usageSource, held, price } = receipt
  const bill = billFor(
    { outcome, used: usageSource === 'none' ? undefined : { usage, source: usageSource }, held },
    price,
  )
  // Less than the bill is right where it exceeds the hold and the wallet could not pay the rest.
  const least = bill.charge < held ? bill.charge : held
  const matches =
    (outcome !== 'completed' || usageSource !== 'none') &&
    isSameUsage(bill.usage, usage) &&
    bill.source === usageSource &&
    bill.worth === receipt.worth &&
    receipt.charged <= bill.charge &&
    receipt.charged >= least
  return { worth: bill.worth, charge: bill.charge, matches }
}

/** Returns what the provider's cache has saved: nothing for a call that cost nothing. */
export function savedOn({ usage, price, charged }: Pick<Receipt, 'usage' | 'price' | 'charged'>): Nanos {
  return charged === 0n ? 0n : savedByCaches([{ tokens: perClass((name) => BigInt(usage[name])), price }])
}

function isSameUsage(a: Usage, b: Usage): boolean {
  return TOKEN_CLASSES.every((name) => a[name] === b[name])
}

const COMPLETION_ID = new RegExp(
  `^(?:${ID_PREFIXES.join('|')})?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$`,
)

/** Returns the id that callers know a call by. */
export function completionIdOf(callId: string, endpoint: CallEndpointName): string {
  return CALL_ENDPOINTS[endpoint].idPrefix + callId.replaceAll('-', '')
}

/** The call's id from a completion's id or from itself; undefined when it is neither. */
export function callIdOf(completionId: string): string | undefined {
  return COMPLETION_ID.exec(completionId)?.slice(1).join('-')
}
