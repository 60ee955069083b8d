import { z } from 'zod'
import { TOP_UP_STATES } from '../../rules/billing/payments.ts'
import { LEDGER_KINDS } from '../../rules/billing/ledger-labels.ts'
import { after, amount, done, entries, limit, nanos, page, rows, time } from './fields.ts'

const filters = z.object({
  kind: z.enum(LEDGER_KINDS).optional(),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
})

const entry = z.object({
  /** The id of the transfer, or of the day of usage. */
  id: z.string(),
  kind: z.enum(LEDGER_KINDS),
  title: z.string(),
  /** For a day of usage, its beginning. */
  at: time,
  deltaNanos: amount,
  balanceAfterNanos: amount,
  /** For a day of usage; null while the newest are being counted. */
  calls: amount.nullable(),
  reference: z.string().nullable(),
  reason: z.string().nullable(),
  /** The completion that was given back or charged late. */
  call: z.string().nullable(),
})

export const wallet = entries({
  'GET /api/projects/:project/wallet': {
    access: 'project',
    role: 'viewer',
    reply: z.object({
      balanceNanos: amount,
      /** Set aside by calls that run now. */
      heldNanos: amount,
      runningCalls: z.number().int(),
      availableNanos: amount,
      /** Taken back after it was spent: paid first, and no call is answered before. */
      owedNanos: amount,
      spent7dNanos: amount,
      /** At the pace of those days; null when nothing was spent. */
      daysLeft: z.number().nullable(),
      alertNanos: amount.nullable(),
      topUp: z.object({ isOpen: z.boolean(), minNanos: amount, maxNanos: amount }),
    }),
  },
  'GET /api/projects/:project/ledger': {
    access: 'project',
    role: 'viewer',
    query: filters.extend({ after, limit }),
    reply: page(entry),
  },
  /** The newest 100,000 rows that the filters leave. */
  'GET /api/projects/:project/ledger.csv': {
    access: 'project',
    role: 'viewer',
    query: filters,
    reply: rows,
    network: true,
    format: 'csv',
  },
  'PUT /api/projects/:project/wallet-alert': {
    access: 'project',
    role: 'admin',
    /** Null: no mails. */
    body: z.object({ thresholdNanos: nanos.nullable() }),
    reply: z.object({ alertNanos: amount.nullable() }),
  },
  /** A page of the payment provider on which the amount can be paid. */
  'POST /api/projects/:project/checkouts': {
    access: 'project',
    role: 'admin',
    freshProof: true,
    /** With saveCard, the card can be charged later while nobody is there: by automatic top-ups, and by nothing else. */
    body: z.object({ amountNanos: nanos, saveCard: z.boolean().optional() }),
    reply: z.object({ id: z.string(), url: z.string() }),
    network: true,
  },
  'GET /api/projects/:project/checkouts/:checkout': {
    access: 'project',
    role: 'viewer',
    params: z.object({ checkout: z.string().regex(/^cs_\w{1,200}$/) }),
    reply: z.object({
      state: z.enum(['created', 'paid', 'expired', 'refunded']),
      amountNanos: amount,
      paidAt: time.nullable(),
    }),
  },
  'GET /api/projects/:project/auto-top-up': {
    access: 'project',
    role: 'viewer',
    reply: z.object({
      card: z
        .object({ brand: z.string(), last4: z.string(), expMonth: z.number().int(), expYear: z.number().int() })
        .nullable(),
      /** Null: off. */
      settings: z
        .object({
          thresholdNanos: amount,
          amountNanos: amount,
          monthMaxNanos: amount,
          /** Since when nothing is charged, because the card was declined three times in a row. */
          pausedAt: time.nullable(),
          /** After a decline: not before then. */
          nextTryAt: time.nullable(),
        })
        .nullable(),
      /** In this month of UTC, with what is being charged now and without tax. */
      chargedThisMonthNanos: amount,
      /** Null while it is off. */
      leftThisMonthNanos: amount.nullable(),
      /** Whether tax is charged on top. */
      hasTax: z.boolean(),
    }),
  },
  /** Also resumes what was paused. Refused when the card was declined and tried anew too often in 24 hours. */
  'PUT /api/projects/:project/auto-top-up': {
    access: 'project',
    role: 'admin',
    freshProof: true,
    body: z.object({ thresholdNanos: nanos, amountNanos: nanos, monthMaxNanos: nanos }),
    reply: done,
  },
  'DELETE /api/projects/:project/auto-top-up': { access: 'project', role: 'admin', reply: done },
  /** Stripe forgets it within seconds. Nothing is charged to it from now on, and automatic top-ups are off. */
  'DELETE /api/projects/:project/card': { access: 'project', role: 'admin', reply: done },
  /** The newest first. */
  'GET /api/projects/:project/top-ups': {
    access: 'project',
    role: 'viewer',
    query: z.object({ after: z.string().max(200).optional(), limit }),
    reply: page(
      z.object({
        id: z.string(),
        createdAt: time,
        /** The credit; tax was paid on top. */
        amountNanos: amount,
        taxNanos: amount,
        isAutomatic: z.boolean(),
        state: z.enum(TOP_UP_STATES),
        /** Why an automatic one failed. */
        failure: z.string().nullable(),
      }),
    ),
  },
  /** Where Stripe shows what was paid: the invoice of a checkout, the receipt of an automatic top-up. */
  'GET /api/projects/:project/top-ups/:payment/invoice': {
    access: 'project',
    role: 'admin',
    params: z.object({ payment: z.string().regex(/^(?:cs|auto)_[\w-]{1,200}$/) }),
    reply: z.object({ kind: z.enum(['invoice', 'receipt']), url: z.string() }),
    network: true,
  },
})
