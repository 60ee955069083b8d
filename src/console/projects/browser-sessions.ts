import type { FastifyInstance } from 'fastify'
import { endBrowserSession, endBrowserSessionsOf } from '../../actions/projects/browser-sessions.ts'
import { wrongField } from '../../actions/refusals.ts'
import { isUuid } from '../../platform/uuid.ts'
import { sessionHintOf, sessionObstacleOf } from '../../rules/projects/key-status.ts'
import { listBrowserSessions, type BrowserSessionRow } from '../../store/projects/browser-session-pages.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

export function browserSessionRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/browser-sessions', async ({ db, project, query }) => {
    const { key: keyPairId, after, limit } = query
    if (after !== undefined && !isUuid(after)) throw wrongField('after', 'Use the value of next of an earlier page.')
    const rows = await listBrowserSessions(db, project.id, { keyPairId, after, most: limit + 1 })
    const shown = rows.slice(0, limit)
    const nowMs = Date.now()
    const next = rows.length > limit ? (shown.at(-1)?.id ?? null) : null
    return { items: shown.map((row) => viewOf(row, nowMs)), next }
  })

  route(
    app,
    world,
    'DELETE /api/projects/:project/browser-sessions/:session',
    async ({ db, actor, project, params }) => {
      await endBrowserSession(db, actor, { project, sessionId: params.session })
      return { done: true }
    },
  )

  route(app, world, 'DELETE /api/projects/:project/keys/:key/browser-sessions', async (call) => {
    const { db, actor, project, params } = call
    return { ended: await endBrowserSessionsOf(db, actor, { project, keyId: params.key }) }
  })
}

function viewOf(row: BrowserSessionRow, nowMs: number) {
  const { keyId, keyName: name, publishableKey, endUserId, endUserLabel: label } = row
  const obstacle = sessionObstacleOf({ active: row.keyActive, expires_at: row.keyExpiresAt }, nowMs)
  return {
    id: row.id,
    secretHint: sessionHintOf(publishableKey, row.secretLast4),
    key: { id: keyId, name, publishableKey, obstacle },
    endUser: endUserId === null ? null : { id: endUserId, label },
    models: row.models,
    origins: row.origins,
    maxTokens: row.maxTokens,
    callsMade: row.callsMade,
    callsMax: row.callsMax,
    moneyNanos: row.money,
    spentNanos: row.spent,
    heldNanos: row.held,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
  }
}
