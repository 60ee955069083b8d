import { uuidv7 } from '../../src/platform/uuid.ts'
import type { RefusedRequest } from '../../src/rules/refused-requests.ts'

/** A refused request of a pair, as a gateway notes it. */
export function refusalOf(
  { projectId, keyPairId }: { projectId: string; keyPairId: string },
  more: Partial<RefusedRequest> = {},
): RefusedRequest {
  const { lastAt = new Date() } = more
  return {
    id: uuidv7(lastAt.getTime()),
    projectId,
    keyPairId,
    viaSession: false,
    status: 422,
    code: 'invalid_value',
    message: 'temperature must be at most 2.',
    param: 'temperature',
    endpoint: 'POST /v1/chat/completions',
    model: 'sim-small',
    times: 1,
    lastAt,
    ...more,
  }
}
