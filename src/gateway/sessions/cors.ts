import type { FastifyReply, FastifyRequest } from 'fastify'
import { methodNotAllowed } from '../../rules/errors.ts'
import { looksLikeSessionSecret } from '../../rules/projects/keys.ts'
import { httpsOriginOf } from '../../rules/projects/origins.ts'
import type { Gateway } from '../gateway.ts'
import { headerOf, keysOf } from '../headers.ts'
import { SESSION_ENDPOINTS } from './bounds.ts'

/**
 * Headers for browsers, so that pages may read answers. Answers to a long-lived secret never have any of them, and nothing is
 * ever said of credentials: there are no cookies here.
 */

/** Longer than any browser remembers it. */
const REMEMBERED_SECONDS = 86_400
const HEADERS =
  'authorization, content-type, x-publishable-key, x-secret-key, x-conversation-id, idempotency-key, x-end-user-id, x-end-user-label, x-monetization, x-error-format'
/** The headers in which OpenAI's SDKs describe themselves; each version has more. */
const SDK_HEADER = /^x-stainless-[a-z-]{1,40}$/
const EXPOSED =
  'x-request-id, x-completion-id, retry-after, idempotent-replayed, x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens'

/** Also of a refusal, whatever its origin: the page's developer has to see why. One that is refused learns nothing else. */
export function letPagesRead(request: FastifyRequest, reply: FastifyReply): void {
  if (!looksLikeSessionSecret(keysOf(request).secret)) return
  reply.header('vary', 'Origin')
  const origin = httpsOriginOf(headerOf(request, 'origin'))
  if (!origin) return
  reply.header('access-control-allow-origin', origin.origin)
  reply.header('access-control-expose-headers', EXPOSED)
}

/**
 * A browser asks before it sends keys, so nobody is known here: every https origin may ask, and the database is not. Other
 * origins are answered as before there were sessions.
 */
export function answerPreflight({ intake }: Pick<Gateway, 'intake'>) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    intake.greet(request.ip) // 429
    const methods = SESSION_ENDPOINTS.get(request.routeOptions.url ?? '') ?? ''
    const origin = httpsOriginOf(headerOf(request, 'origin'))
    if (!origin || headerOf(request, 'access-control-request-method') === undefined)
      throw methodNotAllowed(request.method, methods)
    const asked = headerOf(request, 'access-control-request-headers') ?? ''
    const sdk = asked.split(',').flatMap((name) => (SDK_HEADER.test(name.trim()) ? [name.trim()] : []))
    return reply
      .code(204)
      .header('access-control-allow-origin', origin.origin)
      .header('access-control-allow-methods', methods)
      .header('access-control-allow-headers', [HEADERS, ...sdk].join(', '))
      .header('access-control-max-age', REMEMBERED_SECONDS)
      .header('vary', 'Origin, Access-Control-Request-Headers')
      .send()
  }
}
