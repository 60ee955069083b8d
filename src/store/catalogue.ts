import type { Selectable } from 'kysely'
import { UPSTREAM_TIMERS } from '../rules/limits.ts'
import type { Deployment, Model } from '../rules/routing.ts'
import type { Db } from './database.ts'
import type { Deployments } from './schema.gen.ts'

/** Everything that gateways route by, as one consistent snapshot. */
export interface Catalogue {
  version: bigint
  models: ReadonlyMap<string, Model>
  providers: ReadonlyMap<string, ProviderRecord>
}

export interface ProviderRecord {
  id: string
  name: string
  kind: string
  baseUrl: string
  settings: unknown
  keys: readonly SealedKey[]
}

export interface SealedKey {
  id: string
  name: string
  sealed: string
}

export async function catalogueVersion(db: Db): Promise<bigint> {
  const row = await db.selectFrom('catalogue_version').select('version').executeTakeFirstOrThrow()
  return row.version
}

export async function loadCatalogue(db: Db): Promise<Catalogue> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      const version = await catalogueVersion(tx)
      const providers = await tx.selectFrom('providers').selectAll().where('enabled', '=', true).execute()
      const models = await tx.selectFrom('models').selectAll().where('enabled', '=', true).orderBy('id').execute()
      const deployments = await tx
        .selectFrom('deployments')
        .selectAll()
        .where('enabled', '=', true)
        .where('provider_id', 'in', tx.selectFrom('providers').select('id').where('enabled', '=', true))
        .orderBy('position')
        .orderBy('created_at')
        .execute()
      const keys = await tx
        .selectFrom('provider_keys')
        .select(['id', 'provider_id', 'name', 'sealed_key as sealed'])
        .where('enabled', '=', true)
        .orderBy('created_at')
        .execute()
      const prices = await tx.selectFrom('price_versions').selectAll().orderBy('effective_from').execute()
      const deploymentsOf = Map.groupBy(deployments, (row) => row.model_id)
      const keysOf = Map.groupBy(keys, (row) => row.provider_id)
      const pricesOf = Map.groupBy(prices, (row) => row.model_id)
      return {
        version,
        providers: new Map(
          providers.map(({ id, name, kind, settings, base_url: baseUrl }) => [
            id,
            { id, name, kind, baseUrl, settings, keys: keysOf.get(id) ?? [] },
          ]),
        ),
        models: new Map(
          models.map((row): [string, Model] => [
            row.id,
            {
              id: row.id,
              ownedBy: row.owned_by,
              createdAt: row.created_at,
              contextWindow: row.context_window ?? undefined,
              maxOutputTokens: row.max_output_tokens ?? undefined,
              prices: (pricesOf.get(row.id) ?? []).map((price) => ({
                version: price.id,
                input: price.input,
                cachedInput: price.cached_input,
                cacheWrite: price.cache_write,
                output: price.output,
                reasoning: price.reasoning,
                effectiveFrom: price.effective_from,
              })),
              deployments: (deploymentsOf.get(row.id) ?? []).map(deploymentOf),
            },
          ]),
        ),
      }
    })
}

type DeploymentRow = Selectable<Deployments>

function deploymentOf(row: DeploymentRow): Deployment {
  return {
    id: row.id,
    providerId: row.provider_id,
    upstreamModel: row.upstream_model,
    group: row.position,
    weight: row.weight,
    unsupportedFields: new Set(row.unsupported_fields),
    timers: {
      connectMs: row.connect_timeout_ms ?? UPSTREAM_TIMERS.connectMs,
      firstTokenMs: row.first_token_timeout_ms ?? UPSTREAM_TIMERS.firstTokenMs,
      idleMs: row.idle_timeout_ms ?? UPSTREAM_TIMERS.idleMs,
      totalMs: row.total_timeout_ms ?? UPSTREAM_TIMERS.totalMs,
    },
    cost: costOfDeployment(row),
  }
}

/** All five are known, or none. */
function costOfDeployment(row: DeploymentRow): Deployment['cost'] {
  if (row.cost_input === null) return undefined
  return {
    input: row.cost_input,
    cachedInput: row.cost_cached_input ?? 0n,
    cacheWrite: row.cost_cache_write ?? 0n,
    output: row.cost_output ?? 0n,
    reasoning: row.cost_reasoning ?? 0n,
  }
}
