import type { OfferFacts } from './eligibility.ts'

/**
 * How well offers fit a conversation. The engine finds candidates by words and by vectors; what is decided with is
 * computed here, from exact cosines.
 */
export interface Candidate extends OfferFacts {
  /** The score of the word search; 0: found by its vector alone. */
  bm25: number
  /** Between what was said and the offer's own text. */
  cosine: number
  /** Between what was said and the nearest hint of its campaign; -1: it has none. */
  hintCosine: number
}

export interface Ranked<T extends Candidate = Candidate> {
  candidate: T
  /** The value that the relevance gate checks: the better of the offer's own cosine and its campaign's nearest hint. */
  relevance: number
  /** Was that the hint? */
  isByHint: boolean
  /** The value that orders them, 0 to 1. */
  fit: number
}

/** 0.3 and 0.7 were the best on two labelled product sets and on conversations; half and half was two points worse. */
const WORDS_SHARE = 0.3
const VECTOR_SHARE = 0.7
/**
 * The least cosine of question and answer with an offer. Below it, products that merely share a subject come up. Chosen on
 * the development half of our conversations: there 88 % of what passes fits and 1 % is absurd; at 0.4 it is 83 and 2 %.
 */
export const RELEVANCE_MIN = 0.42
/** Below this an offer is about something else than what was answered, however well it suits the question. */
export const ANSWER_COSINE_MIN = 0.3
/** A hint speaks for a whole campaign, also for what in it has nothing to do with the matter: that stays out. */
export const HINTED_COSINE_MIN = 0.1
/** Bids decide between offers that are nearly as good as the best, never against it. */
const NEAR_BEST = 0.1

/** Best first. Equal ones in the order of their ids. */
export function rank<T extends Candidate>(candidates: readonly T[]): Ranked<T>[] {
  const best = candidates.reduce((most, { bm25 }) => Math.max(most, bm25), 0)
  return candidates
    .map((candidate) => {
      const isByHint = candidate.cosine >= HINTED_COSINE_MIN && candidate.hintCosine > candidate.cosine
      const relevance = isByHint ? candidate.hintCosine : candidate.cosine
      const words = best > 0 ? candidate.bm25 / best : 0
      return { candidate, relevance, isByHint, fit: WORDS_SHARE * words + VECTOR_SHARE * relevance }
    })
    .toSorted((a, b) => b.fit - a.fit || (a.candidate.id < b.candidate.id ? -1 : 1))
}

/**
 * Returns the offers that take part in the auction: those that pass the relevance gate and are nearly as good as the best of
 * them; one of every advertiser, and one of every group of variants.
 */
export function contenders<T extends Candidate>(
  ranked: readonly Ranked<T>[],
  relevanceMin: number,
  advertiserOf: (campaignId: string) => string | undefined,
): Ranked<T>[] {
  const taken = new Set<string>()
  const chosen: Ranked<T>[] = []
  for (const one of ranked) {
    if (one.relevance < relevanceMin) continue
    if (chosen[0] !== undefined && one.fit < chosen[0].fit - NEAR_BEST) break
    const advertiser = advertiserOf(one.candidate.campaignId)
    // A group's name is its advertiser's own: two advertisers may use the same.
    if (advertiser === undefined || taken.has(advertiser)) continue
    taken.add(advertiser)
    chosen.push(one)
  }
  return chosen
}

/** At 1,000,000 offers 16 words take 18 ms to search for, and 28 take 41 without finding better offers. */
const SEARCHED_WORDS_MAX = 16
/** Words of talk, not of things. Those of grammar the engine leaves out itself, but they would use up the number. */
const TALK = new Set(
  `a about after again all also always am an and another any anything are as at away back be because been before being
   best better between both but buy by can cannot come could day did do does doing done else even ever every few find
   first for from get gets getting give go goes going good got great had has have having he help her here him his how if
   in into is it its just keep kind know last least less let like long look looking lot make makes many may maybe me
   might month more most much must my need needs never new next no nor not now of off often ok okay old on once one only
   or other our out over own people please put quite rather really recommend recommendation right same say see set she
   should since so some someone something sort start still stuff such suggest sure take than thank thanks that the their
   them then there these they thing things think this those though three through time to too try two under until up us
   use used using usually very want wants was way we week well were what when where which while who whom why will with
   within without would year years yes yet you your`.split(/\s+/),
)

/**
 * The words to search with, of texts from the oldest to the newest. What comes up in several of them is what it is about;
 * apart from that the newest counts most.
 */
export function searchWordsOf(texts: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const text of texts.toReversed()) {
    const words = text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []
    for (const word of new Set(words)) if (!TALK.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  // Equal ones stay in the order in which they came.
  const ordered = [...counts].toSorted(([, a], [, b]) => b - a).map(([word]) => word)
  return ordered.slice(0, SEARCHED_WORDS_MAX).join(' ')
}
