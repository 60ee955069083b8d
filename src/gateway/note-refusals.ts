import type { FastifyRequest } from 'fastify'
import { endpointNoted, namedModelOf, refusalWords } from '../rules/refused-requests.ts'
import { CALL_ENDPOINTS } from '../rules/endpoints.ts'
import type { KeyOwner, ParleyError } from '../rules/errors.ts'
import { ownerOf } from './authenticate.ts'
import type { Call } from './call.ts'
import type { Gateway } from './gateway.ts'

/** Notes of requests that were refused before they reached a model, for publishers to see. Made when they have been answered. */

type Noting = Pick<Gateway, 'refusedRequests' | 'keyOwners'>

/** One that did not become a call. `path`: as our router has it; undefined where there is none. */
export function noteRefusedRequest(
  { refusedRequests, keyOwners }: Noting,
  request: FastifyRequest,
  refusal: ParleyError,
  path: string | undefined,
): void {
  const words = refusalWords(refusal)
  if (!words) return
  const { id, method, url, caller } = request
  const endpoint = endpointNoted(method, url, path)
  const at = new Date()
  const noteFor = (owner: KeyOwner) => refusedRequests.note({ id, ...owner, ...words, endpoint, model: null, at })
  const owner = caller ? ownerOf(caller) : refusal.options.keyOwner
  if (owner) noteFor(owner)
  else void keyOwners.find(request, refusal).then((found) => found && noteFor(found))
}

export function noteRefusedCall({ refusedRequests }: Noting, call: Call, failure: ParleyError): void {
  const words = refusalWords(failure)
  if (!words) return
  refusedRequests.note({
    id: call.requestId,
    ...ownerOf(call.caller),
    ...words,
    endpoint: `POST ${CALL_ENDPOINTS[call.endpoint].path}`,
    model: namedModelOf(call.body),
    at: new Date(),
  })
}
