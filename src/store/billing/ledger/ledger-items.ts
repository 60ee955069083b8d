import type { Rates } from '../../../rules/billing/limits.ts'
import type { CallEndpointName } from '../../../rules/endpoints.ts'
import type { Nanos } from '../../../rules/money.ts'
import type { Settlement } from '../settlement.ts'

/** The requests that the ledger's statement gets, and its answers. */

export interface HoldRequest {
  callId: string
  projectId: string
  keyPairId: string
  /** The end user whom the call is for, if the caller names one. */
  endUserId?: string | undefined
  /** For a call that was made with the secret of a browser session. */
  sessionId?: string | undefined
  /** Where it was asked, for whoever settles it should this process die. */
  endpoint?: CallEndpointName
  modelId: string
  priceVersion: bigint
  want: Nanos
  min: Nanos
  /** Then the hold is granted only while the key is still this call's. */
  hasIdempotencyKey: boolean
}

export interface ExtensionRequest {
  callId: string
  projectId: string
  /** 1 for the first extension of a call; makes sending it twice harmless. */
  extension: number
  want: Nanos
  min: Nanos
}

export type LedgerItem =
  | { part: 'hold'; request: HoldRequest }
  | { part: 'extend'; request: ExtensionRequest }
  | { part: 'settle'; settlement: Settlement }

/** One row of what ledger_apply returns. */
export interface LedgerAnswer {
  id: string
  part: string
  amount_nanos: bigint | null
  refusal: string | null
  /** The limit that refused a hold: `key_pair:month`. */
  limitedBy?: string | null | undefined
  /** For a hold, where there are rate limits: see `ratesOf`. */
  rates?: readonly (string | null)[] | null | undefined
}

/** Credit that was set aside. */
export interface Grant {
  amount: Nanos
  rates: Rates | undefined
}

/** Applies a batch in one transaction and answers each item, in order. Must be harmless to repeat. */
export type ApplyBatch = (items: readonly LedgerItem[]) => Promise<LedgerAnswer[]>
