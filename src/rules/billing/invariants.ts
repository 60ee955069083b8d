/** The invariants of the ledger, true at every moment. `parley audit` checks all of them. */
export const INVARIANTS = {
  I1: "a wallet's entries sum to its balance",
  I2: 'a wallet is never below zero, and holds exactly its open holds',
  I3: 'a call is charged at most once, and late only after it was swept',
  I4: 'a completed call is charged its tokens at the price of its hold',
  I5: 'a charge never exceeds its usage, nor its hold unless the usage was reported or its caller hung up',
  I6: 'a charge belongs to a call and had a hold before it',
  I7: 'a hold does not outlive its lease',
  I8: 'a wallet owes what it was advanced and has not paid, and has nothing available while it owes',
  I9: 'a day that was sealed has the charges and calls that it had then',
  I10: "an advertiser's entries sum to its balance",
  I11: 'what a project has earned is pending in its entries and in its clicks alike',
  I12: 'a campaign has spent what its paid clicks cost',
  journal: 'all wallets and all accounts of the operator sum to zero',
} as const

export type Invariant = keyof typeof INVARIANTS

/** A row that breaks an invariant. */
export interface Violation {
  id: string
  detail: string
}

export interface Finding {
  invariant: Invariant
  violations: number
  /** The first few of them. */
  examples: Violation[]
}

export const EXAMPLES_MAX = 10

/** One finding per broken invariant, whichever part of the ledger it was found in. */
export function mergeFindings(findings: readonly Finding[]): Finding[] {
  const merged = new Map<Invariant, Finding>()
  for (const { invariant, violations, examples } of findings) {
    const before = merged.get(invariant)
    merged.set(invariant, {
      invariant,
      violations: (before?.violations ?? 0) + violations,
      examples: [...(before?.examples ?? []), ...examples].slice(0, EXAMPLES_MAX),
    })
  }
  return [...merged.values()]
}
