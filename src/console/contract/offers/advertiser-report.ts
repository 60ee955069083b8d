import { z } from 'zod'
import { REPORT_KEYS } from '../../../rules/recommendations/advertiser-report.ts'
import { amount, entries, id, time } from '../fields.ts'

const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })], { error: 'Enter a date like 2026-11-15.' })

const asked = z.object({
  by: z.enum(REPORT_KEYS).default('campaign'),
  /** Only this one's. */
  campaign: id.optional(),
  /** Dates or times in UTC, widened to full days; a date as the end includes that day. The last 30 days when absent. */
  from: moment.optional(),
  to: moment.optional(),
})

export const advertiserReport = entries({
  'GET /api/advertisers/:advertiser/report': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    query: asked,
    reply: z.object({
      by: z.enum(REPORT_KEYS),
      from: time,
      to: time,
      /** Until when everything is in it; null: nothing yet. */
      countedUntil: time.nullable(),
      /** Sums of all rows, without the counts that the rows do not tell. */
      total: z.object({
        serves: amount,
        validClicks: amount,
        conversions: amount,
        spentNanos: amount,
        averageNanos: amount.nullable(),
      }),
      /**
       * Most recommended first, or newest day first, and all others together at the end. What was recommended fewer than ten times
       * is among the others, and where these are fewer than ten, only what was spent is told.
       */
      rows: z.array(
        z.object({
          /** A campaign's or an offer's id, a hint, a category, a day; null: all others. */
          key: z.string().nullable(),
          name: z.string(),
          serves: amount.nullable(),
          validClicks: amount.nullable(),
          /** Clicks that were not paid for. */
          otherClicks: z.array(z.object({ verdict: z.string(), label: z.string(), clicks: amount })).nullable(),
          /** Conversions after clicks of these days. */
          conversions: amount.nullable(),
          spentNanos: amount,
          /** The average cost of a paid click; null: there was none. */
          averageNanos: amount.nullable(),
        }),
      ),
    }),
  },
  'GET /api/advertisers/:advertiser/report.csv': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    query: asked,
    reply: z.string(),
    format: 'csv',
  },
})
