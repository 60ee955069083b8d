import { isRecord } from '../../rules/record.ts'
import { sql, type Selectable } from 'kysely'
import { NO_FIGURES, type Figures } from '../../rules/catalogue/figures.ts'
import type { ModelKind } from '../../rules/catalogue/model-kinds.ts'
import { COST_COLUMNS, PRICE_COLUMNS } from '../../rules/billing/token-columns.ts'
import { perClass } from '../../rules/billing/usage.ts'
import { UPSTREAM_TIMERS } from '../../rules/limits.ts'
import type { Deployment, Model } from '../../rules/upstreams/routing.ts'
import type { Db } from '../database.ts'
import type { Deployments, Models, PriceVersions, ProviderKeys, Providers } from '../schema.gen.ts'

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

/** The same, and nothing changes what is routed by until the transaction ends. */
export async function lockCatalogue(tx: Db): Promise<bigint> {
  const row = await tx.selectFrom('catalogue_version').select('version').forUpdate().executeTakeFirstOrThrow()
  return row.version
}

export async function loadCatalogue(db: Db): Promise<Catalogue> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      const version = await catalogueVersion(tx)
      const keys = await tx.selectFrom('provider_keys').selectAll().orderBy('created_at').execute()
      const keysOf = Map.groupBy(keys, (row) => row.provider_id)
      const providers = new Map<string, ProviderRecord>()
      for (const row of await tx.selectFrom('providers').selectAll().where('enabled', '=', true).execute()) {
        const record = providerOf(row, keysOf.get(row.id) ?? [])
        if (record) providers.set(row.id, record)
      }
      return { version, providers, models: await readModels(tx, new Set(providers.keys())) }
    })
}

/** The models of the catalogue alone, for who may not read the keys and addresses of providers. */
export async function loadModels(db: Db): Promise<Catalogue['models']> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (tx) => {
      const { rows } = await sql<{ id: string }>`
        select p.id from providers p where p.enabled and coalesce(
          (select bool_or(k.enabled) from provider_keys k where k.provider_id = p.id), true)`.execute(tx)
      return readModels(tx, new Set(rows.map(({ id }) => id)))
    })
}

async function readModels(tx: Db, usableProviders: ReadonlySet<string>): Promise<Catalogue['models']> {
  const models = await tx.selectFrom('models').selectAll().where('enabled', '=', true).orderBy('id').execute()
  const deployments = await tx
    .selectFrom('deployments')
    .selectAll()
    .where('enabled', '=', true)
    .orderBy('position')
    .orderBy('created_at')
    .execute()
  const usable = deployments.filter((row) => usableProviders.has(row.provider_id))
  const deploymentsOf = Map.groupBy(usable, (row) => row.model_id)
  const prices = await tx.selectFrom('price_versions').selectAll().orderBy('effective_from').execute()
  const pricesOf = Map.groupBy(prices, (row) => row.model_id)
  return new Map(
    models.map((row): [string, Model] => [
      row.id,
      {
        id: row.id,
        kind: kindOf(row),
        ownedBy: row.owned_by,
        createdAt: row.created_at,
        contextWindow: row.context_window ?? undefined,
        maxOutputTokens: row.max_output_tokens ?? undefined,
        figures: kindOf(row) === 'embedding' ? THOUGHTLESS : figuresOf(row),
        prices: (pricesOf.get(row.id) ?? []).map(priceOf),
        deployments: (deploymentsOf.get(row.id) ?? []).map(deploymentOf),
      },
    ]),
  )
}

function priceOf(row: Selectable<PriceVersions>): Model['prices'][number] {
  return { version: row.id, ...PRICE_COLUMNS.valuesIn(row), effectiveFrom: row.effective_from }
}

/** A check of the table allows no others. */
export function kindOf({ kind }: Pick<Selectable<Models>, 'kind'>): ModelKind {
  return kind as ModelKind
}

/** Models that make vectors do not reason. */
const THOUGHTLESS: Figures = { ...NO_FIGURES, reasoning: 0 }

type FigureRow = Pick<Selectable<Models>, 'image_tokens' | 'file_tokens' | 'tool_tokens' | 'reasoning_tokens'>

export function figuresOf(row: FigureRow): Figures {
  return {
    image: row.image_tokens ?? undefined,
    file: row.file_tokens ?? undefined,
    tool: row.tool_tokens ?? undefined,
    reasoning: row.reasoning_tokens ?? undefined,
  }
}

/** Undefined: it has keys, but all are disabled. It must not be called as if it asked for none. */
function providerOf(row: Selectable<Providers>, keys: readonly Selectable<ProviderKeys>[]): ProviderRecord | undefined {
  const enabled = keys.filter((key) => key.enabled)
  if (keys.length > 0 && enabled.length === 0) return undefined
  const { id, name, kind, settings, base_url: baseUrl } = row
  const sealed = enabled.map((key) => ({ id: key.id, name: key.name, sealed: key.sealed_key }))
  return { id, name, kind, baseUrl, settings, keys: sealed }
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
    extraBody: isRecord(row.extra_body) ? row.extra_body : undefined,
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
  const costs = COST_COLUMNS.valuesIn(row)
  return costs.input === null ? undefined : perClass((name) => costs[name] ?? 0n)
}
