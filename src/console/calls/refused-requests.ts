import type { FastifyInstance } from 'fastify'
import { wrongFields } from '../../actions/refusals.ts'
import { isUuid } from '../../platform/uuid.ts'
import { explanationOf, REFUSAL_CODES, refusalCodesOf } from '../../rules/refused-requests.ts'
import { ERRORS } from '../../rules/errors.ts'
import { listGroupNames } from '../../store/billing/usage.ts'
import { findRefusedRequest, listRefusedRequests, type RefusedRow } from '../../store/calls/refused-requests.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

/** Requests that were refused before they reached a model. */
export function refusedRequestRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/refused-requests', async ({ db, project, query }) => {
    const names = await listGroupNames(db, 'key', [project.id])
    if (query.id) {
      const row = isUuid(query.id) ? await findRefusedRequest(db, project.id, query.id) : undefined
      return { items: row ? [refusedOf(row, names)] : [], next: null }
    }
    if (query.after !== undefined && !isUuid(query.after))
      throw wrongFields([{ path: 'after', message: 'This is not where a list goes on.' }])
    const { rows, next } = await listRefusedRequests(db, {
      projectId: project.id,
      codes: codesOf(query),
      keyPairId: query.key,
      from: query.from === undefined ? undefined : new Date(query.from),
      to: query.to === undefined ? undefined : new Date(query.to),
      before: query.after,
      most: query.limit,
    })
    return { items: rows.map((row) => refusedOf(row, names)), next: next ?? null }
  })

  route(app, world, 'GET /api/projects/:project/refused-request-filters', async ({ db, project }) => {
    const names = await listGroupNames(db, 'key', [project.id])
    const keys = [...names].map(([id, name]) => ({ id, name }))
    return { codes: REFUSAL_CODES.map((code) => ({ code, status: ERRORS[code].status })), keys }
  })
}

/** A status is the codes that have it: each is read by an index of its own. */
function codesOf({ status, code }: { status?: number | undefined; code?: string | undefined }): string[] | undefined {
  if (status === undefined) return code === undefined ? undefined : [code]
  return refusalCodesOf(status).filter((each) => code === undefined || each === code)
}

function refusedOf(row: RefusedRow, names: Map<string, string>) {
  return { ...row, keyName: names.get(row.keyPairId) ?? null, explanation: explanationOf(row.code) ?? null }
}
