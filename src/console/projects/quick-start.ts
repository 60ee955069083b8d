import type { FastifyInstance } from 'fastify'
import { isServed, priceAt, type Model } from '../../rules/upstreams/routing.ts'
import { firstRequest, KEY_PLACEHOLDERS, keysFor, snippetsFor } from '../../rules/calls/snippets.ts'
import { loadModels } from '../../store/catalogue/catalogue.ts'
import type { Db } from '../../store/database.ts'
import { findProject } from '../../store/projects/projects.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

/** What an example names where there is nothing to name yet. */
const NO_MODEL = 'a-model'

export function quickStartRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/models', async ({ inTenant, project }) => {
    const nowMs = Date.now()
    const models = await servedModels(world.db, await allowedModels(inTenant, project.id), nowMs)
    return {
      items: models.map((model) => ({
        id: model.id,
        inputNanos: priceAt(model, nowMs)?.input ?? 0n,
        outputNanos: priceAt(model, nowMs)?.output ?? 0n,
        contextWindow: model.contextWindow ?? null,
        maxOutputTokens: model.maxOutputTokens ?? null,
      })),
    }
  })

  route(app, world, 'GET /api/projects/:project/quick-start', async ({ inTenant, project, query }) => {
    const { gatewayUrl } = world.installation
    const served = await servedModels(world.db, await allowedModels(inTenant, project.id), Date.now())
    const models = served.map(({ id }) => id)
    const model = models.find((id) => id === query.model) ?? models[0] ?? null
    return {
      gatewayUrl,
      model,
      models,
      keysText: keysFor(KEY_PLACEHOLDERS),
      placeholders: KEY_PLACEHOLDERS,
      snippets: snippetsFor(gatewayUrl, firstRequest(model ?? NO_MODEL)),
    }
  })
}

type InTenant = <T>(work: (tx: Db) => Promise<T>) => Promise<T>

function allowedModels(inTenant: InTenant, projectId: string): Promise<readonly string[] | null> {
  return inTenant(async (db) => (await findProject(db, projectId))?.allowed_models ?? null)
}

async function servedModels(db: Db, allowed: readonly string[] | null, nowMs: number): Promise<Model[]> {
  const models = await loadModels(db)
  return [...models.values()].filter(
    // The examples and the playground are chats.
    (model) => model.kind === 'chat' && isServed(model, nowMs) && (allowed === null || allowed.includes(model.id)),
  )
}
