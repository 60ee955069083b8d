import type { FastifyReply, FastifyRequest } from 'fastify'
import { PRICE_COLUMNS } from '../../rules/billing/token-columns.ts'
import { perClass } from '../../rules/billing/usage.ts'
import { ParleyError } from '../../rules/errors.ts'
import { textDigestOf } from '../../rules/text-digest.ts'
import { priceAt, type Model } from '../../rules/upstreams/routing.ts'
import type { Gateway } from '../gateway.ts'

const CACHE_SECONDS = 600

/** GET /v1/models. The list may be ten minutes old in a client's cache; here it is at most a second old. */
export async function answerModels({ catalogue }: Gateway, request: FastifyRequest, reply: FastifyReply) {
  const data = catalogue.modelsFor(request.caller).map(entryOf)
  return sendCached({ object: 'list', data }, request, reply)
}

/** GET /v1/models/{id}: one entry of the list. Ids may have slashes. */
export async function answerModel({ catalogue }: Gateway, request: FastifyRequest, reply: FastifyReply) {
  const { '*': id } = request.params as { '*': string }
  const model = catalogue.modelsFor(request.caller).find((each) => each.id === id)
  if (!model) throw new ParleyError('no_such_model')
  return sendCached(entryOf(model), request, reply)
}

function sendCached(answer: object, request: FastifyRequest, reply: FastifyReply) {
  const body = JSON.stringify(answer)
  const etag = `"${textDigestOf(body).toString('base64url').slice(0, 27)}"`
  // A browser's next session may have other models.
  const cached = request.caller.session ? 'private, no-store' : `private, max-age=${CACHE_SECONDS}`
  void reply.header('cache-control', cached).header('etag', etag)
  if (request.headers['if-none-match'] === etag) return reply.code(304).send()
  return reply.header('content-type', 'application/json; charset=utf-8').send(body)
}

function entryOf(model: Model) {
  const price = priceAt(model, Date.now())
  return {
    id: model.id,
    object: 'model',
    created: Math.floor(model.createdAt.getTime() / 1000),
    owned_by: model.ownedBy,
    ...(model.contextWindow === undefined ? {} : { context_window: model.contextWindow }),
    ...(model.maxOutputTokens === undefined ? {} : { max_output_tokens: model.maxOutputTokens }),
    // Amounts are text: nanos do not fit a JSON number.
    ...(price && {
      pricing: {
        unit: 'nanos per million tokens',
        ...PRICE_COLUMNS.rowOf(perClass((name) => price[name].toString())),
      },
    }),
  }
}
