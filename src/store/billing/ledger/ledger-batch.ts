import type { Pool, PoolClient } from 'pg'
import { TOKEN_COLUMNS } from '../../../rules/billing/token-columns.ts'
import type { ApplyBatch, ExtensionRequest, HoldRequest, LedgerAnswer, LedgerItem } from './ledger-items.ts'
import type { Settlement } from '../settlement.ts'

/** The ledger's one statement: what a batch says to ledger_apply, and what comes back. */

export interface ApplyOptions {
  pool: Pick<Pool | PoolClient, 'query'>
  gatewayId: string
  onBatch?: (items: number, seconds: number) => void
}

export function applyWith({ pool, gatewayId, onBatch }: ApplyOptions): ApplyBatch {
  return async (items) => {
    const startedAt = performance.now()
    const { rows } = await pool.query<LedgerAnswer>({
      name: 'ledger_apply',
      text: 'select * from ledger_apply($1, $2, $3, $4, $5)',
      values: [gatewayId, ...batchOf(items)],
    })
    onBatch?.(items.length, (performance.now() - startedAt) / 1000)
    const answers = new Map(rows.map((row) => [row.part + row.id, row]))
    return items.map((item) => {
      const answer = answers.get(item.part + (item.part === 'settle' ? item.settlement : item.request).callId)
      if (!answer) throw new Error('the ledger did not answer an item')
      if (isSessionIgnored(item, answers)) return { ...answer, refusal: SESSION_IGNORED }
      if (item.part !== 'hold' || rows.length === items.length) return answer
      return {
        ...answer,
        limitedBy: answers.get(`limited_by${answer.id}`)?.refusal,
        rates: ratesIn(answers, answer.id),
      }
    })
  }
}

/** No code of an error: the call is told 503, and the log says this. */
const SESSION_IGNORED = 'session_ignored'

/** An older ledger_hold, to which nothing would bound a session, does not acknowledge one. It has granted nothing, either. */
function isSessionIgnored(item: LedgerItem, answers: ReadonlyMap<string, LedgerAnswer>): boolean {
  if (item.part !== 'hold' || item.request.sessionId === undefined) return false
  return !answers.has(`session${item.request.callId}`)
}

/** A list of PostgreSQL's, as text: `{60,59,NULL,NULL}`. */
function ratesIn(answers: ReadonlyMap<string, LedgerAnswer>, callId: string): LedgerAnswer['rates'] {
  const list = answers.get(`rates${callId}`)?.refusal?.slice(1, -1).split(',')
  return list?.map((figure) => (figure === 'NULL' ? null : figure))
}

/** Returns those of the projects whose wallet no other transaction has locked. */
export async function findFreeWallets(
  pool: ApplyOptions['pool'],
  projectIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ id: string }>('select id from ledger_free_wallets($1) as id', [projectIds])
  return new Set(rows.map(({ id }) => id))
}

type Batch = [projectIds: string[], settles: string | null, extensions: string | null, holds: string | null]

/** The arguments of ledger_apply. Exported for the benchmark, which runs the same statement bare. */
export function batchOf(items: readonly LedgerItem[]): Batch {
  const projectIds = new Set<string>()
  const settles: unknown[] = []
  const extensions: unknown[] = []
  const holds: unknown[] = []
  for (const item of items) {
    projectIds.add((item.part === 'settle' ? item.settlement : item.request).projectId)
    if (item.part === 'settle') settles.push(settleRow(settles.length + 1, item.settlement))
    else if (item.part === 'extend') extensions.push(extensionRow(extensions.length + 1, item.request))
    else holds.push(holdRow(holds.length + 1, item.request))
  }
  return [[...projectIds], jsonOf(settles), jsonOf(extensions), jsonOf(holds)]
}

function jsonOf(rows: readonly unknown[]): string | null {
  return rows.length > 0 ? JSON.stringify(rows) : null
}

// `n` is the order of arrival. Amounts travel as text: a JSON number is a double.

function holdRow(n: number, request: HoldRequest) {
  const { sessionId } = request
  const want = request.want.toString()
  return {
    n,
    id: request.callId,
    project_id: request.projectId,
    key_pair_id: request.keyPairId,
    ...(request.endUserId !== undefined && { end_user_id: request.endUserId }),
    ...(sessionId !== undefined && { session_id: sessionId, session_want_nanos: want }),
    ...(request.endpoint !== undefined && { endpoint: request.endpoint }),
    model_id: request.modelId,
    price_version_id: request.priceVersion.toString(),
    // A function that does not know of sessions grants nothing to one.
    want_nanos: sessionId === undefined ? want : '0',
    min_nanos: request.min.toString(),
    has_key: request.hasIdempotencyKey,
  }
}

function extensionRow(n: number, request: ExtensionRequest) {
  return {
    n,
    id: request.callId,
    project_id: request.projectId,
    extension: request.extension,
    want_nanos: request.want.toString(),
    min_nanos: request.min.toString(),
  }
}

function settleRow(n: number, settlement: Settlement) {
  const { usage, attempts, anomalies = [], reported } = settlement
  const row: Record<string, unknown> = {
    n,
    id: settlement.callId,
    bill_nanos: settlement.charge.toString(),
    usage_nanos: settlement.worth.toString(),
    ...TOKEN_COLUMNS.rowOf(usage),
    has_key: settlement.hasIdempotencyKey,
    ...(anomalies.length > 0 && { anomalies, reported, provider: attempts.at(-1)?.provider ?? '' }),
  }
  for (const name in settlement) {
    const known = COLUMNS.get(name)
    const value = settlement[name as keyof Settlement]
    if (known !== null && value !== undefined) row[known ?? addColumn(name)] = value
  }
  return row
}

/** Another name or form there, or a condition: written out above. */
const WRITTEN_OUT = ['callId', 'charge', 'worth', 'usage', 'hasIdempotencyKey', 'anomalies', 'reported']
const COLUMNS = new Map<string, string | null>(WRITTEN_OUT.map((name) => [name, null]))

/** All else goes under its own name, as SQL writes it: `firstTokenMs` is `first_token_ms`. */
function addColumn(name: string): string {
  const column = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  COLUMNS.set(name, column)
  return column
}
