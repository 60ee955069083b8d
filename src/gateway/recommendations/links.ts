import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Secrets } from '../../platform/secrets.ts'
import { withClickId } from '../../rules/clicks/conversions.ts'
import { withTracking } from '../../rules/clicks/tracking-template.ts'
import { judgeSender } from '../../rules/clicks/verdict.ts'
import { ParleyError } from '../../rules/errors.ts'
import { idOf } from '../../rules/recommendations/link-token.ts'
import { reportReasonOf } from '../../rules/recommendations/report-reasons.ts'
import { STORE_WAIT_MS } from '../../rules/limits.ts'
import { orUnavailable, type Db } from '../../store/database.ts'
import { createLookups } from '../../store/lookups.ts'
import { findShown, type ShownRecommendation } from '../../store/recommendations/clicks.ts'
import { reportRecommendation } from '../../store/recommendations/reader-reports.ts'
import type { Clicks } from './clicks.ts'
import type { NetworkTags } from './network-tags.ts'
import { READER_HEADERS, reasonPage, REPORTED_PAGE, sendPage, unavailablePage } from './pages.ts'
import { signingKeysOf } from './recommendations.ts'

/** The two links of a recommendation, which readers follow: to the offer, and to why it was shown. */
export interface Links {
  /** Where it leads is looked up by the signed id and never taken from the address, so nobody can make it lead elsewhere. */
  offer(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
  why(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
  /** Takes the form of that page. */
  report(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
}

export interface LinksOptions {
  db: Db
  secrets: Secrets
  clicks: Clicks
  networkTags: NetworkTags
  isDataCentre(address: string): boolean
  storeWaitMs?: number | undefined
}

const REMEMBERED_MAX = 20_000

export function createLinks(options: LinksOptions): Links {
  const { db, secrets, clicks, networkTags, isDataCentre, storeWaitMs = STORE_WAIT_MS } = options
  const keyOf = signingKeysOf(secrets)
  const lookups = createLookups((ids: readonly string[]) => findShown(db, ids))
  /** For the time that the store is away. */
  const seen = new LRUCache<string, ShownRecommendation>({ max: REMEMBERED_MAX })
  /** Recommendations whose report was counted: sending it again and again costs the store nothing. */
  const reported = new LRUCache<string, true>({ max: REMEMBERED_MAX })

  async function recommendationOf(request: FastifyRequest): Promise<ShownRecommendation> {
    const { token } = request.params as { token: string }
    const id = idOf(token, keyOf)
    if (id === undefined) throw new ParleyError('not_found')
    const found = await orUnavailable(lookups.submit(id, storeWaitMs)).catch((error: unknown) => {
      const known = seen.get(id)
      if (known) return known
      throw error
    })
    if (!found) throw new ParleyError('not_found')
    seen.set(id, found)
    return found
  }

  async function report(recommendationId: string, { ip, body }: FastifyRequest): Promise<void> {
    const networkTag = await orUnavailable(networkTags.tagOf(ip, new Date()))
    if (!networkTag) throw new ParleyError('store_unavailable')
    const reason = reportReasonOf(new URLSearchParams(typeof body === 'string' ? body : '').get('reason'))
    const counts = await orUnavailable(reportRecommendation(db, { recommendationId, reason, networkTag }))
    if (counts) reported.set(recommendationId, true)
  }

  return {
    async offer(request, reply) {
      const shown = await recommendationOf(request)
      const { link, advertiser, addsClickId, trackingTemplate } = shown
      if (link === null) return sendPage(reply, 410, unavailablePage(advertiser))
      const clickId = await clicks.record(request, shown)
      // A header has no letters beyond ASCII, which advertisers' addresses have.
      const address = addsClickId ? withClickId(link, clickId) : new URL(link).href
      const first = trackingTemplate === null ? address : withTracking(trackingTemplate, address)
      return reply.headers(READER_HEADERS).redirect(first, 302)
    },
    async why(request, reply) {
      const { token } = request.params as { token: string }
      return sendPage(reply, 200, reasonPage(await recommendationOf(request), `${token}/report`))
    },
    async report(request, reply) {
      const shown = await recommendationOf(request)
      // Another site's page may send its visitors here, who have reported nothing. They are asked.
      const from = request.headers['sec-fetch-site'] ?? 'same-origin'
      if (from !== 'same-origin' && from !== 'none') return sendPage(reply, 200, reasonPage(shown, 'report'))
      // A rival's script would stop offers with three of them. It is not told, so that it learns nothing.
      const { method, headers, ip } = request
      const isReader = judgeSender({ method, headers, isDataCentre: isDataCentre(ip) }) === undefined
      if (isReader && !reported.has(shown.id)) await report(shown.id, request)
      return sendPage(reply, 200, REPORTED_PAGE)
    },
  }
}
