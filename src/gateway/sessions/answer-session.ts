import type { FastifyReply, FastifyRequest } from 'fastify'
import { endUserIdOf, endUserLabelOf } from '../../rules/calls/end-users.ts'
import { parseSessionRequest, type SessionRequest } from '../../rules/calls/session-request.ts'
import { ParleyError } from '../../rules/errors.ts'
import { httpsOriginOf, isOnDomain } from '../../rules/projects/origins.ts'
import type { Caller } from '../authenticate.ts'
import type { Gateway } from '../gateway.ts'
import { headerOf } from '../headers.ts'

/** POST /v1/sessions: a secret that may live in a browser, for a while and for a little. */
export async function answerSession(gateway: Gateway, request: FastifyRequest, reply: FastifyReply, body: unknown) {
  const { caller } = request
  const asked = parseSessionRequest(body)
  expectModels(gateway, caller, asked)
  expectOrigins(caller, asked)
  const endUser = asked.end_user ?? endUserIdOf(headerOf(request, 'x-end-user-id'), undefined)
  const endUserId = endUser === undefined ? undefined : gateway.endUsers.digestOf(caller.projectId, endUser)
  const { id, secret, endsAt } = await gateway.mint.begin(caller, asked, { endUserId, address: request.ip })
  const label = endUserLabelOf(headerOf(request, 'x-end-user-label'))
  if (endUserId && label) gateway.endUsers.noteSeen({ caller, createdAt: new Date() }, endUserId, label)
  return reply.header('cache-control', 'private, no-store').send({
    object: 'session',
    id,
    secret_key: secret,
    expires_at: endsAt.toISOString(),
    domain: caller.domain,
    origins: asked.origins ?? null,
    end_user: endUser ?? null,
    models: asked.models ?? null,
    max_tokens: asked.max_tokens ?? null,
    calls: asked.calls,
    unit: 'nanos of a credit',
    money: asked.money.toString(),
  })
}

function expectModels({ catalogue }: Gateway, caller: Caller, { models = [] }: SessionRequest): void {
  if (models.length === 0) return
  const usable = new Set(catalogue.modelsFor(caller).map(({ id }) => id))
  const n = models.findIndex((model) => !usable.has(model))
  if (n === -1) return
  const message = `models[${n}] is not available to this project. GET /v1/models lists the ones that are.`
  throw new ParleyError('model_not_found', { message, param: `models[${n}]` })
}

function expectOrigins({ domain }: Caller, { origins = [] }: SessionRequest): void {
  const n = origins.findIndex((text) => {
    const origin = httpsOriginOf(text)
    return !origin || !isOnDomain(origin, domain)
  })
  if (n === -1) return
  const message = `origins[${n}] must be an https origin on ${domain}, the verified domain of this project, as browsers write it: https://${domain}, or with a port that is not 443.`
  throw new ParleyError('invalid_value', { message, param: `origins[${n}]` })
}
