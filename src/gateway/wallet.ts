import { billFor, type Bill, type Ending, type Outcome } from '../rules/charging.ts'
import type { ChatRequest } from '../rules/chat-request.ts'
import { quote } from '../rules/holds.ts'
import type { Nanos } from '../rules/money.ts'
import { costOf, outputTokensFor } from '../rules/pricing.ts'
import { NO_USAGE, completionTokensOf } from '../rules/usage.ts'
import type { Ledger, Settlement } from '../store/ledger.ts'
import type { Call } from './call.ts'
import type { ModelRoute } from './catalogue.ts'
import type { TypicalOutput } from './typical-output.ts'

/** Credit set aside for one call, until it is settled. */
export interface Hold {
  readonly amount: Nanos
  /** The request with `max_tokens` lowered to what the hold pays for, where it could not be granted in full. */
  clamp(request: ChatRequest): ChatRequest
  /** Resolves to whether the hold has grown. Never rejects: a store that is away is the same as a wallet that is empty. */
  extend(): Promise<boolean>
  /** Charges what the rules say and releases the rest. Durable when it resolves; at most once whatever happens. */
  settle(ending: Ending, status: number): Promise<void>
}

/** Everything before the first upstream byte: nothing is sent to a provider that the wallet has not set credit aside for. */
export async function holdFor(
  ledger: Ledger,
  typicalOutput: TypicalOutput,
  call: Call,
  request: ChatRequest,
  { model, price }: ModelRoute,
  promptTokens: number,
): Promise<Hold> {
  const asked = quote(promptTokens, request.max_tokens, typicalOutput.of(model.id), model.maxOutputTokens, price)
  const { projectId, keyPairId } = call.caller
  let amount = await ledger.hold({
    callId: call.id,
    projectId,
    keyPairId,
    modelId: model.id,
    priceVersion: price.version,
    want: asked.want,
    min: asked.min,
  })
  const isPartial = amount < asked.want
  let extension = 0

  return {
    get amount() {
      return amount
    },
    clamp(original) {
      const max_tokens = isPartial
        ? Math.max(1, outputTokensFor(amount, promptTokens, price, asked.outputTokens))
        : original.max_tokens && Math.min(original.max_tokens, asked.outputTokens)
      return { ...original, max_tokens }
    },
    async extend() {
      const before = amount
      extension += 1
      try {
        const oneToken = costOf({ ...NO_USAGE, output: 1 }, price)
        const want = costOf({ ...NO_USAGE, output: asked.outputTokens }, price)
        amount = await ledger.extend({ callId: call.id, projectId, extension, want: want || 1n, min: oneToken || 1n })
        return amount > before
      } catch {
        amount = before
        return false
      }
    },
    async settle(ending, status) {
      const bill = billFor(ending, price)
      const { facts } = call
      facts.outcome = ending.outcome
      facts.usage = bill.usage
      facts.usageSource = bill.source
      facts.held = amount
      facts.worth = bill.worth
      facts.charged = await ledger.settle(settlementOf(call, ending.outcome, bill, status))
      if (ending.outcome === 'completed') typicalOutput.add(model.id, completionTokensOf(bill.usage))
    },
  }
}

function settlementOf(call: Call, outcome: Outcome, bill: Bill, status: number): Settlement {
  const { facts } = call
  return {
    callId: call.id,
    projectId: call.caller.projectId,
    charge: bill.charge,
    worth: bill.worth,
    usage: bill.usage,
    usageSource: bill.source,
    outcome,
    deploymentId: facts.deploymentId,
    conversationId: call.conversationId,
    requestId: call.requestId,
    streamed: facts.streamed,
    status,
    finishReason: facts.finishReason,
    errorCode: facts.errorCode,
    firstTokenMs: facts.firstTokenMs,
    durationMs: Math.round(performance.now() - call.startedMs),
    attempts: facts.attempts,
  }
}
