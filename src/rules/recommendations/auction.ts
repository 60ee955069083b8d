import type { Nanos } from '../money.ts'

/**
 * The auction among offers that fit: who is recommended, and what a click would cost. Relevance has been decided before: a
 * bid orders offers that are near enough, and never makes one near.
 */
export interface Bidder {
  /** The offer's id: it decides between equals. */
  id: string
  bidNanos: Nanos
  /** How well it fits, 0 to 1. */
  fit: number
  /** The campaign's recommendations so far, and the clicks on them. */
  clicks: number
  serves: number
  /** 1 is ordinary: landing page up, price as shown, no reports. */
  quality: number
}

export interface Sale<T extends Bidder> {
  winner: T
  /** The price of a click: just enough to have beaten the next best. */
  priceNanos: Nanos
}

/** Clicks per recommendation when nothing is known of a campaign. */
const CLICK_RATE = 0.01
/** After so many recommendations a campaign's own clicks count as much as what is assumed. */
const PRIOR_SERVES = 20
/** The fit at which the assumed click rate holds. */
const ORDINARY_FIT = 0.5
const PARTS = 1_000_000_000

/** Undefined: nobody bids as much as the publisher asks for. */
export function auction<T extends Bidder>(bidders: readonly T[], floorNanos: Nanos): Sale<T> | undefined {
  const ranked = bidders
    .filter(({ bidNanos }) => bidNanos > 0n && bidNanos >= floorNanos)
    .map((bidder) => ({ bidder, weight: weightOf(bidder), score: bidder.bidNanos * weightOf(bidder) }))
    // Never by the order in which they come: asked twice, the answer is the same.
    .toSorted((a, b) => compare(b.score, a.score) || compare(a.bidder.id, b.bidder.id))
  const [first, second] = ranked
  if (first === undefined) return undefined
  const neededNanos = second === undefined ? 0n : second.score / first.weight
  const priceNanos = larger(floorNanos, neededNanos) + 1n
  const { bidNanos } = first.bidder
  return { winner: first.bidder, priceNanos: priceNanos < bidNanos ? priceNanos : bidNanos }
}

/** Expected clicks times quality, as a whole number, so that scores are compared exactly. */
function weightOf(bidder: Bidder): bigint {
  return BigInt(Math.max(1, Math.round(clickRateOf(bidder) * bidder.quality * PARTS)))
}

/**
 * The assumed rate counts for less as recommendations are counted. A better fit means more clicks: twice the fit is taken for
 * four times.
 */
export function clickRateOf({ fit, clicks, serves }: Pick<Bidder, 'fit' | 'clicks' | 'serves'>): number {
  const lift = (Math.min(1, Math.max(0, fit)) / ORDINARY_FIT) ** 2
  return (clicks + PRIOR_SERVES * CLICK_RATE * lift) / (serves + PRIOR_SERVES)
}

function larger(a: Nanos, b: Nanos): Nanos {
  return a > b ? a : b
}

function compare<V extends bigint | string>(a: V, b: V): number {
  return a < b ? -1 : a > b ? 1 : 0
}
