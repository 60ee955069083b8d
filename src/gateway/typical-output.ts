import { TYPICAL_OUTPUT_MIN } from '../rules/holds.ts'

/** How long answers of a model usually are: what a call without `max_tokens` first holds credit for. */
export interface TypicalOutput {
  of(modelId: string): number
  add(modelId: string, tokens: number): void
}

const REMEMBERED = 128
const HEADROOM = 1.5

export function createTypicalOutput(): TypicalOutput {
  const lengths = new Map<string, { ring: number[]; next: number; typical: number }>()
  return {
    of: (modelId) => lengths.get(modelId)?.typical ?? TYPICAL_OUTPUT_MIN,
    add(modelId, tokens) {
      const known = lengths.get(modelId) ?? { ring: [], next: 0, typical: TYPICAL_OUTPUT_MIN }
      lengths.set(modelId, known)
      known.ring[known.next] = tokens
      known.next = (known.next + 1) % REMEMBERED
      // Sorting 128 numbers takes 10 µs; once in 16 answers is often enough for an estimate.
      if (known.next % 16 === 0) {
        const sorted = known.ring.toSorted((a, b) => a - b)
        known.typical = Math.ceil(HEADROOM * (sorted[Math.floor(sorted.length * 0.95)] ?? TYPICAL_OUTPUT_MIN))
      }
    },
  }
}
