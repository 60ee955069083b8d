import { z } from 'zod'
import { FEED_INTERVALS, feedUrlOf } from '../../../rules/offers/feed-schedule.ts'
import { after, count, done, entries, id, limit, name, page, time } from '../fields.ts'

const feed = z.object({
  id,
  name: z.string(),
  campaignId: id,
  campaign: z.string(),
  /** Null: its files are sent by hand. */
  source: z
    .object({
      url: z.string(),
      every: z.enum(FEED_INTERVALS),
      isPaused: z.boolean(),
      /** Null: it is not fetched. */
      nextFetchAt: time.nullable(),
      lastFetchAt: time.nullable(),
      lastFetch: z.enum(['published', 'unchanged', 'refused', 'failed']).nullable(),
      /** Why the last one published nothing, in words. */
      problem: z.string().nullable(),
      /** How many failed in a row. */
      failures: count,
    })
    .nullable(),
  currency: z.string().nullable(),
  /** The time at which its latest file was published. */
  publishedAt: time.nullable(),
  freshUntil: time.nullable(),
  /** Nothing was published for 30 days, so none of its offers is recommended. */
  isOutdated: z.boolean(),
  offers: count,
})

const rejection = z.object({ row: count, item: z.string().nullable(), reason: z.string() })
const counts = {
  rows: count,
  added: count,
  changed: count,
  unchanged: count,
  rejected: count,
  removed: count,
  missing: count,
}

const run = z.object({
  id,
  format: z.string(),
  state: z.enum(['running', 'published', 'refused', 'failed']),
  /** Why nothing of it was published, in words. */
  reason: z.string().nullable(),
  startedAt: time,
  finishedAt: time.nullable(),
  ...counts,
  /** The first of the rows that were refused. */
  rejections: z.array(rejection),
})

const upload = z.object({
  id,
  feed: z.string(),
  campaign: z.string(),
  fileName: z.string(),
  createdAt: time,
  state: z.enum(['to_check', 'checked', 'to_publish', 'published', 'failed']),
  /** Why it failed, in words. */
  problem: z.string().nullable(),
  /** The changes that it would make, or has made; null until it was looked at. */
  report: z
    .object({
      format: z.string(),
      ...counts,
      /** Offers that the feed has now. */
      live: count,
      /** How many of the offers that would be recommended the operator has to look at first. */
      pending: count,
      /** It would take away so much that it is asked whether that is meant; in words. */
      refusal: z.string().nullable(),
      rejections: z.array(rejection),
      /** The first of each kind. */
      changes: z.array(
        z.object({
          kind: z.enum(['added', 'changed', 'removed']),
          row: count.nullable(),
          item: z.string(),
          title: z.string(),
          fields: z.array(z.string()),
        }),
      ),
    })
    .nullable(),
})

const url = z.string().superRefine((text, context) => {
  const found = feedUrlOf(text)
  if ('problem' in found) context.addIssue(found.problem)
})
const currency = z.string().regex(/^[A-Z]{3}$/, 'Enter a code of three letters, such as EUR.')
const source = z.object({ url, every: z.enum(FEED_INTERVALS), currency: currency.nullable() })

export const feeds = entries({
  'GET /api/advertisers/:advertiser/feeds': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    reply: z.object({ items: z.array(feed) }),
  },
  /** Fetched within seconds for the first time. */
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feeds': {
    access: 'advertiser',
    advertiserRole: 'editor',
    body: source.extend({ name }),
    reply: z.object({ id }),
  },
  /** Fetches the beginning of a file as a worker would, for an advertiser whose domain is verified. A few times a minute. */
  'POST /api/advertisers/:advertiser/feed-address-checks': {
    access: 'advertiser',
    advertiserRole: 'editor',
    network: true,
    body: z.object({ url }),
    reply: z.object({ problem: z.string().nullable(), format: z.string().nullable() }),
  },
  'GET /api/advertisers/:advertiser/feeds/:feed': { access: 'advertiser', advertiserRole: 'viewer', reply: feed },
  'PUT /api/advertisers/:advertiser/feeds/:feed': {
    access: 'advertiser',
    advertiserRole: 'editor',
    /** `campaign`: the one that its offers belong to from its next run on. */
    body: source.extend({ campaign: id.optional() }),
    reply: done,
  },
  'PUT /api/advertisers/:advertiser/feeds/:feed/paused': {
    access: 'advertiser',
    advertiserRole: 'editor',
    body: z.object({ isPaused: z.boolean() }),
    reply: done,
  },
  /** Has it fetched within seconds. `confirmRemoval`: also if most of its offers would be gone. */
  'POST /api/advertisers/:advertiser/feeds/:feed/fetch': {
    access: 'advertiser',
    advertiserRole: 'editor',
    body: z.object({ confirmRemoval: z.boolean().default(false) }),
    reply: done,
  },
  'DELETE /api/advertisers/:advertiser/feeds/:feed': { access: 'advertiser', advertiserRole: 'editor', reply: done },
  'GET /api/advertisers/:advertiser/feeds/:feed/runs': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    query: z.object({ after, limit: limit.default(20) }),
    reply: page(run),
  },
  /** The file itself is the body. A worker looks at it, and publishes nothing of it. */
  'POST /api/advertisers/:advertiser/campaigns/:campaign/feed-uploads': {
    access: 'advertiser',
    advertiserRole: 'editor',
    network: true,
    takesFile: true,
    query: z.object({
      /** The name of one that is there, or of a new one. */
      feed: z.string().trim().min(1, 'Enter a name.').max(200),
      file: z.string().trim().min(1).max(200),
      currency: currency.optional(),
    }),
    reply: z.object({ id }),
  },
  'GET /api/advertisers/:advertiser/feed-uploads/:upload': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    reply: upload,
  },
  'POST /api/advertisers/:advertiser/feed-uploads/:upload/publish': {
    access: 'advertiser',
    advertiserRole: 'editor',
    body: z.object({ confirmRemoval: z.boolean().default(false) }),
    reply: done,
  },
  'DELETE /api/advertisers/:advertiser/feed-uploads/:upload': {
    access: 'advertiser',
    advertiserRole: 'editor',
    reply: done,
  },
})
