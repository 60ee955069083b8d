/**
 * A preview of what an advertiser's hints would bring: asked of a matcher while they are typed, about conversations that
 * Parley ships.
 */

export interface HintPreviewRequest {
  hints: readonly string[]
  negativeHints: readonly string[]
  /** Give up when this has passed. */
  deadlineMs: number
}

export const SAMPLE_OUTCOMES = [
  // An offer of the campaign would fit by a hint.
  'matched',
  // It would, but the campaign does not want to stand beside this.
  'unwanted',
  // No hint is near enough.
  'far',
  // Nobody is recommended here: nothing is wished for, or the topic is a sensitive one.
  'free',
] as const
export type SampleOutcome = (typeof SAMPLE_OUTCOMES)[number]

export interface SampledHints {
  said: string
  answer: string
  outcome: SampleOutcome
  /** The one that decided; of `far`, the nearest that there is. Null: none did, or there is none. */
  hint: string | null
  /** How near it is, -1 to 1. */
  nearness: number | null
}

export interface HintPreview {
  samples: SampledHints[]
  /** A hint this near speaks for its campaign. */
  nearEnough: number
}
