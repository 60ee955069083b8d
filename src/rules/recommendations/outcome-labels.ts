import { RECOMMENDATION_OUTCOMES, type RecommendationOutcome } from './matching.ts'

/** Why a reply had a recommendation or had none, in words that its publisher can act on. */

/**
 * The cause of an outcome: an offer was found, the publisher chose so, readers are protected, there was nothing to recommend,
 * or the service could not.
 */
export const OUTCOME_KINDS = ['recommended', 'chosen', 'protected', 'nothing', 'service'] as const
export type OutcomeKind = (typeof OUTCOME_KINDS)[number]

export interface OutcomeWords {
  kind: OutcomeKind
  title: string
  explanation: string
  /** The publisher's next step; null when nothing should be done. */
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
    explanation: 'Test mode: an offer was chosen and recorded, but the reader saw nothing.',
    advice: 'Look through the list below. When you are happy with it, switch monetization on.',
  },
  opted_out: {
    kind: 'chosen',
    title: 'Opted out',
    explanation: 'Your site sent x-monetization: off with the call, or the reader asked for no ads.',
    advice: null,
  },
  audience: {
    kind: 'chosen',
    title: 'Audience is not general',
    explanation: 'Teenagers and children are never shown recommendations.',
    advice: 'Keep the audience as it is, unless it was set by mistake.',
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
    title: 'Frequency limit',
    explanation: 'The conversation had one recently, has reached its maximum, or has only just begun.',
    advice: 'The controls set the first reply, the minimum gap and the maximum per conversation.',
  },
  language: {
    kind: 'protected',
    title: 'Another language',
    explanation: 'Sensitive topics can only be recognized in English, so other languages get no recommendations.',
    advice: null,
  },
  too_long: {
    kind: 'protected',
    title: 'Conversation too long to judge',
    explanation: 'It could not be read in full in time, and a conversation that is not judged gets no recommendation.',
    advice: null,
  },
  excluded_topic: {
    kind: 'chosen',
    title: 'Excluded topic',
    explanation: 'One of your excluded words was mentioned.',
    advice: 'The words are under controls. A common word rules out many conversations.',
  },
  unavailable: {
    kind: 'service',
    title: 'No matcher answered',
    explanation: 'Nothing was running to look for an offer. The reply itself was neither delayed nor changed.',
    advice: 'If this continues, tell the operator of this installation.',
  },
  sensitive: {
    kind: 'protected',
    title: 'Sensitive topic',
    explanation: 'Health, grief, money trouble and the like: such conversations get no recommendations.',
    advice: null,
  },
  not_commercial: {
    kind: 'nothing',
    title: 'Nothing to buy',
    explanation: 'The reader was not looking for anything a product could help with.',
    advice: null,
  },
  no_match: {
    kind: 'nothing',
    title: 'No matching offer',
    explanation: 'No advertiser has an offer for this, or you block those that do.',
    advice: 'Ask the operator for more advertisers, or block fewer of them.',
  },
  below_relevance: {
    kind: 'nothing',
    title: 'Not close enough',
    explanation: 'The best offer was not close enough to the conversation for your settings or this installation’s.',
    advice: 'A lower minimum relevance lets more through, but they fit less well.',
  },
  below_floor: {
    kind: 'chosen',
    title: 'Below your floor price',
    explanation: 'An offer fits, but its advertiser pays less per click than your floor.',
    advice: 'A lower floor price lets it through.',
  },
  answer_shape: {
    kind: 'protected',
    title: 'Unsuitable answer',
    explanation: 'It was cut short, very brief, a refusal, or only code or data.',
    advice: null,
  },
  answer_sensitive: {
    kind: 'protected',
    title: 'The answer was sensitive',
    explanation: 'The question was harmless, but the answer touched a sensitive topic.',
    advice: null,
  },
  deadline: {
    kind: 'service',
    title: 'Not ready in time',
    explanation:
      'The answer was complete before an offer was found, and replies are never held up for more than a moment.',
    advice: 'If this is more than a few percent, tell the operator of this installation.',
  },
  aborted: {
    kind: 'service',
    title: 'Reader had left',
    explanation: 'The connection was closed before the reply had ended, so nothing was shown.',
    advice: null,
  },
  failed: {
    kind: 'service',
    title: 'The call failed',
    explanation: 'The model or this service broke before the reply had ended, so there was nothing to recommend under.',
    advice: 'Calls shows what went wrong.',
  },
}

export function outcomeWordsOf(outcome: RecommendationOutcome): OutcomeWords {
  return WORDS[outcome]
}

/** A newer version, whose words are not known here, may have written what is stored. */
export function isRecommendationOutcome(text: string): text is RecommendationOutcome {
  return (RECOMMENDATION_OUTCOMES as readonly string[]).includes(text)
}
