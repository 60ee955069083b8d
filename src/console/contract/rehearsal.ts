import { z } from 'zod'
import { RECOMMENDATION_OUTCOMES } from '../../rules/recommendations/matching.ts'
import { OUTCOME_KINDS } from '../../rules/recommendations/outcome-labels.ts'
import { BUSY_REASONS } from '../../rules/recommendations/rehearsal.ts'
import { amount, count, entries, time } from './fields.ts'

const counted = z.object({ name: z.string(), replies: count })

const result = z.object({
  /** How many conversations were looked at, newest first, of how many that had a call in the last 30 days. */
  looked: z.object({
    conversations: count,
    of: count,
    /** There are more than were counted. */
    isMore: z.boolean(),
  }),
  /** With a reply that could be judged. */
  conversations: count,
  replies: count,
  /** Replies that could not be judged, because something that was said before them is not kept. */
  unread: count,
  recommended: count,
  outcomes: z.array(
    z.object({
      outcome: z.enum(RECOMMENDATION_OUTCOMES),
      kind: z.enum(OUTCOME_KINDS),
      title: z.string(),
      explanation: z.string(),
      advice: z.string().nullable(),
      replies: count,
    }),
  ),
  advertisers: z.array(counted),
  categories: z.array(counted),
  /** The price of a click on one for its advertiser. Null: nothing would have been recommended. */
  clickPrice: z.object({ leastNanos: amount, meanNanos: amount, mostNanos: amount }).nullable(),
  /** The project's share, if few or many of those that are shown were clicked. */
  earnings: z.object({ fewNanos: amount, manyNanos: amount, shareBps: count }),
  clicksPerThousand: z.object({ few: count, many: count }),
  /** Recommendations that a person should look at. Their text is in this reply alone. */
  riskiest: z.array(
    z.object({
      risk: z.enum(['sensitive', 'relevance']),
      conversation: z.string(),
      at: time,
      said: z.string(),
      answer: z.string(),
      advertiser: z.string(),
      headline: z.string(),
      benefit: z.string(),
      relevance: z.number(),
      /** How far the conversation was on the way to being kept free for its topic, from 0 to 1. */
      nearSensitive: z.number(),
    }),
  ),
})

/** The data of each event. */
export const rehearsalEvent = z.union([
  z.object({ progress: z.object({ seen: count, of: count, replies: count, recommended: count }) }),
  z.object({ result }),
  z.object({ refusal: z.enum([...BUSY_REASONS, 'unavailable']) }),
])
export type RehearsalEvent = z.output<typeof rehearsalEvent>

export const rehearsal = entries({
  /** Events until one has the result, or why there is none. Hanging up ends it. Nothing of it is stored. */
  'POST /api/projects/:project/monetization/rehearsal': {
    access: 'project',
    role: 'developer',
    reply: z.string(),
    network: true,
    format: 'events',
  },
})
