import { storeUnavailable } from '../rules/errors.ts'
import { billFor, type Ending } from '../rules/billing/charging.ts'
import type { ChatRequest } from '../rules/calls/chat-request.ts'
import { OUTPUT_TOKENS_MAX_UNKNOWN, quote } from '../rules/billing/holds.ts'
import type { Nanos } from '../rules/money.ts'
import { costOf, outputTokensFor } from '../rules/billing/pricing.ts'
import { NO_USAGE, type Usage } from '../rules/billing/usage.ts'
import type { Call } from './call.ts'
import type { OpenDeployment, Route } from './upstreams/catalogue.ts'
import type { Gateway } from './gateway.ts'

/** Credit set aside for one call, until it is settled. */
export interface Hold {
  readonly amount: Nanos
  /** The request with `max_tokens` lowered to what the hold pays for, where nobody else would stop the model there. */
  clamp(request: ChatRequest): ChatRequest
  /** Resolves to whether the hold has grown by all that was asked for. Rejects when the store is away: that is no word on
   * the wallet. */
  extend(): Promise<boolean>
  /** Charges what the rules say and releases the rest. Durable when it resolves; at most once whatever happens. */
  settle(ending: Ending, status?: number, result?: string): Promise<void>
}

type HoldParts = Pick<Gateway, 'ledger' | 'statistics' | 'idempotency' | 'endUsers' | 'ignoredFields' | 'metadata'>

/** Everything before the first upstream byte: nothing is sent to a provider that the wallet has not set credit aside for. */
export async function holdFor(
  { ledger, statistics, idempotency, endUsers, ignoredFields, metadata }: HoldParts,
  call: Call,
  request: ChatRequest,
  { model, price, deployments }: Route,
  promptTokens: number,
): Promise<Hold> {
  const hiddenTokens = statistics.hiddenTokens(model, request)
  const asked = quote({
    promptTokens,
    maxTokens: request.max_tokens,
    typicalOutputTokens: statistics.typicalOutput(model),
    outputTokensMax: model.maxOutputTokens ?? OUTPUT_TOKENS_MAX_UNKNOWN,
    hiddenTokens,
    price,
  })
  const { projectId, keyPairId } = call.caller
  const endUserId = call.endUser && endUsers.digestOf(projectId, call.endUser.id)
  const ids = { callId: call.id, projectId, hasIdempotencyKey: call.idempotencyKey !== undefined }
  const frozen = { modelId: model.id, priceVersion: price.version }
  const wanted = { ...ids, ...frozen, keyPairId, endUserId, want: asked.want, min: asked.min }
  const grant = await ledger.hold(wanted).catch(async (error: unknown) => {
    await idempotency.giveUp(call)
    throw error
  })
  if (endUserId) endUsers.noteSeen(call, endUserId, call.endUser?.label)
  ignoredFields.note(call)
  Object.assign(call.progress, { endUserId, rates: grant.rates })
  let { amount } = grant
  const isPartial = amount < asked.want
  let extension = 0

  /** What the provider must be told. Undefined: it stops by itself where the hold ends, or the meter can stop it. */
  function maxTokensFor({ max_tokens }: ChatRequest): number | undefined {
    if (isPartial) return Math.max(1, outputTokensFor(amount, promptTokens, price, asked.outputTokens))
    const isUnseen = hiddenTokens > 0 && asked.outputTokens !== model.maxOutputTokens
    return max_tokens !== undefined || isUnseen ? asked.outputTokens : undefined
  }

  return {
    get amount() {
      return amount
    },
    clamp: (original) => ({ ...original, max_tokens: maxTokensFor(original) }),
    async extend() {
      extension += 1
      const oneToken = costOf({ ...NO_USAGE, output: 1 }, price) || 1n
      const want = costOf({ ...NO_USAGE, output: asked.outputTokens }, price) || 1n
      const extended = { callId: call.id, projectId, extension, want, min: oneToken }
      const total = await ledger.extend(extended).catch(() => {
        throw storeUnavailable({ extension })
      })
      // A hold that was swept while this process was paused answers 0. What was set aside still bounds the bill.
      const grownBy = total - amount
      if (grownBy > 0n) amount = total
      return grownBy >= want
    },
    async settle(ending, status = 200, result) {
      const { usage, source: usageSource, worth, charge } = billFor(ending, price)
      addUpstreamCost(call, deployments, usage)
      call.progress.bill = { outcome: ending.outcome, usage, usageSource, held: amount, worth }
      const { requestId, conversationId } = call
      const durationMs = Math.round(performance.now() - call.startedMs)
      const bill = { outcome: ending.outcome, usage, usageSource, worth, charge }
      const settlement = { ...ids, ...bill, requestId, conversationId, status, durationMs, result, ...call.facts }
      call.progress.charged = await ledger.settle(settlement)
      metadata.record(call)
    },
  }
}

/** The last attempt is the one that answered, or broke midway: what it used is what the provider bills. */
function addUpstreamCost({ facts }: Call, deployments: readonly OpenDeployment[], usage: Usage): void {
  const attempt = facts.attempts.at(-1)
  const cost = deployments.find(({ id }) => id === facts.deploymentId)?.cost
  if (attempt && cost) attempt.costNanos = costOf(usage, cost).toString()
}
