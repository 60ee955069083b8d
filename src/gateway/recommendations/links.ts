import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Secrets } from '../../platform/secrets.ts'
import { ParleyError } from '../../rules/errors.ts'
import { escapeHtml } from '../../rules/html.ts'
import { idOf } from '../../rules/recommendations/link-token.ts'
import { textDigestOf } from '../../rules/text-digest.ts'
import { STORE_WAIT_MS } from '../../rules/limits.ts'
import { orUnavailable, type Db } from '../../store/database.ts'
import { createLookups } from '../../store/lookups.ts'
import { findShown, type ShownRecommendation } from '../../store/recommendations/clicks.ts'
import type { Clicks } from './clicks.ts'
import { signingKeysOf } from './recommendations.ts'

/** The two links of a recommendation, which readers follow: to the offer, and to why it was shown. */
export interface Links {
  /** Where it leads is looked up by the signed id and never taken from the address, so nobody can make it lead elsewhere. */
  offer(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
  why(request: FastifyRequest, reply: FastifyReply): Promise<unknown>
}

export interface LinksOptions {
  db: Db
  secrets: Secrets
  clicks: Clicks
  storeWaitMs?: number | undefined
}

const REMEMBERED_MAX = 20_000

export function createLinks({ db, secrets, clicks, storeWaitMs = STORE_WAIT_MS }: LinksOptions): Links {
  const keyOf = signingKeysOf(secrets)
  const lookups = createLookups((ids: readonly string[]) => findShown(db, ids))
  /** For the time that the store is away. */
  const seen = new LRUCache<string, ShownRecommendation>({ max: REMEMBERED_MAX })

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

  return {
    async offer(request, reply) {
      const shown = await recommendationOf(request)
      const { link, advertiser } = shown
      if (link === null) return sendPage(reply, 410, unavailablePage(advertiser))
      await clicks.record(request, shown)
      // A header has no letters beyond ASCII, which advertisers' addresses have.
      return reply.headers(PRIVATE).redirect(new URL(link).href, 302)
    },
    async why(request, reply) {
      return sendPage(reply, 200, reasonPage(await recommendationOf(request)))
    },
  }
}

/** The advertiser does not learn where its reader came from, and nobody keeps or lists the address. */
const PRIVATE = { 'referrer-policy': 'no-referrer', 'cache-control': 'no-store', 'x-robots-tag': 'noindex' }

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem;color:#1c2024;background:#fff}' +
  'h1{font-size:1.375rem}@media(prefers-color-scheme:dark){body{color:#edeef0;background:#18191b}}'
const POLICY = `default-src 'none'; style-src 'sha256-${textDigestOf(STYLE).toString('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

function sendPage(reply: FastifyReply, status: number, html: string) {
  const headers = { ...PRIVATE, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }
  return reply.code(status).headers(headers).send(html)
}

function reasonPage(shown: { advertiser: string; domain: string; label: string }): string {
  const advertiser = escapeHtml(shown.advertiser)
  return page(
    'Why this ad?',
    `<h1>Why you saw this</h1>
<p>The line marked “${escapeHtml(shown.label)}” is an advertisement. <strong>${advertiser}</strong> (${escapeHtml(shown.domain)}) pays for it when somebody follows its link.</p>
<p>It was chosen because an offer of ${advertiser} fits what this conversation was about at that moment, and for no other reason: there is no profile of you, no cookie, and nothing is remembered from other conversations. ${advertiser} was not told what was said.</p>
<p>The answer above it was written without it: the model never sees advertisements.</p>`,
  )
}

function unavailablePage(advertiser: string): string {
  return page(
    'No longer available',
    `<h1>This offer is no longer available</h1>
<p>You followed the link of an advertisement by ${escapeHtml(advertiser)} that is no longer shown. The link does not lead anywhere any more.</p>`,
  )
}

function page(title: string, main: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>${STYLE}</style></head><body><main>
${main}
</main></body></html>
`
}
