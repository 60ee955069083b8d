import { z } from 'zod'
import { CLICK_STATES } from '../../rules/clicks/earnings.ts'
import { CLICK_VERDICTS } from '../../rules/clicks/verdict.ts'
import { after, amount, count, entries, id, limit, page, time } from './fields.ts'

const moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })], { error: 'Enter a date like 2026-11-15.' })
const verdict = z.enum(CLICK_VERDICTS)
const state = z.enum(CLICK_STATES)

/** Paid clicks that were not taken back, and what they earned. */
const earned = z.object({ shown: count, clicks: count, earnedNanos: amount })

const click = z.object({
  id,
  at: time,
  verdict,
  /** The verdict in words. */
  label: z.string(),
  explanation: z.string(),
  advertiser: z.object({ id, name: z.string() }),
  headline: z.string(),
  /** The price that the advertiser paid. */
  priceNanos: amount,
  /** The project's part of it. */
  shareNanos: amount,
  state,
  /** From when on the share pays for calls; null where nothing was earned, or it was taken back. */
  releasesAt: time.nullable(),
  /** The completion's id; null: the recommendation is kept no longer. */
  call: z.string().nullable(),
})

/** A click on the recommendation of a reply. */
export const clickUnder = z.object({
  id,
  at: time,
  verdict,
  label: z.string(),
  shareNanos: amount,
  state,
})

export const earnings = entries({
  'GET /api/projects/:project/earnings': {
    access: 'project',
    role: 'viewer',
    /** Dates or times in UTC, widened to full days; a date as the end includes that day. The last 30 days when absent. */
    query: z.object({ from: moment.optional(), to: moment.optional() }),
    reply: z.object({
      from: time,
      to: time,
      /** The project's part of the price of a click, in hundredths of a percent; null before the first paid click. */
      shareBps: z.number().int().nullable(),
      /** Sums of all time. Released earnings went to the wallet and stayed there. */
      pendingNanos: amount,
      releasedNanos: amount,
      takenBackNanos: amount,
      /** The next release to the wallet: all that was earned on the oldest day (UTC) of which something is pending. */
      nextRelease: z.object({ at: time, nanos: amount }).nullable(),
      /** Replies that nothing kept free of recommendations: they had one, or no offer fitted. Null: no longer counted. */
      eligible: count.nullable(),
      shown: count,
      /** All of them, whatever their verdict. */
      clicks: count,
      /** Valid and not taken back. */
      paidClicks: count,
      earnedNanos: amount,
      /** The cost of the project's calls in the same time. */
      costNanos: amount,
      /** Most frequent first. A verdict of a newer version is not among them. */
      verdicts: z.array(
        z.object({
          verdict,
          label: z.string(),
          explanation: z.string(),
          clicks: count,
          earnedNanos: amount,
          takenBack: count,
          takenBackNanos: amount,
        }),
      ),
      /** Every day. */
      points: z.array(earned.extend({ at: time })),
      /** Highest earnings first. */
      advertisers: z.array(earned.extend({ id, name: z.string(), isBlocked: z.boolean() })),
      /** By the first words of an offer's category; empty where it has none. */
      categories: z.array(earned.extend({ category: z.string(), isBlocked: z.boolean() })),
    }),
  },
  /** Newest first. */
  'GET /api/projects/:project/clicks': {
    access: 'project',
    role: 'viewer',
    query: z.object({
      verdict: verdict.optional(),
      state: state.optional(),
      advertiser: id.optional(),
      from: z.iso.datetime({ offset: true }).optional(),
      to: z.iso.datetime({ offset: true }).optional(),
      after,
      limit,
    }),
    reply: page(click),
  },
  /** The receipt of a click: the same row that its advertiser and the operator see. */
  'GET /api/projects/:project/clicks/:click': {
    access: 'project',
    role: 'viewer',
    reply: click.extend({
      recommendation: id,
      /** When the recommendation was handed over; null: it is kept no longer. */
      shownAt: time.nullable(),
      /** The ledger entry that moved the share; null: nothing was moved. */
      reference: z.string().nullable(),
    }),
  },
})
