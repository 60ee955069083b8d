import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { ErrorFormat } from './response/wire.ts'

/** What the headers of a request say. */

/** A header that was sent twice arrives joined by a comma, which no key and no conversation id contains. */
export function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

export function formatOf(request: FastifyRequest): ErrorFormat {
  return request.headers['x-error-format'] === 'openai' ? 'openai' : 'plain'
}

/** What a request says of its body. Undefined: nothing, it comes in chunks or there is none. */
export function declaredBytesOf({ headers }: IncomingMessage): number | undefined {
  const declared = headers['content-length']
  return declared === undefined ? undefined : Number(declared)
}
