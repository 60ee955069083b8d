import assert from 'node:assert/strict'
import { distinctWordsOf, type HeadsFile } from '../../src/recommend/gates/heads.ts'
import { fit, type Line } from './discriminant.ts'
import type { Sample } from './texts.ts'

/** From texts with their vectors to what lies in heads.json. */

const FIT = { shrinkage: 0.2, temper: 0.5 }
const WORDS = {
  /** Words of fewer texts say more about their author than about a topic. */
  textsMin: 3,
  /** The most that a word may add or take, and the least that it must to be kept. */
  levelMax: 2,
  levelMin: 0.3,
  /** Words of one sentence come together, so that each of them counts less than it would alone. */
  share: { sensitive: 0.5, commercial: 0.3 },
  /** Texts that every word is taken to have been seen in, on both sides, before any was read. */
  prior: 0.5,
}

export function headsFileOf(
  modelId: string,
  samples: readonly Sample[],
  thresholds: HeadsFile['thresholds'],
): HeadsFile {
  const lines = fit(
    samples.map(({ side, topic, vectors: [vector] }) => ({
      topic: `${side}/${topic}`,
      vector: vector ?? assert.fail(),
    })),
    FIT,
  )
  const sources: Record<string, number> = {}
  for (const { source } of samples) sources[source] = (sources[source] ?? 0) + 1
  const words = {
    sensitive: wordsOf(samples, 'sensitive'),
    commercial: wordsOf(
      samples.filter(({ side }) => side !== 'sensitive'),
      'commercial',
    ),
  }
  return { modelId, sources, thresholds, topics: lines.map(topicOf), words }
}

function topicOf({ topic, bias, weights }: Line): HeadsFile['topics'][number] {
  const [side, name] = topic.split('/') as ['sensitive', string]
  const largest = weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0)
  const scale = Number((largest / 127).toPrecision(6))
  const steps = Int8Array.from(weights, (weight) => Math.max(-127, Math.min(127, Math.round(weight / scale))))
  return { name, side, bias: Number(bias.toFixed(4)), scale, weights: Buffer.from(steps.buffer).toString('base64') }
}

/** Naive Bayes: how much likelier a word is in a text of the wanted side than in another. */
function wordsOf(samples: readonly Sample[], wanted: 'sensitive' | 'commercial'): Record<string, string> {
  const counts = new Map<string, { wanted: number; other: number }>()
  const totals = { wanted: 0, other: 0 }
  for (const { side, text } of samples) {
    const kind = side === wanted ? 'wanted' : 'other'
    totals[kind]++
    for (const word of distinctWordsOf(text)) {
      const count = counts.get(word) ?? { wanted: 0, other: 0 }
      count[kind]++
      counts.set(word, count)
    }
  }
  const lists: Record<string, string> = {}
  for (const [word, count] of [...counts].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    if (count.wanted + count.other < WORDS.textsMin) continue
    const level =
      Math.log((count.wanted + WORDS.prior) / (totals.wanted + 2 * WORDS.prior)) -
      Math.log((count.other + WORDS.prior) / (totals.other + 2 * WORDS.prior))
    if (Math.abs(level) < WORDS.levelMin) continue
    const bounded = Math.max(-WORDS.levelMax, Math.min(WORDS.levelMax, level))
    const tenths = Math.round(bounded * WORDS.share[wanted] * 10)
    lists[tenths] = lists[tenths] === undefined ? word : `${lists[tenths]} ${word}`
  }
  // Sorted, because the order in which numbers were met says nothing.
  return Object.fromEntries(Object.entries(lists).toSorted(([left], [right]) => Number(left) - Number(right)))
}
