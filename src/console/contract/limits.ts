import { z } from 'zod'
import { BUDGET_PERIODS, RATE_NAMES } from '../../rules/billing/limits.ts'
import { amount, count, done, entries, id, nanos, time } from './fields.ts'

const INT4_MAX = 2_147_483_647
const rate = z
  .number()
  .int('Enter a whole number.')
  .min(1, 'Enter at least 1, or nothing for no limit.')
  .max(INT4_MAX, 'Enter at most 2,147,483,647.')
const tokens = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'Enter a whole number of tokens, at least 1 and with at most 15 digits.')
  .transform(BigInt)

/** Null: no such limit. What is sent replaces all of them. */
export const newLimits = z.object({
  requestsPerMinute: rate.nullable(),
  tokensPerMinute: tokens.nullable(),
  concurrentCalls: rate.nullable(),
  dayNanos: nanos.nullable(),
  weekNanos: nanos.nullable(),
  monthNanos: nanos.nullable(),
  totalNanos: nanos.nullable(),
})

/** As they were set; null: no such limit. */
const values = z.object({
  requestsPerMinute: z.number().nullable(),
  tokensPerMinute: amount.nullable(),
  concurrentCalls: z.number().nullable(),
  dayNanos: amount.nullable(),
  weekNanos: amount.nullable(),
  monthNanos: amount.nullable(),
  totalNanos: amount.nullable(),
})

const rates = z.array(
  z.object({
    name: z.enum(RATE_NAMES),
    limit: count,
    used: count,
    left: count,
    /** Null for calls at once, which end one by one. */
    renewsAt: time.nullable(),
  }),
)

const budgets = z.array(
  z.object({
    period: z.enum(BUDGET_PERIODS),
    limitNanos: amount,
    spentNanos: amount,
    /** By calls that run now. */
    heldNanos: amount,
    leftNanos: amount,
    /** Null: never. */
    renewsAt: time.nullable(),
  }),
)

/** The values that are set, and each limit in force with what is used of it. */
export const limited = z.object({ values, rates, budgets })

const admin = { access: 'project', role: 'admin', body: newLimits, reply: done } as const

export const limits = entries({
  'GET /api/projects/:project/limits': {
    access: 'project',
    role: 'viewer',
    reply: z.object({
      /** The most that the operator allows the project, whatever the publisher sets. */
      operator: z.object({ rates }),
      /** The limits of all projects together. Null for anyone who is neither an owner nor an admin. */
      account: limited.nullable(),
      project: limited,
      /** For each end user by itself, unless one has limits of its own. */
      endUsers: z.object({ values }),
      /** A pair that has replaced another is limited together with it, and stands for both. */
      keys: z.array(limited.extend({ id, name: z.string(), publishableKey: z.string(), pairs: count })),
    }),
  },
  'PUT /api/publishers/:publisher/limits': { access: 'publisher', role: 'owner', body: newLimits, reply: done },
  'PUT /api/projects/:project/limits': admin,
  'PUT /api/projects/:project/end-user-limits': admin,
  'PUT /api/projects/:project/keys/:key/limits': admin,
})
