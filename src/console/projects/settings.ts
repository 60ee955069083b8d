import type { FastifyInstance } from 'fastify'
import { changeAllowedModels, changeRetention, deleteProject } from '../../actions/projects/projects.ts'
import { notThere } from '../../actions/refusals.ts'
import { listServedModels } from '../../store/catalogue/served-models.ts'
import type { Db } from '../../store/database.ts'
import { countKeyPairs } from '../../store/projects/key-pairs.ts'
import { findProject } from '../../store/projects/projects.ts'
import { findEarnings } from '../../store/recommendations/earnings.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

export function projectSettingsRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/settings', async ({ db, project }) => {
    const row = await projectOf(db, project.id)
    return {
      ...settingsOf(row),
      servedModels: await listServedModels(db),
      limits: {
        requestsPerMinute: row.requests_per_minute,
        tokensPerMinute: row.tokens_per_minute,
        concurrentCalls: row.concurrent_calls,
      },
      keyPairs: await countKeyPairs(db, project.id),
      balanceNanos: row.balance_nanos,
      pendingNanos: (await findEarnings(db, project.id)).pending,
    }
  })

  route(app, world, 'PATCH /api/projects/:project/settings', async ({ db, actor, project, body }) => {
    const { allowedModels: models, contentRetentionDays: days } = body
    if (models !== undefined) await changeAllowedModels(db, actor, { project, models })
    if (days !== undefined) await changeRetention(db, actor, { project, days })
    return settingsOf(await projectOf(db, project.id))
  })

  route(app, world, 'DELETE /api/projects/:project', async ({ db, actor, project, body }) => {
    await deleteProject(db, actor, { project, leavesCredit: body.leavesCredit })
    return { done: true }
  })
}

async function projectOf(db: Db, id: string) {
  const row = await findProject(db, id)
  if (!row) throw notThere('project')
  return row
}

function settingsOf(row: Awaited<ReturnType<typeof projectOf>>) {
  return { name: row.name, allowedModels: row.allowed_models, contentRetentionDays: row.content_retention_days }
}
