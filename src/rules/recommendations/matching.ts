/** The questions of gateways to a matcher, its answers, and every way in which a reply can end without a recommendation. */

/** Why a call had a recommendation or had none. Counted for publishers; the order is that of the checks. */
export const RECOMMENDATION_OUTCOMES = [
  'served',
  'test',
  // Before anything is asked of a matcher.
  'opted_out',
  'audience',
  'format',
  'capped',
  'excluded_topic',
  // The matcher's word.
  'unavailable',
  'language',
  'too_long',
  'sensitive',
  'not_commercial',
  'no_match',
  'below_relevance',
  'below_floor',
  // When the answer is there.
  'answer_shape',
  'answer_sensitive',
  'deadline',
  'aborted',
  'failed',
] as const
export type RecommendationOutcome = (typeof RECOMMENDATION_OUTCOMES)[number]
/** Why there is none. */
export type NoRecommendation = Exclude<RecommendationOutcome, 'served' | 'test'>

/** The recommendations that a project's publisher allows. */
export interface MonetizationSettings {
  mode: 'off' | 'test' | 'on'
  label: string
  format: 'markdown' | 'plain'
  audience: 'general' | 'teen' | 'child'
  minRelevance: number
  firstTurn: number
  minTurnGap: number
  maxPerConversation: number
  floorNanos: bigint
  blockedCategories: readonly string[]
  blockedAdvertisers: readonly string[]
  blockedDomains: readonly string[]
  excludedTopics: readonly string[]
}

/** Asked beside the answer: may this conversation have a recommendation at all? */
export interface JudgeRequest {
  /** The conversation so far, oldest first; the last turn is the user's. Nothing of the system prompt. */
  turns: readonly Turn[]
  /** The project whose share of the matcher's places it takes. Gateways of the previous version do not send it. */
  projectId?: string | undefined
  /** Give up when this has passed. */
  deadlineMs: number
}

export type JudgeReply = { outcome: 'open' } | { outcome: NoRecommendation }

/** Asked when the answer is complete: what a user has said is the problem, and the answer names what helps with it. */
export interface MatchRequest extends JudgeRequest {
  answer: string
  /** On top of the installation's own. */
  minRelevance: number
  floorNanos: string
  blockedCategories: readonly string[]
  blockedAdvertisers: readonly string[]
  blockedDomains: readonly string[]
  /** Recommended before in this conversation. */
  seenOffers: readonly string[]
  /** Somebody tries it out: it is no chance for any campaign. Gateways of the version before do not say it. */
  isTest?: boolean | undefined
}

export interface Turn {
  role: 'user' | 'assistant'
  text: string
}

export type MatchReply = { outcome: 'matched'; match: Match } | { outcome: NoRecommendation }

/** The winner of an auction among offers that fit. */
export interface Match {
  offerId: string
  campaignId: string
  advertiserId: string
  advertiser: string
  headline: string
  benefit: string
  /** In the feed's words, "249.00 EUR"; undefined: no price is shown. */
  price: { amount: string; currency: string } | undefined
  relevance: number
  /**
   * The hint of the campaign that was nearer than the offer's own words, and so decided that it fits; undefined: they did.
   * Matchers of the version before do not say it.
   */
  hint?: string | undefined
  /** The price of a click. */
  priceNanos: string
}
