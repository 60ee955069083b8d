/**
 * Compares what callers received with what PostgreSQL says, when everything is healed and nothing runs any more. It
 * shares no arithmetic with the gateway: prices, tokens and rules are stated here a second time.
 *
 * Collected is what the publisher paid for a call: its charge, plus what was collected late because its gateway had been
 * taken for dead. Absorbed is what the operator took over because the wallet was empty by then, or because a retry with
 * the same Idempotency-Key had been charged already. Both together are the bill; of a wallet that was never near empty,
 * what is collected is.
 *
 * | the caller received             | bill                                  | why other amounts are wrong or right             |
 * |---------------------------------|---------------------------------------|--------------------------------------------------|
 * | a complete answer               | its tokens at the price: less is LOST, more is DOUBLED    | [DONE] and the JSON body wait for the charge |
 * | the same, cut by an empty hold  | the hold                              | the provider was writing on                      |
 * | an error event inside a stream  | nothing, anything is DOUBLED          | the provider or the gateway broke it             |
 * |   … that says store_unavailable | nothing or the whole answer, once     | the charge was in doubt when the gateway gave up |
 * | an error status                 | nothing, anything is DOUBLED          | nothing was delivered                            |
 * | a part, then the connection     | from the part to the whole answer if the gateway lived to   | a hang-up is paid as far as it was generated; |
 * |   ended, by whomever            |   settle it as a hang-up or as complete; else nothing       | the charge may precede a cut before [DONE] |
 * | nothing at all                  | nothing to the whole answer, once     | the answer may have been charged and then lost   |
 *
 * Of the rows that no caller can name, a project may have no more than it has callers who received nothing.
 * Of all calls with one Idempotency-Key together, the bill is that of one answer.
 * STUCK is an open hold when all leases are over, and a call that was delivered in part and has no charge row, not even
 * one of zero. DRIFT is a wallet whose balance, less what it owes, differs from what was put in and not taken back minus
 * what was collected, and every broken invariant of the ledger.
 */
import { sql } from 'kysely'
import { checkLedger } from '../../src/store/billing/ledger-check/ledger-check.ts'
import type { Store } from '../../src/store/database.ts'
import { auditOf } from '../support/ledger.ts'
import type { Attempt } from './traffic.ts'

/** In nanos per token; the model's price in price_versions is per million. */
const PROMPT_TOKEN = 1_000n
const OUTPUT_TOKEN = 4_000n

/** The database's record of one call. */
export interface Row {
  id: string
  project_id: string
  outcome: string
  held: bigint
  charged: bigint
  late: bigint
  absorbed: bigint
  conversation_id: string | null
  status: number | null
}

export interface Case {
  what: string
  attempt?: Attempt
  row?: Row
}

export interface Verdict {
  lost: Case[]
  doubled: Case[]
  stuck: Case[]
  drift: Case[]
  /** How often the rarer paths were taken, to see that a run has reached them. */
  seen: Record<'late' | 'absorbed' | 'died' | 'orphaned' | 'hung_up' | 'used_up' | 'replayed', number>
}

export interface Funding {
  projectId: string
  /** Below zero: taken back. */
  nanos: bigint
}

export async function judge(
  store: Store,
  attempts: readonly Attempt[],
  funding: readonly Funding[],
  keyedProjectId: string,
  tightProjectIds: ReadonlySet<string>,
): Promise<Verdict> {
  const rows = await rowsOf(store)
  const judged = judgeCalls(attempts, rows, keyedProjectId, tightProjectIds)
  const violations = [...(await auditOf(store)), ...(await ownAuditOf(store))].map((what) => ({ what }))
  return {
    ...judged,
    stuck: [...judged.stuck, ...(await openHolds(store))],
    drift: [...violations, ...(await driftOf(store, rows, funding))],
    seen: {
      late: rows.filter((row) => row.late > 0n).length,
      absorbed: rows.filter((row) => row.absorbed > 0n).length,
      died: rows.filter((row) => row.outcome === 'gateway_died').length,
      orphaned: rows.filter((row) => row.outcome === 'gateway_failed').length,
      hung_up: rows.filter((row) => row.outcome === 'hung_up').length,
      used_up: rows.filter((row) => row.outcome === 'hold_used_up').length,
      replayed: attempts.filter((attempt) => attempt.isReplayed).length,
    },
  }
}

export function judgeCalls(
  attempts: readonly Attempt[],
  rows: readonly Row[],
  keyedProjectId: string,
  tightProjectIds: ReadonlySet<string>,
) {
  const found = { lost: [] as Case[], doubled: [] as Case[], stuck: [] as Case[] }
  const byId = new Map(rows.map((row) => [row.id, row]))
  const named = new Set<string>()
  for (const attempt of attempts) {
    const row = attempt.completionId === undefined ? undefined : byId.get(callIdOf(attempt.completionId))
    if (row) named.add(row.id)
    if (attempt.key === undefined) judgeOne(attempt, row, tightProjectIds.has(attempt.projectId), found)
  }
  const keyed = attempts.filter((attempt) => attempt.key !== undefined)
  judgeUnnamed(
    attempts.filter((attempt) => attempt.key === undefined),
    rows.filter((row) => !named.has(row.id) && row.project_id !== keyedProjectId),
    found,
  )
  judgeKeyed(
    keyed,
    rows.filter((row) => row.project_id === keyedProjectId),
    found,
  )
  return found
}

type Found = Pick<Verdict, 'lost' | 'doubled' | 'stuck'>

function judgeOne(attempt: Attempt, row: Row | undefined, isTight: boolean, found: Found): void {
  const { end, tokens } = attempt
  if (end === 'silent') return
  if (!row) {
    if (end === 'complete') found.lost.push({ what: 'a complete answer without a charge', attempt })
    else if (tokens > 0 || attempt.status === 502) found.stuck.push({ what: 'a call without a charge row', attempt })
    return
  }
  const { least, most } = boundsOf(attempt, row)
  const collected = row.charged + row.late
  const billed = collected + (isTight ? row.absorbed : 0n)
  if (billed < least) found.lost.push({ what: `${end}: billed less than ${least} nanos`, attempt, row })
  if (collected > most) found.doubled.push({ what: `${end}: collected more than ${most} nanos`, attempt, row })
  if (end === 'complete' && !isUsageTrue(attempt, row))
    found.lost.push({ what: 'the usage is not that of the text', attempt, row })
}

/** The table above. */
function boundsOf(attempt: Attempt, row: Row): { least: bigint; most: bigint } {
  const received = costOf(attempt.promptTokens, attempt.tokens)
  const whole = costOf(attempt.promptTokens, attempt.outputTokensMax)
  switch (attempt.end) {
    case 'complete':
      if (row.outcome === 'hold_used_up') return { least: row.held, most: row.held }
      return { least: received, most: mayBeCut(attempt, row) ? row.held : received }
    case 'failed':
      return { least: 0n, most: attempt.errorCode === 'store_unavailable' ? whole : 0n }
    case 'refused':
      return { least: 0n, most: 0n }
    case 'broken': {
      const isPaid = ['hung_up', 'completed', 'hold_used_up'].includes(row.outcome)
      return { least: isPaid ? received : 0n, most: row.outcome === 'hold_used_up' ? row.held : whole }
    }
    case 'silent':
      return { least: 0n, most: whole }
  }
}

/** If the gateway was taken for dead, the row does not say whether the hold or the provider ended the call. */
function mayBeCut({ finishReason, tokens, outputTokensMax }: Attempt, { outcome }: Row): boolean {
  return (
    outcome === 'hold_used_up' || (outcome === 'gateway_died' && finishReason === 'length' && tokens < outputTokensMax)
  )
}

/** Nobody reported what an answer came to that its hold cut short: its usage is an estimate, worth the hold at least. */
function isUsageTrue(attempt: Attempt, row: Row): boolean {
  const { usage, promptTokens, tokens } = attempt
  if (!usage) return true
  if (usage.prompt_tokens === promptTokens && usage.completion_tokens === tokens) return row.outcome !== 'hold_used_up'
  return mayBeCut(attempt, row) && costOf(usage.prompt_tokens, usage.completion_tokens) >= row.held
}

function judgeUnnamed(attempts: readonly Attempt[], rows: readonly Row[], found: Found): void {
  const unanswered = attempts.filter((attempt) => attempt.completionId === undefined)
  const named = new Map(
    unanswered.flatMap((attempt) => (attempt.conversationId === undefined ? [] : [[attempt.conversationId, attempt]])),
  )
  const nameless = unanswered.filter((attempt) => attempt.conversationId === undefined)
  /** One caller accounts for one charge. */
  const accountFor = (row: Row): Attempt | undefined => {
    const own = named.get(row.conversation_id ?? '')
    if (own) named.delete(row.conversation_id ?? '')
    if (own || row.conversation_id !== null) return own
    const index = nameless.findIndex(({ projectId }) => projectId === row.project_id)
    if (index !== -1) return nameless.splice(index, 1)[0]
    // If the gateway was given up for dead, not even the conversation of its call is known.
    const any = [...named].find(([, { projectId }]) => row.outcome === 'gateway_died' && projectId === row.project_id)
    if (any) named.delete(any[0])
    return any?.[1]
  }
  const paid = rows.filter((row) => row.charged + row.late > 0n)
  const lastOnes = paid.filter((row) => row.outcome === 'gateway_died')
  for (const row of [...paid.filter((one) => !lastOnes.includes(one)), ...lastOnes]) {
    const attempt = accountFor(row)
    if (!attempt) found.doubled.push({ what: 'a charge that belongs to no caller', row })
    else if (row.charged + row.late > boundsOf(attempt, row).most && row.conversation_id !== null)
      found.doubled.push({ what: 'collected more than the whole answer', attempt, row })
  }
}

/** Judges what each key cost, and whether every request with it got the same answer. */
function judgeKeyed(attempts: readonly Attempt[], rows: readonly Row[], found: Found): void {
  const byKey = Map.groupBy(attempts, (attempt) => attempt.key ?? '')
  let least = 0n
  let most = 0n
  for (const group of byKey.values()) {
    const [first, ...others] = group.filter((attempt) => attempt.end === 'complete')
    const any = group[0]
    if (!any) continue
    most += first ? costOf(first.promptTokens, first.tokens) : costOf(any.promptTokens, any.outputTokensMax)
    if (!first) continue
    least += costOf(first.promptTokens, first.tokens)
    for (const other of others) {
      if (other.completionId !== first.completionId || other.text !== first.text)
        found.doubled.push({ what: `another answer to the same key than ${first.completionId}`, attempt: other })
    }
    judgeKeyedRows(first, rows, found)
  }
  // Calls whose gateway died carry no conversation, so that only the sum over all keys can tell what they cost.
  const collected = rows.reduce((sum, row) => sum + row.charged + row.late, 0n)
  if (collected > most)
    found.doubled.push({ what: `all keys together cost ${collected} nanos, at most ${most} is right` })
  if (collected < least)
    found.lost.push({ what: `all keys together cost ${collected} nanos, at least ${least} is right` })
}

function judgeKeyedRows(answered: Attempt, rows: readonly Row[], found: Found): void {
  const wanted = costOf(answered.promptTokens, answered.tokens)
  const own = rows.filter(
    (row) => row.conversation_id === answered.conversationId || row.id === callIdOf(answered.completionId ?? ''),
  )
  const paid = own.filter((row) => row.charged + row.late > 0n)
  const collected = paid.reduce((sum, row) => sum + row.charged + row.late, 0n)
  if (collected < wanted)
    found.lost.push({ what: `a key cost ${collected} of ${wanted} nanos`, attempt: answered, row: own[0] })
  if (collected > wanted || paid.length > 1)
    found.doubled.push({ what: `a key cost ${collected} instead of ${wanted} nanos`, attempt: answered, row: paid[1] })
}

export function costOf(promptTokens: number, outputTokens: number): bigint {
  return BigInt(promptTokens) * PROMPT_TOKEN + BigInt(outputTokens) * OUTPUT_TOKEN
}

/** The id of an answer is its call's without the dashes, behind the prefix of its endpoint. */
export function callIdOf(completionId: string): string {
  const hex = completionId.replace(/^(chatcmpl-|resp_|embd-)/, '')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

async function rowsOf(store: Store): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select c.id, c.project_id, c.outcome, c.held_nanos as held, c.charged_nanos as charged, coalesce(l.amount_nanos, 0) as late,
      coalesce(a.amount_nanos, 0) as absorbed, k.conversation_id, k.status
    from charges c left join calls k on k.id = c.id
      left join transfers l on l.reference = 'late:' || c.id
      left join transfers a on a.reference = 'absorbed:' || c.id`.execute(store.db)
  return rows
}

async function openHolds(store: Store): Promise<Case[]> {
  const { rows } = await sql<{ id: string; age: string; beat: string | null }>`
    select h.id, (now() - h.held_at)::text as age, (now() - g.beat_at)::text as beat
    from holds h left join gateways g on g.id = h.gateway_id`.execute(store.db)
  return rows.map(({ id, age, beat }) => ({
    what: `hold ${id} is ${age} old, its gateway's last beat ${beat ?? 'never'}`,
  }))
}

/** Returns the findings of Parley's own audit: once from where its workers had got to, and once over everything. */
async function ownAuditOf(store: Store): Promise<string[]> {
  const found: string[] = []
  for (const isFull of [false, true]) {
    const { verdicts } = await checkLedger(store.db, { isFull, leaseMs: 0 })
    for (const { invariant, examples } of verdicts)
      found.push(
        ...examples.map((example) => `${isFull ? 'full' : 'incremental'} ${invariant} ${JSON.stringify(example)}`),
      )
  }
  return found
}

async function driftOf(store: Store, rows: readonly Row[], funding: readonly Funding[]): Promise<Case[]> {
  const wallets = await store.db.selectFrom('wallets').selectAll().execute()
  const cases: Case[] = []
  for (const wallet of wallets) {
    const own = rows.filter((row) => row.project_id === wallet.project_id)
    const funded = funding
      .filter(({ projectId }) => projectId === wallet.project_id)
      .reduce((sum, { nanos }) => sum + nanos, 0n)
    const wanted = funded - own.reduce((sum, row) => sum + row.charged + row.late, 0n)
    if (wallet.balance_nanos - wallet.owed_nanos !== wanted)
      cases.push({
        what: `wallet ${wallet.project_id} has ${wallet.balance_nanos} nanos and owes ${wallet.owed_nanos} instead of ${wanted}`,
      })
    if (wallet.held_nanos !== 0n || wallet.open_holds !== 0)
      cases.push({
        what: `wallet ${wallet.project_id} holds ${wallet.held_nanos} nanos for ${wallet.open_holds} calls`,
      })
  }
  return cases
}
