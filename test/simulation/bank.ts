import { LEASE_MS, LONGEST_CALL_MS } from '../../src/rules/limits.ts'
import type { Nanos } from '../../src/rules/money.ts'
import type { LedgerAnswer, LedgerItem, Settlement } from '../../src/store/ledger.ts'
import type { Clock, Process } from './clock.ts'
import { applyBatch, least, sweep, type Statement } from './memory-ledger.ts'
import { availableIn, createTables, transferOf, type Charge, type HoldRow, type Tables } from './memory-tables.ts'
import type { Trace } from './trace.ts'
import { violationsIn, type Report } from './wallet-invariants.ts'

/** The store's side of money: the statement, and an auditor who looks at the books before and after each one. */
export interface Bank {
  readonly tables: Tables
  apply(client: Process, gatewayId: string, items: readonly LedgerItem[]): LedgerAnswer[]
  beat(gatewayId: string): void
  /** A gateway that ended in order. */
  forget(gatewayId: string): void
  oldHolds(gatewayId: string, olderThanMs: number): { id: string; project_id: string }[]
  sweep(): void
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

/** What was in the books before a statement. */
interface Before {
  available: Map<string, Nanos>
  holds: Map<string, HoldRow>
  charges: number
}

export function createBank({ clock, store, statement, report, trace, onGrant }: BankOptions): Bank {
  const tables = createTables()
  /** What each call has asked for: the hold, and each extension once however often it was sent. */
  const asked = new Map<string, Map<string, Nanos>>()
  /** Kept apart from the tables, which a planted bug may read in its own way. */
  const beats = new Map<string, number>()

  function noteAsked(item: LedgerItem): void {
    if (item.part === 'settle') return
    const wishes = asked.get(item.request.callId) ?? new Map<string, Nanos>()
    asked.set(item.request.callId, wishes)
    wishes.set(item.part === 'hold' ? 'hold' : `extension ${item.request.extension}`, item.request.want)
  }

  function auditAnswers(items: readonly LedgerItem[], answers: readonly LedgerAnswer[]): void {
    for (const [i, item] of items.entries()) {
      const { refusal, amount_nanos: amount } = answers[i]!
      if (item.part !== 'hold') continue
      const { callId, projectId, min } = item.request
      if (refusal === null && (amount ?? 0n) < min) report(`${callId}: granted ${amount}, less than its minimum ${min}`)
      const wallet = tables.wallets.get(projectId)
      const isRefusedForCredit = refusal?.startsWith('credit_') ?? false
      if (isRefusedForCredit && wallet && availableIn(wallet) >= min && min > 0n)
        report(`${callId}: refused for want of credit, which is there`)
    }
    for (const { id, amount } of tables.holds.values()) {
      const most = [...(asked.get(id)?.values() ?? [])].reduce((sum, want) => sum + want, 0n)
      if (amount > most) report(`${id}: holds ${amount}, has asked for ${most} (a request was granted twice)`)
    }
  }

  return {
    tables,
    apply(client, gatewayId, items) {
      for (const item of items) noteAsked(item)
      const before = snapshotOf(tables)
      const answers = applyBatch(statement, tables, gatewayId, items, clock.nowMs)
      for (const [i, item] of items.entries()) {
        const { amount_nanos: amount, refusal } = answers[i]!
        if (item.part !== 'settle' && refusal === null && amount !== null) onGrant(item.request.callId, amount)
        trace(client, `-> ${describe(item)} = ${refusal ?? amount}`)
      }
      const settlements = items.flatMap((item) => (item.part === 'settle' ? [item.settlement] : []))
      auditSettling(tables, before, settlements, report)
      auditAnswers(items, answers)
      for (const violation of violationsIn(tables)) report(violation)
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
  }
}

function snapshotOf(tables: Tables): Before {
  return {
    available: new Map([...tables.wallets.values()].map((wallet) => [wallet.projectId, availableIn(wallet)])),
    holds: new Map([...tables.holds].map(([id, hold]) => [id, { ...hold }])),
    charges: tables.charges.length,
  }
}

/** I5: each charge is what the bill says, paid from the call's own hold and then from what was available, to the nano. */
function auditSettling(tables: Tables, before: Before, settlements: readonly Settlement[], report: Report): void {
  const charges = tables.charges.slice(before.charges)
  const bills = new Map(settlements.map(({ callId, charge }) => [callId, charge]))
  for (const charge of charges) {
    const bill = bills.get(charge.id)
    if (bill === undefined) report(`${charge.id}: charged without being settled`)
    else if (charge.charged > bill) report(`${charge.id}: charged ${charge.charged}, its bill is ${bill}`)
    if (charge.charged > charge.worth) report(`${charge.id}: charged more than its usage is worth`)
    if (!before.holds.has(charge.id)) report(`${charge.id}: charged without an open hold`)
  }
  for (const [projectId, available] of before.available) {
    const own = charges.filter((charge) => charge.projectId === projectId)
    const givenBack = [...before.holds.values()].filter(
      (hold) => hold.projectId === projectId && !tables.holds.has(hold.id) && !own.some(({ id }) => id === hold.id),
    )
    const funds = givenBack.reduce((sum, { amount }) => sum + amount, available)
    const expected = expectedTotal(own, before, bills, funds)
    const total = own.reduce((sum, { charged }) => sum + charged, 0n)
    if (total !== expected) report(`${projectId}: a batch charged ${total}, its bills and funds make ${expected}`)
  }
  for (const { callId, charge: bill } of settlements) {
    const late = transferOf(tables, `late:${callId}`)?.amount
    const absorbed = transferOf(tables, `absorbed:${callId}`)?.amount
    if (late === undefined && absorbed === undefined) continue
    if (bill > 0n && (late ?? 0n) + (absorbed ?? 0n) !== bill)
      report(`${callId}: collected late ${late} and absorbed ${absorbed}, its bill is ${bill}`)
  }
}

function expectedTotal(charges: Charge[], before: Before, bills: Map<string, Nanos>, available: Nanos): Nanos {
  let within = 0n
  let overrun = 0n
  let released = 0n
  for (const { id } of charges) {
    const bill = bills.get(id) ?? 0n
    const held = before.holds.get(id)?.amount ?? 0n
    const paid = least(bill, held)
    within += paid
    overrun += bill - paid
    released += held - paid
  }
  return within + least(overrun, available + released)
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
