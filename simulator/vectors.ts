/** Vectors of texts: the same for the same seed and text, and another for any other. */
import { hashOf } from './reply.ts'

export type EmbeddingInput = string | readonly number[]

/** The vectors that a request for embeddings asks for. */
export interface WantedVectors {
  readonly inputs: readonly EmbeddingInput[]
  /** Undefined: as long as the model makes them. */
  readonly dimensions: number | undefined
  readonly isBase64: boolean
}

/** Short, so that tests can read them. */
export const DIMENSIONS = 8

export function vectorFor(input: EmbeddingInput, dimensions: number, seed: number): number[] {
  let state = hashOf(typeof input === 'string' ? input : input.join(), seed)
  return Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.fround(state / 2 ** 31 - 1)
  })
}

export function base64Of(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64')
}
