import type { Nanos } from '../../src/rules/money.ts'
import { completionTokensOf, NO_USAGE, promptTokensOf } from '../../src/rules/billing/usage.ts'
import type {
  ExtensionRequest,
  HoldRequest,
  LedgerAnswer,
  LedgerItem,
} from '../../src/store/billing/ledger/ledger-items.ts'
import type { Settlement } from '../../src/store/billing/settlement.ts'
import {
  checkLimits,
  giveBackIn,
  holdIn,
  leftIn,
  spendIn,
  startMinute,
  usedThisMinute,
  type Verdict,
} from './memory-limits.ts'
import {
  ABSORBED,
  CASH,
  RECEIVABLE,
  REFUNDS,
  REVENUE,
  availableIn,
  chargeOf,
  firstTopUpOf,
  post,
  transferOf,
  type HoldRow,
  type Return,
  type Tables,
  type Transfer,
  type Wallet,
} from './memory-tables.ts'

/**
 * In-memory versions of the ledger's functions in functions/. They can be replaced one by one: that is how the simulation
 * is shown bugs. test/integration/memory-ledger.test.ts compares them with PostgreSQL.
 */
export interface Statement {
  settle(tables: Tables, settlements: readonly Settlement[], nowMs: number): LedgerAnswer[]
  extend(tables: Tables, requests: readonly ExtensionRequest[], nowMs: number): LedgerAnswer[]
  hold(tables: Tables, gatewayId: string, requests: readonly HoldRequest[], nowMs: number): LedgerAnswer[]
  /** Credit that arrives. */
  credit(tables: Tables, projectId: string, amount: Nanos, reference: string, kind?: 'topup' | 'reversal'): void
  /** Posts the amount that the payer of the first top-up got back. */
  takeBack(tables: Tables, projectId: string, amount: Nanos, reference: string): void
  /** Brings the books to where these stand. */
  settleReturns(tables: Tables, projectId: string, returns: readonly Return[]): void
  /** Takes what is owed out of what is available. */
  collect(tables: Tables, projectId: string): void
  /** The holds of dead gateways. */
  leftBehind(tables: Tables, leaseMs: number, longestCallMs: number, nowMs: number): HoldRow[]
}

export const STATEMENT: Statement = {
  settle,
  credit,
  takeBack,
  settleReturns,
  collect,
  extend: (tables, requests, nowMs) => requests.map((request) => extend(tables, request, nowMs)),
  hold: (tables, gatewayId, requests, nowMs) => requests.map((request) => hold(tables, gatewayId, request, nowMs)),
  leftBehind,
}

/** ledger_apply: settles come first, so that what they release can be granted. Answers in the order of the items. */
export function applyBatch(
  statement: Statement,
  tables: Tables,
  gatewayId: string,
  items: readonly LedgerItem[],
  nowMs: number,
): LedgerAnswer[] {
  const settlements = items.flatMap((item) => (item.part === 'settle' ? [item.settlement] : []))
  const extensions = items.flatMap((item) => (item.part === 'extend' ? [item.request] : []))
  const holds = items.flatMap((item) => (item.part === 'hold' ? [item.request] : []))
  const settled = statement.settle(tables, settlements, nowMs)
  if (settlements.length > 0) collectAll(statement, tables, items)
  const answers = [
    ...settled,
    ...statement.extend(tables, extensions, nowMs),
    ...statement.hold(tables, gatewayId, holds, nowMs),
  ]
  const byItem = new Map(answers.map((answer) => [`${answer.part} ${answer.id}`, answer]))
  return items.map((item) => {
    const answer = byItem.get(`${item.part} ${(item.part === 'settle' ? item.settlement : item.request).callId}`)
    if (!answer) throw new Error('the statement did not answer an item')
    return answer
  })
}

function collectAll(statement: Statement, tables: Tables, items: readonly LedgerItem[]): void {
  const projects = items.map((item) => (item.part === 'settle' ? item.settlement : item.request).projectId)
  for (const projectId of new Set(projects)) statement.collect(tables, projectId)
}

/** ledger_sweep. Returns the holds that it released. */
export function sweep(
  statement: Statement,
  tables: Tables,
  leaseMs: number,
  longestCallMs: number,
  nowMs: number,
): HoldRow[] {
  const swept = statement.leftBehind(tables, leaseMs, longestCallMs, nowMs)
  const settles = swept.map((hold): LedgerItem => ({ part: 'settle', settlement: diedSettlement(hold) }))
  applyBatch(statement, tables, '', settles, nowMs)
  return swept
}

function settle(tables: Tables, settlements: readonly Settlement[], nowMs: number): LedgerAnswer[] {
  giveBack(tables, settlements)
  countSettles(tables, settlements, nowMs)
  const closing = settlements.flatMap((settlement) => {
    const open = tables.holds.get(settlement.callId)
    return open ? [{ settlement, open, within: least(settlement.charge, open.amount) }] : []
  })
  // All of the batch is released before any overrun is paid, as in one SQL statement.
  for (const { open, within } of closing) {
    const wallet = walletOf(tables, open.projectId)
    tables.holds.delete(open.id)
    wallet.held -= open.amount
    wallet.openHolds -= 1
    wallet.balance -= within
  }
  for (const { settlement, open, within } of closing) {
    const wallet = walletOf(tables, open.projectId)
    // Where there are limits, the hold has grown already by as much as they leave.
    const overrun = open.counts ? 0n : least(settlement.charge - within, availableIn(wallet))
    wallet.balance -= overrun
    startMinute(wallet, nowMs)
    wallet.minuteTokens += tokensOf(settlement)
    const { id, projectId, keyPairId, endUserId, amount: held } = open
    const { worth, outcome } = settlement
    tables.charges.push({ id, projectId, keyPairId, endUserId, held, worth, charged: within + overrun, outcome })
    storeResult(tables, settlement)
  }
  if (closing.length < settlements.length) {
    return settlements.toSorted((a, b) => (a.callId < b.callId ? -1 : 1)).map((late) => settleLate(tables, late, nowMs))
  }
  return closing.map(({ open }) => answerOf(open.id, 'settle', chargeOf(tables, open.id)?.charged ?? 0n))
}

/** limits_settle: a bill beyond its hold makes the hold grow, as far as wallet and budgets go. */
function countSettles(tables: Tables, settlements: readonly Settlement[], nowMs: number): void {
  const limited = settlements.flatMap((settlement) => {
    const open = tables.holds.get(settlement.callId)
    return open?.counts ? [{ open, counts: open.counts, settlement }] : []
  })
  const isBeyond = ({ open, settlement }: (typeof limited)[number]) => settlement.charge > open.amount
  // Settlements beyond their holds come last: the others release amounts of a budget that can pay for them.
  for (const each of [...limited.filter((one) => !isBeyond(one)), ...limited.filter(isBeyond)]) {
    const { open, counts, settlement } = each
    const wallet = walletOf(tables, open.projectId)
    const left = leftIn(tables, counts, nowMs) ?? availableIn(wallet)
    const missing = least(settlement.charge - open.amount, least(availableIn(wallet), left))
    if (missing > 0n) {
      open.amount += missing
      wallet.held += missing
      holdIn(tables, counts, missing, 0, nowMs)
    }
    const spent = { charged: least(settlement.charge, open.amount), held: open.amount, calls: 1 }
    spendIn(tables, counts, { ...spent, tokens: tokensOf(settlement) }, nowMs)
  }
}

function tokensOf({ usage }: Settlement): number {
  return promptTokensOf(usage) + completionTokensOf(usage)
}

/** A delayed request has held credit once more for a call that is over: its charge exists, so that is given back. */
function giveBack(tables: Tables, settlements: readonly Settlement[]): void {
  for (const { callId } of settlements) {
    const open = tables.holds.get(callId)
    if (!open || !chargeOf(tables, callId)) continue
    const wallet = walletOf(tables, open.projectId)
    tables.holds.delete(callId)
    wallet.held -= open.amount
    wallet.openHolds -= 1
    giveBackIn(tables, open.counts ?? [], open.amount, 1)
  }
}

/** A finished call's result replaces its claim; a failed call gives it up. */
function storeResult(tables: Tables, { callId, result, hasIdempotencyKey }: Settlement): void {
  const claim = tables.keys.find((key) => key.callId === callId)
  if (!claim) return
  if (result !== undefined) claim.result = result
  else if (hasIdempotencyKey) tables.keys.splice(tables.keys.indexOf(claim), 1)
}

/** The hold is gone: it was settled before, or swept. */
function settleLate(tables: Tables, settlement: Settlement, nowMs: number): LedgerAnswer {
  const { callId, projectId, charge: bill } = settlement
  const earlier = chargeOf(tables, callId)
  if (!earlier) return { id: callId, part: 'settle', amount_nanos: null, refusal: 'unknown' }
  if (earlier.outcome !== 'gateway_died' || settlement.outcome === 'gateway_died' || bill === 0n) {
    return answerOf(callId, 'settle', earlier.charged)
  }
  const late = transferOf(tables, `late:${callId}`)
  if (late || transferOf(tables, `absorbed:${callId}`)) return answerOf(callId, 'settle', late?.amount ?? 0n)

  const wallet = walletOf(tables, projectId)
  let paid = least(bill, availableIn(wallet))
  if (settlement.hasIdempotencyKey) {
    const claim = tables.keys.find((key) => key.callId === callId)
    if (claim) claim.result = settlement.result ?? null
    else paid = 0n
  }
  const { granted, counts } = checkLimits(tables, earlier, paid, 0n, nowMs)
  paid = most(granted, 0n)
  if (paid > 0n) spendIn(tables, counts ?? [], { charged: paid, held: 0n, tokens: 0, calls: 0 }, nowMs)
  post(tables, projectId, REVENUE, paid, 'late_charge', `late:${callId}`)
  wallet.balance -= paid
  post(tables, ABSORBED, REVENUE, bill - paid, 'absorbed', `absorbed:${callId}`)
  return answerOf(callId, 'settle', paid)
}

function extend(tables: Tables, request: ExtensionRequest, nowMs: number): LedgerAnswer {
  const open = tables.holds.get(request.callId)
  if (open?.projectId !== request.projectId)
    return { id: request.callId, part: 'extend', amount_nanos: 0n, refusal: 'unknown' }
  if (open.extension < request.extension) {
    const wallet = walletOf(tables, request.projectId)
    const left = open.counts && leftIn(tables, open.counts, nowMs)
    const granted = least(request.want, left === undefined ? availableIn(wallet) : least(availableIn(wallet), left))
    if (granted > 0n && granted >= request.min) {
      open.amount += granted
      open.extension = request.extension
      wallet.held += granted
      holdIn(tables, open.counts ?? [], granted, 0, nowMs)
    }
  }
  return answerOf(open.id, 'extend', open.amount)
}

/** ledger_transfer into a wallet: what is owed is paid first. */
function credit(
  this: Statement,
  tables: Tables,
  projectId: string,
  amount: Nanos,
  reference: string,
  kind: 'topup' | 'reversal' = 'topup',
): void {
  if (transferOf(tables, reference)) return
  post(tables, kind === 'topup' ? CASH : REFUNDS, projectId, amount, kind, reference)
  walletOf(tables, projectId).balance += amount
  this.collect(tables, projectId)
}

/** ledger_take_owing: all that is left of the credit, advanced as far as it is not there; the rest is absorbed. */
function takeBack(tables: Tables, projectId: string, amount: Nanos, reference: string): void {
  if (transferOf(tables, reference) || transferOf(tables, `absorbed:${reference}`)) return
  const wallet = walletOf(tables, projectId)
  const due = least(amount, leftOfFirstTopUp(tables, projectId))
  const missing = most(due - availableIn(wallet), 0n)
  post(tables, RECEIVABLE, projectId, missing, 'owed', `owed:${reference}`)
  wallet.owed += missing
  post(tables, projectId, REFUNDS, due, 'chargeback', reference)
  wallet.balance += missing - due
  post(tables, ABSORBED, REFUNDS, amount - due, 'absorbed', `absorbed:${reference}`)
}

/** ledger_settle_returns, of what the wallet began with. */
function settleReturns(this: Statement, tables: Tables, projectId: string, returns: readonly Return[]): void {
  for (const { reference, amount, stands } of returns.toSorted((a, b) => Number(a.stands) - Number(b.stands))) {
    let missing = amount
    const posted = postedFor(tables, reference)
    for (const transfer of posted) {
      const undone = `reinstated:${transfer.reference}`
      if (transferOf(tables, undone)) continue
      const isLoss = transfer.kind === 'absorbed'
      if (stands && !(isLoss && leftOfFirstTopUp(tables, projectId) > 0n)) missing -= transfer.amount
      else if (isLoss) post(tables, REFUNDS, ABSORBED, transfer.amount, 'reversal', undone)
      else this.credit(tables, projectId, transfer.amount, undone, 'reversal')
    }
    if (stands && missing > 0n) this.takeBack(tables, projectId, missing, `${reference}:${posted.length + 1}`)
  }
}

/** Returns the transfers that were posted for a return, undone or not. */
export function postedFor(tables: Tables, reference: string): Transfer[] {
  return tables.transfers.filter(
    ({ reference: own }) => own.startsWith(`${reference}:`) || own.startsWith(`absorbed:${reference}:`),
  )
}

export function leftOfFirstTopUp(tables: Tables, projectId: string): Nanos {
  const first = transferOf(tables, firstTopUpOf(projectId))?.amount ?? 0n
  return tables.transfers.reduce((left, { kind, debit, credit: credited, amount }) => {
    if (kind === 'chargeback' && debit === projectId) return left - amount
    return kind === 'reversal' && credited === projectId ? left + amount : left
  }, first)
}

/** ledger_collect */
function collect(tables: Tables, projectId: string): void {
  const wallet = tables.wallets.get(projectId)
  if (!wallet || wallet.owed === 0n) return
  const due = least(wallet.owed, availableIn(wallet))
  post(tables, projectId, RECEIVABLE, due, 'collection', `collection:${tables.transfers.length}`)
  wallet.balance -= due
  wallet.owed -= due
}

function hold(tables: Tables, gatewayId: string, request: HoldRequest, nowMs: number): LedgerAnswer {
  const { callId: id, projectId, want, min } = request
  const open = tables.holds.get(id)
  if (open) return answerOf(id, 'hold', open.amount)
  const wallet = tables.wallets.get(projectId)
  // Its gateway was paused, and another call has taken over its idempotency key.
  const isLate = request.hasIdempotencyKey && !tables.keys.some((key) => key.callId === id)
  const verdict = checkLimits(tables, request, want, min, nowMs)
  const refusal = isLate ? 'idempotency_running' : holdRefusalOf(wallet, verdict, min, nowMs)
  if (!wallet || refusal) return { id, part: 'hold', amount_nanos: 0n, refusal: refusal ?? null }
  const amount = least(verdict.granted, availableIn(wallet))
  const { keyPairId, endUserId } = request
  const { counts } = verdict
  const who = { id, projectId, keyPairId, endUserId, gatewayId }
  tables.holds.set(id, { ...who, counts, amount, extension: 0, heldMs: nowMs })
  holdIn(tables, counts ?? [], amount, 1, nowMs)
  wallet.held += amount
  wallet.openHolds += 1
  startMinute(wallet, nowMs)
  wallet.minuteRequests += 1
  return answerOf(id, 'hold', amount)
}

function holdRefusalOf(wallet: Wallet | undefined, limits: Verdict, min: Nanos, nowMs: number): string | undefined {
  if (!wallet) return 'credit_insufficient'
  const { requests, tokens } = usedThisMinute(wallet, nowMs)
  if (wallet.requestsPerMinute !== null && requests >= wallet.requestsPerMinute) return 'rate_limited'
  if (wallet.tokensPerMinute !== null && tokens >= wallet.tokensPerMinute) return 'rate_limited'
  if (wallet.concurrentCalls !== null && wallet.openHolds >= wallet.concurrentCalls) return 'concurrency_limited'
  if (limits.refusal !== undefined) return limits.refusal
  if (wallet.owed > 0n) return 'credit_owed'
  const granted = least(limits.granted, availableIn(wallet))
  if (granted > 0n && granted >= min) return undefined
  return wallet.balance >= most(min, 1n) ? 'credit_held' : 'credit_insufficient'
}

function leftBehind(tables: Tables, leaseMs: number, longestCallMs: number, nowMs: number): HoldRow[] {
  return [...tables.holds.values()].filter(({ gatewayId, heldMs }) => {
    const beatMs = tables.beats.get(gatewayId)
    return beatMs === undefined || beatMs < nowMs - leaseMs || heldMs < nowMs - longestCallMs
  })
}

function diedSettlement({ id, projectId }: HoldRow): Settlement {
  return {
    callId: id,
    projectId,
    charge: 0n,
    worth: 0n,
    usage: NO_USAGE,
    usageSource: 'none',
    outcome: 'gateway_died',
    requestId: '',
    streamed: false,
    status: 0,
    durationMs: 0,
    attempts: [],
    hasIdempotencyKey: false,
  }
}

function walletOf(tables: Tables, projectId: string): Wallet {
  const wallet = tables.wallets.get(projectId)
  if (!wallet) throw new Error(`there is no wallet ${projectId}`)
  return wallet
}

function answerOf(id: string, part: LedgerItem['part'], amount: Nanos): LedgerAnswer {
  return { id, part, amount_nanos: amount, refusal: null }
}

export function least(a: Nanos, b: Nanos): Nanos {
  return a < b ? a : b
}

export function most(a: Nanos, b: Nanos): Nanos {
  return a > b ? a : b
}
