import { sql } from 'kysely'
import { uuidv7 } from '../../src/platform/uuid.ts'
import { TOKEN_COLUMNS } from '../../src/rules/billing/token-columns.ts'
import { NO_USAGE } from '../../src/rules/billing/usage.ts'
import type { Db, Store } from '../../src/store/database.ts'
import { applyWith } from '../../src/store/billing/ledger/ledger-batch.ts'
import { createLedger, type Ledger } from '../../src/store/billing/ledger/ledger.ts'
import type { Settlement } from '../../src/store/billing/settlement.ts'
import { STORE_WAIT_MS } from './database.ts'

/** As a gateway of that id writes it. */
export function createTestLedger(pool: Parameters<typeof applyWith>[0]['pool'], gatewayId: string = uuidv7()): Ledger {
  return createLedger(applyWith({ pool, gatewayId }), { holdWaitMs: STORE_WAIT_MS })
}

/** A settlement with nothing special about it. */
export function settlementOf(
  callId: string,
  projectId: string,
  charge: bigint,
  change: Partial<Settlement> = {},
): Settlement {
  return {
    callId,
    projectId,
    charge,
    worth: charge,
    usage: { ...NO_USAGE, input: 10, output: 5 },
    usageSource: 'reported',
    outcome: 'completed',
    requestId: 'test',
    streamed: false,
    status: 200,
    finishReason: 'stop',
    firstTokenMs: 1,
    durationMs: 2,
    attempts: [],
    hasIdempotencyKey: false,
    ...change,
  }
}

export interface SettledCall {
  id: string
  projectId: string
  keyPairId: string
  charge?: bigint
  /** Also finish reasons that no provider gives. */
  change?: Partial<Omit<Settlement, 'finishReason'> & { finishReason: string }>
  modelId?: string
  priceVersion?: bigint
  settledAt?: Date
  endUserId?: string
}

/** A call that was made and paid for, written past the ledger: its wallet does not know of it. */
export async function addSettledCall(db: Db, call: SettledCall): Promise<void> {
  const { id, projectId, keyPairId, modelId = 'sim-small', priceVersion = 1n, settledAt = new Date() } = call
  const s = settlementOf(id, projectId, call.charge ?? 30_000n, call.change as Partial<Settlement>)
  const who = { id, project_id: projectId, key_pair_id: keyPairId, model_id: modelId }
  const amounts = { held_nanos: s.worth + 1n, usage_nanos: s.worth, charged_nanos: s.charge }
  await db
    .insertInto('charges')
    .values({
      ...who,
      ...amounts,
      price_version_id: priceVersion,
      gateway_id: projectId,
      ...TOKEN_COLUMNS.rowOf(s.usage),
      usage_source: s.usageSource,
      outcome: s.outcome,
      held_at: new Date(settledAt.getTime() - s.durationMs),
      settled_at: settledAt,
    })
    .execute()
  await db
    .insertInto('calls')
    .values({
      ...who,
      conversation_id: s.conversationId ?? null,
      end_user_id: call.endUserId ?? null,
      request_id: s.requestId,
      endpoint: s.endpoint ?? null,
      streamed: s.streamed,
      status: s.status,
      outcome: s.outcome,
      finish_reason: s.finishReason ?? null,
      error_code: s.errorCode ?? null,
      recommendation_outcome: s.recommendationOutcome ?? null,
      first_token_ms: s.firstTokenMs ?? null,
      duration_ms: s.durationMs,
      attempts: JSON.stringify(s.attempts),
    })
    .execute()
}

/** Every row is a broken invariant; the ledger is sound when there is none. */
export async function auditOf(store: Store): Promise<string[]> {
  const { rows } = await sql<{ violation: string }>`
    select 'balance of ' || w.project_id || ' is ' || w.balance_nanos || ', its entries sum to ' || coalesce(j.sum, 0) as violation
      from wallets w left join (select account_id, sum(delta_nanos) from journal group by 1) j on j.account_id = w.project_id
      where w.balance_nanos <> coalesce(j.sum, 0)
    union all
    select 'held of ' || w.project_id || ' is ' || w.held_nanos || '/' || w.open_holds || ', its holds are ' ||
        coalesce(h.sum, 0) || '/' || coalesce(h.count, 0)
      from wallets w left join (select project_id, sum(amount_nanos), count(*) from holds group by 1) h using (project_id)
      where w.held_nanos <> coalesce(h.sum, 0) or w.open_holds <> coalesce(h.count, 0)
    union all
    select 'journal sums to ' || sum(delta_nanos) from journal having sum(delta_nanos) <> 0
    union all
    select 'below zero: ' || project_id from wallets where balance_nanos - held_nanos < 0
    union all
    select project_id || ' owes ' || w.owed_nanos || ', was advanced ' || coalesce(a.sum, 0) || ', has ' ||
        (w.balance_nanos - w.held_nanos)
      from wallets w left join (
        select case kind when 'owed' then credit_account else debit_account end as project_id,
          sum(case kind when 'owed' then amount_nanos else -amount_nanos end) from transfers
        where kind in ('owed', 'collection') group by 1) a using (project_id)
      where w.owed_nanos <> coalesce(a.sum, 0) or (w.owed_nanos > 0 and w.balance_nanos > w.held_nanos)
    union all
    select 'held and charged: ' || h.id from holds h join charges c on c.id = h.id
    union all
    select 'charge without a call: ' || c.id from charges c left join calls k on k.id = c.id where k.id is null`.execute(
    store.db,
  )
  return rows.map((row) => row.violation)
}
