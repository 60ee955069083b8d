import { z } from 'zod'
import { domainNameOf } from '../../rules/projects/domains.ts'
import { RECOMMENDATION_OUTCOMES } from '../../rules/recommendations/matching.ts'
import { categoriesOf, MATCHER_STANDINGS, topicsOf } from '../../rules/recommendations/monetization.ts'
import { OUTCOME_KINDS } from '../../rules/recommendations/outcome-labels.ts'
import { labelOf } from '../../rules/recommendations/block.ts'
import { clickUnder } from './earnings.ts'
import { after, amount, done, entries, id, limit, page, time } from './fields.ts'

const mode = z.enum(['off', 'test', 'on'])
const format = z.enum(['markdown', 'plain'])
const audience = z.enum(['general', 'teen', 'child'])
/** One of the list that the first route gives. */
const label = z.string().refine((text) => labelOf(text) !== undefined, 'Choose one of the labels.')

function between(least: number, most: number) {
  const message = `A whole number from ${least} to ${most}.`
  return z.number(message).int(message).min(least, message).max(most, message)
}

const FLOOR_NANOS_MAX = 1_000_000_000_000n
const floor = z
  .string()
  .regex(/^\d{1,18}$/, 'Enter an amount like 0.10.')
  .transform(BigInt)
  .refine((nanos) => nanos <= FLOOR_NANOS_MAX, 'At most $1,000.')

/** Told of the list as a whole: its parts have no fields of their own. */
const domains = z
  .array(z.string())
  .max(1_000, 'At most 1,000 domains.')
  .transform((texts, context) => {
    const names = texts.map((text) => domainNameOf(text))
    const wrong = names.indexOf(undefined)
    if (wrong !== -1)
      context.addIssue({ code: 'custom', message: `${texts[wrong]?.slice(0, 60)} is no domain. Write example.com.` })
    return [...new Set(names.filter((name) => name !== undefined))]
  })

function words(what: string, most: number, lengthMax: number, spelled: (all: readonly string[]) => string[]) {
  return z
    .array(z.string())
    .max(most, `At most ${most} ${what}.`)
    .refine((all) => all.every((text) => text.length <= lengthMax), `Each with at most ${lengthMax} characters.`)
    .transform(spelled)
}

const advertiser = z.object({ id, name: z.string(), domain: z.string() })
const strings = z.array(z.string())

const settings = z.object({
  mode,
  label: z.string(),
  format,
  audience,
  minRelevance: z.number(),
  firstTurn: z.number().int(),
  minTurnGap: z.number().int(),
  maxPerConversation: z.number().int(),
  floorNanos: amount,
  blockedCategories: strings,
  blockedDomains: strings,
  excludedTopics: strings,
  blockedAdvertisers: z.array(advertiser),
})

const recommendation = z.object({
  id,
  at: time,
  advertiser: z.object({ id, name: z.string(), isBlocked: z.boolean() }),
  headline: z.string(),
  label: z.string(),
  turn: z.number().int(),
  relevance: z.number(),
  /** The price that the advertiser would pay for a click. */
  priceNanos: amount,
  state: z.enum(['delivered', 'test']),
  /** The completion's id. */
  call: z.string(),
})

/** The recommendation in a reply, or in test mode the one that it would have had. */
export const carried = z.object({
  id,
  at: time,
  headline: z.string(),
  advertiser: z.string(),
  label: z.string(),
  turn: z.number().int(),
  relevance: z.number(),
  /** The advertiser's words about whom it is for, where they decided; null: the offer's own words did. */
  hint: z.string().nullable(),
  /** The price that the advertiser pays for a click. */
  priceNanos: amount,
  state: z.enum(['delivered', 'test']),
  /** On its link: the paid one first, then the newest of the others. */
  clicks: z.array(clickUnder),
})

export const monetization = entries({
  'GET /api/projects/:project/monetization': {
    access: 'project',
    role: 'viewer',
    reply: settings.extend({
      labels: z.array(z.object({ language: z.string(), label: z.string() })),
      /** Whether anything can be recommended at this moment. */
      matcher: z.enum(MATCHER_STANDINGS),
      /** Why it cannot be switched on; null when it can. */
      obstacle: z.string().nullable(),
      /** Whether everybody may see what was recommended, and where. */
      library: z.object({ isPublic: z.boolean(), address: z.string() }),
    }),
  },
  'PUT /api/projects/:project/monetization/library': {
    access: 'project',
    role: 'admin',
    body: z.object({ isPublic: z.boolean() }),
    reply: done,
  },
  'PUT /api/projects/:project/monetization/mode': {
    access: 'project',
    role: 'admin',
    body: z.object({ mode }),
    reply: z.object({ mode }),
  },
  'PATCH /api/projects/:project/monetization': {
    access: 'project',
    role: 'admin',
    body: z
      .object({
        label,
        format,
        audience,
        minRelevance: z.number().min(0, 'From 0 to 1.').max(1, 'From 0 to 1.'),
        firstTurn: between(1, 50),
        minTurnGap: between(1, 50),
        maxPerConversation: between(1, 20),
        floorNanos: floor,
        blockedCategories: words('categories', 200, 200, categoriesOf),
        blockedDomains: domains,
        excludedTopics: words('topics', 100, 60, topicsOf),
      })
      .partial(),
    /** Another audience than the general one switches it off. */
    reply: z.object({ mode }),
  },
  /** One at a time, so that two people who block at once do not undo each other. */
  'PUT /api/projects/:project/monetization/blocked-advertisers': {
    access: 'project',
    role: 'admin',
    body: z.object({ advertiser: id, isBlocked: z.boolean() }),
    reply: done,
  },
  /** A reply as readers would see it, with the recommendation at its end: made by what makes the real ones. */
  'GET /api/projects/:project/monetization/preview': {
    access: 'project',
    role: 'viewer',
    query: z.object({ label: label.optional(), format: format.optional() }),
    reply: z.object({
      label: z.string(),
      format,
      reply: z.string(),
      block: z.string(),
      /** Where the reply is from, and whose offer the matcher finds for it; null: both are made up. */
      match: z
        .object({
          conversation: z.object({ id: z.string(), at: time }),
          advertiser: z.string(),
          relevance: z.number(),
        })
        .nullable(),
      /** Why they are made up: no reply is kept that could have one, none of the latest has a fitting offer, or nobody could look. */
      sampleBecause: z.enum(['no_reply', 'no_match', 'no_matcher']).nullable(),
    }),
    network: true,
  },
  'GET /api/projects/:project/monetization/outcomes': {
    access: 'project',
    role: 'viewer',
    query: z.object({ range: z.enum(['24h', '7d', '30d']).default('7d') }),
    reply: z.object({
      from: time,
      calls: z.number().int(),
      /** The number of these calls with a recommendation; in test mode, of those that would have had one. */
      recommended: z.number().int(),
      /** Most frequent first. `outcome` is null for what a newer version has counted. */
      outcomes: z.array(
        z.object({
          outcome: z.enum(RECOMMENDATION_OUTCOMES).nullable(),
          kind: z.enum(OUTCOME_KINDS),
          title: z.string(),
          explanation: z.string(),
          advice: z.string().nullable(),
          calls: z.number().int(),
        }),
      ),
    }),
  },
  'GET /api/projects/:project/recommendations': {
    access: 'project',
    role: 'viewer',
    query: z.object({ after, limit }),
    reply: page(recommendation),
  },
  /**
   * Offers that the project's readers have reported and nobody has looked at, and offers stopped because of that. The latest
   * first.
   */
  'GET /api/projects/:project/monetization/reports': {
    access: 'project',
    role: 'viewer',
    reply: z.object({
      reportsToStop: z.number().int(),
      items: z.array(
        z.object({
          offer: id,
          headline: z.string(),
          advertiser: z.string(),
          reports: z.number().int(),
          /** The one that was given most often. */
          reason: z.string().nullable(),
          at: time,
          isStopped: z.boolean(),
        }),
      ),
    }),
  },
  /** The advertisers that can be blocked. */
  'GET /api/projects/:project/monetization/catalogue': {
    access: 'project',
    role: 'viewer',
    query: z.object({ name: z.string().trim().max(100).default('') }),
    reply: z.object({ advertisers: z.array(advertiser) }),
  },
  'GET /api/projects/:project/monetization/categories': {
    access: 'project',
    role: 'viewer',
    reply: z.object({ items: z.array(z.string()) }),
    network: true,
  },
})
