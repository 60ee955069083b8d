import type { FastifyInstance } from 'fastify'
import { createCachedText } from '../platform/cached-text.ts'
import { openApiDocument } from '../rules/openapi/document.ts'
import type { Installation } from './world.ts'

/** The gateway's own description, which the API reference is drawn from. A page cannot ask the gateway for it. */
export function openApiRoute(app: FastifyInstance, { gatewayUrl, consoleUrl }: Installation): void {
  const write = () => JSON.stringify(openApiDocument({ publicUrl: gatewayUrl, consoleUrl }))
  const document = createCachedText(write, 'application/json; charset=utf-8')
  app.get('/openapi.json', async (request, reply) => {
    const { status, headers, body } = document.answerFor(request.headers)
    return reply.code(status).headers(headers).send(body)
  })
}
