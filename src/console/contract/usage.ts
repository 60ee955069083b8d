import { z } from 'zod'
import { CALL_OUTCOMES } from '../../rules/billing/charging.ts'
import { amount, count, entries, forEachClass, time, tokens } from './fields.ts'

const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })], { error: 'Enter a date like 2026-11-15.' })

const span = z.object({
  /** A date or a time in UTC; a date as the end includes that day. The last 30 days when absent. */
  from: moment.optional(),
  to: moment.optional(),
  every: z.enum(['hour', 'day']).optional(),
})

const latency = z.object({ p50: z.number().nullable(), p95: z.number().nullable() })

const sums = z.object({ calls: count, failed: count, streamed: count, tokens, chargedNanos: amount })
const details = sums.extend({
  outcomes: z.array(z.object({ outcome: z.enum(CALL_OUTCOMES), calls: count })),
  /** Without 200. 0 is a call whose server stopped; null counts all that are not listed. */
  statuses: z.array(z.object({ status: z.number().nullable(), calls: count })),
  firstTokenMs: latency,
  durationMs: latency,
})

const usageReply = z.object({
  from: time,
  to: time,
  every: z.enum(['hour', 'day']),
  by: z.enum(['model', 'key', 'project']),
  /** Calls that were settled later are not counted yet. Null: nothing is. */
  upTo: time.nullable(),
  totals: details,
  /** Savings from providers' caches; negative where more was written to them than read. */
  savedNanos: amount,
  /** The span of the same length right before. */
  previous: sums,
  groups: z.array(details.extend({ id: z.string(), label: z.string() })),
  /** Every hour or day, also those without a call. */
  points: z.array(
    sums.extend({
      at: time,
      firstTokenMs: latency,
      durationMs: latency,
      /** In the order of `groups`; only those with calls. */
      groups: z.array(z.object({ id: z.string(), calls: count, tokens, failed: count, chargedNanos: amount })),
    }),
  ),
})

const prices = forEachClass(amount)
const spent = z.object({ tokens: count, nanos: amount })
const breakdown = z.object({
  /** Whole nanos, rounded down. */
  classes: forEachClass(spent),
  /** The sum that rounding each call up to a nano adds. */
  roundingNanos: amount,
  /** The value beyond what the call had set aside and the wallet had. */
  notChargedNanos: amount,
  /** The classes plus the rounding minus what was not charged, exactly. */
  chargedNanos: amount,
})

const costsReply = z.object({
  from: time,
  to: time,
  upTo: time.nullable(),
  calls: count,
  billedCalls: count,
  total: breakdown,
  previousChargedNanos: amount,
  averageNanos: amount.nullable(),
  models: z.array(
    breakdown.extend({ model: z.string(), calls: count, billedCalls: count, averageNanos: amount.nullable() }),
  ),
  /** Nanos per million tokens. */
  prices: z.array(
    z.object({
      version: amount,
      model: z.string(),
      effectiveFrom: time,
      price: prices,
      calls: count,
      chargedNanos: amount,
    }),
  ),
  forecast: z.object({
    availableNanos: amount,
    /** The average of the last seven full days. */
    perDayNanos: amount,
    daysLeft: z.number().nullable(),
  }),
})

const byInProject = z.enum(['model', 'key']).default('model')
const byInPublisher = z.enum(['project', 'model']).default('project')

export const usage = entries({
  'GET /api/projects/:project/usage': {
    access: 'project',
    role: 'viewer',
    query: span.extend({ by: byInProject }),
    reply: usageReply,
  },
  'GET /api/projects/:project/usage.csv': {
    access: 'project',
    role: 'viewer',
    query: span.extend({ by: byInProject }),
    reply: z.string(),
    format: 'csv',
  },
  'GET /api/publishers/:publisher/usage': {
    access: 'publisher',
    role: 'viewer',
    query: span.extend({ by: byInPublisher }),
    reply: usageReply,
  },
  'GET /api/projects/:project/costs': {
    access: 'project',
    role: 'viewer',
    query: span,
    reply: costsReply,
  },
  'GET /api/projects/:project/costs.csv': {
    access: 'project',
    role: 'viewer',
    query: span,
    reply: z.string(),
    format: 'csv',
  },
})
