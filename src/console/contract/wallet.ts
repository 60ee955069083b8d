import { z } from 'zod'
import { LEDGER_KINDS } from '../../rules/billing/ledger-labels.ts'
import { after, amount, entries, limit, nanos, page, rows, time } from './fields.ts'

const filters = z.object({
  kind: z.enum(LEDGER_KINDS).optional(),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
})

const entry = z.object({
  /** Of the transfer, or the day of usage. */
  id: z.string(),
  kind: z.enum(LEDGER_KINDS),
  title: z.string(),
  /** Of a day of usage, its beginning. */
  at: time,
  deltaNanos: amount,
  balanceAfterNanos: amount,
  /** Of a day of usage; null while the newest are being counted. */
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
    body: z.object({ amountNanos: nanos }),
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
})
