import { formatCredits, parseCredits, type Nanos } from '../money.ts'
import { copyProblemOf } from './copy-problems.ts'
import { cleanCopy } from './copy.ts'

/** What holds for a campaign, whoever sets it. */

export const BID_MAX: Nanos = parseCredits('1000')
/** More than anybody spends, and less than the ledger holds. */
export const BUDGET_MAX: Nanos = parseCredits('10000000')
export const HINTS_MAX = 20
export const HINT_CHARS_MAX = 200

export function bidProblemOf(bid: Nanos): string | undefined {
  if (bid <= 0n) return 'A bid must be more than zero.'
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
