import { parseHeads, scoresOf, type Heads } from '../../src/recommend/gates/heads.ts'
import { windowsOf } from '../../src/rules/recommendations/text-windows.ts'
import { sensitiveClassOf } from '../../src/rules/recommendations/lexicon.ts'
import { headsFileOf } from './fitting.ts'
import type { Sample } from './texts.ts'

/** How the gates do on texts that they did not learn from. */

export interface Judged extends Sample {
  sensitive: number
  commercial: number
  hasWords: boolean
}

interface Thresholds {
  sensitive: number
  commercial: number
}

const FOLDS = 5

/** Every fifth text of a topic is judged by what the other four fifths say. */
export function crossValidate(samples: readonly Sample[], thresholds: Thresholds): Judged[] {
  const counts = new Map<string, number>()
  const folds = samples.map(({ side, topic }) => {
    const key = `${side}/${topic}`
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    return count % FOLDS
  })
  return Array.from({ length: FOLDS }, (_, fold) => {
    const heads = headsOf(
      samples.filter((_sample, index) => folds[index] !== fold),
      thresholds,
    )
    return samples.filter((_sample, index) => folds[index] === fold).map((sample) => judge(sample, heads))
  }).flat()
}

/** Texts of one sensitive topic after the other are judged by heads that never saw one of them. */
export function leaveOut(samples: readonly Sample[], thresholds: Thresholds): void {
  const topics = new Set(samples.filter(({ side }) => side === 'sensitive').map(({ topic }) => topic))
  for (const left of topics) {
    const isLeft = (sample: Sample) => sample.side === 'sensitive' && sample.topic === left
    const heads = headsOf(
      samples.filter((sample) => !isLeft(sample)),
      thresholds,
    )
    const judged = samples.filter(isLeft).map((sample) => judge(sample, heads))
    const { byMeaning, byAll } = passing(judged, thresholds)
    console.log(`without ${left}: ${percent(byMeaning, judged)} pass its head, ${percent(byAll, judged)} all gates`)
  }
}

export function printReport(judged: readonly Judged[], chosen: Thresholds): void {
  for (const sensitive of [0.02, 0.05, 0.1, 0.15, 0.2, 0.3]) {
    for (const commercial of [0.5, 0.7, 0.9]) {
      const shares = (['sensitive', 'commercial', 'everyday'] as const).map((side) => {
        const all = judged.filter((one) => one.side === side)
        return `${side} ${percent(passing(all, { sensitive, commercial }).byAll, all)}`
      })
      console.log(`sensitive ${sensitive}, commercial ${commercial}: pass ${shares.join(', ')}`)
    }
  }
  const groups = Map.groupBy(judged, ({ side, topic }) => `${side}/${topic}`)
  for (const [topic, all] of groups) {
    const { byMeaning, byWords, byAll } = passing(all, chosen)
    const layers = [byWords, byMeaning, byAll].map((passed) => percent(passed, all)).join(' / ')
    console.log(`${topic} (${all.length}): pass words / sensitive head / all gates ${layers}`)
  }
  const leaks = passing(
    judged.filter(({ side }) => side === 'sensitive'),
    chosen,
  ).byAll
  for (const { topic, text, sensitive, commercial } of leaks) {
    console.log(`  ${topic} ${sensitive.toFixed(3)} ${commercial.toFixed(2)} ${text.slice(0, 120)}`)
  }
}

function passing(judged: readonly Judged[], { sensitive, commercial }: Thresholds) {
  return {
    byWords: judged.filter((one) => !one.hasWords),
    byMeaning: judged.filter((one) => one.sensitive < sensitive),
    byAll: judged.filter((one) => !one.hasWords && one.sensitive < sensitive && one.commercial >= commercial),
  }
}

function headsOf(samples: readonly Sample[], thresholds: Thresholds): Heads {
  return parseHeads(headsFileOf('', samples, thresholds))
}

/** As the gates do it: the worst window counts for one question, the whole text for the other. */
function judge(sample: Sample, heads: Heads): Judged {
  const windows = windowsOf(sample.text)
  const scores = sample.vectors.map((vector, index) => scoresOf(heads, windows[index] ?? '', vector))
  return {
    ...sample,
    sensitive: Math.max(...scores.map((score) => score.sensitive)),
    commercial: scores[0]?.commercial ?? 0,
    hasWords: sensitiveClassOf(sample.text) !== undefined,
  }
}

function percent(part: readonly unknown[], whole: readonly unknown[]): string {
  return `${((100 * part.length) / whole.length).toFixed(1)} %`
}
