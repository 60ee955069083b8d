import { divideUp } from '../money.ts'
import type { ModelKind } from './model-kinds.ts'
import { perClass, TOKEN_CLASSES, type PerClass, type TokenClass } from '../billing/usage.ts'

/** Nanos per million tokens of each class, of a price or of what a provider asks. */
export type Classes = PerClass<bigint>

/** One is a hundredth of a percent. */
const WHOLE_BPS = 10_000n
export const MARGIN_BPS_MAX = 100_000

/** Returns the price to ask at this cost. Exact, and rounded up once per class: never below the cost. */
export function withMargin(cost: Classes, marginBps: number): Classes {
  return perClass((name) => divideUp(cost[name] * (WHOLE_BPS + BigInt(marginBps)), WHOLE_BPS))
}

/** The dearer of each class, for a model that several providers answer. */
export function dearestOf(costs: readonly Classes[]): Classes {
  return perClass((name) => costs.reduce((most, cost) => (cost[name] > most ? cost[name] : most), 0n))
}

/** The classes that are sold below what they cost. */
export function classesBelow(price: Classes, cost: Classes): TokenClass[] {
  return TOKEN_CLASSES.filter((name) => price[name] < cost[name])
}

export function isSamePrice(one: Classes, other: Classes): boolean {
  return TOKEN_CLASSES.every((name) => one[name] === other[name])
}

/** `12.5` percent is 1250. Throws on anything finer than a hundredth of a percent. */
export function parseMargin(text: string): number {
  const match = /^(\d{1,4})(?:\.(\d{1,2}))?%?$/.exec(text.trim())
  const bps = match ? Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0')) : Number.NaN
  if (!(bps <= MARGIN_BPS_MAX)) {
    throw new Error(`"${text}" is not a margin. Use percent like 20 or 12.5, at most ${MARGIN_BPS_MAX / 100}.`)
  }
  return bps
}

/** `12.5%`. */
export function formatMargin(bps: number): string {
  return `${bps / 100}%`
}

const TIMES_MAX = 10n
/** The classes of a model that makes vectors: it writes no tokens, and must not charge for any. */
const PROMPT_CLASSES = ['input', 'cachedInput', 'cacheWrite'] as const
const PRICE_MAX = 10_000_000_000_000n

/**
 * Why a price looks like a mistake: a wrong unit, a slipped point, a column in the wrong place. Empty: it does not.
 * `former` is the price in force.
 */
export function oddities(price: Classes, former: Classes | undefined, kind: ModelKind = 'chat'): string[] {
  const odd: string[] = []
  for (const name of kind === 'embedding' ? PROMPT_CLASSES : TOKEN_CLASSES) {
    if (price[name] === 0n) odd.push(`${name} is free`)
    if (price[name] > PRICE_MAX) odd.push(`${name} is over 10000 dollars per million tokens`)
    if (former === undefined || former[name] === 0n) continue
    if (price[name] > former[name] * TIMES_MAX) odd.push(`${name} is more than ten times what it was`)
    if (price[name] * TIMES_MAX < former[name]) odd.push(`${name} is less than a tenth of what it was`)
  }
  if (kind === 'chat' && price.output * TIMES_MAX < price.input) odd.push('output is less than a tenth of input')
  return odd
}
