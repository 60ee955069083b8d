import { sql } from 'kysely'
import { NO_USAGE } from '../../src/rules/usage.ts'
import type { Store } from '../../src/store/database.ts'
import type { Settlement } from '../../src/store/ledger.ts'

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
    deploymentId: undefined,
    conversationId: undefined,
    requestId: 'test',
    streamed: false,
    status: 200,
    finishReason: 'stop',
    errorCode: undefined,
    firstTokenMs: 1,
    durationMs: 2,
    attempts: [],
    hasIdempotencyKey: false,
    result: undefined,
    ...change,
  }
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
    select 'held and charged: ' || h.id from holds h join charges c on c.id = h.id
    union all
    select 'charge without a call: ' || c.id from charges c left join calls k on k.id = c.id where k.id is null`.execute(
    store.db,
  )
  return rows.map((row) => row.violation)
}
