/** The catalogue's figures for a model, in tokens. Undefined: none is stated, and a default is used. */
export interface Figures {
  /** The most that one image of a prompt comes to. */
  image: number | undefined
  /** The most that one file of a prompt comes to. */
  file: number | undefined
  /** The tokens that one tool adds to a prompt beyond the text of its definition. */
  tool: number | undefined
  /** The most that the model thinks without showing it. 0: it does not reason. */
  reasoning: number | undefined
}

// The numbers below are stated a second time, on purpose, by the simulation: test/simulation/call-invariants.ts.

export type MediaFigures = Record<'image' | 'file' | 'tool', number>

export const NO_FIGURES: Figures = { image: undefined, file: undefined, tool: undefined, reasoning: undefined }

/** For a prompt that its provider has not counted: what a large image, a document of a few pages and a tool come to at
 * most providers. */
export const TYPICAL_FIGURES: MediaFigures = { image: 1_600, file: 8_000, tool: 0 }

/** For judging a report about a model without figures: no honest provider counts more. */
export const LARGEST_FIGURES: MediaFigures = { image: 65_536, file: 1_000_000, tool: 1_024 }

/** For holds: whoever sends images to a model whose figures nobody has stated must have credit for the largest. */
export const HELD_FIGURES: MediaFigures = { ...LARGEST_FIGURES, tool: TYPICAL_FIGURES.tool }
