import { z } from 'zod'
import type { Secrets } from '../platform/secrets.ts'
import { isUuid } from '../platform/uuid.ts'
import { MINUTE_MS } from '../rules/durations.ts'
import { MESSAGES_MAX } from '../rules/limits.ts'
import { HINT_CHARS_MAX, HINTS_MAX } from '../rules/offers/campaign-settings.ts'
import { SAMPLE_OUTCOMES, type HintPreview, type HintPreviewRequest } from '../rules/offers/hint-preview.ts'
import {
  RECOMMENDATION_OUTCOMES,
  type JudgeReply,
  type JudgeRequest,
  type MatchReply,
  type MatchRequest,
} from '../rules/recommendations/matching.ts'
import type { Verdict } from '../rules/recommendations/rehearsal.ts'

/** Messages between gateways and matchers, checked at both ends: they may be of different versions for a while. */

/** A conversation of the longest kind that is judged at all, with room for what JSON adds. */
export const REQUEST_BYTES_MAX = 4 * 1024 * 1024
export const REPLY_BYTES_MAX = 64 * 1024

const amountNanos = z.string().regex(/^\d{1,15}$/)
export const uuid = z.string().refine(isUuid)
const deadlineMs = z.number().min(1).max(MINUTE_MS)

/** The limits that a project sets for offers. */
export const limitSchemas = {
  minRelevance: z.number().min(0).max(1),
  floorNanos: amountNanos,
  blockedCategories: z.array(z.string()).max(200),
  blockedAdvertisers: z.array(z.string()).max(1_100),
  blockedDomains: z.array(z.string()).max(1_000),
}

export const turnSchema = z.object({ role: z.enum(['user', 'assistant']), text: z.string() })

const judgeRequest = z.object({
  turns: z.array(turnSchema).min(1).max(MESSAGES_MAX),
  projectId: uuid.optional(),
  deadlineMs,
})
export const judgeRequestSchema: z.ZodType<JudgeRequest> = judgeRequest

export const matchRequestSchema: z.ZodType<MatchRequest> = judgeRequest.extend({
  answer: z.string(),
  ...limitSchemas,
  seenOffers: z.array(z.string()).max(200),
  isTest: z.boolean().optional(),
})

const matched = z.object({
  outcome: z.literal('matched'),
  match: z.object({
    offerId: uuid,
    campaignId: uuid,
    advertiserId: uuid,
    advertiser: z.string().min(1),
    headline: z.string().min(1),
    benefit: z.string(),
    price: z
      .object({ amount: z.string().regex(/^\d{1,12}(?:\.\d{1,4})?$/), currency: z.string().regex(/^[A-Z]{3}$/) })
      .optional(),
    relevance: z.number().min(-10).max(10),
    hint: z.string().min(1).optional(),
    priceNanos: z.string().regex(/^[1-9]\d{0,14}$/),
  }),
})
/** Why there is none. */
export const outcomeSchema = z.enum(RECOMMENDATION_OUTCOMES).exclude(['served', 'test'])
const notMatched = z.object({ outcome: outcomeSchema })

export const matchReplySchema = z.discriminatedUnion('outcome', [matched, notMatched]) as z.ZodType<MatchReply>

export const verdictSchema = z.discriminatedUnion('outcome', [
  matched.extend({ nearSensitive: z.number().min(0).max(1) }),
  notMatched,
]) as z.ZodType<Verdict>

export const judgeReplySchema: z.ZodType<JudgeReply> = z.object({
  outcome: z.enum(['open', ...RECOMMENDATION_OUTCOMES]).exclude(['served', 'test']),
})

/** A hint is cut to its length only when it is cleaned. */
const hints = z.array(z.string().max(4 * HINT_CHARS_MAX)).max(HINTS_MAX)
export const hintPreviewRequestSchema: z.ZodType<HintPreviewRequest> = z.object({
  hints,
  negativeHints: hints,
  deadlineMs,
})

export const hintPreviewSchema: z.ZodType<HintPreview> = z.object({
  samples: z.array(
    z.object({
      said: z.string(),
      answer: z.string(),
      outcome: z.enum(SAMPLE_OUTCOMES),
      hint: z.string().nullable(),
      nearness: z.number().nullable(),
    }),
  ),
  nearEnough: z.number(),
})

/** The token that a gateway shows a matcher: both have the installation's secret. */
export function matcherTokenOf(secrets: Secrets, version: number = secrets.version): string {
  return secrets.keyFor('matcher', version).toString('base64url')
}

/** The tokens that a matcher accepts: in the middle of a rotation, a gateway may have another secret first. */
export function matcherTokensOf(secrets: Secrets): string[] {
  return secrets.versions.map((version) => matcherTokenOf(secrets, version))
}
