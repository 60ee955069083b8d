import { z } from 'zod'
import { bidProblemOf, budgetProblemOf, hintProblemOf, HINTS_MAX } from '../../../rules/offers/campaign-settings.ts'
import { SAMPLE_OUTCOMES } from '../../../rules/offers/hint-preview.ts'
import { PACINGS } from '../../../rules/recommendations/pacing.ts'
import { amount, count, done, entries, id, name, nanos, time } from '../fields.ts'

const LIMITS = ['credit', 'total_budget', 'daily_budget', 'pacing', 'fit', 'bid'] as const

const campaign = z.object({
  id,
  name: z.string(),
  status: z.enum(['active', 'paused']),
  createdAt: time,
  bidNanos: amount,
  dailyBudgetNanos: amount.nullable(),
  totalBudgetNanos: amount.nullable(),
  pacing: z.enum(PACINGS),
  startsAt: time.nullable(),
  endsAt: time.nullable(),
  hints: z.array(z.string()),
  negativeHints: z.array(z.string()),
  offers: count,
  spentNanos: amount,
  spentTodayNanos: amount,
  /**
   * Why it is not recommended now, though it is active and its dates allow it; `fit` and `bid`: it takes part, and that kept it
   * from being recommended more often in the last seven days. Null: nothing of the kind.
   */
  limitedBy: z.enum(LIMITS).nullable(),
  standing: z.enum(['running', 'limited', 'paused', 'not_started', 'ended']),
  explanation: z.string(),
})

const checkedNanos = (problemOf: (value: bigint) => string | undefined) =>
  nanos.superRefine((value, context) => {
    const problem = problemOf(value)
    if (problem !== undefined) context.addIssue(problem)
  })
const bid = checkedNanos(bidProblemOf)
const budget = checkedNanos(budgetProblemOf).nullable()
const hint = z
  .string()
  .trim()
  .superRefine((text, context) => {
    const problem = hintProblemOf(text)
    if (problem !== undefined) context.addIssue(problem)
  })
const hints = z.array(hint).max(HINTS_MAX, `At most ${HINTS_MAX} hints.`)
const moment = z.iso.datetime({ offset: true }).nullable()

const settings = z.object({
  bidNanos: bid,
  /** Null: none. */
  dailyBudgetNanos: budget.optional(),
  totalBudgetNanos: budget.optional(),
  pacing: z.enum(PACINGS).optional(),
  startsAt: moment.optional(),
  endsAt: moment.optional(),
  hints: hints.optional(),
  negativeHints: hints.optional(),
})

export const campaigns = entries({
  'GET /api/advertisers/:advertiser/campaigns': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    reply: z.object({ items: z.array(campaign) }),
  },
  'POST /api/advertisers/:advertiser/campaigns': {
    access: 'advertiser',
    advertiserRole: 'editor',
    body: settings.extend({ name }),
    reply: campaign,
  },
  'GET /api/advertisers/:advertiser/campaigns/:campaign': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    reply: campaign,
  },
  // Matchers follow within seconds.
  'PATCH /api/advertisers/:advertiser/campaigns/:campaign': {
    access: 'advertiser',
    advertiserRole: 'editor',
    body: settings.partial(),
    reply: campaign,
  },
  /** Previews the effect of hints while they are typed. Nothing is changed; some dozens a minute for all members together. */
  'POST /api/advertisers/:advertiser/hint-preview': {
    access: 'advertiser',
    advertiserRole: 'editor',
    network: true,
    body: z.object({ hints, negativeHints: hints }),
    reply: z.object({
      /** Conversations that were written for this. Null: no matcher answers now. */
      samples: z
        .array(
          z.object({
            said: z.string(),
            answer: z.string(),
            outcome: z.enum(SAMPLE_OUTCOMES),
            /** The one that decided; where none is near enough, the nearest. */
            hint: z.string().nullable(),
            nearness: z.number().nullable(),
          }),
        )
        .nullable(),
      /** A hint this near speaks for its campaign. */
      nearEnough: z.number().nullable(),
    }),
  },
  'PUT /api/advertisers/:advertiser/campaigns/:campaign/status': {
    access: 'advertiser',
    advertiserRole: 'editor',
    body: z.object({ status: z.enum(['active', 'paused']) }),
    reply: done,
  },
})
