/** E1 and E2: public sets of queries with graded products, by the engine that answers conversations. */
import type { Engine } from './engines.ts'
import { hitAtOne, judgedOnly, mean, ndcgAt } from './metrics.ts'
import { createProgress } from './progress.ts'
import { baselineLine, type Figure, type Result } from './report.ts'
import type { SearchSet } from './sets.ts'

const DEPTH = 10
/** Far enough that a ranking still has ten items when those that nobody judged are taken out. */
const RANKED_MAX = 500

export interface SearchBar {
  name: string
  ndcg: number
  judged?: number
  hit?: number
  judgedHit?: number
}

export const ICECAT_BAR: SearchBar = { name: 'E1 icecat', ndcg: 0.75, judged: 0.85, judgedHit: 0.82 }
export const CAPROD_BAR: SearchBar = { name: 'E2 caprod', ndcg: 0.42, hit: 0.34 }

export async function measureSearch(
  set: SearchSet,
  bar: SearchBar,
  engine: Engine,
  baselines: readonly Engine[],
): Promise<Result> {
  const figures = await figuresOf(set, bar, engine)
  const details = [`${set.queries.length} queries over ${set.offers.length} offers`]
  for (const baseline of baselines) {
    details.push(baselineLine(baseline.name, await figuresOf(set, bar, baseline)))
  }
  return { bar: bar.name, figures, details }
}

async function figuresOf(set: SearchSet, bar: SearchBar, engine: Engine): Promise<Figure[]> {
  const [ndcg, judged, hit, judgedHit]: [number[], number[], number[], number[]] = [[], [], [], []]
  const progress = createProgress(`${bar.name} by ${engine.name}`, set.queries.length)
  for (const { text, judgements } of set.queries) {
    const ranking = await engine.rank({ turns: [{ role: 'user', text }] }, RANKED_MAX)
    const known = judgedOnly(ranking, judgements)
    ndcg.push(ndcgAt(ranking, judgements, DEPTH))
    judged.push(ndcgAt(known, judgements, DEPTH))
    hit.push(hitAtOne(ranking, judgements, set.relevantFrom))
    judgedHit.push(hitAtOne(known, judgements, set.relevantFrom))
    progress.add()
  }
  progress.end()
  return [
    figure('nDCG@10', ndcg, bar.ndcg),
    figure('judged', judged, bar.judged),
    figure('P@1', hit, bar.hit),
    figure('P@1 judged', judgedHit, bar.judgedHit),
  ]
}

function figure(name: string, values: readonly number[], atLeast: number | undefined): Figure {
  return { name, value: mean(values), ...(atLeast === undefined ? {} : { bar: { atLeast } }) }
}
