import type { CallOutcome } from '../../src/rules/billing/charging.ts'
import { parseChatRequest } from '../../src/rules/calls/chat-request.ts'
import type { ContentChunk, ReplyChunk } from '../../src/rules/calls/chunk.ts'
import { ParleyError } from '../../src/rules/errors.ts'
import type { Nanos } from '../../src/rules/money.ts'
import { costOf, moreTokensFor } from '../../src/rules/billing/pricing.ts'
import { countTextTokens, promptOf, promptTokensMax } from '../../src/rules/calls/tokens.ts'
import { judgeReport, usageBounds } from '../../src/rules/billing/reported-usage.ts'
import { completionTokensOf, NO_USAGE, type Usage } from '../../src/rules/billing/usage.ts'
import type { Settlement } from '../../src/store/billing/settlement.ts'
import type { AttemptRecord, CallRecord } from './call-record.ts'
import { least } from './memory-ledger.ts'
import { chargeOf, transferOf, type Tables } from './memory-tables.ts'
import { modelBy } from './models.ts'
import { isRepeatable } from './route-invariants.ts'
import type { Report } from './wallet-invariants.ts'

/** The invariants of a call in the books, judged only by what its caller, its providers and the store saw. */

/** Before a provider is asked: the wallet has set aside what the answer may cost at most. */
export function checkRequest(record: CallRecord, report: Report): void {
  const { id, plan } = record
  const attempt = record.attempts.at(-1)
  const held = mostHeld(record)
  if (held === undefined || !attempt) return report(`I6: ${id} goes to a provider without a hold`)
  if (attempt.maxTokens === undefined) {
    if (plan.maxTokens !== undefined) report(`${id}: its max_tokens is not passed on`)
    if (modelBy(plan.model).figures.reasoning !== 0) report(`${id}: nothing bounds what is thought unseen`)
    return
  }
  const { output, reasoning } = priceOf(record)
  const dearest = { ...priceOf(record), output: output > reasoning ? output : reasoning }
  const cost = costOf({ ...NO_USAGE, input: attempt.promptTokens, output: attempt.maxTokens }, dearest)
  // A long prompt is held by a sample of it.
  if (cost > held && JSON.stringify(plan.messages).length <= COUNTED_CHARACTERS_MAX)
    report(`${id}: a provider may write for ${cost}, held is ${held}`)
}

const COUNTED_CHARACTERS_MAX = 16_000

/** A provider that was told where to stop counts in its own way; one that ignores it is cut off here. */
const BOUNDED_LEEWAY = 2n

/** Whenever the caller gets something: nobody is given more than credit was set aside for. */
export function checkDelivery(record: CallRecord, report: Report): void {
  const { id, attempts, replayed } = record
  if (replayed) return
  const held = mostHeld(record)
  const attempt = attempts.at(-1)
  if (held === undefined || !attempt) return report(`I6: ${id} delivers without a hold`)
  if (attempt.end) return
  const { promptTokens: input, textTokens: output, thoughtTokens: reasoning } = attempt
  const spent = costOf({ ...NO_USAGE, input, output, reasoning }, priceOf(record))
  const isBounded = attempt.maxTokens !== undefined || modelBy(record.plan.model).figures.reasoning !== 0
  if (spent > (isBounded ? held * BOUNDED_LEEWAY : held)) report(`${id}: has delivered for ${spent}, held is ${held}`)
}

/** When a call goes to a provider: of two with the same idempotency key, both would be charged. */
export function checkKey(record: CallRecord, all: Iterable<CallRecord>, tables: Tables, report: Report): void {
  const { id, projectId, plan } = record
  // Swept and taken over, a call may run on: nobody pays for it.
  if (plan.key === undefined || !tables.holds.has(id)) return
  for (const other of all) {
    const isSame = other !== record && other.plan.key === plan.key && other.projectId === projectId
    const isRunning = other.attempts.length > 0 && !other.end && tables.holds.has(other.id)
    if (isSame && isRunning) report(`${id} and ${other.id} run at the same time with ${plan.key}`)
  }
}

/** At the moment when its gateway is done with the call. `original` is the call whose stored answer it got. */
export function checkEnd(record: CallRecord, original: CallRecord | undefined, tables: Tables, report: Report): void {
  const { id, end } = record
  const [settlement] = record.settlements
  if (record.settlements.size > 1) report(`I3: ${id} was settled in two ways`)
  if (original) {
    if (record.granted.length > 0 || settlement) report(`${id}: a stored answer was paid for again`)
    if (textOf(record) !== textOf(original)) report(`${id}: got another answer than ${original.id}`)
    return
  }
  if (record.granted.length === 0) {
    if (end?.kind === 'returned') report(`I6: ${id} was answered without a hold`)
    return
  }
  if (end?.kind === 'threw' && end.error instanceof ParleyError && end.error.code === 'internal')
    report(`${id}: ended in an internal error`)
  checkText(record, report)
  if (end?.kind === 'returned') checkCompleteAnswer(record, settlement, tables, report)
  if (settlement) checkSettlement(record, settlement, report)
}

/** The caller has got what one provider gave, from its beginning and in its order; if the answer ended well, all of it. */
function checkText(record: CallRecord, report: Report): void {
  const { id, answered, attempts, end } = record
  const given = attempts.at(-1)?.given.filter(isContent) ?? []
  const got = answered.filter(isContent)
  if (got.some((chunk, i) => chunk !== given[i])) report(`${id}: delivered what no provider gave`)
  const finish = answered.find((chunk) => chunk.type === 'finish')
  if (!finish || end?.kind !== 'returned') return
  const isWhole = attempts.at(-1)?.end === 'complete'
  if (isWhole && got.length < given.length) report(`${id}: part of its answer is missing`)
  if (!isWhole && finish.reason !== 'length') report(`${id}: was cut and says ${finish.reason}`)
}

/** I4: the caller has the whole answer, so it is charged, now and not later, once, and exactly by the rules. */
function checkCompleteAnswer(
  record: CallRecord,
  settlement: Settlement | undefined,
  tables: Tables,
  report: Report,
): void {
  const { id, answered } = record
  const charge = chargeOf(tables, id)
  if (!settlement || !charge) return report(`I4: ${id} is answered and not charged`)
  if (charge.outcome === 'gateway_died') {
    const collected = amountOf(tables, `late:${id}`) + amountOf(tables, `absorbed:${id}`)
    if (collected !== settlement.charge) report(`I4: ${id} is answered; its late bill of ${settlement.charge} is lost`)
  } else if (charge.outcome !== settlement.outcome || charge.worth !== settlement.worth) {
    report(`I4: ${id} is answered as ${settlement.outcome} and charged as ${charge.outcome}`)
  }
  const usage = answered.findLast((chunk) => chunk.type === 'usage')
  if (usage && costOf(usage.usage, priceOf(record)) !== settlement.worth)
    report(`I4: ${id} was told another usage than it pays for`)
}

/** The charging table: how the call ended decides what it costs. */
function checkSettlement(record: CallRecord, settlement: Settlement, report: Report): void {
  const { id } = record
  const outcome = expectedOutcome(record, settlement)
  if (settlement.outcome !== outcome) return report(`${id}: settled as ${settlement.outcome}, it was ${outcome}`)
  const bills = expectedBills(record, outcome)
  if (bills.some(({ worth, charge }) => worth === settlement.worth && charge === settlement.charge)) return
  const expected = new Set(bills.map(({ worth, charge }) => `${charge} of ${worth}`))
  report(
    `${id}: billed ${settlement.charge} of ${settlement.worth}, the charging table says ${[...expected].join(' or ')}`,
  )
}

function expectedOutcome(record: CallRecord, settlement: Settlement): CallOutcome {
  const last = record.attempts.at(-1)
  const byAbort = record.abortedBy === 'shut_down' ? 'gateway_failed' : 'hung_up'
  // No deployment took the call. Whether that is their fault or that of too many calls, only the gateway knows.
  if (!last && ['upstream_failed', 'gateway_failed'].includes(settlement.outcome)) return settlement.outcome
  if (!last || last.end === 'aborted' || isWaitingToRepeat(record, last)) return byAbort
  // Read on for a caller that was gone already.
  if (record.abortedBy === 'caller' && record.wasRunningWhenLeft) return 'hung_up'
  switch (last.end) {
    case 'complete':
      return 'completed'
    case 'left':
      // The store did not say whether there is more: that is nobody's fault but ours.
      return settlement.errorCode === 'store_unavailable' ? 'gateway_failed' : 'hold_used_up'
    case 'truncated':
      return 'truncated'
    case 'total_timeout':
      return last.given.some(isContent) ? 'completed' : 'timed_out'
    case 'connect_timeout':
    case 'first_token_timeout':
    case 'idle_timeout':
      return 'timed_out'
    default:
      return 'upstream_failed'
  }
}

/** Cut off in the pause before a single deployment is tried again: otherwise it would have been told of the failure. */
function isWaitingToRepeat({ plan, end, abortedBy }: CallRecord, last: AttemptRecord): boolean {
  const isTold = end?.kind === 'threw' && end.error instanceof ParleyError && end.error.code === 'upstream_failed'
  return isRepeatable(last) && plan.deployments === 1 && abortedBy !== undefined && !isTold
}

interface Bill {
  worth: Nanos
  charge: Nanos
}

/** One for each size that the hold has had: an extension's answer may have been lost on its way to the gateway. */
function expectedBills(record: CallRecord, outcome: CallOutcome): Bill[] {
  const last = record.attempts.at(-1)
  if (!last || !isWorkedOn(last, outcome)) return [{ worth: 0n, charge: 0n }]
  const reported = reportIn(last, false)
  return record.granted.map((held) => {
    const { usage, source } = reported ? judged(record, last, reported) : countedUsage(record, last, outcome, held)
    const worth = costOf(usage, priceOf(record))
    return { worth, charge: chargeFor(outcome, worth, held, source === 'reported') }
  })
}

/** Whether the provider has done anything that somebody must pay for. */
function isWorkedOn(last: AttemptRecord, outcome: CallOutcome): boolean {
  if (outcome === 'completed' || last.given.some(isContent)) return true
  // Also one that was too slow to begin, while it was read on for a caller that was gone.
  const isAtWork = last.isSent && ['aborted', 'complete', 'left', 'first_token_timeout'].includes(last.end ?? '')
  return outcome === 'hung_up' && isAtWork
}

/** docs/billing.md, once more and on its own: the rules must not be judged by themselves. */
function chargeFor(outcome: CallOutcome, worth: Nanos, held: Nanos, isReported: boolean): Nanos {
  switch (outcome) {
    case 'completed':
      return isReported ? worth : least(worth, held)
    case 'hung_up':
      return worth
    case 'hold_used_up':
      return least(worth, held)
    default:
      return 0n
  }
}

function reportIn({ given }: AttemptRecord, soFar: boolean): Usage | undefined {
  const reports = given.filter((chunk) => chunk.type === 'usage')
  return reports.findLast((chunk) => (chunk.soFar ?? false) === soFar)?.usage
}

type Used = { usage: Usage; source: 'reported' | 'estimated' }

function countedUsage(record: CallRecord, last: AttemptRecord, outcome: CallOutcome, held: Nanos): Used {
  const source = 'estimated'
  const soFar = reportIn(last, true)
  const isCancelled = outcome === 'hung_up'
  // Also when its caller had gone: then it was read on until there was no credit for it any more.
  const isUsedUp = outcome === 'hold_used_up' || (isCancelled && last.end === 'left')
  // A provider that finished unreported, or broke, while it was read on: that was not its caller's doing.
  const input = countedPrompt(last, isUsedUp || (isCancelled && last.end === 'aborted'))
  const known = soFar ? judged(record, last, soFar).usage : { ...NO_USAGE, input }
  // The report with the first chunk, and the thoughts that were shown since.
  const since = last.thoughtTokens - (soFar ? firstTokensOf(last) : 0)
  const usage = { ...known, output: last.textTokens, reasoning: known.reasoning + since }
  const isInTheDark = modelBy(record.plan.model).figures.reasoning !== 0 && !((soFar?.reasoning ?? 0) > 0)
  const isUnseen = isCancelled && last.end === 'aborted' && isInTheDark
  if (!isUsedUp && !isUnseen) return { usage, source }
  // Nobody knows what was thought, or was being written: the hold is what it costs.
  const field = isUsedUp ? 'output' : 'reasoning'
  const mayFollow = Math.max(0, outputMaxOf(record, last) - completionTokensOf(usage))
  const unseen = moreTokensFor(held, usage, field, priceOf(record), mayFollow) + (isUsedUp ? 1 : 0)
  return { usage: { ...usage, [field]: usage[field] + unseen }, source }
}

const WINDOW = 128_000
const IMAGE_TOKENS = { usual: 1_600, most: 65_536 }

/** A caller that ends its call before the tokens of its images are known pays for the largest images. */
function countedPrompt({ promptTextTokens, images }: AttemptRecord, isCallersEnd: boolean): number {
  const usual = promptTextTokens + images * IMAGE_TOKENS.usual
  return isCallersEnd ? Math.min(promptTextTokens + images * IMAGE_TOKENS.most, Math.max(usual, WINDOW)) : usual
}

function firstTokensOf({ given: [first] }: AttemptRecord): number {
  return first?.type === 'reasoning' ? countTextTokens(first.text) : 0
}

const OUTPUT_MAX_UNKNOWN = 128_000

function outputMaxOf({ plan }: CallRecord, { maxTokens }: AttemptRecord): number {
  return maxTokens ?? modelBy(plan.model).maxOutputTokens ?? OUTPUT_MAX_UNKNOWN
}

/** Returns the possible part of a report; the rule itself has its own tests. */
function judged(record: CallRecord, last: AttemptRecord, reported: Usage): Used {
  const { figures } = modelBy(record.plan.model)
  const chunks = last.given.filter(isContent)
  const bytesOf = (isThought: boolean) =>
    chunks
      .filter(({ type }) => (type === 'reasoning') === isThought)
      .reduce(
        (sum, chunk) =>
          sum + Buffer.byteLength('text' in chunk ? chunk.text : 'arguments' in chunk ? chunk.arguments : ''),
        0,
      )
  const toolCalls = new Set(chunks.flatMap((chunk) => (chunk.type === 'tool_call' ? [chunk.index] : []))).size
  const seen = { bytes: bytesOf(false), thoughtBytes: bytesOf(true), toolCalls }
  const prompt = promptOf(parseChatRequest({ model: 'm', messages: record.plan.messages }))
  // Nobody told the provider what the catalogue says: what has come has come.
  const unbounded = last.maxTokens === undefined ? seen.bytes + seen.thoughtBytes : 0
  const outputMax = Math.max(outputMaxOf(record, last), unbounded)
  const bounds = usageBounds(promptTokensMax(prompt, figures), outputMax, seen, figures)
  const counted = {
    ...NO_USAGE,
    input: countedPrompt(last, false),
    output: last.textTokens,
    reasoning: last.thoughtTokens,
  }
  return judgeReport(reported, counted, bounds)
}

/** Swept and held again, a call may have less at last than its gateway was once granted. */
function mostHeld({ granted }: CallRecord): Nanos | undefined {
  return granted.toSorted((a, b) => (a < b ? -1 : 1)).at(-1)
}

function priceOf(record: CallRecord) {
  return modelBy(record.plan.model).price
}

function textOf({ answered }: CallRecord): string {
  const texts = answered.map((chunk) => (chunk.type === 'text' ? chunk.text : ''))
  const toolCalls = answered.map((chunk) => (chunk.type === 'tool_call' ? chunk.arguments : ''))
  return [...texts, '|', ...toolCalls].join('')
}

function isContent<C extends ReplyChunk>(chunk: C): chunk is C & ContentChunk {
  return chunk.type !== 'finish' && chunk.type !== 'usage'
}

function amountOf(tables: Tables, reference: string): Nanos {
  return transferOf(tables, reference)?.amount ?? 0n
}

/** When everything is over: what every call has cost in the end. */
export function checkBooks(records: readonly CallRecord[], tables: Tables, report: Report): void {
  for (const { id } of tables.holds.values()) report(`I7: ${id} is still held when all is over`)
  for (const record of records) checkFinalCharge(record, tables, report)
  const paidByKey = new Map<string, string[]>()
  for (const record of records) {
    if (record.plan.key === undefined || paidOf(record, tables) === 0n) continue
    const key = `${record.projectId} ${record.plan.key}`
    paidByKey.set(key, [...(paidByKey.get(key) ?? []), record.id])
  }
  for (const [key, ids] of paidByKey) if (ids.length > 1) report(`${key} was paid for by ${ids.join(' and ')}`)
}

function checkFinalCharge(record: CallRecord, tables: Tables, report: Report): void {
  const { id } = record
  const charge = chargeOf(tables, id)
  if (record.granted.length === 0) {
    if (charge) report(`${id}: charged and never held`)
    return
  }
  if (!charge) return report(`${id}: held and never settled`)
  const [settlement] = record.settlements
  const isOurs = charge.outcome === settlement?.outcome && charge.worth === settlement.worth
  const isReleased = charge.charged === 0n && (charge.outcome === 'gateway_died' || charge.outcome === 'gateway_failed')
  if (!isOurs && !isReleased) report(`${id}: charged as ${charge.outcome}, which nobody had settled`)
  if (charge.outcome !== 'gateway_died' && transferOf(tables, `late:${id}`)) report(`I3: ${id} was charged twice`)
}

function paidOf({ id }: CallRecord, tables: Tables): Nanos {
  return (chargeOf(tables, id)?.charged ?? 0n) + amountOf(tables, `late:${id}`)
}
