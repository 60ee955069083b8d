import { TYPICAL_OUTPUT_MIN } from '../rules/holds.ts'
import type { Model } from '../rules/routing.ts'

/**
 * What this process has learned of each model from the reports of its providers: holds follow it. In memory only; a new
 * process finds out by itself within a few calls.
 */
export interface ModelStatistics {
  /** How long answers usually are: what a call without `max_tokens` first holds credit for. */
  typicalOutput(model: Model): number
  /** How much the model may think unseen: as the catalogue says, or once it was seen to. */
  hiddenTokens(model: Model): number
  /** How many tokens the model's own tokenizer makes of a text that ours makes 1 of. Never less than 1. */
  promptRatio(model: Model): number
  add(model: Model, call: ReportedCall): void
}

/** A finished call whose provider reported a possible usage. */
export interface ReportedCall {
  completionTokens: number
  /** It thought more than it showed. */
  hasHidden: boolean
  /** What was reported for one of our own prompt tokens. Undefined: our count is not exact enough to learn from. */
  promptRatio: number | undefined
}

const HEADROOM = 1.5
const RATIO_MAX = 3
const HIDDEN_TOKENS_UNKNOWN = 32_768

export function createModelStatistics(): ModelStatistics {
  const models = new Map<string, { outputs: Ranked; ratios: Ranked; isHiding: boolean }>()
  return {
    typicalOutput(model) {
      const usual = models.get(model.id)?.outputs.at(0.95)
      return usual === undefined ? TYPICAL_OUTPUT_MIN : Math.ceil(HEADROOM * usual)
    },
    hiddenTokens({ id, figures, maxOutputTokens }) {
      if (figures.reasoning !== undefined) return figures.reasoning
      return models.get(id)?.isHiding ? (maxOutputTokens ?? HIDDEN_TOKENS_UNKNOWN) : 0
    },
    promptRatio(model) {
      return Math.min(Math.max(models.get(model.id)?.ratios.at(0.5) ?? 1, 1), RATIO_MAX)
    },
    add({ id }, { completionTokens, hasHidden, promptRatio }) {
      const known = models.get(id) ?? { outputs: createRanked(), ratios: createRanked(), isHiding: false }
      models.set(id, known)
      known.outputs.add(completionTokens)
      known.isHiding ||= hasHidden
      if (promptRatio !== undefined) known.ratios.add(promptRatio)
    },
  }
}

const REMEMBERED = 128
/** Sorting 128 numbers takes 10 µs; once in 16 is often enough for an estimate. */
const SORTED_EVERY = 16

interface Ranked {
  add(number: number): void
  /** The number that this share of the last ones does not exceed. Undefined while there are too few. */
  at(share: number): number | undefined
}

function createRanked(): Ranked {
  const ring: number[] = []
  let sorted: number[] = []
  let next = 0
  return {
    add(number) {
      ring[next] = number
      next = (next + 1) % REMEMBERED
      if (next % SORTED_EVERY === 0) sorted = ring.toSorted((a, b) => a - b)
    },
    at: (share) => sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)],
  }
}
