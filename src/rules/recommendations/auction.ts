import type { Nanos } from '../money.ts'

/**
 * Who is recommended among offers that fit, and what a click would cost. Relevance has been decided before: a bid orders
 * what is near enough, and never makes anything near.
 */
export interface Bidder {
  /** Of the offer: the last word between equals. */
  id: string
  bidNanos: Nanos
  /** How well it fits, 0 to 1. */
  fit: number
  /** What the campaign's recommendations came to so far. */
  clicks: number
  serves: number
  /** 1 is ordinary: landing page up, price as shown, no reports. */
  quality: number
}

export interface Sale<T extends Bidder> {
  winner: T
  /** What a click costs: what the next best would have had to be beaten with. */
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

/** What is assumed gives way to what is counted. Better fit, more clicks: twice the fit is taken for four times. */
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
