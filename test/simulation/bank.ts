import { LEASE_MS, LONGEST_CALL_MS } from '../../src/rules/limits.ts'
import type { Nanos } from '../../src/rules/money.ts'
import type { LedgerAnswer, LedgerItem } from '../../src/store/billing/ledger/ledger-items.ts'
import { createAuditor } from './audit.ts'
import type { Clock, Process } from './clock.ts'
import { applyBatch, leftOfFirstTopUp, postedFor, sweep, type Statement } from './memory-ledger.ts'
import { createTables, firstTopUpOf, transferOf, type Return, type Tables } from './memory-tables.ts'
import type { Trace } from './trace.ts'
import { violationsIn, type Report } from './wallet-invariants.ts'

/** The store's side of money: the statement, and an auditor who watches it. */
export interface Bank {
  readonly tables: Tables
  apply(client: Process, gatewayId: string, items: readonly LedgerItem[]): LedgerAnswer[]
  beat(gatewayId: string): void
  /** A gateway that ended in order. */
  forget(gatewayId: string): void
  oldHolds(gatewayId: string, olderThanMs: number): { id: string; project_id: string }[]
  sweep(): void
  credit(projectId: string, amount: Nanos, reference: string): void
  /** A part of what the wallet began with goes back to its payer. */
  takeBack(projectId: string, percent: number, reference: string): void
  /** … and comes back again. */
  giveBack(projectId: string, reference: string): void
}

export interface BankOptions {
  clock: Clock
  store: Process
  statement: Statement
  report: Report
  trace: Trace
  /** Told of every grant, so that a call's hold can be compared with what it delivers. */
  onGrant(callId: string, total: Nanos): void
}

export function createBank({ clock, store, statement, report, trace, onGrant }: BankOptions): Bank {
  const tables = createTables()
  const auditor = createAuditor(tables, report)
  const returns = createReturns(tables, statement, report)
  /** Kept apart from the tables, which a planted bug may read in its own way. */
  const beats = new Map<string, number>()

  return {
    tables,
    apply(client, gatewayId, items) {
      const audit = auditor.watch(items)
      const answers = applyBatch(statement, tables, gatewayId, items, clock.nowMs)
      for (const [i, item] of items.entries()) {
        const { amount_nanos: amount, refusal } = answers[i]!
        if (item.part !== 'settle' && refusal === null && amount !== null) onGrant(item.request.callId, amount)
        trace(client, `-> ${describe(item)} = ${refusal ?? amount}`)
      }
      audit(answers)
      return answers
    },
    beat(gatewayId) {
      beats.set(gatewayId, clock.nowMs)
      tables.beats.set(gatewayId, clock.nowMs)
    },
    forget(gatewayId) {
      beats.delete(gatewayId)
      tables.beats.delete(gatewayId)
    },
    oldHolds(gatewayId, olderThanMs) {
      return [...tables.holds.values()]
        .filter((hold) => hold.gatewayId === gatewayId && hold.heldMs < clock.nowMs - olderThanMs)
        .map(({ id, projectId }) => ({ id, project_id: projectId }))
    },
    sweep() {
      for (const { id, gatewayId, heldMs } of sweep(statement, tables, LEASE_MS, LONGEST_CALL_MS, clock.nowMs)) {
        trace(store, `swept the hold of ${id}`)
        const silentMs = clock.nowMs - (beats.get(gatewayId) ?? Number.NEGATIVE_INFINITY)
        if (silentMs <= LEASE_MS && clock.nowMs - heldMs <= LONGEST_CALL_MS)
          report(`${id}: swept although its gateway lived ${silentMs} ms ago`)
      }
      for (const violation of violationsIn(tables)) report(violation)
    },
    credit(projectId, amount, reference) {
      statement.credit(tables, projectId, amount, reference)
      look(`${projectId} gets ${amount}`)
    },
    takeBack(projectId, percent, reference) {
      const first = transferOf(tables, firstTopUpOf(projectId))?.amount ?? 0n
      const amount = (first * BigInt(percent)) / 100n
      if (amount > 0n) returns.settle(projectId, { reference, amount, stands: true })
      look(`${projectId} loses ${amount} to its payer`)
    },
    giveBack(projectId, reference) {
      const taken = returns.of(projectId).find((known) => known.reference === reference)
      if (taken) returns.settle(projectId, { ...taken, stands: false })
      look(`${projectId} gets ${taken?.amount ?? 0n} back`)
    },
  }

  function look(what: string): void {
    trace(store, what)
    for (const violation of violationsIn(tables)) report(violation)
  }
}

/** How the returns of each project stand. */
function createReturns(tables: Tables, statement: Statement, report: Report) {
  const known = new Map<string, readonly Return[]>()
  const of = (projectId: string) => known.get(projectId) ?? []
  return {
    of,
    settle(projectId: string, told: Return): void {
      const returns = [...of(projectId).filter(({ reference }) => reference !== told.reference), told]
      known.set(projectId, returns)
      statement.settleReturns(tables, projectId, returns)
      checkReturns(tables, projectId, returns, report)
    },
  }
}

/**
 * An amount that a bank has taken is in the books in full and once, whatever the wallet had. The wallet has the rest after
 * everything that was taken, whatever the order.
 */
function checkReturns(tables: Tables, projectId: string, returns: readonly Return[], report: Report): void {
  let left = transferOf(tables, firstTopUpOf(projectId))?.amount ?? 0n
  for (const { reference, amount, stands } of returns) {
    const taken = postedFor(tables, reference)
      .filter((transfer) => !transferOf(tables, `reinstated:${transfer.reference}`))
      .reduce((sum, transfer) => sum + transfer.amount, 0n)
    const wanted = stands ? amount : 0n
    if (taken !== wanted) report(`${reference}: a bank took ${wanted}, the books say ${taken}`)
    left -= wanted
  }
  const found = leftOfFirstTopUp(tables, projectId)
  if (found !== (left > 0n ? left : 0n)) report(`${projectId} has ${found} of its first credit instead of ${left}`)
}

function describe(item: LedgerItem): string {
  if (item.part === 'settle') {
    const { callId, outcome, charge, worth } = item.settlement
    return `settle ${callId} as ${outcome}, bill ${charge} of ${worth}`
  }
  const { callId, want, min } = item.request
  const name = item.part === 'hold' ? 'hold' : `extension ${item.request.extension}`
  return `${name} for ${callId}, ${min} to ${want}`
}
