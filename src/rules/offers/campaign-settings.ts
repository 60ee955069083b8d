import { formatCredits, parseCredits, type Nanos } from '../money.ts'
import { copyProblemOf } from './copy-problems.ts'
import { cleanCopy } from './copy.ts'

/** The rules for a campaign, no matter who sets it up. */

/** The least that a click costs as well: without a rival, the second price would be next to nothing. */
export const BID_MIN: Nanos = parseCredits('0.01')
export const BID_MAX: Nanos = parseCredits('1000')
/** More than anybody spends, and less than the ledger holds. */
export const BUDGET_MAX: Nanos = parseCredits('10000000')
export const HINTS_MAX = 20
export const HINT_CHARS_MAX = 200

export function bidProblemOf(bid: Nanos): string | undefined {
  if (bid < BID_MIN) return `A bid is at least ${formatCredits(BID_MIN)} for a click.`
  return bid > BID_MAX ? `A bid is at most ${formatCredits(BID_MAX)} for a click.` : undefined
}

export function budgetProblemOf(budget: Nanos): string | undefined {
  if (budget <= 0n) return 'A budget must be more than zero.'
  return budget > BUDGET_MAX ? `A budget is at most ${formatCredits(BUDGET_MAX)}.` : undefined
}

export function hintProblemOf(text: string): string | undefined {
  const hint = cleanCopy(text)
  if (hint === '' || hint.length > HINT_CHARS_MAX)
    return `A hint is one sentence of at most ${HINT_CHARS_MAX} characters.`
  const problem = copyProblemOf(text)
  return problem === undefined ? undefined : `It cannot be used: ${problem}.`
}
