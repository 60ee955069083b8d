import type { FastifyInstance } from 'fastify'
import {
  createKeyPair,
  deleteKeyPair,
  endKeyPair,
  rollKeyPair,
  setKeyPairActive,
  type MintedKeyPair,
} from '../../actions/projects/key-pairs.ts'
import { defaultModelOf } from '../../rules/catalogue/default-model.ts'
import { DAY_MS } from '../../rules/durations.ts'
import { explainKeyStatus, keyStatusOf, secretHintOf } from '../../rules/projects/key-status.ts'
import { listServedModels } from '../../store/catalogue/served-models.ts'
import type { Db } from '../../store/database.ts'
import { listManagedKeyPairs } from '../../store/projects/key-pairs.ts'
import { findProject } from '../../store/projects/projects.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

const SPENT_DAYS = 30

export function keyRoutes(app: FastifyInstance, world: World): void {
  const { secrets } = world
  const { cell, consoleUrl } = world.installation
  const installation = { secrets, cell, consoleUrl }

  route(app, world, 'GET /api/projects/:project/keys', async ({ db, project }) => {
    const nowMs = Date.now()
    // Whole days, today's included.
    const since = new Date(Math.floor(nowMs / DAY_MS) * DAY_MS - (SPENT_DAYS - 1) * DAY_MS)
    const rows = await listManagedKeyPairs(db, project.id, since)
    return { items: rows.map((row) => viewOf(row, nowMs)) }
  })

  route(app, world, 'POST /api/projects/:project/keys', async ({ db, actor, project, body }) => {
    const pair = await createKeyPair(db, actor, { project, ...body, installation })
    return shownOnce(world, db, project.id, pair, null)
  })

  route(app, world, 'POST /api/projects/:project/keys/:key/roll', async ({ db, actor, project, params, body }) => {
    const pair = await rollKeyPair(db, actor, { project, keyId: params.key, ...body, installation })
    return shownOnce(world, db, project.id, pair, pair.oldEndsAt)
  })

  route(app, world, 'POST /api/projects/:project/keys/:key/end', async ({ db, actor, project, params }) => {
    await endKeyPair(db, actor, { project, keyId: params.key })
    return { done: true }
  })

  route(app, world, 'PATCH /api/projects/:project/keys/:key', async ({ db, actor, project, params, body }) => {
    await setKeyPairActive(db, actor, { project, keyId: params.key, isActive: body.active })
    return { done: true }
  })

  route(app, world, 'DELETE /api/projects/:project/keys/:key', async ({ db, actor, project, params }) => {
    await deleteKeyPair(db, actor, { project, keyId: params.key, installation })
    return { done: true }
  })
}

/** The secret leaves the process in this one answer. */
async function shownOnce(world: World, db: Db, projectId: string, pair: MintedKeyPair, oldEndsAt: Date | null) {
  const { id, name, publishableKey, secretKey } = pair
  const project = await findProject(db, projectId)
  const model = defaultModelOf(await listServedModels(db), project?.allowed_models)?.id ?? null
  return { id, name, publishableKey, secretKey, gatewayUrl: world.installation.gatewayUrl, model, oldEndsAt }
}

function viewOf(row: Awaited<ReturnType<typeof listManagedKeyPairs>>[number], nowMs: number) {
  return {
    id: row.id,
    name: row.name,
    publishableKey: row.publishable_key,
    secretHint: secretHintOf(row.publishable_key, row.secret_last4),
    status: keyStatusOf(row, nowMs),
    explanation: explainKeyStatus(row, nowMs),
    createdAt: row.created_at,
    createdBy: row.created_by,
    lastUsedAt: row.last_used_at,
    expiresAt: row.expires_at,
    replacedBy: row.replaced_by,
    spent30dNanos: row.spent_nanos ?? 0n,
  }
}
