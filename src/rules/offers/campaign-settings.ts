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
  if (bid <= 0n) return 'A bid is more than nothing.'
  return bid > BID_MAX ? `A bid is at most ${formatCredits(BID_MAX)} for a click.` : undefined
}

export function budgetProblemOf(budget: Nanos): string | undefined {
  if (budget <= 0n) return 'A budget is more than nothing.'
  return budget > BUDGET_MAX ? `A budget is at most ${formatCredits(BUDGET_MAX)}.` : undefined
}

export function hintProblemOf(text: string): string | undefined {
  const problem = copyProblemOf(text)
  if (problem !== undefined) return `It cannot be used: ${problem}.`
  const hint = cleanCopy(text)
  const isSentence = hint !== '' && hint.length <= HINT_CHARS_MAX
  return isSentence ? undefined : `A hint is one sentence of at most ${HINT_CHARS_MAX} characters.`
}
