import type { Nanos } from '../../src/rules/money.ts'
import { ABSORBED, CASH, REVENUE, availableIn, type Tables } from './memory-tables.ts'

export type Report = (violation: string) => void

/** What is true of the books at every moment, whoever did what before. */
export function violationsIn(tables: Tables): string[] {
  const violations: string[] = []
  const report = (violation: string) => void violations.push(violation)
  const balances = balancesOf(tables)
  for (const wallet of tables.wallets.values()) {
    const { projectId, balance, held, openHolds } = wallet
    const entries = balances.get(projectId) ?? 0n
    if (balance !== entries) report(`I1: the balance of ${projectId} is ${balance}, its entries sum to ${entries}`)
    if (availableIn(wallet) < 0n) report(`I2: ${projectId} is overdrawn: balance ${balance}, held ${held}`)
    const holds = [...tables.holds.values()].filter((hold) => hold.projectId === projectId)
    const sum = holds.reduce((total, { amount }) => total + amount, 0n)
    if (held !== sum || openHolds !== holds.length)
      report(`I2: ${projectId} holds ${held} for ${openHolds} calls, its open holds are ${sum} for ${holds.length}`)
  }
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
  const rest = [CASH, REVENUE, ABSORBED].reduce((total, account) => total + (balances.get(account) ?? 0n), 0n)
  if (wallets + rest !== 0n) report(`money is not conserved: ${wallets} in wallets, ${rest} elsewhere`)
  return violations
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
