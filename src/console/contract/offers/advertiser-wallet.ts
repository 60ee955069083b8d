import { z } from 'zod'
import { amount, count, entries, nanos, time } from '../fields.ts'

export const advertiserWallet = entries({
  'GET /api/advertisers/:advertiser/wallet': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    reply: z.object({
      balanceNanos: amount,
      spent7dNanos: amount,
      /** At the pace of those days; null when nothing was spent. */
      daysLeft: z.number().nullable(),
      topUp: z.object({ isOpen: z.boolean(), minNanos: amount, maxNanos: amount }),
      /** Amounts added and taken back, the newest first and 100 at most. Clicks are among the days. */
      movements: z.array(
        z.object({
          id: z.string(),
          title: z.string(),
          at: time,
          deltaNanos: amount,
          reference: z.string().nullable(),
          reason: z.string().nullable(),
        }),
      ),
      /** The last 30 days (UTC) on which clicks were paid for, the newest first. */
      days: z.array(z.object({ at: time, clicks: count, spentNanos: amount })),
    }),
  },
  /** A page of the payment provider on which the amount can be paid. */
  'POST /api/advertisers/:advertiser/checkouts': {
    access: 'advertiser',
    advertiserRole: 'admin',
    freshProof: true,
    body: z.object({ amountNanos: nanos }),
    reply: z.object({ id: z.string(), url: z.string() }),
    network: true,
  },
  'GET /api/advertisers/:advertiser/checkouts/:checkout': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    params: z.object({ checkout: z.string().regex(/^cs_\w{1,200}$/) }),
    reply: z.object({
      state: z.enum(['created', 'paid', 'expired', 'refunded']),
      amountNanos: amount,
      paidAt: time.nullable(),
    }),
  },
})
