import { RECOMMENDATION_OUTCOMES, type RecommendationOutcome } from './matching.ts'

/** Why a reply had a recommendation or had none, in words that its publisher can act on. */

/**
 * Who or what decided: an offer was found, the publisher chose so, readers are protected, there was nothing to recommend,
 * or the service could not.
 */
export const OUTCOME_KINDS = ['recommended', 'chosen', 'protected', 'nothing', 'service'] as const
export type OutcomeKind = (typeof OUTCOME_KINDS)[number]

export interface OutcomeWords {
  kind: OutcomeKind
  title: string
  explanation: string
  /** What to do about it; null when nothing should be done. */
  advice: string | null
}

const WORDS: Record<RecommendationOutcome, OutcomeWords> = {
  served: {
    kind: 'recommended',
    title: 'Recommended',
    explanation: 'The reply ended with one labelled recommendation.',
    advice: null,
  },
  test: {
    kind: 'recommended',
    title: 'Would have been recommended',
    explanation: 'Test mode: an offer was chosen and written down, and the reader was shown nothing.',
    advice: 'Look through the list below. When it pleases you, switch monetization on.',
  },
  opted_out: {
    kind: 'chosen',
    title: 'Asked for none',
    explanation: 'Your site sent x-monetization: off with the call, or the reader wrote that they want no ads.',
    advice: null,
  },
  audience: {
    kind: 'chosen',
    title: 'Audience is not general',
    explanation: 'Teenagers and children are never shown recommendations.',
    advice: 'Leave the audience as it is, unless it was set by mistake.',
  },
  format: {
    kind: 'protected',
    title: 'Not a plain chat',
    explanation:
      'The call asked for JSON, tools, images or a very short answer, where added text would break something.',
    advice: null,
  },
  capped: {
    kind: 'chosen',
    title: 'Too soon or often enough',
    explanation: 'The conversation had a recommendation not long ago, has had all that it may have, or has just begun.',
    advice: 'The controls set the first turn, the distance between two, and the most in one conversation.',
  },
  language: {
    kind: 'protected',
    title: 'Another language',
    explanation: 'Whether a topic is sensitive can be judged in English only, so other languages stay free.',
    advice: null,
  },
  too_long: {
    kind: 'protected',
    title: 'Conversation too long to judge',
    explanation: 'What cannot be read as a whole in time is not judged, and what is not judged gets no recommendation.',
    advice: null,
  },
  excluded_topic: {
    kind: 'chosen',
    title: 'A topic that you excluded',
    explanation: 'One of your excluded words was mentioned.',
    advice: 'The words are under controls. One that is common keeps many conversations free.',
  },
  unavailable: {
    kind: 'service',
    title: 'No matcher answered',
    explanation: 'Nobody was there to look for an offer. The reply itself was neither delayed nor changed.',
    advice: 'If this stays, tell the operator of this installation.',
  },
  sensitive: {
    kind: 'protected',
    title: 'Sensitive topic',
    explanation: 'Health, grief, money trouble and the like: the conversation stays free of recommendations.',
    advice: null,
  },
  not_commercial: {
    kind: 'nothing',
    title: 'Nothing to buy',
    explanation: 'The reader was not after anything that a product could help with.',
    advice: null,
  },
  no_match: {
    kind: 'nothing',
    title: 'No offer fits',
    explanation: 'No advertiser has an offer for this, or those that do are blocked by you.',
    advice: 'More advertisers are the operator’s to bring. Blocking fewer of them also helps.',
  },
  below_relevance: {
    kind: 'nothing',
    title: 'Not close enough',
    explanation: 'The best offer was further from the conversation than you or this installation allow.',
    advice: 'A lower minimum relevance lets more through, and what it lets through fits less well.',
  },
  below_floor: {
    kind: 'chosen',
    title: 'Below your floor price',
    explanation: 'An offer fits, and its advertiser pays less for a click than your floor.',
    advice: 'A lower floor price lets it through.',
  },
  answer_shape: {
    kind: 'protected',
    title: 'The answer did not suit',
    explanation: 'It was cut short, very brief, a refusal, or code and data only.',
    advice: null,
  },
  answer_sensitive: {
    kind: 'protected',
    title: 'The answer was sensitive',
    explanation: 'The question was harmless and the answer touched a sensitive topic, so it stayed free.',
    advice: null,
  },
  deadline: {
    kind: 'service',
    title: 'Not ready in time',
    explanation: 'The answer was complete before an offer was found, and a reply is held up for a moment at most.',
    advice: 'If this is more than a few in a hundred, tell the operator of this installation.',
  },
  aborted: {
    kind: 'service',
    title: 'Reader had left',
    explanation: 'The connection was closed before the reply had ended, so nothing was shown.',
    advice: null,
  },
}

export function outcomeWordsOf(outcome: RecommendationOutcome): OutcomeWords {
  return WORDS[outcome]
}

/** What is stored may have been written by a newer version, whose words are not known here. */
export function isRecommendationOutcome(text: string): text is RecommendationOutcome {
  return (RECOMMENDATION_OUTCOMES as readonly string[]).includes(text)
}
