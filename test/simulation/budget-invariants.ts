import type { Nanos } from '../../src/rules/money.ts'
import type { CountRow, LimitRow, Tables } from './memory-tables.ts'
import type { Report } from './wallet-invariants.ts'

/**
 * Checks what must be true of budgets at every moment, judged only by what was paid and what is held. A run is over within a
 * day, and its limits exist from the start, so a day's budget is one in total.
 */
export function checkBudgets(tables: Tables, report: Report): void {
  for (const [who, use] of usesOf(tables)) {
    const nanos = budgetOf(tables, use.row)
    const { spent, held, openHolds, row } = use
    if (nanos !== undefined && spent + held > nanos)
      report(`I9: ${who} has a budget of ${nanos}, ${spent} are spent and ${held} held`)
    if (row.held !== held || row.openHolds !== openHolds)
      report(`I9: ${who} is counted to hold ${row.held} for ${row.openHolds} calls, it holds ${held} for ${openHolds}`)
    if (row.totalNanos !== spent || row.dayNanos !== spent)
      report(
        `I9: ${who} is counted to have spent ${row.totalNanos}, ${row.dayNanos} of them today; it has spent ${spent}`,
      )
  }
}

/** Returns the least amount left in the budgets of a call. Undefined: it has none. */
export function budgetLeftFor(tables: Tables, keyPairId: string, endUserId: string | undefined): Nanos | undefined {
  const lefts = usesOf(tables).flatMap(([, { row, spent, held }]) => {
    const nanos = row.subject === keyPairId || row.subject === endUserId ? budgetOf(tables, row) : undefined
    return nanos === undefined ? [] : [nanos - spent - held]
  })
  return lefts.length === 0 ? undefined : lefts.reduce((least, left) => (left < least ? left : least))
}

interface Use {
  row: CountRow
  spent: Nanos
  held: Nanos
  openHolds: number
}

function usesOf(tables: Tables): [who: string, Use][] {
  return tables.counts.map((row) => {
    const isTheirs = ({ keyPairId, endUserId }: { keyPairId: string; endUserId: string | undefined }) =>
      (row.scope === 'key_pair' ? keyPairId : endUserId) === row.subject
    const charges = tables.charges.filter(isTheirs)
    const late = new Set(charges.map(({ id }) => `late:${id}`))
    const collected = tables.transfers.filter(({ reference }) => late.has(reference))
    const holds = [...tables.holds.values()].filter(isTheirs)
    const spent = sum(charges.map(({ charged }) => charged)) + sum(collected.map(({ amount }) => amount))
    return [row.subject, { row, spent, held: sum(holds.map(({ amount }) => amount)), openHolds: holds.length }]
  })
}

/** The tightest. One end user's own comes before that of every end user, for each length of time. */
function budgetOf({ limits }: Tables, { scope, subject, projectId }: CountRow): Nanos | undefined {
  const own = limits.find((limit) => limit.scope === scope && limit.subject === subject)
  const everyones =
    scope === 'end_user'
      ? limits.find((limit) => limit.scope === 'end_users' && limit.subject === projectId)
      : undefined
  const nanos = (name: 'dayNanos' | 'totalNanos') =>
    [own, everyones].map((limit?: LimitRow) => limit?.[name] ?? undefined)
  const [day, total] = (['dayNanos', 'totalNanos'] as const).map((name) =>
    nanos(name).find((value) => value !== undefined),
  )
  return day === undefined || (total !== undefined && total < day) ? total : day
}

function sum(amounts: readonly Nanos[]): Nanos {
  return amounts.reduce((total, amount) => total + amount, 0n)
}
