import type { FastifyInstance } from 'fastify'
import { defaultModelOf, type PricedModel } from '../../rules/catalogue/default-model.ts'
import { isServed, priceAt, type Model } from '../../rules/upstreams/routing.ts'
import { firstRequest, KEY_PLACEHOLDERS, keysFor, snippetsFor } from '../../rules/calls/snippets.ts'
import { loadModels } from '../../store/catalogue/catalogue.ts'
import type { Db } from '../../store/database.ts'
import { findProject } from '../../store/projects/projects.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'

/** The model of an example where there is none to name yet. */
const NO_MODEL = 'a-model'

export function quickStartRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/models', async ({ inTenant, project }) => {
    const models = await servedChatModels(world.db, await allowedModels(inTenant, project.id), Date.now())
    return {
      items: models.map(({ model, input, output }) => ({
        id: model.id,
        inputNanos: input,
        outputNanos: output,
        contextWindow: model.contextWindow ?? null,
        maxOutputTokens: model.maxOutputTokens ?? null,
      })),
      default: defaultModelOf(models)?.id ?? null,
    }
  })

  route(app, world, 'GET /api/projects/:project/quick-start', async ({ inTenant, project, query }) => {
    const { gatewayUrl } = world.installation
    const served = await servedChatModels(world.db, await allowedModels(inTenant, project.id), Date.now())
    const models = served.map(({ id }) => id)
    const model = models.find((id) => id === query.model) ?? defaultModelOf(served)?.id ?? null
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

export function allowedModels(inTenant: InTenant, projectId: string): Promise<readonly string[] | null> {
  return inTenant(async (db) => (await findProject(db, projectId))?.allowed_models ?? null)
}

interface ServedModel extends PricedModel {
  model: Model
}

/** The examples and the playground are chats. */
async function servedChatModels(db: Db, allowed: readonly string[] | null, nowMs: number): Promise<ServedModel[]> {
  return (await servedModels(db, allowed, nowMs)).flatMap((model) => {
    const price = priceAt(model, nowMs)
    return model.kind === 'chat' && price
      ? [{ id: model.id, kind: model.kind, input: price.input, output: price.output, model }]
      : []
  })
}

/** Returns the models that a call of a project can name now. */
export async function servedModels(db: Db, allowed: readonly string[] | null, nowMs: number): Promise<Model[]> {
  const models = await loadModels(db)
  return [...models.values()].filter(
    (model) => isServed(model, nowMs) && (allowed === null || allowed.includes(model.id)),
  )
}
