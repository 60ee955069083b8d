/** The figures' definitions. Pure, so that test/recommend-metrics.test.ts can hold each to an example calculated by hand. */

/** How relevant each judged item is to one query; what is not in it was never judged. */
export type Judgements = ReadonlyMap<string, number>

/**
 * Normalised discounted cumulative gain of the first `depth` items, gain 2^grade - 1: putting the best first counts most.
 * Whatever was not judged counts as irrelevant, which favours engines like the one that chose what to judge.
 */
export function ndcgAt(ranking: readonly string[], judgements: Judgements, depth: number): number {
  const best = [...judgements.values()].toSorted((a, b) => b - a)
  const ideal = discountedGain(best.slice(0, depth))
  const grades = ranking.slice(0, depth).map((id) => judgements.get(id) ?? 0)
  return ideal === 0 ? 0 : discountedGain(grades) / ideal
}

/** The ranking without what nobody judged: which of two engines orders better what is known. */
export function judgedOnly(ranking: readonly string[], judgements: Judgements): string[] {
  return ranking.filter((id) => judgements.has(id))
}

/** 1 when the first item has at least this grade, 0 otherwise, also when there is no item. */
export function hitAtOne(ranking: readonly string[], judgements: Judgements, relevantFrom: number): number {
  const [first] = ranking
  return first !== undefined && (judgements.get(first) ?? 0) >= relevantFrom ? 1 : 0
}

/** Cohen's kappa: how much two annotators agree beyond what their habits alone would make them agree. */
export function kappaOf(pairs: readonly (readonly [a: string | number, b: string | number])[]): number {
  if (pairs.length === 0) return 0
  const [ofA, ofB] = [new Map<string | number, number>(), new Map<string | number, number>()]
  let agreed = 0
  for (const [a, b] of pairs) {
    ofA.set(a, (ofA.get(a) ?? 0) + 1)
    ofB.set(b, (ofB.get(b) ?? 0) + 1)
    if (a === b) agreed += 1
  }
  const observed = agreed / pairs.length
  let byChance = 0
  for (const [grade, count] of ofA) byChance += (count * (ofB.get(grade) ?? 0)) / pairs.length ** 2
  return byChance === 1 ? 1 : (observed - byChance) / (1 - byChance)
}

/** The share that is still likely (one sided, 95 %) when none of `tried` was seen: 3 in `tried`, roughly. */
export function upperBoundOfNone(tried: number): number {
  return tried === 0 ? 1 : 1 - 0.05 ** (1 / tried)
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Nearest rank. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

function discountedGain(grades: readonly number[]): number {
  return grades.reduce((sum, grade, i) => sum + (2 ** Math.max(0, grade) - 1) / Math.log2(i + 2), 0)
}
