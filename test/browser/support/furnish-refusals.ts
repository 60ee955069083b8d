import { ERRORS, type ErrorCode } from '../../../src/rules/errors.ts'
import type { RefusedRequest } from '../../../src/rules/refused-requests.ts'
import { addRefusedRequests } from '../../../src/store/calls/refused-requests.ts'
import type { Db } from '../../../src/store/database.ts'
import { refusalOf } from '../../support/refused-requests.ts'

/** Adds the refusals that developers of the site got before anything worked. */
export async function furnishRefusals(db: Db, projectId: string): Promise<void> {
  const { id: keyPairId } = await db
    .selectFrom('key_pairs')
    .select('id')
    .where('project_id', '=', projectId)
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .executeTakeFirstOrThrow()
  const told = (code: ErrorCode, minutesAgo: number, more: Partial<RefusedRequest> = {}) => {
    const { status, message } = ERRORS[code]
    const lastAt = new Date(Date.now() - minutesAgo * 60_000)
    return refusalOf({ projectId, keyPairId }, { code, status, message, param: null, model: null, lastAt, ...more })
  }
  await addRefusedRequests(db, [
    refusalOf({ projectId, keyPairId }, { lastAt: new Date(Date.now() - 4 * 60_000) }),
    told('keys_invalid', 11, { times: 1_204 }),
    told('model_not_found', 25, { model: 'gpt-4.5-turbo-preview-with-a-long-name', param: 'model' }),
    told('rate_limited', 26, { times: 37, model: 'sim-small' }),
    told('session_over', 90, { viaSession: true }),
    told('not_found', 400, { endpoint: 'POST /v1/completions' }),
    told('not_json_content', 2_000),
  ])
}
