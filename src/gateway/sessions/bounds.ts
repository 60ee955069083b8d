import type { FastifyRequest } from 'fastify'
import type { ChatRequest } from '../../rules/calls/chat-request.ts'
import { browserPathsOf, CALL_ENDPOINTS } from '../../rules/endpoints.ts'
import { ParleyError } from '../../rules/errors.ts'
import type { Model } from '../../rules/upstreams/routing.ts'
import type { Caller } from '../authenticate.ts'
import type { Gateway } from '../gateway.ts'
import { headerOf } from '../headers.ts'

/** The rights of a browser session's secret. Anything that is not said here, it may not do. */

/** The endpoints that it may ask, with the methods that they answer. */
export const SESSION_ENDPOINTS: ReadonlyMap<string, string> = new Map([
  ...browserPathsOf(CALL_ENDPOINTS).map((path) => [path, 'POST'] as const),
  ['/v1/models', 'GET, HEAD'],
  ['/v1/models/*', 'GET, HEAD'],
])

/** Throws 403 for an endpoint that a session may not ask, and 422 where it says that it is for somebody else. */
export function expectAllowed({ endUsers }: Pick<Gateway, 'endUsers'>, request: FastifyRequest): void {
  const { session, projectId } = request.caller
  if (!session) return
  if (!SESSION_ENDPOINTS.has(request.routeOptions.url ?? '')) throw new ParleyError('session_not_allowed')
  const said = headerOf(request, 'x-end-user-id')
  if (said === undefined || endUsers.digestOf(projectId, said) === session.endUserId) return
  const message = session.endUserId
    ? 'x-end-user-id names a different end user than the one this session is for. Leave it out.'
    : 'This session has no end user. Leave x-end-user-id out, or set end_user when you create a session.'
  throw new ParleyError('invalid_value', { message, param: 'x-end-user-id' })
}

/** The request with the bound of its session. Throws 422 for one that asks for more. */
export function boundBy<Asked extends Pick<ChatRequest, 'max_tokens'>>({ session }: Caller, asked: Asked): Asked {
  const { maxTokens = null } = session ?? {}
  if (maxTokens === null) return asked
  const { max_tokens = maxTokens } = asked
  if (max_tokens <= maxTokens) return { ...asked, max_tokens }
  const message = `max_tokens must be at most ${maxTokens} in this session.`
  throw new ParleyError('invalid_value', { message, param: 'max_tokens' })
}

/**
 * Throws where an endpoint has not bounded what a chat model may write as the session says: that is a defect of ours, and no
 * answer is better than one without the bound.
 */
export function expectBounded(
  { session }: Caller,
  { max_tokens = Number.POSITIVE_INFINITY }: Pick<ChatRequest, 'max_tokens'>,
  routes: readonly { model: Pick<Model, 'kind'> }[],
): void {
  const { maxTokens = null } = session ?? {}
  if (maxTokens === null || max_tokens <= maxTokens || routes.every(({ model }) => model.kind !== 'chat')) return
  throw new Error('the max_tokens of a browser session was not applied')
}
