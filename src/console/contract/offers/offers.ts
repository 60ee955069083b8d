import { z } from 'zod'
import { OFFER_STANDINGS } from '../../../rules/offers/offer-standing.ts'
import { after, entries, id, limit, page } from '../fields.ts'

const offer = z.object({
  id,
  /** The advertiser's own id of it. */
  itemId: z.string(),
  title: z.string(),
  /** The words that readers see. */
  headline: z.string(),
  benefit: z.string(),
  category: z.string(),
  link: z.string(),
  imageLink: z.string().nullable(),
  price: z.string().nullable(),
  currency: z.string().nullable(),
  feed: z.string(),
  campaign: z.string(),
  standing: z.enum(OFFER_STANDINGS),
  explanation: z.string(),
})

export const offers = entries({
  /** In the order of the advertiser's own ids. Without `standing`, all but those that were withdrawn. */
  'GET /api/advertisers/:advertiser/offers': {
    access: 'advertiser',
    advertiserRole: 'viewer',
    query: z.object({
      standing: z.enum(OFFER_STANDINGS).optional(),
      feed: id.optional(),
      /** Its own id, or a part of its title. */
      q: z.string().trim().max(150).optional(),
      after,
      limit,
    }),
    reply: page(offer),
  },
})
