import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Keys } from './authenticate.ts'
import type { ErrorFormat } from './response/wire.ts'

/** Reads the headers of a request. */

/** A header that was sent twice arrives joined by a comma, which no key and no conversation id contains. */
export function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** In headers of their own or, for tools with a single field for a key, both in one: `Authorization: Bearer <publishable>:<secret>`. */
export function keysOf(request: FastifyRequest): Keys {
  const [publishable, secret] = [headerOf(request, 'x-publishable-key'), headerOf(request, 'x-secret-key')]
  const origin = headerOf(request, 'origin')
  if (publishable !== undefined || secret !== undefined) return { publishable, secret, origin }
  const [, first, second] = /^bearer +([^\s:]*):(.*)$/i.exec(request.headers.authorization ?? '') ?? []
  return { publishable: first, secret: second, origin }
}

export function formatOf(request: FastifyRequest): ErrorFormat {
  return request.headers['x-error-format'] === 'openai' ? 'openai' : 'plain'
}

/** The length that a request declares for its body. Undefined: none, because the body comes in chunks or there is none. */
export function declaredBytesOf({ headers }: IncomingMessage): number | undefined {
  const declared = headers['content-length']
  return declared === undefined ? undefined : Number(declared)
}
