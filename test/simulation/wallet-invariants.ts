import type { Nanos } from '../../src/rules/money.ts'
import { checkBudgets } from './budget-invariants.ts'
import { ABSORBED, CASH, RECEIVABLE, REFUNDS, REVENUE, availableIn, type Tables } from './memory-tables.ts'

export type Report = (violation: string) => void

/** Returns all violations of what must be true of the books at every moment, whatever happened before. */
export function violationsIn(tables: Tables): string[] {
  const violations: string[] = []
  const report = (violation: string) => void violations.push(violation)
  const balances = balancesOf(tables)
  for (const wallet of tables.wallets.values()) {
    const { projectId, balance, held, owed, openHolds } = wallet
    const entries = balances.get(projectId) ?? 0n
    if (balance !== entries) report(`I1: the balance of ${projectId} is ${balance}, its entries sum to ${entries}`)
    if (availableIn(wallet) < 0n) report(`I2: ${projectId} is overdrawn: balance ${balance}, held ${held}`)
    const advanced = advancedTo(tables, projectId)
    if (owed !== advanced) report(`I8: ${projectId} owes ${owed}, it was advanced ${advanced}`)
    if (owed > 0n && availableIn(wallet) > 0n) report(`I8: ${projectId} owes ${owed} and has ${availableIn(wallet)}`)
    const holds = [...tables.holds.values()].filter((hold) => hold.projectId === projectId)
    const sum = holds.reduce((total, { amount }) => total + amount, 0n)
    if (held !== sum || openHolds !== holds.length)
      report(`I2: ${projectId} holds ${held} for ${openHolds} calls, its open holds are ${sum} for ${holds.length}`)
  }
  checkBudgets(tables, report)
  const seen = new Set<string>()
  for (const { id, charged, worth } of tables.charges) {
    if (seen.has(id)) report(`I3: ${id} is settled twice`)
    if (charged < 0n || charged > worth) report(`I5: ${id} is charged ${charged}, its usage is worth ${worth}`)
    seen.add(id)
  }
  const references = new Set(tables.transfers.map(({ reference }) => reference))
  if (references.size < tables.transfers.length) report('I3: a transfer was posted twice')
  // Money moves and is never made: what came in as cash lies in wallets or has become revenue.
  const wallets = [...tables.wallets.values()].reduce((total, { balance }) => total + balance, 0n)
  const rest = [CASH, REVENUE, ABSORBED, REFUNDS, RECEIVABLE].reduce(
    (total, account) => total + (balances.get(account) ?? 0n),
    0n,
  )
  if (wallets + rest !== 0n) report(`money is not conserved: ${wallets} in wallets, ${rest} elsewhere`)
  return violations
}

/** Returns the amount that a wallet was advanced and has not paid. */
function advancedTo(tables: Tables, projectId: string): Nanos {
  return tables.transfers.reduce((sum, { kind, debit, credit, amount }) => {
    if (kind === 'owed' && credit === projectId) return sum + amount
    return kind === 'collection' && debit === projectId ? sum - amount : sum
  }, 0n)
}

/** The sum of each account's entries. */
function balancesOf(tables: Tables): Map<string, Nanos> {
  const balances = new Map<string, Nanos>()
  const move = (debit: string, credit: string, amount: Nanos) => {
    balances.set(debit, (balances.get(debit) ?? 0n) - amount)
    balances.set(credit, (balances.get(credit) ?? 0n) + amount)
  }
  for (const { projectId, charged } of tables.charges) move(projectId, REVENUE, charged)
  for (const { debit, credit, amount } of tables.transfers) move(debit, credit, amount)
  return balances
}
