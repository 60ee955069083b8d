import type { Chunk } from '../rules/calls/chunk.ts'
import { promptTokensOf, type Usage } from '../rules/billing/usage.ts'

/**
 * Some providers report while they answer. Passed on are the parts that nobody else can know, the prompt and the
 * thoughts, and only when they have changed: for a caller that hangs up, they make the charge exact.
 */
export function createUsageSoFar(): { after(chunks: Chunk[], usage: Usage | undefined): Chunk[] } {
  let told: Usage | undefined
  return {
    after(chunks, usage) {
      if (chunks.length === 0 || usage === undefined || (told && isSame(usage, told))) return chunks
      told = usage
      return [...chunks, { type: 'usage', usage, soFar: true }]
    },
  }
}

function isSame(usage: Usage, told: Usage): boolean {
  return usage.reasoning === told.reasoning && promptTokensOf(usage) === promptTokensOf(told)
}

/** Anything but a number becomes NaN, which no plausibility check lets through. */
export function countOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN
}
