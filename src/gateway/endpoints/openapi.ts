import type { FastifyReply, FastifyRequest } from 'fastify'
import { createCachedText } from '../../platform/cached-text.ts'
import { openApiDocument, type DocumentOptions } from '../../rules/openapi/document.ts'
import type { Gateway } from '../gateway.ts'

/** GET /openapi.json: this API, for programs that read such. It is the same for everybody, so it wants no keys. */
export function answerOpenApi({ intake }: Pick<Gateway, 'intake'>, addresses: DocumentOptions) {
  const write = () => JSON.stringify(openApiDocument(addresses))
  const document = createCachedText(write, 'application/json; charset=utf-8')
  return async (request: FastifyRequest, reply: FastifyReply) => {
    intake.greet(request.ip) // 429
    const { status, headers, body } = document.answerFor(request.headers)
    return reply.code(status).headers(headers).send(body)
  }
}
