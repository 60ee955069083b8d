import type { FastifyInstance } from 'fastify'
import { setLimits } from '../../actions/billing/limits.ts'
import { eraseEndUser } from '../../actions/calls/end-users.ts'
import { notThere, wrongField } from '../../actions/refusals.ts'
import { isUuid } from '../../platform/uuid.ts'
import { findCountedLimits } from '../../store/billing/limits.ts'
import {
  listEndUsers,
  searchEndUsers,
  sumsSince,
  type EndUserPlace,
  type EndUserRow,
} from '../../store/calls/end-user-pages.ts'
import { endUserDigestOf } from '../../store/calls/end-users.ts'
import type { Db } from '../../store/database.ts'
import { findDigestKeys } from '../../store/secret-versions.ts'
import { valuesOf, viewOfLimited } from '../limit-views.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

const FOUND_MAX = 50

export function endUserRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/end-users', async ({ db, project, query }) => {
    const options = { since: sumsSince(Date.now()), after: placeOf(query.after), most: query.limit + 1 }
    const rows = await listEndUsers(db, project.id, options)
    const shown = rows.slice(0, query.limit)
    const last = shown.at(-1)
    const next = rows.length > query.limit && last ? `${last.lastSeenUs}.${last.id}` : null
    return { items: await viewsOf(db, project.id, shown), next }
  })

  route(app, world, 'POST /api/projects/:project/end-users/search', async ({ db, project, body: { text } }) => {
    const keys = await findDigestKeys(world.db, world.secrets)
    const digest = endUserDigestOf(keys['end-users'], project.id, text)
    const ids = [digest, ...(isUuid(text) ? [text] : [])]
    const rows = await searchEndUsers(db, project.id, {
      since: sumsSince(Date.now()),
      ids,
      label: text,
      most: FOUND_MAX,
    })
    return { items: await viewsOf(db, project.id, rows) }
  })

  route(app, world, 'GET /api/projects/:project/end-users/:endUser', async ({ db, project, params }) => {
    const rows = await searchEndUsers(db, project.id, { since: sumsSince(Date.now()), ids: [params.endUser], most: 1 })
    const [view] = await viewsOf(db, project.id, rows)
    if (!view) throw notThere('end user')
    return view
  })

  route(app, world, 'PUT /api/projects/:project/end-users/:endUser/limits', async (call) => {
    const { db, actor, project, params, body } = call
    const of = { scope: 'end_user', project, endUserId: params.endUser } as const
    await setLimits(db, actor, { of, limits: valuesOf(body) })
    return { done: true }
  })

  route(app, world, 'DELETE /api/projects/:project/end-users/:endUser', async ({ db, actor, project, params }) => {
    await eraseEndUser(db, actor, { project, endUserId: params.endUser })
    return { done: true }
  })
}

const PLACE = /^(\d{1,18})\.([0-9a-f-]{36})$/

function placeOf(after: string | undefined): EndUserPlace | undefined {
  if (after === undefined) return undefined
  const [, lastSeenUs, id = ''] = PLACE.exec(after) ?? []
  if (lastSeenUs === undefined || !isUuid(id)) throw wrongField('after', 'Use the value of next of an earlier page.')
  return { lastSeenUs: BigInt(lastSeenUs), id }
}

async function viewsOf(db: Db, projectId: string, rows: readonly EndUserRow[]) {
  const now = new Date()
  const subjects = rows.map(({ id }) => ({ scope: 'end_user' as const, subject: id }))
  const limits = await findCountedLimits(db, projectId, subjects)
  return rows.flatMap(({ id, label, firstSeenAt, lastSeenAt, calls, tokens, charged }, n) => {
    const limited = limits[n]
    if (!limited) return []
    const sums = { calls30d: calls, tokens30d: tokens, spent30dNanos: charged }
    return [{ id, label, firstSeenAt, lastSeenAt, ...sums, limits: viewOfLimited(limited, now) }]
  })
}
