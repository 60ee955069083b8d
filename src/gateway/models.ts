import type { FastifyReply, FastifyRequest } from 'fastify'
import { textDigestOf } from '../rules/text-digest.ts'
import type { Gateway } from './gateway.ts'
import { modelListOf } from './response/wire.ts'

const CACHE_SECONDS = 600

/** GET /v1/models. The list may be ten minutes old in a client's cache; here it is at most a second old. */
export async function answerModels(gateway: Gateway, request: FastifyRequest, reply: FastifyReply) {
  const body = JSON.stringify(modelListOf(gateway.catalogue.modelsFor(request.caller)))
  const etag = `"${textDigestOf(body).toString('base64url').slice(0, 27)}"`
  void reply.header('cache-control', `private, max-age=${CACHE_SECONDS}`).header('etag', etag)
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  return reply.header('content-type', 'application/json; charset=utf-8').send(body)
}
