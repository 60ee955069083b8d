import type { Nanos } from '../../src/rules/money.ts'
import type { LedgerAnswer, LedgerItem } from '../../src/store/billing/ledger/ledger-items.ts'
import type { Settlement } from '../../src/store/billing/settlement.ts'
import { budgetLeftFor } from './budget-invariants.ts'
import { least } from './memory-ledger.ts'
import { availableIn, transferOf, type Charge, type HoldRow, type Tables } from './memory-tables.ts'
import { violationsIn, type Report } from './wallet-invariants.ts'

/** Looks at the books before and after each batch, and trusts nothing of what happened in between. */
export interface Auditor {
  /** Returns what to call with the answers. */
  watch(items: readonly LedgerItem[]): (answers: readonly LedgerAnswer[]) => void
}

/** The books before a statement. */
interface Before {
  available: Map<string, Nanos>
  holds: Map<string, HoldRow>
  charges: number
}

export function createAuditor(tables: Tables, report: Report): Auditor {
  /** The amounts that each call has asked for: the hold, and each extension once however often it was sent. */
  const asked = new Map<string, Map<string, Nanos>>()
  /** Sent again, an item is the same object. */
  const applied = new WeakSet<LedgerItem>()

  function noteAsked(item: LedgerItem): void {
    if (item.part === 'settle') return
    const wishes = asked.get(item.request.callId) ?? new Map<string, Nanos>()
    asked.set(item.request.callId, wishes)
    wishes.set(item.part === 'hold' ? 'hold' : `extension ${item.request.extension}`, item.request.want)
  }

  function auditAnswers(items: readonly LedgerItem[], answers: readonly LedgerAnswer[], before: Before): void {
    for (const [i, item] of items.entries()) {
      if (item.part === 'settle') continue
      const { refusal, amount_nanos: amount } = answers[i]!
      const { callId, projectId, min } = item.request
      if (item.part === 'hold' && refusal === null && (amount ?? 0n) < min)
        report(`${callId}: granted ${amount}, less than its minimum ${min}`)
      const isRefused =
        item.part === 'hold'
          ? refusal?.startsWith('credit_')
          : !applied.has(item) && refusal === null && amount === before.holds.get(callId)?.amount
      const wallet = tables.wallets.get(projectId)
      const left = leftFor(tables, item)
      const isWithinBudgets = left === undefined || left >= min
      if (isRefused && wallet && availableIn(wallet) >= min && isWithinBudgets)
        report(`${callId}: refused for want of credit that is there`)
      if (item.part === 'hold' && refusal?.startsWith('budget_') && isWithinBudgets)
        report(`${callId}: refused for want of a budget that is there`)
      applied.add(item)
    }
    for (const { id, amount } of tables.holds.values()) {
      const most = [...(asked.get(id)?.values() ?? [])].reduce((sum, want) => sum + want, 0n)
      if (amount > most) report(`${id}: holds ${amount}, has asked for ${most} (a request was granted twice)`)
    }
  }

  return {
    watch(items) {
      for (const item of items) noteAsked(item)
      const before = snapshotOf(tables)
      return (answers) => {
        const settlements = items.flatMap((item) => (item.part === 'settle' ? [item.settlement] : []))
        auditSettling(tables, before, settlements, report)
        auditAnswers(items, answers, before)
        for (const violation of violationsIn(tables)) report(violation)
      }
    },
  }
}

/** Returns the amount left in the budgets of a new hold, or of one that should grow. Undefined: no budget, or no such hold. */
function leftFor(tables: Tables, item: Exclude<LedgerItem, { part: 'settle' }>): Nanos | undefined {
  const who = item.part === 'hold' ? item.request : tables.holds.get(item.request.callId)
  return who && budgetLeftFor(tables, who.keyPairId, who.endUserId)
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
    // Budgets may allow less, and checkBudgets sees to them.
    const isLimited = tables.limits.some((limit) => limit.projectId === projectId)
    if (isLimited ? total > expected : total !== expected)
      report(`${projectId}: a batch charged ${total}, its bills and funds make ${expected}`)
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
