import { createHash } from 'node:crypto'
import type { Mutant } from './mutant.ts'

export const MUTANTS: readonly Mutant[] = []

/** As many as asked for, in an order that the seed decides. */
export function sampleOf(mutants: readonly Mutant[], size: number, seed: string): Mutant[] {
  const rankOf = ({ file, bug }: Mutant) => createHash('sha256').update(`${seed}\0${file}\0${bug}`).digest('hex')
  return mutants
    .map((mutant) => ({ mutant, rank: rankOf(mutant) }))
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, size)
    .map(({ mutant }) => mutant)
}
