import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { VECTOR_DIMENSIONS } from '../../rules/recommendations/vectors.ts'

/**
 * Heads that were trained on sentence vectors by `scripts/train-gates.ts`: which of some eighty topics a text may be about,
 * and how likely. Two questions are asked of them, each with a threshold: is it about anything sensitive, and is it about
 * anything that one buys? One line between "sensitive" and "not" would leave through twice as many sensitive texts:
 * grief, weapons and debt lie in different corners, and each of them has its own harmless neighbours.
 *
 * Both questions also count single words, as they were found on one side and on the other: the vector of a whole sentence
 * about shopping may miss the one word that matters.
 */

export type Side = 'sensitive' | 'commercial' | 'everyday'

export interface Topic {
  name: string
  side: Side
  bias: number
  weights: Float32Array
}

export interface Heads {
  /** The embedder whose vectors they learned from. */
  modelId: string
  topics: readonly Topic[]
  /**
   * How much more often a word stands in sensitive texts than in others, and in commercial than in everyday ones, as
   * logarithms.
   */
  words: { sensitive: ReadonlyMap<string, number>; commercial: ReadonlyMap<string, number> }
  /** At and above it, the answer is yes. */
  thresholds: { sensitive: number; commercial: number }
}

/** As it lies in heads.json: weights are base64 of int8, times `scale`. */
export interface HeadsFile {
  modelId: string
  /** How many texts of each source they learned from. */
  sources: Readonly<Record<string, number>>
  thresholds: { sensitive: number; commercial: number }
  topics: readonly { name: string; side: Side; bias: number; scale: number; weights: string }[]
  /** Words by their number, in tenths: {"7": "ache again alone"}. */
  words: { sensitive: WordsFile; commercial: WordsFile }
}
type WordsFile = Readonly<Record<string, string>>

export interface Scores {
  /** From 0 to 1. What is missing to 1 is neither. */
  sensitive: number
  commercial: number
  /** The likeliest of the sensitive topics. */
  topic: string
}

const WORD = /[a-z0-9']+/g

export const HEADS_PATH = new URL('heads.json', import.meta.url)

export function readHeads(): Heads {
  return parseHeads(JSON.parse(readFileSync(HEADS_PATH, 'utf8')) as HeadsFile)
}

export function parseHeads({ modelId, thresholds, topics, words }: HeadsFile): Heads {
  return {
    modelId,
    thresholds,
    words: { sensitive: parseWords(words.sensitive), commercial: parseWords(words.commercial) },
    topics: topics.map(({ name, side, bias, scale, weights }) => {
      const steps = new Int8Array(Uint8Array.from(Buffer.from(weights, 'base64')).buffer)
      assert.equal(steps.length, VECTOR_DIMENSIONS, 'a topic has one weight for every dimension')
      return { name, side, bias, weights: Float32Array.from(steps, (step) => step * scale) }
    }),
  }
}

/** Scores a text by its words and its vector. */
export function scoresOf(heads: Heads, text: string, vector: Float32Array): Scores {
  const levels = heads.topics.map((topic) => topic.bias + product(topic.weights, vector))
  // The largest is taken out first, so that no power overflows.
  const highest = Math.max(...levels)
  const sums = { sensitive: 0, commercial: 0, everyday: 0 }
  let nearest = { topic: '', power: -1 }
  for (const [index, { name, side }] of heads.topics.entries()) {
    const power = Math.exp((levels[index] ?? 0) - highest)
    sums[side] += power
    if (side === 'sensitive' && power > nearest.power) nearest = { topic: name, power }
  }
  const distinct = distinctWordsOf(text)
  return {
    sensitive: shareOf(sums.sensitive / (sums.commercial + sums.everyday), heads.words.sensitive, distinct),
    commercial: shareOf(sums.commercial / (sums.sensitive + sums.everyday), heads.words.commercial, distinct),
    topic: nearest.topic,
  }
}

/** Words move the odds. */
function shareOf(odds: number, levels: ReadonlyMap<string, number>, words: ReadonlySet<string>): number {
  let level = 0
  for (const word of words) level += levels.get(word) ?? 0
  const moved = odds * Math.exp(level)
  return Number.isFinite(moved) ? moved / (1 + moved) : 1
}

/** Every word of a text once, apostrophes within. */
export function distinctWordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().replaceAll('’', "'").match(WORD))
}

function parseWords(file: WordsFile): Map<string, number> {
  return new Map(
    Object.entries(file).flatMap(([tenths, list]) => list.split(' ').map((word) => [word, Number(tenths) / 10])),
  )
}

function product(left: Float32Array, right: Float32Array): number {
  let sum = 0
  for (let index = 0; index < left.length; index++) sum += (left[index] ?? 0) * (right[index] ?? 0)
  return sum
}
