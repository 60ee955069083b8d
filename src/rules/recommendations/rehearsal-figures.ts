import type { Nanos } from '../money.ts'
import { outcomeWordsOf, type OutcomeKind } from './outcome-labels.ts'
import type { Match, RecommendationOutcome } from './matching.ts'
import type { Verdict } from './rehearsal.ts'

/** The result of a rehearsal: how many replies, for whom, why not, what it may earn, and what a person should look at. */

/** A recommendation that would have been shown, with what it would have stood under. */
export interface Placement {
  conversation: string
  at: Date
  said: string
  answer: string
  match: Match
  nearSensitive: number
}

/** Why a person should look at it: nothing is nearer to being withheld, or nothing fits less well. */
export type Risk = 'sensitive' | 'relevance'

export interface RehearsalFigures {
  /** With a reply that could be judged. */
  conversations: number
  replies: number
  /** Replies whose conversation is not kept in full. */
  unread: number
  recommended: number
  outcomes: {
    outcome: RecommendationOutcome
    kind: OutcomeKind
    title: string
    explanation: string
    advice: string | null
    replies: number
  }[]
  advertisers: Counted[]
  /** How often each offer would have been shown: its category is known to the store. */
  offers: ReadonlyMap<string, number>
  /** Null: nothing would have been recommended. */
  clickPrice: { leastNanos: Nanos; meanNanos: Nanos; mostNanos: Nanos } | null
  /** The sum that all of them would pay, if each was clicked once. */
  pricesNanos: Nanos
  riskiest: (Placement & { risk: Risk })[]
}

export interface Counted {
  name: string
  replies: number
}

export const RISKIEST = 20
const NAMED_MAX = 20

export interface RehearsalSums {
  addConversation(unread: number, replies: number): void
  add(verdict: Verdict, placementOf: () => Omit<Placement, 'match' | 'nearSensitive'>): void
  readonly replies: number
  readonly recommended: number
  figures(): RehearsalFigures
}

/** Adds up as it goes: of texts only those are kept that a person may have to look at. */
export function createRehearsalSums(): RehearsalSums {
  const outcomes = new Map<RecommendationOutcome, number>()
  const advertisers = new Map<string, number>()
  const offers = new Map<string, number>()
  const nearest = createTop<Placement>((one) => one.nearSensitive)
  const loosest = createTop<Placement>((one) => -one.match.relevance)
  let conversations = 0
  let replies = 0
  let unread = 0
  let recommended = 0
  let pricesNanos = 0n
  let range: { leastNanos: Nanos; mostNanos: Nanos } | undefined

  function addMatch(match: Match): void {
    recommended += 1
    const price = BigInt(match.priceNanos)
    pricesNanos += price
    const { leastNanos = price, mostNanos = price } = range ?? {}
    range = {
      leastNanos: price < leastNanos ? price : leastNanos,
      mostNanos: price > mostNanos ? price : mostNanos,
    }
    count(advertisers, match.advertiser)
    count(offers, match.offerId)
  }

  return {
    get replies() {
      return replies
    },
    get recommended() {
      return recommended
    },
    addConversation(unreadHere, repliesHere) {
      unread += unreadHere
      if (repliesHere > 0) conversations += 1
    },
    add(verdict, placementOf) {
      replies += 1
      count(outcomes, verdict.outcome === 'matched' ? 'test' : verdict.outcome)
      if (verdict.outcome !== 'matched') return
      const { match, nearSensitive } = verdict
      addMatch(match)
      const one = { ...placementOf(), match, nearSensitive }
      nearest.add(one)
      loosest.add(one)
    },
    figures: () => ({
      conversations,
      replies,
      unread,
      recommended,
      outcomes: [...outcomes]
        .map(([outcome, found]) => {
          const { kind, title, explanation, advice } = wordsOf(outcome)
          return { outcome, kind, title, explanation, advice, replies: found }
        })
        .toSorted((a, b) => b.replies - a.replies || (a.outcome < b.outcome ? -1 : 1)),
      advertisers: mostFrequent(advertisers),
      offers,
      clickPrice: range ? { ...range, meanNanos: pricesNanos / BigInt(recommended) } : null,
      pricesNanos,
      riskiest: riskiestOf(nearest.all(), loosest.all()),
    }),
  }
}

/** Most frequent first, and no more than a page can show. */
export function mostFrequent(counts: ReadonlyMap<string, number>): Counted[] {
  return [...counts]
    .map(([name, replies]) => ({ name, replies }))
    .toSorted((a, b) => b.replies - a.replies || (a.name < b.name ? -1 : 1))
    .slice(0, NAMED_MAX)
}

/** Returns the categories whose offers were shown most, by the first words of the category. */
export function categoriesOf(offers: ReadonlyMap<string, number>, categoryOf: ReadonlyMap<string, string>): Counted[] {
  const counts = new Map<string, number>()
  for (const [offer, replies] of offers) {
    const name = (categoryOf.get(offer) ?? '').split(' > ', 1)[0] || 'No category'
    counts.set(name, (counts.get(name) ?? 0) + replies)
  }
  return mostFrequent(counts)
}

/**
 * Clicks for a thousand recommendations that are taken for few and for many. Nobody knows before readers have clicked:
 * auctions begin with 10.
 */
export const CLICKS_PER_THOUSAND = { few: 2, many: 20 } as const

/** The publisher's part of a price, in hundredths of a percent, where the operator has set no other. The table has the same. */
export const USUAL_SHARE_BPS = 7_000

/** Returns a publisher's share of these prices, at both ends. */
export function earningsOf(pricesNanos: Nanos, shareBps: number): { fewNanos: Nanos; manyNanos: Nanos } {
  const at = (clicks: number) => (pricesNanos * BigInt(clicks) * BigInt(shareBps)) / 10_000_000n
  return { fewNanos: at(CLICKS_PER_THOUSAND.few), manyNanos: at(CLICKS_PER_THOUSAND.many) }
}

const WOULD_HAVE = 'An offer fits, and the reply would have ended with one labelled recommendation.'

function wordsOf(outcome: RecommendationOutcome) {
  const { kind, title, explanation, advice } = outcomeWordsOf(outcome)
  // The words of test mode speak of a list that is elsewhere.
  return outcome === 'test'
    ? { kind, title, explanation: WOULD_HAVE, advice: null }
    : { kind, title, explanation, advice }
}

/** Half of them by each risk, and where one has fewer, more of the other; nothing twice. */
function riskiestOf(nearest: readonly Placement[], loosest: readonly Placement[]): RehearsalFigures['riskiest'] {
  const chosen = new Map<Placement, Risk>()
  const take = (placements: readonly Placement[], risk: Risk, most: number) => {
    for (const one of placements) if (chosen.size < most && !chosen.has(one)) chosen.set(one, risk)
  }
  take(nearest, 'sensitive', RISKIEST / 2)
  take(loosest, 'relevance', RISKIEST)
  return Array.from(chosen, ([placement, risk]) => ({ ...placement, risk }))
}

/** The highest of what was added. */
function createTop<T>(heightOf: (one: T) => number) {
  let top: T[] = []
  return {
    add(one: T): void {
      const last = top[RISKIEST - 1]
      if (last !== undefined && heightOf(one) <= heightOf(last)) return
      top = [...top, one].toSorted((a, b) => heightOf(b) - heightOf(a)).slice(0, RISKIEST)
    },
    all: (): readonly T[] => top,
  }
}

function count<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
