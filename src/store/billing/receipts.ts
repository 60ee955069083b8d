import type { CallOutcome, UsageSource } from '../../rules/billing/charging.ts'
import { endpointOf } from '../../rules/endpoints.ts'
import type { Receipt, ReceiptAttempt } from '../../rules/billing/receipts.ts'
import { PRICE_COLUMNS, TOKEN_COLUMNS } from '../../rules/billing/token-columns.ts'
import type { Db } from '../database.ts'

/** Undefined when there is no such call, or it has not been settled yet. */
export async function findReceipt(db: Db, callId: string): Promise<Receipt | undefined> {
  const row = await db
    .selectFrom('charges as m')
    .innerJoin('calls as c', 'c.id', 'm.id')
    .innerJoin('price_versions as p', 'p.id', 'm.price_version_id')
    .selectAll('m')
    .select(['c.conversation_id', 'c.request_id', 'c.finish_reason', 'c.error_code', 'c.streamed', 'c.status'])
    .select(['c.first_token_ms', 'c.duration_ms', 'c.attempts', 'c.endpoint'])
    .select(PRICE_COLUMNS.names.map((name) => `p.${name}` as const))
    .where('m.id', '=', callId)
    .executeTakeFirst()
  if (!row) return undefined
  const corrections = await db
    .selectFrom('transfers')
    .select(['id', 'kind', 'amount_nanos as amount', 'reference', 'reason', 'corrects', 'created_at as createdAt'])
    .where((eb) =>
      eb.or([
        eb('corrects', '=', callId),
        eb('corrects', 'in', db.selectFrom('transfers').select('id').where('corrects', '=', callId)),
      ]),
    )
    .orderBy('created_at')
    .limit(100)
    .execute()
  return {
    callId: row.id,
    endpoint: endpointOf(row.endpoint),
    projectId: row.project_id,
    keyPairId: row.key_pair_id,
    modelId: row.model_id,
    conversationId: row.conversation_id,
    requestId: row.request_id,
    outcome: row.outcome as CallOutcome,
    finishReason: row.finish_reason,
    errorCode: row.error_code,
    streamed: row.streamed,
    status: row.status,
    usage: TOKEN_COLUMNS.valuesIn(row),
    usageSource: row.usage_source as UsageSource,
    price: { version: row.price_version_id, ...PRICE_COLUMNS.valuesIn(row) },
    held: row.held_nanos,
    worth: row.usage_nanos,
    charged: row.charged_nanos,
    firstTokenMs: row.first_token_ms,
    durationMs: row.duration_ms,
    attempts: row.attempts as ReceiptAttempt[],
    corrections,
    heldAt: row.held_at,
    settledAt: row.settled_at,
  }
}

/** A call that still runs, or whose gateway died a moment ago, is known only by its hold. */
export async function findHold(db: Db, callId: string) {
  return db.selectFrom('holds').selectAll().where('id', '=', callId).executeTakeFirst()
}
