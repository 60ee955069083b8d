import type { FastifyInstance } from 'fastify'
import { explainOffer } from '../../rules/offers/offer-standing.ts'
import { listOffersOf, type OfferOfAdvertiser } from '../../store/offers/offer-pages.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

export function offerRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/advertisers/:advertiser/offers', async ({ db, advertiser, query }) => {
    const { standing, feed: feedId, q, after, limit } = query
    const text = q === '' ? undefined : q
    const asked = { advertiserId: advertiser.id, standing, feedId, text, after, limit: limit + 1 }
    const found = await listOffersOf(db, asked)
    const shown = found.slice(0, limit)
    const next = found.length > limit ? (shown.at(-1)?.itemId ?? null) : null
    return { items: shown.map(viewOf), next }
  })
}

function viewOf(offer: OfferOfAdvertiser) {
  return { ...offer, explanation: explainOffer(offer) }
}
