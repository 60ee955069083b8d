import type { FastifyInstance } from 'fastify'
import { abilitiesOf } from '../../providers/abilities.ts'
import { perClass } from '../../rules/billing/usage.ts'
import type { Span } from '../../rules/billing/usage-spans.ts'
import { HOUR_MS } from '../../rules/durations.ts'
import { priceAt, type Model } from '../../rules/upstreams/routing.ts'
import { sumUsageByGroup } from '../../store/billing/usage.ts'
import { listProviderAbilities, type ProviderAbilities } from '../../store/catalogue/providers.ts'
import { detailsOf } from '../billing/usage-replies.ts'
import { route } from '../route.ts'
import type { World } from '../world.ts'
import { allowedModels, servedModels } from './quick-start.ts'

const MEASURED_HOURS = 24
/** With fewer calls, one in twenty that is slow or fails says nothing about the next. */
const MEASURED_CALLS_MIN = 20

export function modelRoutes(app: FastifyInstance, world: World): void {
  route(app, world, 'GET /api/projects/:project/catalogue', async ({ inTenant, project }) => {
    const nowMs = Date.now()
    const span = { projectIds: [project.id], ...lastHours(nowMs) }
    const used = await inTenant((db) => sumUsageByGroup(db, span, 'model'))
    const measured = new Map(used.map((sums) => [sums.group, detailsOf(sums)]))
    const models = await servedModels(world.db, await allowedModels(inTenant, project.id), nowMs)
    const providers = new Map((await listProviderAbilities(world.db)).map((each) => [each.id, each]))
    return {
      measuredFrom: span.from,
      items: models.map((model) =>
        Object.assign(factsOf(model, nowMs), measuresOf(measured.get(model.id)), {
          abilities: abilitiesIn(model, providers, nowMs),
        }),
      ),
    }
  })
}

/** Whole hours, as they are summed: this one is the last. */
function lastHours(nowMs: number): Span {
  const endMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS + HOUR_MS
  return { from: new Date(endMs - MEASURED_HOURS * HOUR_MS), to: new Date(endMs), every: 'hour' }
}

function factsOf(model: Model, nowMs: number) {
  const price = priceAt(model, nowMs)
  return {
    id: model.id,
    kind: model.kind,
    ownedBy: model.ownedBy,
    contextWindow: model.contextWindow ?? null,
    maxOutputTokens: model.maxOutputTokens ?? null,
    price: perClass((name) => price?.[name] ?? 0n),
  }
}

function abilitiesIn(model: Model, providers: ReadonlyMap<string, ProviderAbilities>, nowMs: number) {
  const price = priceAt(model, nowMs)
  const caching = price !== undefined && price.cachedInput < price.input ? (['caching'] as const) : []
  if (model.kind === 'embedding') return ['embeddings' as const, ...caching]
  const routes = model.deployments.flatMap(({ providerId, upstreamModel, unsupportedFields }) => {
    const provider = providers.get(providerId)
    if (!provider) return []
    const refused = new Set([...unsupportedFields, ...provider.unsupportedFields])
    return [{ kind: provider.kind, upstreamModel, unsupportedFields: refused }]
  })
  // A model that its operator says never thinks does not do so for being allowed to.
  const able = abilitiesOf(routes).filter((ability) => ability !== 'reasoning' || model.figures.reasoning !== 0)
  return [...able, ...caching]
}

function measuresOf(details: ReturnType<typeof detailsOf> | undefined) {
  const calls = details?.calls ?? 0
  if (details === undefined || calls < MEASURED_CALLS_MIN) return { calls, measured: null }
  return { calls, measured: { failed: details.failed, firstTokenMs: details.firstTokenMs } }
}
