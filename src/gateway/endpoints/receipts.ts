import type { FastifyReply, FastifyRequest } from 'fastify'
import { ParleyError } from '../../rules/errors.ts'
import { callIdOf, completionIdOf, recompute, savedOn, type Receipt } from '../../rules/billing/receipts.ts'
import { CALL_ENDPOINTS } from '../../rules/endpoints.ts'
import { PRICE_COLUMNS, TOKEN_COLUMNS } from '../../rules/billing/token-columns.ts'
import { perClass } from '../../rules/billing/usage.ts'
import { orUnavailable, type Db } from '../../store/database.ts'
import { findReceipt } from '../../store/billing/receipts.ts'

/** GET /v1/receipts/{completion_id}: why a call cost what it cost. Another project's receipt is not there. */
export async function answerReceipt(db: Db, request: FastifyRequest, reply: FastifyReply) {
  const callId = callIdOf((request.params as { id: string }).id)
  const receipt = callId === undefined ? undefined : await orUnavailable(findReceipt(db, callId))
  if (!receipt || receipt.projectId !== request.caller.projectId) throw new ParleyError('receipt_not_found')
  return reply.header('cache-control', 'private, no-store').send(receiptBodyOf(receipt))
}

/**
 * The publisher sees its own call and prices, not the operator's providers and costs. Amounts are text: nanos do not fit a JSON
 * number.
 */
function receiptBodyOf(receipt: Receipt) {
  const { usage, price } = receipt
  const again = recompute(receipt)
  return {
    id: completionIdOf(receipt.callId, receipt.endpoint),
    object: 'receipt',
    created: Math.floor(receipt.heldAt.getTime() / 1000),
    settled: Math.floor(receipt.settledAt.getTime() / 1000),
    request_id: receipt.requestId,
    conversation_id: receipt.conversationId,
    endpoint: CALL_ENDPOINTS[receipt.endpoint].path,
    model: receipt.modelId,
    streamed: receipt.streamed,
    status: receipt.status,
    outcome: receipt.outcome,
    finish_reason: receipt.finishReason,
    error_code: receipt.errorCode,
    usage: { ...TOKEN_COLUMNS.rowOf(usage), source: receipt.usageSource },
    price: {
      version: price.version.toString(),
      unit: 'nanos per million tokens',
      ...PRICE_COLUMNS.rowOf(perClass((name) => price[name].toString())),
    },
    held_nanos: receipt.held.toString(),
    charged_nanos: receipt.charged.toString(),
    recomputed: { charge_nanos: again.charge.toString(), matches: again.matches },
    cache: {
      read_tokens: usage.cachedInput,
      written_tokens: usage.cacheWrite,
      saved_nanos: savedOn(receipt).toString(),
    },
    recommendation_credit_nanos: '0',
    corrections: receipt.corrections.map(({ kind, amount, createdAt }) => ({
      kind,
      amount_nanos: amount.toString(),
      created: Math.floor(createdAt.getTime() / 1000),
    })),
    timings: { first_token_ms: receipt.firstTokenMs, duration_ms: receipt.durationMs },
    attempts: receipt.attempts.map(({ model = receipt.modelId, ms, failed }) => ({
      model,
      ms,
      failed: failed ?? null,
    })),
  }
}
